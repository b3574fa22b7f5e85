/* SPDX-License-Identifier: Apache-2.0 */
/* What of all files of a scan is served: of two resources with the same type and name the one that
 * was served before, else the one in the file that comes first by name. The other is an error. */
#ifndef UDPAI_FILE_SERVED_H
#define UDPAI_FILE_SERVED_H

#include "base/map.h"
#include "transport/file/scan.h"

/* Errors that are reported one by one. */
#define UDPAI_FILE_PROBLEMS_MAX 256

/* An error in the directory. */
typedef struct udpai_file_problem {
    char *path; /* of the file, or of the directory */
    udpa_error *error;
    bool is_of_contents; /* the same error object comes back as long as the contents stay */
} udpai_file_problem;

/* The outcome of a scan; not changed once it is made, so that another thread may look at it. */
typedef struct udpai_file_result {
    udpa_resource **resources; /* by file, in their order there */
    size_t n_resources;
    UDPAI_VECTOR(udpai_file_problem) problems;
    size_t n_problems_left_out;
    size_t n_files;
    bool is_read; /* the directory itself could be read */
    bool is_good; /* and each file has been good at some time: nothing is missing */
    dev_t dev;    /* of the directory, if it was read */
    ino_t ino;
} udpai_file_result;

udpai_file_result *udpai_file_result_free(udpai_file_result *result);
UDPA_DEFINE_CLEANUP(udpai_file_result, udpai_file_result_free)

struct udpai_file_served_resource;

/* Which file each resource that is served is from. Belongs to the thread of the scan. */
typedef struct udpai_file_served {
    struct udpai_file_served_resource *resources;
    size_t n;
    udpai_map by_name;
} udpai_file_served;

void udpai_file_served_init(udpai_file_served *served);
void udpai_file_served_done(udpai_file_served *served);

/* Decides anew. Without memory nothing changes. */
udpa_err udpai_file_served_update(udpai_file_served *served,
                                  const udpai_file_scan *scan,
                                  udpai_file_result **ret_result,
                                  udpa_error **ret_error);

#endif
