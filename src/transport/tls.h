/* SPDX-License-Identifier: Apache-2.0 */
/* TLS by OpenSSL, without a socket: what comes from the peer goes in, what goes to it comes out. */
#ifndef UDPAI_TLS_H
#define UDPAI_TLS_H

#include <openssl/ssl.h>

#include "base/strbuf.h"
#include "model/tls_agreed.h"
#include "transport/tls_files.h"
#include "transport/trust.h"

/* ---- tls.c: what many connections have in common ---- */

typedef struct udpai_tls_options {
    /* With authorities clients are asked for certificates, which they must have … */
    const udpai_tls_files *files;
    bool is_optional; /* … unless this is set */
    bool is_second;   /* HTTP/2 alone is agreed on by ALPN */
    /* Judges certificates in the handshake, by what is trusted then; outlives the context. NULL:
     * OpenSSL does, by the authorities of the files. */
    udpai_trust *trust;
    OSSL_LIB_CTX *crypto; /* with what handshakes are made (tls_crypto.h); NULL: the usual */
} udpai_tls_options;

/* Any thread. */
udpa_err
udpai_tls_context(SSL_CTX **ret_context, const udpai_tls_options *options, udpa_error **ret_error);

/* ---- tls_session.c: one connection; it belongs to one thread ---- */

typedef struct udpai_tls_session udpai_tls_session;

/* NULL without memory. */
udpai_tls_session *udpai_tls_session_new(SSL_CTX *context);
udpai_tls_session *udpai_tls_session_free(udpai_tls_session *tls);
UDPA_DEFINE_CLEANUP(udpai_tls_session, udpai_tls_session_free)
/* Bytes of the peer: appends their plain text to @p plain, and what is to be sent to @p out. False:
 * it sends nothing more, or what makes no sense; of that @p out may have an alert for it. */
bool udpai_tls_session_take(udpai_tls_session *tls,
                            udpai_str bytes,
                            udpai_strbuf *plain,
                            udpai_strbuf *out);
/* Appends to @p out the bytes for @p plain; after the handshake. False: it is broken. */
bool udpai_tls_session_give(udpai_tls_session *tls, udpai_str plain, udpai_strbuf *out);
/* Sends the peer that there is nothing more. */
void udpai_tls_session_close(udpai_tls_session *tls, udpai_strbuf *out);
/* Why the certificate of the peer was not accepted; borrowed. NULL: it was, or has not come. */
const udpa_error *udpai_tls_session_why(const udpai_tls_session *tls);
/* The handshake has been done. */
bool udpai_tls_session_is_open(const udpai_tls_session *tls);
/* HTTP/2, or HTTP/1.1, was agreed on by ALPN. */
bool udpai_tls_session_is_second(const udpai_tls_session *tls);
bool udpai_tls_session_is_first(const udpai_tls_session *tls);
SSL *udpai_tls_session_ssl(const udpai_tls_session *tls);
/* After the handshake. */
udpai_tls_agreed udpai_tls_session_agreed(const udpai_tls_session *tls);

/* For tls.c: takes the error. */
void udpai_tls_session_set_why(SSL *ssl, udpa_error *why);

#endif
