/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a connection of OpenSSL's. */
#ifndef UDPAI_TLS_IDENTITY_H
#define UDPAI_TLS_IDENTITY_H

#include <openssl/ssl.h>

#include "base/error.h"
#include "base/util.h"
#include "model/identity.h"

/* By a certificate that was verified, and that is called @p whose in errors; NULL: none was
 * presented. */
udpa_err udpai_ssl_identity(SSL *ssl,
                            const char *whose,
                            udpai_identity **ret_identity,
                            udpa_error **ret_error);

#endif
