/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that are made, one after the other or at a rate, and when each stream has had them. */
#ifndef UDPAI_BENCH_CHANGES_H
#define UDPAI_BENCH_CHANGES_H

#include "tools/bench/changer.h"
#include "tools/bench/slow.h"

struct udpai_load_change;

typedef struct udpai_changes {
    const udpai_load_options *options;
    udpai_load_clients *clients;
    udpai_changer *changer;
    udpai_load_figures *figures;
    struct udpai_load_change *all;     /* owned; by serial, of which the first is 1 */
    size_t n_sent, n_over, n_received; /* the last: receipts */
    uint64_t last_ns;                  /* when something has come */
    bool is_measured;                  /* deliveries are figures */
    uint64_t n_awaited;                /* streams that had to receive the last one */
    udpai_slow slow;
} udpai_changes;

udpa_err udpai_changes_begin(udpai_changes *changes,
                             udpai_load_clients *clients,
                             udpai_changer *changer,
                             udpai_load_figures *figures,
                             udpa_error **ret_error);
void udpai_changes_end(udpai_changes *changes);
/* All by the options. */
udpa_err udpai_changes_run(udpai_changes *changes, udpa_error **ret_error);
/* One more, which is awaited, and is in no figure. */
udpa_err udpai_changes_run_one(udpai_changes *changes, udpa_error **ret_error);

#endif
