/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes resources to the server, and changes them. */
#ifndef UDPAI_BENCH_CHANGER_H
#define UDPAI_BENCH_CHANGER_H

#include "tools/bench/link.h"
#include "tools/bench/spaces.h"
#include "tools/bench/stream.h"

typedef struct udpai_changer {
    const udpai_load_options *options;
    udpai_load_loop *loop;
    udpai_contents *contents; /* owned; one for each namespace */
    /* By publishing to a node of UDPA: */
    SSL_CTX *tls;
    udpai_link *link;
    udpai_load_stream stream;
    bool is_ready;
    uint64_t n_receipts, n_publications; /* that have come; of the first resources */
    /* A receipt of the change with this serial, or 0: of first resources; may be NULL. */
    void (*received)(void *userdata, uint64_t serial);
    void *userdata;
    udpa_err code; /* what has gone wrong, and how */
    udpai_strbuf error;
    /* By records: */
    int control; /* -1: not so */
} udpai_changer;

/* With options that make no changes it does nothing. */
udpa_err udpai_changer_begin(udpai_changer *changer,
                             udpai_load_loop *loop,
                             const udpai_load_options *options,
                             udpa_error **ret_error);
void udpai_changer_end(udpai_changer *changer);
bool udpai_changer_can(const udpai_changer *changer);
/* Publishes all there are, and waits for the receipts. */
udpa_err udpai_changer_fill(udpai_changer *changer, udpa_error **ret_error);
/* Removes all that was published; does what it can. */
void udpai_changer_clean(udpai_changer *changer);
/* The resource, and those after it if n > 1, carry this serial from now on. */
udpa_err udpai_changer_change(
    udpai_changer *changer, size_t resource, size_t n, uint64_t serial, udpa_error **ret_error);

#endif
