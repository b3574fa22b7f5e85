/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a connection of OpenSSL's. */
#ifndef UDPAI_TLS_IDENTITY_H
#define UDPAI_TLS_IDENTITY_H

#include <openssl/ssl.h>

#include "certs/certificate.h"

/* What it has shown, its own certificate first, and that was verified in the handshake; it is
 * called
 * @p whose in errors. NULL: nothing. */
udpa_err
udpai_ssl_chain(SSL *ssl, const char *label, udpai_chain **ret_chain, udpa_error **ret_error);

#endif
