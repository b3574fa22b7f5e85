/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of the runtime that come by RTDS, as the bootstrap file has them. */
#ifndef UDPAI_DAEMON_RTDS_CHECK_H
#define UDPAI_DAEMON_RTDS_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* The name of the layer's resource, with its namespace: if none is said, that of its source, and if
 * that says none, this one. To be freed with udpai_free(); NULL without memory. */
char *udpai_rtds_full_name(const Udpa__Config__V1__Bootstrap *message,
                           const Udpa__Config__V1__RuntimeRtdsLayer *layer,
                           const char *name_space);

/* Tells what is wrong with those of them that are layers[…].rtds_layer. */
void udpai_rtds_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics);

#endif
