/* SPDX-License-Identifier: Apache-2.0 */
/* What TLS has agreed on for a connection, for people to look at. A value. */
#ifndef UDPAI_TLS_AGREED_H
#define UDPAI_TLS_AGREED_H

/* Static texts. NULL: there is no TLS, or that is not known. */
typedef struct udpai_tls_agreed {
    const char *version; /* "TLSv1.3" */
    const char *group;   /* of the key exchange: "X25519"; NULL also if it is none that we offer */
    const char *cipher;  /* as OpenSSL calls it */
} udpai_tls_agreed;

#endif
