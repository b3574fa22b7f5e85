/* SPDX-License-Identifier: Apache-2.0 */
/* CSDS as a client answers it: about itself alone, as those of gRPC do. What it has of what it
 * subscribes to only the loop side knows: it is asked, and the stream waits for its answer. */
#ifndef UDPAI_CSDS_OWN_H
#define UDPAI_CSDS_OWN_H

#include "base/strbuf.h"
#include "xds/csds.h"

/* So many questions wait, or are read, at a time: what each takes in memory is bounded. */
#define UDPAI_CSDS_OWN_MAX 8
/* The loop side may be busy, but not for ever. */
#define UDPAI_CSDS_OWN_PATIENCE_MS 10000
/* All that is sent in one answer. */
#define UDPAI_CSDS_OWN_BYTES_MAX ((size_t)64 << 20)

/* What both methods share; belongs to the hub's owner, and outlives the hub. */
typedef struct udpai_csds_own {
    size_t n_answers; /* that are made, or read; the sessions count them */
} udpai_csds_own;

typedef struct udpai_csds_own_method {
    udpai_csds_own *own;
    bool is_fetch;
} udpai_csds_own_method;

/* Begins a session on a new stream, whose info->context is a udpai_csds_own_method. */
udpa_err udpai_csds_own_session_new(udpai_session **ret_session,
                                    udpai_hub *hub,
                                    const udpai_stream_info *info);

/* ---- for the loop side ---- */

/* As envoy.admin.v3.ClientResourceStatus. */
typedef enum udpai_own_state {
    UDPAI_OWN_REQUESTED = 1,
    UDPAI_OWN_DOES_NOT_EXIST = 2,
    UDPAI_OWN_ACKED = 3,
    UDPAI_OWN_NACKED = 4,
} udpai_own_state;

/* A resource that was subscribed to. */
typedef struct udpai_own_entry {
    udpai_str type_url, name;
    udpai_own_state state;
    const udpa_resource *good;   /* that is in use; NULL: none */
    const udpa_resource *failed; /* NACKED: what was refused */
    const udpa_error *error;     /* and why */
    int64_t updated_us, failed_us;
    bool with_bodies;
} udpai_own_entry;

/* Appends a GenericXdsConfig, as a field of a ClientConfig. False: no memory. */
bool udpai_own_entry_put(udpai_strbuf *out, const udpai_own_entry *entry);

#endif
