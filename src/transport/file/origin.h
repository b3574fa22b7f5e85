/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of resource files as an origin of a node: read once at the start, then whenever it
 * changes. One level, no subdirectories; which files count decides udpai_file_scan_takes_name().
 *
 * Changes that come together are reported as one. What cannot be taken keeps what it had, is logged
 * once, and is listed as a problem until it is fixed. Files are read on libuv's pool; everything
 * here belongs to the loop's thread. */
#ifndef UDPAI_FILE_ORIGIN_H
#define UDPAI_FILE_ORIGIN_H

#include <uv.h>

#include "codec/policy.h"
#include "codec/schema.h"
#include "federation/node.h"
#include "model/xdstp.h"

/* Each is the value of 0 in the options. */
#define UDPAI_FILE_SIZE_MAX_DEFAULT ((size_t)64 * 1024 * 1024)
#define UDPAI_FILES_MAX_DEFAULT 10000
#define UDPAI_FILE_RESOURCES_MAX_DEFAULT 1000000
#define UDPAI_FILE_QUIET_MS_DEFAULT 30
#define UDPAI_FILE_DELAY_MAX_MS_DEFAULT 200
#define UDPAI_FILE_POLL_MS_DEFAULT 5000

typedef struct udpai_file_origin udpai_file_origin;

typedef struct udpai_file_origin_options {
    const char *root;
    udpai_str source;                    /* as udpai_directory.source */
    udpai_str authority;                 /* as udpai_directory.authority */
    udpai_str default_namespace;         /* of names without one */
    udpai_xdstp_authorities authorities; /* of names; outlive the origin */
    const udpai_str *namespaces; /* prefixes that names must be in; none: any name may be here */
    size_t n_namespaces;
    udpai_schema *schema;       /* a reference is taken */
    const udpai_policy *policy; /* what is validated; borrowed for good; NULL: nothing */
    size_t max_file_size, max_files, max_resources;
    /* Files are read when nothing has changed for so long, or after the longest delay. */
    uint64_t quiet_ms, delay_max_ms;
    /* How often to look without a notice: a network's file system sends none, nor does a link that
     * leads out of the directory. */
    uint64_t poll_ms;
} udpai_file_origin_options;

typedef struct udpai_file_origin_ops {
    /* All that the directory has now, borrowed; `is_partial` until it is complete (see below);
     * `root` is that of the options, without slashes at its end. After the first good reading, when
     * something is another than before, and when it is complete at last. May close the origin. */
    void (*changed)(void *userdata, const udpai_directory *directory);
    /* The list of problems is another than before. May be NULL. May close the origin. */
    void (*problems_changed)(void *userdata);
    void *userdata;
} udpai_file_origin_ops;

/* Everything is copied. To be ended with udpai_file_origin_close(). */
udpa_err udpai_file_origin_new(udpai_file_origin **ret_origin,
                               uv_loop_t *loop,
                               const udpai_file_origin_options *options,
                               const udpai_file_origin_ops *ops,
                               udpa_error **ret_error);

/* Reads the directory before it returns, and watches it from now on; once. An error means that the
 * directory cannot be read at present; it is tried again, unless the caller closes the origin.
 * Errors in single files are problems, not errors. */
udpa_err udpai_file_origin_start(udpai_file_origin *origin, udpa_error **ret_error);

/* Looks again soon, as if something had changed. */
void udpai_file_origin_poke(udpai_file_origin *origin);

/* From now on files are read when nothing has changed for so long, and not later than before, or
 * than that. */
void udpai_file_origin_set_quiet(udpai_file_origin *origin, uint64_t quiet_ms);

/* Calls changed() once more with what the directory has, if it was read. */
void udpai_file_origin_report_again(udpai_file_origin *origin);

/* Nothing is called any more but @p closed (may be NULL), when the loop has let go of the origin;
 * the origin is freed then. NULL does nothing. */
void
udpai_file_origin_close(udpai_file_origin *origin, void (*closed)(void *userdata), void *userdata);

/* ---- looking; what is returned is the origin's, until the loop runs on ---- */

/* Was the directory read, and has each file in it been good at some time? Before that, what the
 * directory does not have may be in a file that has an error. Stays true once it is. */
bool udpai_file_origin_is_complete(const udpai_file_origin *origin);
/* Could the directory itself be read last time? Its files may have errors. */
bool udpai_file_origin_is_readable(const udpai_file_origin *origin);
size_t udpai_file_origin_n_files(const udpai_file_origin *origin);
size_t udpai_file_origin_n_resources(const udpai_file_origin *origin);
/* Mistakes by now; those beyond UDPAI_FILE_PROBLEMS_MAX are only counted: *ret_n_left_out (may be
 * NULL). */
size_t udpai_file_origin_n_problems(const udpai_file_origin *origin, size_t *ret_n_left_out);
/* The error's message begins with the file's path. */
const udpa_error *
udpai_file_origin_problem(const udpai_file_origin *origin, size_t index, const char **ret_path);

#endif
