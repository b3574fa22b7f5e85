/* SPDX-License-Identifier: Apache-2.0 */
/* A bearer token that a file has, for clients that know it (RFC 6750). The file is looked at with
 * each question, so that another token is effective, and the former one is not, as soon as it is
 * there. Belongs to one thread, which may wait for a disk. */
#ifndef UDPAI_TOKEN_FILE_H
#define UDPAI_TOKEN_FILE_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_TOKEN_MIN 16 /* bytes */
#define UDPAI_TOKEN_MAX 200

typedef struct udpai_token_file udpai_token_file;

/* Reads it: one line, of characters that a header may have. UDPA_ERR_DENIED: others than its owner
 * and its group may do something with the file. The path is borrowed. */
udpa_err
udpai_token_file_open(udpai_token_file **ret_file, const char *path, udpa_error **ret_error);
/* Does this header (Authorization) have the token? The time that it takes does not depend on where
 * a wrong one differs. While the file cannot be read, or has no token, none is right; that is
 * logged. */
bool udpai_token_file_accepts(udpai_token_file *file, udpai_str authorization);
/* As it was read last; empty: there is none. */
udpai_str udpai_token_file_token(const udpai_token_file *file);
/* NULL is fine. */
udpai_token_file *udpai_token_file_free(udpai_token_file *file);
UDPA_DEFINE_CLEANUP(udpai_token_file, udpai_token_file_free)

#endif
