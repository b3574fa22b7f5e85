/* SPDX-License-Identifier: Apache-2.0 */
/* UDPA by REST: a FetchRequest is polled (poll.h), and its FetchResponse is the latest state of
 * what it subscribes to. Resources of configuration alone: what clients report is not served so,
 * and secrets only where nobody else can read them. */
#ifndef UDPAI_UDPA_POLL_H
#define UDPAI_UDPA_POLL_H

#include "base/proto.h"
#include "session/hub.h"

#define UDPAI_UDPA_POLL_PATH "/v1/udpa:resources"

/* What every such session needs; the context of the method. Outlives the hub. */
typedef struct udpai_udpa_polls {
    const udpai_str *secret_types; /* type URLs, besides Envoy's Secret */
    size_t n_secret_types;
} udpai_udpa_polls;

/* Field numbers of FetchResponse. */
#define UDPAI_UDPA_POLL_RESOURCES 3
#define UDPAI_UDPA_POLL_ERRORS 4

/* The contents of a FetchResponse.Error: one of its resources (a Resource) cannot be written. */
void udpai_udpa_poll_put_error(udpai_proto_writer *writer, udpai_str resource, udpai_str reason);

udpa_err
udpai_udpa_poll_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info);

#endif
