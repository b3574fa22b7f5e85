/* SPDX-License-Identifier: Apache-2.0 */
/* What xDS sessions must know from the configuration. The hub's owner fills it in, initialises it
 * and passes the method that was called as the context of every xDS stream. They stay as they are
 * and outlive the hub: what was composed for one form of responses is found again by the address of
 * its renderer. Belongs to
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

typedef enum udpai_xds_variant {
    UDPAI_XDS_STREAM_SOTW,
    UDPAI_XDS_STREAM_DELTA,
    UDPAI_XDS_FETCH, /* one request, one response: the state of the world */
} udpai_xds_variant;

/* What clients may call. */
typedef struct udpai_xds_method {
    char path[96]; /* "/package.Service/Method" */
    udpai_xds_variant variant;
    udpai_str type_url; /* that the service is for; empty: each request says */
    udpai_xds_settings *settings;
} udpai_xds_method;

/* Two of the aggregated service, three for each of eight types, one of VHDS, one of LEDS. */
#define UDPAI_XDS_METHODS 28

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
    udpai_xds_method methods[UDPAI_XDS_METHODS];
};

/* To be called when the fields above the renderers are filled in; fills in the others. */
void udpai_xds_settings_init(udpai_xds_settings *settings);

/* What serves a type, or all types (empty), in this way; NULL: nothing does. */
udpai_xds_method *
udpai_xds_method_find(udpai_xds_settings *settings, udpai_str type_url, udpai_xds_variant variant);

#endif
