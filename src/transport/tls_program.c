/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tls_program.h"

#include <openssl/crypto.h>

void
udpai_tls_program_begin(void)
{
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); /* fails only without memory */
}
