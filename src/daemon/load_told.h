/* SPDX-License-Identifier: Apache-2.0 */
/* The file load-told in the state directory: what servers of LRS above were told of load, so that a
 * node that begins anew tells each request once (docs/design/client-resources.md). Read on the
 * thread that starts; written by the stream thread, which tells them. */
#ifndef UDPAI_LOAD_TOLD_H
#define UDPAI_LOAD_TOLD_H

#include "base/vector.h"
#include "xds/lrs_upstream.h"

typedef struct udpai_load_told udpai_load_told;

typedef struct udpai_load_told_server {
    udpai_str source; /* its name; borrowed, as the other is */
    udpai_lrs_upstream *upstream;
} udpai_load_told_server;

/* Goes on with what is kept, before anybody is told anything; what another owner has kept, of which
 * this is a copy, is nothing. *ret_told: NULL, and a warning, if the file cannot be had: then
 * servers are told what comes from now on. UDPA_ERR_NOMEM */
udpa_err udpai_load_told_open(udpai_load_told **ret_told,
                              const char *path,
                              udpai_str owner,
                              const udpai_load_told_server *servers,
                              size_t n_servers);
/* When there are no streams any more, and before the servers are dropped. NULL is nothing. */
void udpai_load_told_close(udpai_load_told *told);

#endif
