/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL in a program with threads that belong to libraries. */
#ifndef UDPAI_TLS_PROGRAM_H
#define UDPAI_TLS_PROGRAM_H

/* For main(), before anything uses OpenSSL: exit() then leaves OpenSSL as it is. gRPC's threads may
 * be in a handshake until the very end, which waits for none of them; torn down under them, OpenSSL
 * would be used after it was freed, and lose what it keeps for each thread. */
void udpai_tls_program_begin(void);

#endif
