/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come by resources of the type udpa.config.v1.ConfigSource, for the files of this
 * folder. One that something here speaks of is there as a source before its resource is, and after:
 * absent, it is one that cannot be reached. */
#ifndef UDPAI_DYNAMIC_SOURCES_H
#define UDPAI_DYNAMIC_SOURCES_H

#include "federation/sources.h"
#include "wire/arena.h"

#define UDPAI_DYNAMIC_SOURCE_TYPE "type.googleapis.com/udpa.config.v1.ConfigSource"

struct udpai_dynamic_source {
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

/* ---- dynamic_source_read.c ---- */

/* What one says. Texts are those of the message. */
typedef struct udpai_dynamic_source_reading {
    udpai_dynamic_source_config config;
    udpai_arena arena;
} udpai_dynamic_source_reading;

/* To be followed by udpai_dynamic_source_read_done() in any case. */
udpa_err udpai_dynamic_source_read(udpai_dynamic_source_reading *reading,
                                   const udpa_resource *resource,
                                   udpa_error **ret_error);
void udpai_dynamic_source_read_done(udpai_dynamic_source_reading *reading);
bool udpai_dynamic_source_is_name(udpai_str name);

/* ---- dynamic_sources.c ---- */

/* *ret_sources: NULL if there can be none. */
udpa_err udpai_dynamic_sources_new(udpai_dynamic_sources **ret_sources,
                                   udpai_node *node,
                                   const udpai_dynamic_sources_config *config);
/* Subscribes to such resources. NULL does nothing. */
udpa_err udpai_dynamic_sources_follow(udpai_dynamic_sources *sources);
/* Before the node's subscriptions. */
void udpai_dynamic_sources_free(udpai_dynamic_sources *sources);
/* Makes up for those that there was no memory or no room for. True: there is more to evaluate. */
bool udpai_dynamic_sources_catch_up(udpai_dynamic_sources *sources);
/* There is room, or a name is free, for one that was refused. */
void udpai_dynamic_sources_look_again(udpai_dynamic_sources *sources);
/* With the next flush, sources that nothing speaks of any more make room. */
void udpai_dynamic_sources_tidy_up(udpai_dynamic_sources *sources);
const udpai_dynamic_sources_config *
udpai_dynamic_sources_config_of(const udpai_dynamic_sources *sources);

/* ---- dynamic_source.c ---- */

/* A udpai_source_finder: if there is none of this name, one that is awaited. *ret_source: NULL, if
 * no resource can become it. */
udpa_err udpai_dynamic_source_find(udpai_node *node,
                                   udpai_str name,
                                   udpai_awaited_by who,
                                   const udpai_source **ret_source,
                                   udpa_error **ret_error);
/* The resource is there, in this version. On failure nothing has changed. */
udpa_err udpai_dynamic_source_set(udpai_node *node,
                                  const udpai_dynamic_source_config *config,
                                  const udpa_resource *resource,
                                  udpa_error **ret_error);
/* The resource of this name is gone. False: without memory its source goes on. */
bool udpai_dynamic_source_end(udpai_node *node, udpai_str by);
/* Those that are absent, and that nothing speaks of. True: there were some. */
bool udpai_dynamic_source_remove_unused(udpai_node *node);
void udpai_dynamic_source_free(udpai_dynamic_source *dynamic);
/* The name of the resource that it comes by; empty: none. */
udpai_str udpai_dynamic_source_by(const udpai_source *source);

/* Of it nothing is waited for. */
static inline bool
udpai_source_is_void(const udpai_source *source)
{
    return source->dynamic && source->dynamic->is_void;
}

#endif
