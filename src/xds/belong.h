/* SPDX-License-Identifier: Apache-2.0 */
/* Which audience a client belongs to: a step that sessions of every protocol for clients take.
 * Belongs to the stream thread. */
#ifndef UDPAI_XDS_BELONG_H
#define UDPAI_XDS_BELONG_H

#include "xds/shim.h"

typedef struct udpai_xds_belonging {
    const udpai_xds_audience *audience; /* NULL: to none yet */
    udpai_xds_group *group;             /* whose audience it is; NULL: it is the shim's */
} udpai_xds_belonging;

/* UDPA_ERR_DENIED: to none; it is logged. On failure nothing has changed. */
udpa_err udpai_xds_belong(udpai_xds_shim *shim,
                          udpai_hub *hub,
                          const udpai_xds_client *client,
                          udpai_xds_belonging *ret_belonging,
                          udpa_error **ret_error);
void udpai_xds_belong_no_more(udpai_xds_shim *shim, udpai_hub *hub, udpai_xds_belonging *belonging);
/* Says that no audience is for this client, and logs it. */
udpa_err udpai_xds_refuse_stranger(udpai_xds_shim *shim,
                                   udpai_hub *hub,
                                   const udpai_xds_client *client,
                                   udpa_error **ret_error);

#endif
