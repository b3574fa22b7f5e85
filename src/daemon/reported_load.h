/* SPDX-License-Identifier: Apache-2.0 */
/* The file load-told in the state directory: what was reported of load to upstream servers of LRS,
 * so that a node that begins anew reports each request once (docs/design/client-resources.md). Read
 * on the thread that starts; written by the stream thread, which reports to them. */
#ifndef UDPAI_REPORTED_LOAD_H
#define UDPAI_REPORTED_LOAD_H

#include "base/vector.h"
#include "xds/lrs_upstream.h"

typedef struct udpai_reported_load udpai_reported_load;

typedef struct udpai_reported_load_server {
    udpai_str source; /* its name; borrowed, as the other is */
    udpai_lrs_upstream *upstream;
} udpai_reported_load_server;

/* Goes on with what is kept, before anything is reported; what another owner has kept, of which
 * this is a copy, is nothing. *ret_reported: NULL, and a warning, if the file cannot be had: then
 * what comes from now on is reported. UDPA_ERR_NOMEM */
udpa_err udpai_reported_load_open(udpai_reported_load **ret_reported,
                                  const char *path,
                                  udpai_str owner,
                                  const udpai_reported_load_server *servers,
                                  size_t n_servers);
/* When there are no streams any more, and before the servers are dropped. NULL is nothing. */
void udpai_reported_load_close(udpai_reported_load *reported);

#endif
