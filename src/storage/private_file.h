/* SPDX-License-Identifier: Apache-2.0 */
/* Files with a secret, which their owner alone may read: what others could have read is none. */
#ifndef UDPAI_PRIVATE_FILE_H
#define UDPAI_PRIVATE_FILE_H

#include "base/error.h"
#include "base/util.h"

/* Reads a regular file of mode 0600 or 0400 into @p room, until it is full; the caller wipes it,
 * also after an error. @p secret: what it has, for messages: "key". */
udpa_err udpai_private_file_read(
    const char *path, const char *secret, char *room, size_t *size, udpa_error **ret_error);

#endif
