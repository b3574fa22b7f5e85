/* SPDX-License-Identifier: Apache-2.0 */
/* Why a resource is served, or not, and to whom, as text. Pure. */
#ifndef UDPAI_CTL_EXPLAIN_VIEW_H
#define UDPAI_CTL_EXPLAIN_VIEW_H

#include "cli/table.h"
#include "ctl/awaited.h"
#include "udpa/status/v1/status.pb-c.h"

/* What the node has answered; each NULL: nothing. */
typedef struct udpai_ctl_explained {
    const char *type_url, *name;              /* borrowed */
    Udpa__Status__V1__OriginsStatus *origins; /* owned */
    udpai_ctl_awaited_list acknowledgements;  /* of the one; owned */
    char *waits;        /* owned: the sources that the node waits for; empty: for none */
    char *rejecting;    /* owned: sources of which the node has rejected something; empty: none */
    const char *client; /* borrowed: the one that is asked about */
    Udpa__Status__V1__AccessStatus *access; /* owned: of the client */
} udpai_ctl_explained;

void udpai_ctl_explained_done(udpai_ctl_explained *explained);
bool udpai_ctl_explained_is_served(const udpai_ctl_explained *explained);
/* The session of the client; NULL: none that subscribes to it is known. */
const Udpa__Status__V1__SessionAcknowledgement *
udpai_ctl_explained_session(const udpai_ctl_explained *explained);

/* A line of what is so, then tables of the contributions and of the clients that lack it. */
void udpai_ctl_put_explained(udpai_strbuf *out,
                             udpai_cli_layout *layout,
                             const udpai_ctl_explained *explained,
                             int64_t now_us);
/* The same as one JSON object. */
void udpai_ctl_put_explained_json(udpai_strbuf *out, const udpai_ctl_explained *explained);

#endif
