/* SPDX-License-Identifier: Apache-2.0 */
/* What handshakes with clients are made with. */
#ifndef UDPAI_TLS_CRYPTO_H
#define UDPAI_TLS_CRYPTO_H

#include <openssl/crypto.h>

/* Any thread. NULL: the usual one, if there can be no other. */
OSSL_LIB_CTX *udpai_tls_crypto(void);

#endif
