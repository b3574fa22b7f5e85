/* SPDX-License-Identifier: Apache-2.0 */
/* The files behind a TLS socket, read and checked before they are handed to gRPC, which would
 * report little about what is wrong with them. To be called where waiting for a disk is allowed. */
#ifndef UDPAI_TLS_FILES_H
#define UDPAI_TLS_FILES_H

#include "base/error.h"
#include "base/util.h"
#include "certs/trust_store.h"

/* NULL or empty: none. Certificate and key come together. */
typedef struct udpai_tls_paths {
    const char *certificate; /* first our own, then those that lead to the authority */
    const char *private_key;
    const char *authorities; /* what may sign for the peer */
    const char *revocations; /* and what they have revoked; with authorities */
} udpai_tls_paths;

/* NUL-terminated PEM as it is in the files, which hold no zero bytes; NULL: none. All owned. */
typedef struct udpai_tls_files {
    char *certificate, *private_key, *authorities;
    udpai_trust_store *trust; /* the authorities, with what they have revoked; NULL: none */
    udpai_identity *identity; /* ours; NULL: without a certificate, or it has no clear name */
    int64_t not_after_s;      /* when our certificate, or one behind it, ends; INT64_MAX: never */
} udpai_tls_files;

/* Reads them all, or fails with a sentence that names the file. Checks that they are what they
 * should be, that key and certificate belong together, and that they are valid at @p now_s.
 * To be followed by udpai_tls_files_done(). */
udpa_err udpai_tls_files_read(udpai_tls_files *ret_files,
                              const udpai_tls_paths *paths,
                              int64_t now_s,
                              udpa_error **ret_error);

/* Wipes the key. */
void udpai_tls_files_done(udpai_tls_files *files);

#endif
