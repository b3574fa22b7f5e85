/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what an xDS client would be given into a directory, for clients that only read files, and
 * keeps it up to date: of clusters and listeners the whole state in one file, of what these refer
 * to (endpoints, routes) and of all other types a file for each resource
 * (docs/guide/write-files.md).
 *
 * It subscribes to the node in the process, and follows parents to their children as a client does.
 * Belongs to the loop's thread; files are written on libuv's pool. */
#ifndef UDPAI_FILE_WRITER_H
#define UDPAI_FILE_WRITER_H

#include <uv.h>

#include "codec/schema.h"
#include "codec/source.h"
#include "federation/node.h"
#include "xds/audience.h"

#define UDPAI_WRITER_QUIET_MS_DEFAULT 30
#define UDPAI_WRITER_PATIENCE_MS_DEFAULT 15000
#define UDPAI_WRITER_RETRY_MS_DEFAULT 1000
#define UDPAI_WRITER_RETRY_MAX_MS 30000

typedef struct udpai_file_writer udpai_file_writer;

typedef struct udpai_file_writer_options {
    const char *directory;
    const udpai_xds_audience *audience; /* what is visible; borrowed for good */
    const udpai_str *types;             /* full type URLs, none twice */
    size_t n_types;
    udpai_format format;  /* UDPAI_FORMAT_BINARY, _JSON or _YAML */
    udpai_schema *schema; /* a reference is taken */
    /* 0: the default. Changes that come together are written together; how long parents wait for
     * children of which nothing is known; after a failure, doubled each time. */
    uint64_t quiet_ms, patience_ms, retry_ms;
} udpai_file_writer_options;

typedef struct udpai_file_writer_ops {
    /* The node was called: it must be flushed. */
    void (*node_called)(void *userdata);
    /* udpai_file_writer_problem() is another than before. */
    void (*problem_changed)(void *userdata);
    void *userdata;
} udpai_file_writer_ops;

/* Copies the texts. To be ended with udpai_file_writer_close(), before the node is freed. */
udpa_err udpai_file_writer_new(udpai_file_writer **ret_writer,
                               uv_loop_t *loop,
                               udpai_node *node,
                               const udpai_file_writer_options *options,
                               const udpai_file_writer_ops *ops,
                               udpa_error **ret_error);
/* Nothing is called any more but @p closed, when the loop has let go of it; then it is freed. Files
 * stay. NULL does nothing. */
void
udpai_file_writer_close(udpai_file_writer *writer, void (*closed)(void *userdata), void *userdata);

/* Why files could not be written last; NULL: they were, or nothing was tried yet. Borrowed. */
const udpa_error *udpai_file_writer_problem(const udpai_file_writer *writer);

#endif
