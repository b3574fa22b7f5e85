/* SPDX-License-Identifier: Apache-2.0 */
/* The file that holds the key for secrets at rest. */
#ifndef UDPAI_SECRET_KEY_H
#define UDPAI_SECRET_KEY_H

#include "storage/seal.h"

/* Reads a key: a file of 32 bytes, or of 64 hexadecimal digits with or without a line end. The file
 * must belong to its owner alone (mode 0600 or 0400). The caller wipes @p key when done with it;
 * untouched on failure. */
udpa_err
udpai_secret_key_read(const char *path, uint8_t key[UDPAI_SECRET_KEY_SIZE], udpa_error **ret_error);

#endif
