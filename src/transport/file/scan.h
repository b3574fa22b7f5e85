/* SPDX-License-Identifier: Apache-2.0 */
/* The resource files of one directory as they were last seen, and looking at them again: only what
 * may have changed is opened, and a file that cannot be taken keeps what it had.
 *
 * A scan belongs to one thread at a time; all of it may run on a thread of the pool. */
#ifndef UDPAI_FILE_SCAN_H
#define UDPAI_FILE_SCAN_H

#include <sys/types.h>
#include <time.h>

#include "base/vector.h"
#include "codec/policy.h"
#include "codec/resource_file.h"
#include "model/digest.h"

/* All borrowed; no limit may be 0. */
typedef struct udpai_file_rules {
    const char *root;
    const udpai_schema *schema;
    udpai_str default_namespace;
    udpai_xdstp_authorities authorities;
    const udpai_str *namespaces; /* prefixes that names must be in; none: any name may be here */
    size_t n_namespaces;
    size_t max_file_size, max_files, max_resources;
    const udpai_policy *policy; /* what is validated; NULL: nothing */
} udpai_file_rules;

/* What shows that a file is another than before, without reading it. */
typedef struct udpai_file_stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified, changed;
} udpai_file_stamp;

typedef struct udpai_scanned_file {
    uint64_t id; /* of this file of the scan; never given twice */
    char *name, *path;
    udpai_file_stamp stamp;
    bool is_read;   /* the stamp is that of what was checked last */
    bool is_recent; /* changed just before that: another change may have left the stamp the same */
    bool was_good;  /* once */
    bool has_hash;  /* the judgement was on these contents, not on the file's size or kind */
    udpai_content_hash hash;
    udpai_resource_list list; /* of the last good contents */
    udpai_policy_mode mode;   /* by which it was checked */
    size_t n_refused;         /* resources for which there was no room; 0: none */
    udpa_error *error;        /* why the present contents are not taken; NULL: they are */
} udpai_scanned_file;

typedef struct udpai_file_scan {
    udpai_file_rules rules;
    UDPAI_VECTOR(udpai_scanned_file *) files; /* by name */
    size_t n_resources;                       /* of all lists */
    uint64_t last_id;
    udpa_error *error; /* why the directory could not be read this time; nothing has changed then */
    dev_t dev;         /* of the directory, when it was last read */
    ino_t ino;
} udpai_file_scan;

void udpai_file_scan_init(udpai_file_scan *scan, const udpai_file_rules *rules);
void udpai_file_scan_done(udpai_file_scan *scan);

/* Looks again. Mistakes are kept in the scan and its files. A directory that changes meanwhile is
 * looked at again, a few times. */
void udpai_file_scan_run(udpai_file_scan *scan);

/* Does a file of this name count? Not if it is hidden, is what an editor leaves, or has no suffix
 * of a format. */
bool udpai_file_scan_takes_name(const char *name);

#endif
