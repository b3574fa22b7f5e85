/* SPDX-License-Identifier: Apache-2.0 */
/* Files for clients that only read files: a DiscoveryResponse each, put in place by renaming, as
 * Envoy's path_config_source needs it. A job is the whole state of a directory; doing it twice does
 * nothing the second time.
 *
 * Files of one resource come first, for a client refuses a parent that points to a file that is not
 * there; then files that hold a whole type; then what is not there any more is removed.
 *
 * A job is made by one thread and done by another, at most one at a time for a directory. */
#ifndef UDPAI_WRITE_JOB_H
#define UDPAI_WRITE_JOB_H

#include <limits.h>

#include <udpa/resource.h>

#include "base/vector.h"
#include "codec/schema.h"
#include "codec/source.h"
#include "codec/validate.h"

/* The name of a file without its suffix: letters, digits, '_', '-' and '.' are kept, except a '.'
 * at the beginning; every other byte becomes %XX. A name that would become too long is cut, and
 * ends with a hash of the whole. No two names become one, and none leads elsewhere. */
#define UDPAI_WRITTEN_NAME_MAX 200
void udpai_written_name(udpai_str name, char ret_name[UDPAI_WRITTEN_NAME_MAX + 1]);

/* What one file holds. */
typedef struct udpai_written_file {
    char *path;           /* below the directory: "clusters.pb", "endpoints/a.pb"; owned */
    const char *type_url; /* owned by the job's maker */
    bool if_absent;       /* what is there already stays */
    UDPAI_VECTOR(udpa_resource *) resources; /* references */
} udpai_written_file;

typedef struct udpai_write_job {
    const char *directory;      /* borrowed; made if it is not there */
    const udpai_schema *schema; /* borrowed */
    udpai_format format;        /* UDPAI_FORMAT_BINARY, _JSON or _YAML */
    /* Of the last two, for what has no text is an error; not needed for the first. Borrowed. */
    const udpai_validator *validator;
    UDPAI_VECTOR(udpai_written_file) children; /* one resource each, or none */
    /* Directories below it that the job owns: "endpoints". Borrowed texts. */
    UDPAI_VECTOR(const char *) folders;
    /* Not yet, if it is not known what belongs there. */
    bool has_parents;
    UDPAI_VECTOR(udpai_written_file) parents;
    /* What has come of it. */
    size_t n_written, n_removed;
    udpa_error *error; /* why it was not finished */
} udpai_write_job;

/* ".pb", ".json", ".yaml". */
const char *udpai_write_suffix(udpai_format format);

/* NULL without memory; both belong to the job. @p folder "": none. The name is encoded. */
udpai_written_file *udpai_write_job_add_child(udpai_write_job *job,
                                              const char *folder,
                                              udpai_str name,
                                              const char *type_url);
udpai_written_file *
udpai_write_job_add_parent(udpai_write_job *job, const char *name, const char *type_url);
/* Takes a reference. */
bool udpai_written_file_add(udpai_written_file *file, udpa_resource *resource);

/* Sets n_written, n_removed and error. */
void udpai_write_job_run(udpai_write_job *job);
void udpai_write_job_done(udpai_write_job *job);

#endif
