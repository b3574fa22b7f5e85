/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come by resources of the type udpa.config.v1.ConfigSource, for the files of this
 * folder. One that something here speaks of is there as a source before its resource is, and after:
 * absent, it is one that cannot be reached. */
#ifndef UDPAI_DELIVERY_H
#define UDPAI_DELIVERY_H

#include "federation/sources.h"
#include "wire/arena.h"

#define UDPAI_DELIVERY_TYPE "type.googleapis.com/udpa.config.v1.ConfigSource"

struct udpai_delivered {
    udpai_source *source;
    udpa_bytes *by;          /* the name of the resource; NULL: there is none */
    udpa_bytes *payload;     /* of the resource */
    bool is_configured;      /* a provider of the configuration names it */
    bool may_have;           /* there may be something that came by it */
    bool was_taken_back;     /* it is known that there is no resource */
    bool is_void;            /* what came by it has gone, and nothing is waited for */
    uint64_t quiet_until_ms; /* after a change of its target */
    udpai_timer patience;
};

/* ---- delivery_read.c ---- */

/* What one says. Texts are those of the message. */
typedef struct udpai_delivered_reading {
    udpai_delivered_config config;
    udpai_arena arena;
} udpai_delivered_reading;

/* To be followed by udpai_delivered_read_done() in any case. */
udpa_err udpai_delivered_read(udpai_delivered_reading *reading,
                              const udpa_resource *resource,
                              udpa_error **ret_error);
void udpai_delivered_read_done(udpai_delivered_reading *reading);
bool udpai_delivery_is_name(udpai_str name);

/* ---- delivery.c ---- */

/* *ret_deliveries: NULL if there can be none. */
udpa_err udpai_deliveries_new(udpai_deliveries **ret_deliveries,
                              udpai_node *node,
                              const udpai_delivery_config *config);
/* Subscribes to such resources. NULL does nothing. */
udpa_err udpai_deliveries_follow(udpai_deliveries *deliveries);
/* Before the node's subscriptions. */
void udpai_deliveries_free(udpai_deliveries *deliveries);
/* Makes up for those that there was no memory or no room for. True: there is more to evaluate. */
bool udpai_deliveries_catch_up(udpai_deliveries *deliveries);
/* There is room, or a name is free, for one that was refused. */
void udpai_deliveries_look_again(udpai_deliveries *deliveries);
/* With the next flush, sources that nothing speaks of any more make room. */
void udpai_deliveries_tidy_up(udpai_deliveries *deliveries);
const udpai_delivery_config *udpai_deliveries_config(const udpai_deliveries *deliveries);

/* ---- delivered.c ---- */

/* A udpai_source_finder: if there is none of this name, one that is awaited. *ret_source: NULL, if
 * no resource can become it. */
udpa_err udpai_delivered_find(udpai_node *node,
                              udpai_str name,
                              udpai_awaited_by who,
                              const udpai_source **ret_source,
                              udpa_error **ret_error);
/* The resource is there, in this version. On failure nothing has changed. */
udpa_err udpai_delivered_set(udpai_node *node,
                             const udpai_delivered_config *config,
                             const udpa_resource *resource,
                             udpa_error **ret_error);
/* The resource of this name is gone. False: without memory its source goes on. */
bool udpai_delivered_end(udpai_node *node, udpai_str by);
/* Those that are absent, and that nothing speaks of. True: there were some. */
bool udpai_delivered_remove_unused(udpai_node *node);
void udpai_delivered_free(udpai_delivered *delivered);
/* The name of the resource that it comes by; empty: none. */
udpai_str udpai_delivered_by(const udpai_source *source);

/* Of it nothing is waited for. */
static inline bool
udpai_source_is_void(const udpai_source *source)
{
    return source->delivered && source->delivered->is_void;
}

#endif
