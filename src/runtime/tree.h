/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of runtime layers as an origin of a node: each directory right below its top is a resource
 * that an Envoy with an rtds_layer follows (tree_reading.h). Read at the start, when the link that
 * leads to it is swapped, and when something below it changes.
 *
 * What one reading has found is reported at once. A layer with an error keeps what it had, is
 * logged once, and is listed as a problem until it is fixed. Read on libuv's pool; everything here
 * belongs to the loop's thread. */
#ifndef UDPAI_RUNTIME_TREE_H
#define UDPAI_RUNTIME_TREE_H

#include <uv.h>

#include "federation/node.h"
#include "runtime/tree_reading.h"

#define UDPAI_RUNTIME_TREE_RETRY_MS 1000 /* while it cannot be read */

typedef struct udpai_runtime_tree udpai_runtime_tree;

typedef struct udpai_runtime_tree_options {
    uv_loop_t *loop;
    /* Its texts are copied, but for the authorities, which outlive the tree, as the check and its
     * userdata do. Slashes at the end of the root do not count. */
    udpai_runtime_tree_rules rules;
    udpai_str source;                     /* as udpai_directory.source */
    udpai_str authority;                  /* as udpai_directory.authority */
    uint64_t quiet_ms, look_ms, retry_ms; /* 0: as in loader.h, and above */
} udpai_runtime_tree_options;

typedef struct udpai_runtime_tree_ops {
    /* All that the tree has now, borrowed; `is_partial` until each layer has been good once. After
     * the first reading, and when something is another than before. May close the tree. */
    void (*changed)(void *userdata, const udpai_directory *directory);
    /* The list of problems is another than before. May be NULL. May close the tree. */
    void (*problems_changed)(void *userdata);
    void *userdata;
} udpai_runtime_tree_ops;

/* To be ended with udpai_runtime_tree_close(). */
udpa_err udpai_runtime_tree_new(udpai_runtime_tree **ret_tree,
                                const udpai_runtime_tree_options *options,
                                const udpai_runtime_tree_ops *ops,
                                udpa_error **ret_error);
/* Reads the tree before it returns, and watches it from now on; once. That it cannot be read at
 * present is a problem, and no error: it may come. */
udpa_err udpai_runtime_tree_start(udpai_runtime_tree *tree, udpa_error **ret_error);
/* Reads it again, soon. */
void udpai_runtime_tree_look(udpai_runtime_tree *tree);
/* Calls changed() once more with what the tree has, if it was read. */
void udpai_runtime_tree_report_again(udpai_runtime_tree *tree);
/* Nothing is called any more but @p closed (may be NULL), when the loop has let go of the tree; it
 * is freed then. NULL does nothing. */
void
udpai_runtime_tree_close(udpai_runtime_tree *tree, void (*closed)(void *userdata), void *userdata);

/* Is it being read, or about to be? */
bool udpai_runtime_tree_is_busy(const udpai_runtime_tree *tree);
/* What it has; the tree's, until the loop runs on; NULL: nothing was read. */
const udpai_runtime_tree_reading *udpai_runtime_tree_now(const udpai_runtime_tree *tree);
/* The problem of this number; NULL: there are fewer. */
const udpa_error *udpai_runtime_tree_problem(const udpai_runtime_tree *tree, size_t index);

#endif
