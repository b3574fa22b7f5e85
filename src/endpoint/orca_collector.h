/* SPDX-License-Identifier: Apache-2.0 */
/* Backends that are asked for their load (ORCA), because a resource of udpa.load.v1.OrcaCollection
 * names them, and while it has a subscription: each is dialled, and its answers are reported as
 * udpa.load.v1.OrcaReport (docs/guide/orca.md). On the loop. */
#ifndef UDPAI_ORCA_COLLECTOR_H
#define UDPAI_ORCA_COLLECTOR_H

#include "endpoint/service.h"
#include "xds/orca.h"

/* Links of backends are above, those of the node below. */
#define UDPAI_ORCA_LINKS (UINT64_C(1) << 62)

/* How a backend is reached. */
typedef struct udpai_orca_reach {
    /* May it be, by this credential (empty: none)? */
    udpa_err (*check)(void *userdata,
                      const udpai_orca_backend *backend,
                      udpai_str credential,
                      udpa_error **ret_error);
    /* The same, and how: *ret_target is a reference. Asked with each attempt. */
    udpa_err (*make_target)(void *userdata,
                            const udpai_orca_backend *backend,
                            udpai_str credential,
                            void **ret_target,
                            udpa_error **ret_error);
    void (*release_target)(void *target);
    void *userdata;
} udpai_orca_reach;

/* The authorities of resources that are followed. */
typedef struct udpai_orca_rules {
    const udpai_str *authorities; /* patterns; none: none are followed */
    size_t n_authorities;
    const udpai_str *prefixes; /* of names; none: all */
    size_t n_prefixes;
    size_t max_backends; /* at one time */
    udpai_orca_reach reach;
} udpai_orca_rules;

typedef struct udpai_orca_collector_options {
    udpai_node *node;
    udpai_wheel *wheel;
    udpai_orca_rules rules; /* lists are copied */
    uint64_t backoff_base_ms, backoff_max_ms;
    void (*order)(void *userdata, udpai_order *order); /* takes it */
    uint64_t (*random)(void *userdata);
    void *userdata;
} udpai_orca_collector_options;

/* *ret_collector: NULL if no resources are followed. */
udpa_err udpai_orca_collector_new(udpai_service **ret_collector,
                                  const udpai_orca_collector_options *options);

#endif
