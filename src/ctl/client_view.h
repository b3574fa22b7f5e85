/* SPDX-License-Identifier: Apache-2.0 */
/* What one client has, and what it should have, by what CSDS reports of it. Pure. */
#ifndef UDPAI_CTL_CLIENT_VIEW_H
#define UDPAI_CTL_CLIENT_VIEW_H

#include "base/strbuf.h"
#include "base/vector.h"
#include "cli/found.h"
#include "cli/requests.h"
#include "cli/table.h"
#include "envoy/service/status/v3/csds.pb-c.h"

/* So many resources are looked up at the node, for where they are from. */
#define UDPAI_CTL_CLIENT_LOOKED_UP_MAX 2000

typedef Envoy__Service__Status__V3__ClientStatusResponse udpai_ctl_client_response;

typedef struct udpai_ctl_client_state {
    UDPAI_VECTOR(udpai_ctl_client_response *) responses; /* owned */
    const char *type_url;                                /* only of this type; NULL: of all */
    const char *name_space;                              /* of names that have none */
    bool lists_all;                                      /* what is as it should be, too */
    udpai_cli_found found;                               /* resources of the node */
} udpai_ctl_client_state;

void udpai_ctl_client_begin(udpai_ctl_client_state *state);
void udpai_ctl_client_done(udpai_ctl_client_state *state);
/* Reads a response, as bytes. UDPA_ERR_MALFORMED: it is none. */
udpa_err udpai_ctl_client_take(udpai_ctl_client_state *state, udpai_str message);
/* Is there a client in it? */
bool udpai_ctl_client_is_known(const udpai_ctl_client_state *state);
/* The requests for those resources that are to be listed. */
udpa_err udpai_ctl_client_request(const udpai_ctl_client_state *state,
                                  udpai_cli_requests *requests);

/* Appends tables: how many of each type are in which state, and what differs. */
void udpai_ctl_client_put(const udpai_ctl_client_state *state,
                          udpai_cli_layout *layout,
                          int64_t now_us,
                          udpai_strbuf *out);
void udpai_ctl_client_put_json(const udpai_ctl_client_state *state, udpai_strbuf *out);

#endif
