/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of layers as resources: each directory right below its top is a layer, and becomes an
 * envoy.service.runtime.v3.Runtime which is called as it is, behind a prefix. Hidden directories
 * and files at the top do not count.
 *
 * A reading is made from the one before: what is as it was keeps its resource, and a layer with an
 * error the one that it had when it was good. It is not changed any more then, so that another
 * thread may look at it. */
#ifndef UDPAI_RUNTIME_TREE_READING_H
#define UDPAI_RUNTIME_TREE_READING_H

#include "base/vector.h"
#include "model/resource.h"
#include "model/xdstp.h"
#include "runtime/directory.h"

#define UDPAI_RUNTIME_TREE_LAYERS_MAX 1024

/* All borrowed. */
typedef struct udpai_runtime_tree_rules {
    const char *root;         /* a symbolic link, or a directory */
    const char *subdirectory; /* below it, where the layers are; "": it is the top itself */
    /* Before the names of directories. What comes of it is the resource's name as it is written in
     * a resource file: a full one, an xdstp one, or an id in the default namespace. */
    udpai_str prefix;
    udpai_str default_namespace;
    udpai_xdstp_authorities authorities;
    const udpai_str *namespaces; /* prefixes that names must be in; none: any name may be here */
    size_t n_namespaces;
    /* What is to be found out about a resource besides, on the thread of the reading. May be NULL.
     */
    udpa_err (*check)(const void *userdata, const udpa_resource *resource, udpa_error **ret_error);
    const void *check_userdata;
} udpai_runtime_tree_rules;

typedef struct udpai_runtime_tree_layer {
    char *name;              /* of its directory */
    udpa_resource *resource; /* of its last good reading; NULL: there was none */
    udpa_error *error;       /* why what is there now is not taken; NULL: it is */
} udpai_runtime_tree_layer;

typedef struct udpai_runtime_tree_reading {
    UDPAI_VECTOR(udpai_runtime_tree_layer) layers; /* by name */
    udpa_error
        *error;    /* why the tree could not be read this time: the layers are those of before */
    bool was_read; /* at some time */
} udpai_runtime_tree_reading;

/* NULL without memory. @p before may be NULL. @p directories, empty at first: which would show
 * changes. Blocks; any thread. */
udpai_runtime_tree_reading *udpai_runtime_tree_read(const udpai_runtime_tree_rules *rules,
                                                    const udpai_runtime_tree_reading *before,
                                                    udpai_runtime_directories *directories);
udpai_runtime_tree_reading *udpai_runtime_tree_reading_free(udpai_runtime_tree_reading *reading);
UDPA_DEFINE_CLEANUP(udpai_runtime_tree_reading, udpai_runtime_tree_reading_free)

/* The full name of what is written so, as the rules have it; written to the room. */
udpa_err udpai_runtime_tree_name(const udpai_runtime_tree_rules *rules,
                                 udpai_str written,
                                 char room[UDPAI_NAME_MAX],
                                 udpai_str *ret_name,
                                 udpa_error **ret_error);

#endif
