/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that stand beside udpad in the benchmark have in common: options, sockets, and
 * how they end. */
#ifndef PEERS_PROGRAM_H
#define PEERS_PROGRAM_H

#include "base/util.h"

typedef struct peer_options {
    size_t n_resources;
    size_t size_bytes; /* of a resource's contents, at least */
    /* PEM files; all of them, or none: then there is no TLS. */
    const char *certificate, *private_key, *authorities;
} peer_options;

/* Says it on stderr, and ends the program: one that is measured has nothing to save. */
void peer_fail(const char *format, ...) UDPA_PRINTF(1, 2) __attribute__((noreturn));

/* The program ends if they are wrong. */
void peer_options_read(peer_options *options, int argc, char **argv);

/* As many open files as may be; and a descriptor that can be read when the program is to end. */
int peer_begin(void);

/* Listens on a free port of loopback; connections do not block. */
int peer_listen(unsigned *ret_port);
/* A connection; -1: there is none. */
int peer_accept(int listener);

/* Tells whoever has started the program that it is ready. */
void peer_announce(unsigned port, unsigned control_port);

#endif
