/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that does not block, with TLS or without. */
#ifndef FLOOR_LINK_H
#define FLOOR_LINK_H

#include <openssl/ssl.h>
#include <sys/uio.h>

#include "base/strbuf.h"
#include "peers/program.h"

typedef struct floor_link {
    int fd;
    SSL *ssl;          /* NULL: without */
    udpai_strbuf rest; /* TLS has it, and has not written it */
    bool wants_out;    /* TLS must write before it can read */
    bool is_broken;
} floor_link;

/* NULL: the options want no TLS. */
SSL_CTX *floor_tls_new(const peer_options *options);

/* Takes the descriptor. */
void floor_link_open(floor_link *link, int fd, SSL_CTX *tls);
void floor_link_close(floor_link *link);

/* How many bytes have come; 0: none for now, or the link is broken. */
size_t floor_link_read(floor_link *link, uint8_t *room, size_t size);
/* May there be more that no event will tell of? */
bool floor_link_has_more(const floor_link *link);

/* So many bytes are best written at once. */
size_t floor_link_most(const floor_link *link);
/* How many bytes it has taken, from the first on. Fewer than all: it is blocked, or broken. What
 * TLS has taken, it may still have to write. */
size_t floor_link_write(floor_link *link, const struct iovec *parts, size_t n_parts);
/* Writes what was taken before; false: it is still blocked, or broken. */
bool floor_link_flush(floor_link *link);

#endif
