/* SPDX-License-Identifier: Apache-2.0 */
/* Files of keys that resources are signed and verified with. To be called where waiting for a disk
 * is allowed. */
#ifndef UDPAI_KEY_FILE_H
#define UDPAI_KEY_FILE_H

#include <sys/stat.h>

#include "certs/key.h"

/* UDPA_ERR_DENIED: others than the owner and the group of a file of a private key may do something
 * with it. */
udpa_err udpai_key_file_check_mode(const char *path, mode_t mode, udpa_error **ret_error);

/* Every message begins with the file. */
udpa_err udpai_key_file_read_private(udpai_key **ret_key, const char *path, udpa_error **ret_error);
/* A public key, or a certificate. */
udpa_err udpai_key_file_read_public(udpai_key **ret_key, const char *path, udpa_error **ret_error);

#endif
