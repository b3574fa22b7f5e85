/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of a connection of OpenSSL's. */
#ifndef UDPAI_TLS_IDENTITY_H
#define UDPAI_TLS_IDENTITY_H

#include <openssl/ssl.h>

#include "certs/certificate.h"

/* These, the first one first; they are called @p label in errors. What is among the others again is
 * not taken twice. */
udpa_err udpai_x509_chain(X509 *own,
                          STACK_OF(X509) * others,
                          const char *label,
                          udpai_chain **ret_chain,
                          udpa_error **ret_error);
/* What it has presented, its own certificate first, and that was verified in the handshake; it is
 * called @p label in errors. NULL: nothing. */
udpa_err
udpai_ssl_chain(SSL *ssl, const char *label, udpai_chain **ret_chain, udpa_error **ret_error);

#endif
