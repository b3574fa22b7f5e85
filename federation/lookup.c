/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a mirror asks for: a resource that is lazy comes by no wildcard, so that a mirror
 * which has said all it has may still be asked for one. The rules are in docs/design/federation.md.
 */
#include "federation/demand.h"
#include "federation/named.h"

#include "model/client_type.h"
#include "model/name.h"

/* Does it answer who asks for a name once more? */
static bool
is_asked_again(const udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    bool is_udpa = source->kind == UDPAI_SOURCE_UDPA || source->kind == UDPAI_SOURCE_UDPA_LISTEN;
    return is_udpa && source->serves_us && !source->is_plain &&
           !source->node->context.is_endpoint &&
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
    udpai_store_visit_name(source->node->context.store, udpai_bytes_view(scope->type), name,
                           note_eager, &found);
    return found.counts;
}

static bool
is_held(const udpai_wish *wish)
{
    const udpai_source *source = wish->scope->source;
    udpai_contribution held;
    return udpai_store_get(source->node->context.store, source->origin,
                           udpai_bytes_view(wish->scope->type), udpai_wish_subject(wish), &held);
}

/* The source had nothing of this name, when it was asked last. */
static bool
is_no(const udpai_wish *wish)
{
    return wish->is_known && !udpai_list_linked(&wish->in_asked) && !is_held(wish);
}

/* ---- by another name ---- */

static void
note_alias(const udpai_scope *scope, udpai_str alias)
{
    udpai_wish *wish;
    size_t at = 0;
    if (!udpai_alias_is_pattern(alias)) {
        if ((wish = udpai_scope_wish(scope, alias, false)))
            wish->is_by_alias = true;
        return;
    }
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        if (!wish->is_wildcard && udpai_alias_matches(alias, udpai_wish_subject(wish)))
            wish->is_by_alias = true;
}

static bool
note_aliases(void *userdata, const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++)
        note_alias(userdata, udpai_resource_alias(resource, i));
    return true;
}

/* Which wishes bring something that has them for another name. */
static void
look_at_aliases(udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    size_t at = 0;
    udpai_wish *wish;
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        wish->is_by_alias = false;
    if (udpai_store_n_aliased(source->origin))
        udpai_store_visit_origin(source->node->context.store, source->origin,
                                 udpai_bytes_view(scope->type), note_aliases, scope);
}

/* What brings something is as if it had been asked for now: it has not been without it for long
 * when that goes. */
static void
look_at_held(udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    size_t at = 0;
    udpai_wish *wish;
    look_at_aliases(scope);
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        if (wish->is_by_alias || is_held(wish))
            wish->asked_ms = udpai_context_now(&source->node->context);
}

/* ---- time ---- */

/* Of interest_linger. Whoever has clients asks again after more of it than those above him let pass
 * before they pass that on; and they forget a name after more than twice what may lie between. */
static uint64_t
quarters(const udpai_wish *wish, unsigned n)
{
    return wish->scope->source->node->context.timing.interest_linger_ms * n / 4;
}

static bool
is_older(const udpai_wish *wish, unsigned n_quarters)
{
    uint64_t age_ms = udpai_context_now(&wish->scope->source->node->context) - wish->asked_ms;
    return age_ms >= quarters(wish, n_quarters);
}

static bool
is_ours(const udpai_wish *wish)
{
    return udpai_demand_is_own(wish->scope->source->node, udpai_bytes_view(wish->scope->type),
                               udpai_wish_subject(wish));
}

static void
ask_once_more(udpai_wish *wish)
{
    wish->is_sent = false;
    udpai_source_touch(wish->scope->source);
}

/* Whoever waits has not heard of it: other sources have not answered. */
static bool
is_told(const udpai_wish *wish)
{
    const udpai_node *node = wish->scope->source->node;
    return udpai_settled_query_name(node->settled, udpai_bytes_view(wish->scope->type),
                                    udpai_wish_subject(wish), (udpai_str){0}) == UDPAI_SETTLED;
}

/* A node below asks again as long as somebody wants it there: else nodes that have each other for
 * sources would go on because the next one does. */
static void
look_at_no(udpai_wish *wish)
{
    if (!is_ours(wish) && !wish->scope->on_demand && is_older(wish, 12) && is_told(wish))
        udpai_wish_end(wish);
    else if (wish->is_sent && is_older(wish, 5) && is_ours(wish))
        ask_once_more(wish);
}

/* Whoever asks meanwhile has it linger; but a source that is away does not say that it has it now.
 */
static void
forget_no(udpai_wish *wish)
{
    wish->is_known = false;
    udpai_source_touch(wish->scope->source);
}

/* What was refused is asked for again in its own time (scope.c). */
static void
look_at(udpai_wish *wish)
{
    if (wish->is_wildcard || wish->is_by_alias || wish->is_refused || !is_older(wish, 4) ||
        !is_no(wish))
        return;
    if (!wish->is_sent && !wish->scope->on_demand)
        forget_no(wish);
    else if (wish->n_wanted && is_older(wish, 5))
        look_at_no(wish);
}

static void
look_at_all(udpai_scope *scope)
{
    size_t at = 0;
    udpai_wish *wish;
    look_at_held(scope);
    while ((wish = udpai_map_next(&scope->wishes, &at)))
        look_at(wish);
}

static void
on_time(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, lookups);
    if (!is_asked_again(scope))
        return;
    look_at_all(scope);
    if (scope->wishes.n)
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
    const udpai_node *node = scope->source->node;
    if (!udpai_timer_is_set(&scope->lookups) && is_asked_again(scope))
        udpai_timer_set(node->context.wheel, &scope->lookups,
                        udpai_context_now(&node->context) +
                            node->context.timing.interest_linger_ms / 2);
}

/* ---- asking ---- */

static bool
may_look_up(const udpai_scope *scope, udpai_str text)
{
    return text.len && text.data[0] != '*' && udpai_scope_looks_up(scope) &&
           udpai_prefix_covers(udpai_bytes_view(scope->prefix), text) &&
           !udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), text) &&
           !udpai_named_find(scope->source->node, udpai_bytes_view(scope->type), text);
}

/* It is wanted still, or again. */
static void
look_again(udpai_wish *wish)
{
    if (wish->is_sent && is_no(wish) && is_older(wish, 4))
        ask_once_more(wish);
}

void
udpai_scope_look_up(udpai_scope *scope, udpai_str text)
{
    udpai_wish *wish = udpai_map_get(&scope->wishes, text);
    if (scope->on_demand) {
        if (wish && !wish->is_wildcard && is_asked_again(scope))
            look_again(wish);
        return;
    }
    if (!may_look_up(scope, text) || (!wish && is_brought(scope, text)) ||
        !(wish = udpai_wish_get(scope, text)))
        return;
    look_again(wish);
    udpai_wish_keep(wish);
    udpai_source_touch(scope->source);
}

void
udpai_scope_look_up_no_more(udpai_scope *scope, udpai_str text)
{
    udpai_wish *wish = udpai_map_get(&scope->wishes, text);
    if (wish && !wish->is_wildcard && wish->n_wanted)
        udpai_wish_linger(wish);
}
