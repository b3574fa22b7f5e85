/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a mirror asks for: a resource that is lazy comes by no wildcard, so that a source
 * which has sent all it has may still be asked for one. The rules are in docs/design/federation.md.
 */
#include "federation/demand.h"
#include "federation/named_table.h"
#include "federation/source_internal.h"

#include "model/client_type.h"
#include "model/name.h"

/* Does it answer each request for a name, also a repeated one? */
static bool
is_asked_again(const udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    bool is_udpa = source->kind == UDPAI_SOURCE_UDPA || source->kind == UDPAI_SOURCE_UDPA_LISTEN;
    return is_udpa && source->serves_us && !source->is_plain &&
           !source->owner->context->is_endpoint &&
           !udpai_type_is_client(udpai_bytes_view(scope->type));
}

bool
udpai_scope_looks_up(const udpai_scope *scope)
{
    return !scope->on_demand && !scope->recovers && is_asked_again(scope);
}

/* ---- what is there ---- */

typedef struct eager {
    const udpai_origin *origin;
    bool counts; /* before whatever the source may have that is lazy */
} eager;

static bool
note_eager(void *userdata, const udpai_contribution *contribution)
{
    eager *found = userdata;
    if (!contribution->effective)
        return true;
    found->counts = !udpai_resource_is_lazy(contribution->resource) &&
                    !udpai_origin_is_before(found->origin, contribution->origin);
    return false;
}

/* Is there something that comes without its name, and that what the source has would not replace?
 */
static bool
is_brought(const udpai_scope *scope, udpai_str name)
{
    const udpai_source *source = scope->source;
    eager found = {.origin = source->origin};
    udpai_store_visit_name(source->owner->context->store, udpai_bytes_view(scope->type), name,
                           note_eager, &found);
    return found.counts;
}

static bool
is_held(const udpai_source_request *request)
{
    const udpai_source *source = request->scope->source;
    udpai_contribution held;
    return udpai_store_get(source->owner->context->store, source->origin,
                           udpai_bytes_view(request->scope->type),
                           udpai_source_request_subject(request), &held);
}

/* The source had nothing of this name, when it was asked last. */
static bool
is_no(const udpai_source_request *request)
{
    return request->is_known && !udpai_list_linked(&request->in_asked) && !is_held(request);
}

/* ---- by another name ---- */

static void
note_alias(const udpai_scope *scope, udpai_str alias)
{
    udpai_source_request *request;
    size_t at = 0;
    if (!udpai_alias_is_pattern(alias)) {
        if ((request = udpai_scope_request(scope, alias, false)))
            request->is_by_alias = true;
        return;
    }
    while ((request = udpai_map_next(&scope->requests, &at)))
        if (!request->is_wildcard &&
            udpai_alias_matches(alias, udpai_source_request_subject(request)))
            request->is_by_alias = true;
}

static bool
note_aliases(void *userdata, const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        note_alias(userdata, udpai_resource_alias(resource, i));
    return true;
}

/* Which requests bring something that has them for another name. */
static void
look_at_aliases(udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at)))
        request->is_by_alias = false;
    if (udpai_store_n_aliased(source->origin))
        udpai_store_visit_origin(source->owner->context->store, source->origin,
                                 udpai_bytes_view(scope->type), note_aliases, scope);
}

/* What brings something is as if it had been asked for now: it has not been without it for long
 * when that goes. */
static void
look_at_held(udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    size_t at = 0;
    udpai_source_request *request;
    look_at_aliases(scope);
    while ((request = udpai_map_next(&scope->requests, &at)))
        if (request->is_by_alias || is_held(request))
            request->asked_ms = udpai_context_now(source->owner->context);
}

/* ---- time ---- */

/* Of interest_linger. A node with clients asks again after more quarters than the nodes above it
 * let pass before they pass that on; and they forget a name after more than twice what may lie
 * between. */
static uint64_t
quarters(const udpai_source_request *request, unsigned n)
{
    return request->scope->source->owner->context->timing.interest_linger_ms * n / 4;
}

static bool
is_older(const udpai_source_request *request, unsigned n_quarters)
{
    uint64_t age_ms = udpai_context_now(request->scope->source->owner->context) - request->asked_ms;
    return age_ms >= quarters(request, n_quarters);
}

static bool
is_ours(const udpai_source_request *request)
{
    return udpai_demand_is_own(request->scope->source->owner->demand,
                               udpai_bytes_view(request->scope->type),
                               udpai_source_request_subject(request));
}

static void
ask_once_more(udpai_source_request *request)
{
    request->is_sent = false;
    udpai_source_touch(request->scope->source);
}

/* Have all other sources answered? Else its subscribers still wait. */
static bool
is_answered(const udpai_source_request *request)
{
    const udpai_sources *sources = request->scope->source->owner;
    return udpai_settled_query_name(
               udpai_sync_settled(sources->sync), udpai_bytes_view(request->scope->type),
               udpai_source_request_subject(request), (udpai_str){0}) == UDPAI_SETTLED;
}

/* A node below asks again as long as it has a subscription: else nodes that are each other's
 * sources would go on asking because the other does. */
static void
look_at_no(udpai_source_request *request)
{
    if (!is_ours(request) && !request->scope->on_demand && is_older(request, 12) &&
        is_answered(request))
        udpai_source_request_end(request);
    else if (request->is_sent && is_older(request, 5) && is_ours(request))
        ask_once_more(request);
}

/* A request that comes meanwhile makes it linger; but a source that is away does not report that it
 * has it now. */
static void
forget_no(udpai_source_request *request)
{
    request->is_known = false;
    udpai_source_touch(request->scope->source);
}

/* What was refused is asked for again in its own time (scope.c). */
static void
look_at(udpai_source_request *request)
{
    if (request->is_wildcard || request->is_by_alias || request->is_refused ||
        !is_older(request, 4) || !is_no(request))
        return;
    if (!request->is_sent && !request->scope->on_demand)
        forget_no(request);
    else if (request->n_subscribed && is_older(request, 5))
        look_at_no(request);
}

static void
look_at_all(udpai_scope *scope)
{
    size_t at = 0;
    udpai_source_request *request;
    look_at_held(scope);
    while ((request = udpai_map_next(&scope->requests, &at)))
        look_at(request);
}

static void
on_time(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, lookups);
    if (!is_asked_again(scope))
        return;
    look_at_all(scope);
    if (scope->requests.n)
        udpai_lookups_expect(scope);
}

void
udpai_lookups_init(udpai_scope *scope)
{
    udpai_timer_init(&scope->lookups, on_time);
}

void
udpai_lookups_expect(udpai_scope *scope)
{
    const udpai_sources *sources = scope->source->owner;
    if (!udpai_timer_is_set(&scope->lookups) && is_asked_again(scope))
        udpai_timer_set(sources->context->wheel, &scope->lookups,
                        udpai_context_now(sources->context) +
                            sources->context->timing.interest_linger_ms / 2);
}

/* ---- asking ---- */

static bool
may_look_up(const udpai_scope *scope, udpai_str text)
{
    return text.len && text.data[0] != '*' && udpai_scope_looks_up(scope) &&
           udpai_prefix_covers(udpai_bytes_view(scope->prefix), text) &&
           !udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), text) &&
           !udpai_named_find(scope->source->owner->named_table, udpai_bytes_view(scope->type),
                             text);
}

/* It has a subscription still, or again. */
static void
look_again(udpai_source_request *request)
{
    if (request->is_sent && is_no(request) && is_older(request, 4))
        ask_once_more(request);
}

void
udpai_scope_look_up(udpai_scope *scope, udpai_str text)
{
    udpai_source_request *request = udpai_map_get(&scope->requests, text);
    if (scope->on_demand) {
        if (request && !request->is_wildcard && is_asked_again(scope))
            look_again(request);
        return;
    }
    if (!may_look_up(scope, text) || (!request && is_brought(scope, text)) ||
        !(request = udpai_source_request_get(scope, text)))
        return;
    look_again(request);
    udpai_source_request_keep(request);
    udpai_source_touch(scope->source);
}

void
udpai_scope_look_up_no_more(udpai_scope *scope, udpai_str text)
{
    udpai_source_request *request = udpai_map_get(&scope->requests, text);
    if (request && !request->is_wildcard && request->n_subscribed)
        udpai_source_request_linger(request);
}
