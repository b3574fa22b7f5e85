/* SPDX-License-Identifier: Apache-2.0 */
/* TLS by OpenSSL, without a socket: what comes from the peer goes in, what goes to it comes out. */
#ifndef UDPAI_HTTP_TLS_H
#define UDPAI_HTTP_TLS_H

#include <openssl/ssl.h>

#include "base/strbuf.h"
#include "transport/tls_files.h"

/* ---- tls.c: what many connections have in common ---- */

/* Any thread. With authorities clients are asked for certificates, which they must have unless
 * that is optional. */
udpa_err udpai_http_tls_context(SSL_CTX **ret_context,
                                const udpai_tls_files *files,
                                bool is_optional,
                                udpa_error **ret_error);

/* ---- tls_session.c: one connection; it belongs to one thread ---- */

typedef struct udpai_http_tls udpai_http_tls;

/* NULL without memory. */
udpai_http_tls *udpai_http_tls_new(SSL_CTX *context);
udpai_http_tls *udpai_http_tls_free(udpai_http_tls *tls);
UDPA_DEFINE_CLEANUP(udpai_http_tls, udpai_http_tls_free)
/* Bytes of the peer: appends their plain text to @p plain, and what is to be sent to @p out. False:
 * it sends nothing more, or what makes no sense; of that @p out may have an alert for it. */
bool
udpai_http_tls_take(udpai_http_tls *tls, udpai_str bytes, udpai_strbuf *plain, udpai_strbuf *out);
/* Appends to @p out the bytes for @p plain; after the handshake. False: it is broken. */
bool udpai_http_tls_give(udpai_http_tls *tls, udpai_str plain, udpai_strbuf *out);
/* Sends the peer that there is nothing more. */
void udpai_http_tls_close(udpai_http_tls *tls, udpai_strbuf *out);
/* The handshake has been done. */
bool udpai_http_tls_is_open(const udpai_http_tls *tls);
/* It was agreed on by ALPN. */
bool udpai_http_tls_is_second(const udpai_http_tls *tls);
SSL *udpai_http_tls_ssl(const udpai_http_tls *tls);

#endif
