/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl top shows: rates between two pages of metrics, and the clients that are most behind.
 * Pure. */
#ifndef UDPAI_CTL_TOP_VIEW_H
#define UDPAI_CTL_TOP_VIEW_H

#include <udpa/resource.h>

#include "cli/series.h"
#include "cli/table.h"

#define UDPAI_CTL_TOP_CLIENTS 5
#define UDPAI_CTL_TOP_SOURCES 10

/* One of the clients that are most behind. */
typedef struct udpai_ctl_top_client {
    char *name, *address, *protocol;                      /* owned; NULL: no memory */
    uint64_t n_rejected, n_unanswered, n_behind, n_nacks; /* of resources, responses, types; all */
} udpai_ctl_top_client;

typedef struct udpai_ctl_top_clients {
    udpai_ctl_top_client items[UDPAI_CTL_TOP_CLIENTS]; /* the worst first */
    size_t n;
    size_t n_clients; /* streams of clients, of which these are some */
    bool is_known;    /* false: the node has not reported its clients */
} udpai_ctl_top_clients;

/* Of the resources SessionStatus. To be followed by udpai_ctl_top_clients_done(). */
void udpai_ctl_top_clients_find(udpai_ctl_top_clients *clients,
                                udpa_resource *const *resources,
                                size_t n);
void udpai_ctl_top_clients_done(udpai_ctl_top_clients *clients);

typedef struct udpai_ctl_top {
    const udpai_cli_page *now, *before;
    const udpai_ctl_top_clients *clients;
    const char *node; /* its address */
} udpai_ctl_top;

/* By the clock of the node; 0: one page is not newer than the other. */
double udpai_ctl_top_seconds(const udpai_cli_page *now, const udpai_cli_page *before);
void udpai_ctl_top_put(const udpai_ctl_top *top, udpai_cli_layout *layout, udpai_strbuf *out);
/* One line. */
void udpai_ctl_top_put_json(const udpai_ctl_top *top, udpai_strbuf *out);

#endif
