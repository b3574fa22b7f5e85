/* SPDX-License-Identifier: Apache-2.0 */
/* Files of keys that resources are signed and verified with. To be called where waiting for a disk
 * is allowed. */
#ifndef UDPAI_KEY_FILE_H
#define UDPAI_KEY_FILE_H

#include "certs/key.h"

/* Every message begins with the file. Warns of private keys that everybody can read. */
udpa_err udpai_key_file_read_private(udpai_key **ret_key, const char *path, udpa_error **ret_error);
/* A public key, or a certificate. */
udpa_err udpai_key_file_read_public(udpai_key **ret_key, const char *path, udpa_error **ret_error);

#endif
