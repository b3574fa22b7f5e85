/* SPDX-License-Identifier: Apache-2.0 */
/* The file that holds the password of a user of etcd. */
#ifndef UDPAI_PASSWORD_FILE_H
#define UDPAI_PASSWORD_FILE_H

#include "base/error.h"

#define UDPAI_PASSWORD_MAX 256 /* bytes */

/* Reads a password: a file of one line, with or without its end. The file must belong to its owner
 * alone (mode 0600 or 0400). The caller wipes @p password when done with it; untouched on
 * failure. */
udpa_err udpai_password_file_read(const char *path,
                                  char password[UDPAI_PASSWORD_MAX + 1],
                                  udpa_error **ret_error);

#endif
