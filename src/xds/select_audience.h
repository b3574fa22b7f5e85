/* SPDX-License-Identifier: Apache-2.0 */
/* Which audience a client belongs to: a step that sessions of every protocol for clients take.
 * Belongs to the stream thread. */
#ifndef UDPAI_XDS_SELECT_AUDIENCE_H
#define UDPAI_XDS_SELECT_AUDIENCE_H

#include "xds/server.h"

typedef struct udpai_xds_membership {
    const udpai_xds_audience *audience; /* NULL: to none yet */
    udpai_xds_group *group;             /* with this audience; NULL: it is the server's */
} udpai_xds_membership;

/* UDPA_ERR_DENIED: to none; it is logged. On failure nothing has changed. */
udpa_err udpai_xds_select_audience(udpai_xds_server *server,
                                   udpai_hub *hub,
                                   const udpai_xds_client *client,
                                   udpai_xds_membership *ret_belonging,
                                   udpa_error **ret_error);
void
udpai_xds_leave_audience(udpai_xds_server *server, udpai_hub *hub, udpai_xds_membership *belonging);
/* Rejects a client that no audience is for, and logs it. */
udpa_err udpai_xds_reject_unmatched_client(udpai_xds_server *server,
                                           udpai_hub *hub,
                                           const udpai_xds_client *client,
                                           udpa_error **ret_error);

#endif
