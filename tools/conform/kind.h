/* SPDX-License-Identifier: Apache-2.0 */
/* The types of resources in the cases, and contents for them that have their variant, in a form
 * that survives being decoded and encoded by a server. */
#ifndef UDPAI_CONFORM_KIND_H
#define UDPAI_CONFORM_KIND_H

#include "base/bytes.h"

typedef enum udpai_kind {
    UDPAI_CLUSTER,
    UDPAI_ENDPOINTS,
    UDPAI_LISTENER,
    UDPAI_ROUTES,
    UDPAI_SECRET,
    UDPAI_RUNTIME,
    UDPAI_SCOPE,     /* ScopedRouteConfiguration */
    UDPAI_EXTENSION, /* TypedExtensionConfig */
    UDPAI_HOST,      /* VirtualHost */
    UDPAI_MEMBER,    /* LbEndpoint, which LEDS has */
    UDPAI_LIST,      /* ListenerCollection */
    UDPAI_KINDS,
} udpai_kind;

/* Of types. */
enum {
    UDPAI_DELTA_ONLY = 1,
    UDPAI_NAMED_BY_URL = 2, /* by xdstp://…; contents have no name */
};

bool udpai_kind_is(udpai_kind kind, unsigned trait);

/* For people, such as "cluster". */
const char *udpai_kind_word(udpai_kind kind);
udpai_str udpai_kind_url(udpai_kind kind);
/* UDPAI_KINDS: none of these. By URL; by word. */
udpai_kind udpai_kind_of_url(udpai_str type_url);
udpai_kind udpai_kind_of_word(udpai_str word);

/* A small valid resource of this name and variant; NULL without memory. */
udpa_bytes *udpai_kind_payload(udpai_kind kind, const char *name, unsigned variant);
/* The variant that contents have; 0: none that was made here. */
unsigned udpai_kind_variant(udpai_str payload);
/* The name that contents give themselves; empty: none. A view. */
udpai_str udpai_kind_name(udpai_kind kind, udpai_str payload);

#endif
