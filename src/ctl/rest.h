/* SPDX-License-Identifier: Apache-2.0 */
/* A server of xDS by REST as the library wants it described. */
#ifndef UDPAI_CTL_REST_H
#define UDPAI_CTL_REST_H

#include "ctl/client.h"

/* What it refers to lasts until udpai_ctl_end(). */
udpai_ctl_exit udpai_ctl_rest_server(udpai_ctl *ctl, udpa_rest_server *ret_server);

#endif
