/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigProviders: which sources are asked, and which are active. Both follow from the state of
 * the sources and are computed anew after every change. */
#include "federation/provider_internal.h"

#include "federation/absence.h"
#include "model/name.h"

static bool
overlap(const udpai_descriptor *a, const udpai_descriptor *b)
{
    udpai_str x = udpai_bytes_view(a->prefix), y = udpai_bytes_view(b->prefix);
    return udpai_prefix_covers(x, y) || udpai_prefix_covers(y, x);
}

/* ---- what a source's state means ---- */

bool
udpai_descriptor_is_complete(const udpai_descriptor *descriptor)
{
    const udpai_scope *scope = descriptor->scope;
    if (udpai_scope_is_held(scope))
        return false;
    if (udpai_source_is_path(descriptor->source))
        return scope->is_known;
    if (scope->is_named) {
        const udpai_source_request *request =
            udpai_scope_request(scope, udpai_bytes_view(descriptor->prefix), false);
        return request && request->is_sent && !request->is_refused &&
               !udpai_list_linked(&request->in_asked);
    }
    return scope->on_demand ? scope->is_asked && udpai_list_empty(&scope->asked)
                            : scope->is_complete;
}

/* It was replaced, and what replaced it is still in use: it must earn its place back. */
static bool
is_returning(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (self->is_eligible || self->continuation != UDPAI_STOP_ON_SUCCESS)
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_eligible && overlap(self, later))
            return true;
    }
    return false;
}

bool
udpai_descriptor_counts(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *descriptor = &provider->descriptors.items[index];
    const udpai_source *source = descriptor->source;
    if (!udpai_source_is_active(source) || descriptor->scope->is_hung)
        return false;
    return !is_returning(provider, index) ||
           (udpai_descriptor_is_complete(descriptor) && udpai_source_is_steady(source));
}

static bool
is_undecided(const udpai_source *source)
{
    return !udpai_source_is_decided(source) && !udpai_source_is_active(source);
}

/* ---- which sources are asked ---- */

static void
reach(udpai_provider *provider)
{
    bool going = true, succeeded = false;
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        descriptor->is_reached = going;
        descriptor->is_cut_off = !going && succeeded;
        if (!going || descriptor->continuation == UDPAI_CONTINUE)
            continue;
        bool success = udpai_descriptor_counts(provider, i);
        if (is_undecided(descriptor->source))
            going = false;
        else if (success == (descriptor->continuation == UDPAI_STOP_ON_SUCCESS)) {
            going = false;
            succeeded = success;
        }
    }
}

/* ---- active sources ---- */

/* Is there anything that came from the source? */
static bool
holds(const udpai_provider *provider, const udpai_source *source)
{
    udpai_contribution held;
    udpai_str type_url = udpai_bytes_view(provider->type);
    const udpai_store *store = provider->owner->context->store;
    return provider->name ? udpai_store_get(store, udpai_source_origin(source), type_url,
                                            udpai_bytes_view(provider->name), &held)
                          : udpai_origin_has(store, udpai_source_origin(source), type_url);
}

/* Something else is in use in its place: it becomes active only once it is whole. */
static bool
must_be_complete(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (is_returning(provider, index))
        return true;
    for (size_t i = 0; i < index; i++) {
        const udpai_descriptor *before = &provider->descriptors.items[i];
        if (before->continuation == UDPAI_STOP_ON_SUCCESS && before->is_eligible &&
            overlap(before, self) && !udpai_descriptor_counts(provider, i) &&
            holds(provider, before->source))
            return true;
    }
    return false;
}

/* A lost source stays until one that replaces it is whole. */
static bool
is_replaced(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (!self->is_reached)
        return self->is_cut_off;
    if (self->continuation != UDPAI_STOP_ON_SUCCESS || udpai_descriptor_counts(provider, index))
        return false;
    for (size_t i = index + 1; i < provider->descriptors.n; i++) {
        const udpai_descriptor *later = &provider->descriptors.items[i];
        if (later->is_reached && later->is_eligible && udpai_descriptor_is_complete(later) &&
            udpai_prefix_covers(udpai_bytes_view(later->prefix), udpai_bytes_view(self->prefix)))
            return true;
    }
    return false;
}

static bool
may_count(const udpai_provider *provider, size_t index)
{
    const udpai_descriptor *self = &provider->descriptors.items[index];
    if (!must_be_complete(provider, index))
        return true;
    return udpai_descriptor_is_complete(self) &&
           (!is_returning(provider, index) || udpai_source_is_steady(self->source));
}

/* That is eligible now, before it or behind it, for a message; NULL: none. */
static const udpai_descriptor *
find_replacement(const udpai_provider *provider, const udpai_descriptor *replaced)
{
    const udpai_descriptor *all = provider->descriptors.items;
    size_t index = (size_t)(replaced - all);
    size_t first = replaced->is_reached ? index + 1 : 0;
    size_t end = replaced->is_reached ? provider->descriptors.n : index;
    for (size_t i = first; i < end; i++)
        if (all[i].is_reached && all[i].is_eligible && overlap(&all[i], replaced))
            return &all[i];
    return NULL;
}

static void
note_replaced(const udpai_provider *provider, const udpai_descriptor *replaced)
{
    bool is_lost = replaced->is_reached;
    const udpai_descriptor *by = find_replacement(provider, replaced);
    udpai_str from = udpai_source_name(replaced->source);
    udpai_str to = by ? udpai_source_name(by->source) : UDPAI_STR("another source");
    udpai_str type = udpai_bytes_view(provider->type);
    udpai_str name = provider->name ? udpai_bytes_view(provider->name) : (udpai_str){0};
    udpai_context_note(provider->owner->context,
                       is_lost ? UDPAI_NOTE_FAIL_OVER : UDPAI_NOTE_FAIL_BACK,
                       is_lost ? UDPA_LOG_WARNING : UDPA_LOG_INFO,
                       UDPAI_ABOUT({UDPAI_LOG_SOURCE, by && !is_lost ? to : from},
                                   {UDPAI_LOG_TYPE, type}, {UDPAI_LOG_NAME, name}),
                       "%s from source %.*s to %.*s, type %.*s%s%.*s",
                       is_lost ? "failed over" : "failed back", UDPAI_SHOWN(from), UDPAI_SHOWN(to),
                       UDPAI_SHOWN(type), name.len ? ", name " : "", UDPAI_SHOWN(name));
}

/* One that is still reached was lost; one that is not was there for a source before it. */
static void
replace(const udpai_provider *provider, udpai_descriptor *descriptor)
{
    descriptor->is_eligible = false;
    note_replaced(provider, descriptor);
    udpai_source_meter(descriptor->source, descriptor->is_reached ? UDPAI_METRIC_SOURCE_FAIL_OVERS
                                                                  : UDPAI_METRIC_SOURCE_FAIL_BACKS);
}

static void
choose_eligible(udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        if (descriptor->is_reached && !descriptor->is_eligible && may_count(provider, i))
            descriptor->is_eligible = true;
    }
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (provider->descriptors.items[i].is_eligible && is_replaced(provider, i))
            replace(provider, &provider->descriptors.items[i]);
}

/* Kept, so that after a restart the same source counts as before it. Without memory it is not; what
 * counts then is found out anew. */
void
udpai_provider_set_in_use(udpai_context *context,
                          udpai_origin *origin,
                          udpai_str type_url,
                          bool in_use)
{
    if (udpai_origin_is_eligible(origin, type_url) == in_use)
        return;
    (void)udpai_origin_set_eligible(context->store, origin, type_url, in_use);
    if (context->is_durable)
        (void)udpai_store_note(context->store, in_use ? UDPAI_DURABLE_USE : UDPAI_DURABLE_DISUSE,
                               origin, type_url, (udpai_str){0});
}

/* One source may be in several descriptors of a type; it is active if it is so in one. */
bool
udpai_provider_has_eligible(const udpai_provider *provider, const udpai_source *source)
{
    for (size_t i = 0; i < provider->descriptors.n; i++)
        if (provider->descriptors.items[i].source == source &&
            provider->descriptors.items[i].is_eligible)
            return true;
    for (size_t i = 0; i < provider->leaving.n; i++)
        if (provider->leaving.items[i].source == source && provider->leaving.items[i].is_eligible)
            return true;
    return false;
}

/* Those that leave are so as they were. */
static void
mark_in_use(udpai_providers *providers, const udpai_provider *provider)
{
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        const udpai_source *source = provider->descriptors.items[i].source;
        udpai_provider_set_in_use(providers->context, udpai_source_origin(source),
                                  udpai_bytes_view(provider->type),
                                  udpai_provider_has_eligible(provider, source));
    }
}

void
udpai_provider_walk(udpai_provider *provider)
{
    reach(provider);
    choose_eligible(provider);
}

void
udpai_provider_evaluate(udpai_provider *provider)
{
    udpai_provider_walk(provider);
    for (size_t i = 0; i < provider->descriptors.n; i++) {
        udpai_descriptor *descriptor = &provider->descriptors.items[i];
        descriptor->scope->is_requested = descriptor->is_reached;
    }
    mark_in_use(provider->owner, provider);
}
