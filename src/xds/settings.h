/* SPDX-License-Identifier: Apache-2.0 */
/* What xDS sessions must know from the configuration. The hub's owner fills it in, initialises it
 * and passes it as the context of every xDS stream. It stays as it is and outlives the hub: what
 * was composed for one form of responses is found again by the address of its renderer. Belongs to
 * the stream thread. */
#ifndef UDPAI_XDS_SETTINGS_H
#define UDPAI_XDS_SETTINGS_H

#include "base/log.h"
#include "fanout/body.h"

typedef struct udpai_xds_settings udpai_xds_settings;

/* The forms that responses have. */
typedef enum udpai_xds_form {
    UDPAI_XDS_DELTA,
    UDPAI_XDS_SOTW,           /* payloads alone: a ttl cannot be said */
    UDPAI_XDS_SOTW_WRAPPED,   /* what has a ttl is wrapped in a Resource */
    UDPAI_XDS_SOTW_HEARTBEAT, /* and a ttl is renewed without the payload */
    UDPAI_XDS_FORMS,
} udpai_xds_form;

typedef struct udpai_xds_renderer {
    udpai_renderer renderer; /* first */
    const udpai_xds_settings *settings;
    udpai_xds_form form;
} udpai_xds_renderer;

struct udpai_xds_settings {
    /* The namespace of plain names, such as "local". */
    udpai_str default_namespace;
    /* More namespaces that clients are shown, under full names. */
    const udpai_str *namespaces;
    size_t n_namespaces;
    /* ControlPlane.identifier of every response; empty: none is sent. */
    udpai_str control_plane;
    /* Of warnings about states of the world that have grown too large to send often. */
    udpai_log_limit large_states;
    udpai_xds_renderer renderers[UDPAI_XDS_FORMS];
};

/* To be called when the fields above the renderers are filled in. */
void udpai_xds_settings_init(udpai_xds_settings *settings);

#endif
