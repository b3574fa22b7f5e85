/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of what resources configure. */
#ifndef UDPAI_DYNAMIC_INTERNAL_H
#define UDPAI_DYNAMIC_INTERNAL_H

#include "federation/delegation.h"
#include "federation/dynamic.h"
#include "federation/dynamic_sources.h"
#include "federation/follower.h"
#include "federation/source_dynamic.h"
#include "federation/sync.h"

struct udpai_dynamic {
    udpai_context *context;
    udpai_sources *sources;
    struct udpai_providers *providers;
    udpai_local *local;
    const udpai_sync *sync;
    udpai_follower *delegations;         /* NULL: none are followed */
    udpai_follower *sources_follower;    /* NULL: no resource becomes a source */
    udpai_dynamic_sources_config config; /* without its lists */
    bool is_untidy;                      /* there may be some that nothing names */
    udpai_log_limit moved_log;
};

struct udpai_dynamic_source {
    udpai_dynamic *all;
    udpai_source *source;
    udpa_bytes *payload;     /* of the resource */
    bool is_configured;      /* a provider of the configuration names it */
    bool may_have;           /* there may be something that came by it */
    bool was_taken_back;     /* it is known that there is no resource */
    uint64_t quiet_until_ms; /* after a change of its target */
    udpai_timer patience;
};

/* ---- delegation.c ---- */

udpa_err udpai_delegations_new(udpai_dynamic *dynamic, const udpai_delegation_config *config);

/* ---- dynamic_sources.c ---- */

udpa_err udpai_dynamic_sources_new(udpai_dynamic *dynamic,
                                   const udpai_dynamic_sources_config *config);

/* ---- dynamic_source.c ---- */

/* A udpai_source_finder: if there is none of this name, one that is awaited. *ret_source: NULL, if
 * no resource can become it. */
udpa_err udpai_dynamic_source_find(void *userdata,
                                   udpai_str name,
                                   udpai_awaited_by by,
                                   const udpai_source **ret_source,
                                   udpa_error **ret_error);
/* The resource is there, in this version. On failure nothing has changed. */
udpa_err udpai_dynamic_source_set(udpai_dynamic *dynamic,
                                  const udpai_dynamic_source_config *config,
                                  const udpa_resource *resource,
                                  udpa_error **ret_error);
/* The resource of this name was removed. False: without memory its source goes on. */
bool udpai_dynamic_source_end(udpai_dynamic *dynamic, udpai_str by);
/* Those that are absent, and that nothing names. True: there were some. */
bool udpai_dynamic_source_remove_unused(udpai_dynamic *dynamic);
void udpai_dynamic_source_free(udpai_dynamic_source *dynamic);

#endif
