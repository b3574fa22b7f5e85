/* SPDX-License-Identifier: Apache-2.0 */
/* Which replica set a state directory is of: its database is a copy of what that has in etcd, and
 * no other set's. */
#ifndef UDPAI_SET_FILE_H
#define UDPAI_SET_FILE_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_SET_FILE_ID_MAX 64

/* UDPA_OK with an empty id: the directory is of no set, and has no database. UDPA_ERR_PRECONDITION:
 * it is of another prefix, or has the database of a node without replicas. */
udpa_err udpai_set_file_read(const char *directory,
                             const char *prefix,
                             char ret_id[UDPAI_SET_FILE_ID_MAX + 1],
                             udpa_error **ret_error);
/* Has the directory the database of a node without replicas? */
bool udpai_set_file_is_alone(const char *directory);
/* UDPA_ERR_PRECONDITION: the directory is of a replica set. */
udpa_err udpai_set_file_check_none(const char *directory, udpa_error **ret_error);
udpa_err udpai_set_file_write(const char *directory,
                              const char *prefix,
                              udpai_str id,
                              udpa_error **ret_error);
/* The directory is of no set any more. */
udpa_err udpai_set_file_remove(const char *directory, udpa_error **ret_error);

#endif
