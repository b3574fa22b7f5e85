/* SPDX-License-Identifier: Apache-2.0 */
/* Where spans of changes go (docs/design/traces.md). */
#ifndef UDPAI_DAEMON_TRACES_H
#define UDPAI_DAEMON_TRACES_H

#include "daemon/plan.h"
#include "transport/otlp/exporter.h"

/* To be called once there are workers, which are other processes: gRPC does not survive fork().
 * What the endpoint is made with takes spans to it. *ret_exporter NULL: nothing is traced. */
udpa_err udpai_daemon_traces_open(udpai_otlp_exporter **ret_exporter,
                                  const udpai_plan *plan,
                                  udpai_endpoint_settings *settings,
                                  udpa_error **ret_error);

#endif
