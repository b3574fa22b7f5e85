/* SPDX-License-Identifier: Apache-2.0 */
/* A document as a tree: scalars, lists and maps with their places. Aliases make nodes that have
 * several parents; the reader has bounded depth and size with every alias expanded, so a walk over
 * a tree may recurse. Read-only once read, but for udpai_tree_rename(). */
#ifndef UDPAI_TREE_H
#define UDPAI_TREE_H

#include "base/util.h"
#include "codec/place.h"

typedef enum udpai_tree_kind {
    UDPAI_TREE_SCALAR,
    UDPAI_TREE_LIST,
    UDPAI_TREE_MAP,
} udpai_tree_kind;

typedef struct udpai_tree udpai_tree;

typedef struct udpai_entry {
    const udpai_tree *key; /* a scalar; no two of a map are equal */
    const udpai_tree *value;
} udpai_entry;

struct udpai_tree {
    uint8_t kind;    /* udpai_tree_kind */
    uint16_t height; /* of the tree below: 0 for a scalar, 1 for an empty list */
    bool plain;      /* a scalar without quotes: what it means depends on what is expected */
    bool open;       /* only while it is being read */
    uint32_t n;      /* items or entries */
    uint32_t line, column;
    size_t weight; /* bytes of text and number of nodes, aliases expanded */

    union {
        udpai_str text; /* NUL-terminated; may hold zero bytes too */
        const udpai_tree *const *items;
        const udpai_entry *entries;
    };
};

/* The entry with this key; NULL if there is none. */
const udpai_entry *udpai_tree_find(const udpai_tree *map, udpai_str key);
/* The same of a field, which proto3 JSON has under two names: connect_grace and connectGrace. */
const udpai_entry *udpai_tree_find_field(const udpai_tree *map, udpai_str name);
/* What a map has under this key, if it is of that kind; NULL: it is not, or this (NULL: nothing) is
 * no map. */
const udpai_tree *udpai_tree_value(const udpai_tree *map, udpai_str key, udpai_tree_kind kind);
/* The text of the scalar there; empty: there is none. */
udpai_str udpai_tree_text(const udpai_tree *map, const char *key);
/* Before anybody else reads the tree: the entry has this key, which no other of its map has. The
 * text outlives the tree. */
void udpai_tree_rename(const udpai_entry *entry, const char *key);
/* "a map", "a list", "null", "a number", "true or false", "a string". */
const char *udpai_tree_kind_text(const udpai_tree *node);

/* What a plain scalar is by the core schema of YAML 1.2, except that numbers are those of JSON. */
bool udpai_tree_is_null(const udpai_tree *node);
bool udpai_tree_is_bool(const udpai_tree *node, bool *ret_value);
bool udpai_tree_is_number(const udpai_tree *node);

/* The grammar of a JSON number; never a leading zero, which some read as octal. */
bool udpai_is_json_number(udpai_str text);

#endif
