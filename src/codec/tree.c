/* SPDX-License-Identifier: Apache-2.0 */
/* What scalars mean, and finding things in a tree. */
#include "codec/tree.h"

#include <ctype.h>

static bool
is_one_of(udpai_str text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_str_eq(text, udpai_str_from(words[i])))
            return true;
    return false;
}

const udpai_entry *
udpai_tree_find(const udpai_tree *map, udpai_str key)
{
    if (map->kind != UDPAI_TREE_MAP)
        return NULL;
    for (uint32_t i = 0; i < map->n; i++)
        if (udpai_str_eq(map->entries[i].key->text, key))
            return &map->entries[i];
    return NULL;
}

const udpai_entry *
udpai_tree_find_field(const udpai_tree *map, udpai_str name)
{
    const udpai_entry *found = udpai_tree_find(map, name);
    char camel[64];
    size_t n = 0;
    for (size_t i = 0; i < name.len && n + 1 < sizeof(camel); i++) {
        bool up = name.data[i] == '_' && i + 1 < name.len;
        camel[n++] = up ? (char)toupper((unsigned char)name.data[++i]) : name.data[i];
    }
    return found ? found : udpai_tree_find(map, (udpai_str){camel, n});
}

const udpai_tree *
udpai_tree_value(const udpai_tree *map, udpai_str key, udpai_tree_kind kind)
{
    const udpai_entry *entry =
        map && map->kind == UDPAI_TREE_MAP ? udpai_tree_find(map, key) : NULL;
    return entry && entry->value->kind == kind ? entry->value : NULL;
}

udpai_str
udpai_tree_text(const udpai_tree *map, const char *key)
{
    const udpai_tree *value = udpai_tree_value(map, udpai_str_from(key), UDPAI_TREE_SCALAR);
    return value ? value->text : (udpai_str){0};
}

void
udpai_tree_rename(const udpai_entry *entry, const char *key)
{
    udpai_tree *node =
        (udpai_tree *)(uintptr_t)entry->key; /* the reader's memory, which is no constant */
    node->text = udpai_str_from(key);
}

bool
udpai_tree_is_null(const udpai_tree *node)
{
    static const char *const words[] = {"", "null", "Null", "NULL", "~"};
    return node->kind == UDPAI_TREE_SCALAR && node->plain &&
           is_one_of(node->text, words, UDPAI_ARRAY_LEN(words));
}

bool
udpai_tree_is_bool(const udpai_tree *node, bool *ret_value)
{
    static const char *const yes[] = {"true", "True", "TRUE"};
    static const char *const no[] = {"false", "False", "FALSE"};
    if (node->kind != UDPAI_TREE_SCALAR || !node->plain)
        return false;
    bool is_yes = is_one_of(node->text, yes, UDPAI_ARRAY_LEN(yes));
    if (!is_yes && !is_one_of(node->text, no, UDPAI_ARRAY_LEN(no)))
        return false;
    *ret_value = is_yes;
    return true;
}

static size_t
skip_digits(udpai_str text, size_t at)
{
    while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at;
}

/* Moves past an optional part that must have digits; false if it has none. */
static bool
skip_fraction(udpai_str text, size_t *at)
{
    if (*at == text.len || text.data[*at] != '.')
        return true;
    size_t start = *at + 1;
    *at = skip_digits(text, start);
    return *at > start;
}

static bool
skip_exponent(udpai_str text, size_t *at)
{
    if (*at == text.len || (text.data[*at] != 'e' && text.data[*at] != 'E'))
        return true;
    size_t start = *at + 1;
    if (start < text.len && (text.data[start] == '+' || text.data[start] == '-'))
        start++;
    *at = skip_digits(text, start);
    return *at > start;
}

bool
udpai_is_json_number(udpai_str text)
{
    size_t start = text.len && text.data[0] == '-' ? 1 : 0;
    size_t at = skip_digits(text, start);
    if (at == start || (text.data[start] == '0' && at > start + 1))
        return false;
    return skip_fraction(text, &at) && skip_exponent(text, &at) && at == text.len;
}

bool
udpai_tree_is_number(const udpai_tree *node)
{
    return node->kind == UDPAI_TREE_SCALAR && node->plain && udpai_is_json_number(node->text);
}

const char *
udpai_tree_kind_text(const udpai_tree *node)
{
    bool value;
    if (node->kind == UDPAI_TREE_MAP)
        return "a map";
    if (node->kind == UDPAI_TREE_LIST)
        return "a list";
    if (udpai_tree_is_null(node))
        return "null";
    if (udpai_tree_is_bool(node, &value))
        return "true or false";
    return udpai_tree_is_number(node) ? "a number" : "a string";
}
