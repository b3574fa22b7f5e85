/* SPDX-License-Identifier: Apache-2.0 */
/* A layer from a directory: a file's path below it, its slashes for dots, is a key, and what the
 * file has is the value. Lines that begin with # are comments. Symbolic links are followed.
 *
 * Blocks; belongs to a thread of the pool. What is not whole is an error: the caller keeps what it
 * had, or has nothing. */
#ifndef UDPAI_RUNTIME_DIRECTORY_H
#define UDPAI_RUNTIME_DIRECTORY_H

#include "runtime/directories.h"
#include "runtime/layer.h"

/* What changes while it is read is read again at once, so many times. */
#define UDPAI_RUNTIME_TRIES 3

/* UDPA_ERR_NOT_FOUND: there is no such directory, which need be no error. UDPA_ERR_LIMIT: too deep
 * (which a link to what is above it is, too), too many directories, or too much. UDPA_ERR_IO, with
 * the path. UDPA_ERR_INVAL: something there can be no key or no value. UDPA_ERR_ABORTED: it has
 * changed while it was read. UDPA_ERR_NOMEM. */
udpa_err udpai_runtime_directory_read(udpai_runtime_layer **ret_layer,
                                      udpai_str name,
                                      const char *path,
                                      udpai_runtime_directories *directories,
                                      udpa_error **ret_error);

/* The same, tried again if it has changed while it was read. The list and the place for the error
 * are needed. */
udpa_err udpai_runtime_directory_read_whole(udpai_runtime_layer **ret_layer,
                                            udpai_str name,
                                            const char *path,
                                            udpai_runtime_directories *directories,
                                            udpa_error **ret_error);

#endif
