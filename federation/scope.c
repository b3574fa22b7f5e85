/* SPDX-License-Identifier: Apache-2.0 */
/* One descriptor's share of a source: a mirror of a prefix, or what is subscribed to below it; and
 * how far the source has answered. */
#include "federation/absence.h"

#include "base/alloc.h"
#include "federation/source_internal.h"
#include "model/name.h"

/* ---- asking ---- */

static void
sync_mirror(udpai_scope *scope)
{
    const udpai_sources *sources = scope->source->owner;
    udpai_str prefix = udpai_bytes_view(scope->prefix);
    const udpai_str wildcard = {"", 0};
    if (scope->is_requested == scope->is_sent)
        return;
    scope->is_sent = scope->is_requested;
    scope->is_complete = false;
    if (!scope->is_requested) {
        udpai_timer_cancel(&scope->sync);
        udpai_ask_wildcard_no_more(scope, prefix);
        return;
    }
    scope->is_sent = udpai_ask(scope, prefix, &wildcard, 1);
    scope->own_batch = scope->last_batch;
    if (scope->is_sent && !scope->is_known)
        udpai_timer_set(sources->context->wheel, &scope->sync,
                        udpai_context_now(sources->context) +
                            sources->context->timing.sync_timeout_ms);
}

static void
on_sync_timeout(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, sync);
    udpai_source *source = scope->source;
    if (scope->is_known || scope->is_refused)
        return;
    scope->is_hung = true;
    udpai_log_about(
        UDPA_LOG_WARNING, "federation",
        UDPAI_ABOUT({UDPAI_LOG_SOURCE, udpai_bytes_view(source->name)},
                    {UDPAI_LOG_TYPE, udpai_bytes_view(scope->type)}),
        "source %.*s: not synchronized: connected, but has not sent all it has of type %.*s "
        "within %llu ms: failing over to the next source until it has",
        (int)udpa_bytes_size(source->name), (const char *)udpa_bytes_data(source->name),
        (int)udpa_bytes_size(scope->type), (const char *)udpa_bytes_data(scope->type),
        (unsigned long long)source->owner->context->timing.sync_timeout_ms);
    udpai_source_touch(source);
}

/* Having nothing to ask for, it has its answer. */
static void
note_all_asked(udpai_scope *scope, bool is_asked)
{
    if (scope->is_asked == is_asked)
        return;
    scope->is_asked = is_asked;
    udpai_source_touch(scope->source);
}

void
udpai_scope_sync(udpai_scope *scope)
{
    bool may_ask = scope->source->may_ask && scope->source->serves_us;
    if (may_ask && !scope->on_demand && !scope->is_refused)
        sync_mirror(scope); /* answers come in order: it does not wait for those to names */
    bool all_asked = udpai_source_requests_sync(scope);
    if (may_ask && scope->on_demand)
        note_all_asked(scope, scope->is_requested && all_asked);
}

/* ---- answers ---- */

udpai_scope *
udpai_source_next_scope(const udpai_source *source, const udpai_scope *before)
{
    const udpai_list *next = before ? before->in_source.next : source->scopes.next;
    return next == &source->scopes ? NULL : UDPAI_LIST_ENTRY(next, udpai_scope, in_source);
}

udpai_scope *
udpai_source_scope(const udpai_source *source, udpai_str type_url, udpai_str name)
{
    UDPAI_LIST_FOREACH (node, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(node, udpai_scope, in_source);
        if (udpai_scope_covers(scope, type_url, name))
            return scope;
    }
    return NULL;
}

/* Without memory it is not kept: after a restart it is asked for before any not-found or removal is
 * sent. */
static void
note_known(const udpai_scope *scope, udpai_durable_kind kind)
{
    udpai_origin *origin = scope->source->origin;
    if (udpai_origin_is_durable(origin))
        (void)udpai_store_note(scope->source->owner->context->store, kind, origin,
                               udpai_bytes_view(scope->type), udpai_bytes_view(scope->prefix));
}

/* Each time, as each is noted as not kept, too: an engine that was without memory for one gets it
 * with the next. */
void
udpai_source_sent_uncached(udpai_source *source, const udpa_resource *resource)
{
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (scope->on_demand || !udpai_scope_covers(scope, udpai_resource_type_url(resource),
                                                    udpai_resource_name(resource)))
            continue;
        scope->is_unkept = true;
        note_known(scope, UDPAI_DURABLE_UNMARK);
    }
}

static void
note_synchronized(const udpai_scope *scope)
{
    const udpai_source *source = scope->source;
    udpai_str name = udpai_bytes_view(source->name), type = udpai_bytes_view(scope->type);
    if (!scope->is_complete)
        udpai_context_note(source->owner->context, UDPAI_NOTE_SOURCE_SYNCHRONIZED, UDPA_LOG_INFO,
                           UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}, {UDPAI_LOG_TYPE, type}),
                           "source %.*s: synchronized, type %.*s", UDPAI_SHOWN(name),
                           UDPAI_SHOWN(type));
}

static void
mark_known(udpai_scope *scope)
{
    note_synchronized(scope);
    scope->is_complete = true;
    scope->is_hung = scope->is_denied = false;
    udpai_timer_cancel(&scope->sync);
    if (!scope->is_known && !scope->is_unkept)
        note_known(scope, UDPAI_DURABLE_MARK);
    scope->is_known = true;
}

/* What was refused is answered, but nothing is known of it. */
void
udpai_scope_answered(udpai_scope *scope, uint64_t first_batch, uint64_t last_batch)
{
    UDPAI_LIST_FOREACH_SAFE (node, &scope->asked) {
        udpai_source_request *request = UDPAI_LIST_ENTRY(node, udpai_source_request, in_asked);
        if (request->batch > last_batch)
            break;
        if (request->batch < first_batch)
            continue;
        udpai_source_request_unask(request);
        request->is_known = !request->is_refused;
    }
    if (!scope->on_demand && scope->is_sent && last_batch >= scope->own_batch && !scope->is_refused)
        mark_known(scope);
    udpai_absence_settle(scope->source, udpai_bytes_view(scope->type));
    udpai_source_touch(scope->source);
}

void
udpai_source_completed(udpai_source *source, udpai_str type_url, udpai_str prefix)
{
    uint64_t batch;
    udpai_scope *scope = udpai_question_take(source, type_url, prefix, &batch);
    if (scope)
        udpai_scope_answered(scope, batch, batch);
}

static void
fall_silent(udpai_scope *scope)
{
    udpai_timer_cancel(&scope->silence);
    udpai_timer_cancel(&scope->silence_max);
    udpai_questions_forget(scope);
    udpai_scope_answered(scope, 0, scope->last_batch);
}

static void
on_silence(udpai_timer *timer)
{
    fall_silent(UDPAI_CONTAINER_OF(timer, udpai_scope, silence));
}

/* A peer that has not sent anything at all is not silent because it has sent all. */
static void
on_silence_max(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, silence_max);
    const udpai_sources *sources = scope->source->owner;
    if (udpai_source_is_active(scope->source))
        fall_silent(scope);
    else
        udpai_timer_set(sources->context->wheel, &scope->silence_max,
                        udpai_context_now(sources->context) +
                            sources->context->timing.silence_max_ms);
}

/* A peer without our extensions does not report when it has sent all. It has, a while after it has
 * begun to publish resources of a type and falls silent. */
void
udpai_source_published(udpai_source *source, udpai_str type_url)
{
    const udpai_sources *sources = source->owner;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_timer_is_set(&scope->silence_max) &&
            udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            udpai_timer_set(sources->context->wheel, &scope->silence,
                            udpai_context_now(sources->context) +
                                sources->context->timing.silence_ms);
    }
}

/* ---- refusals ---- */

static void
on_again(udpai_timer *timer)
{
    udpai_scope *scope = UDPAI_CONTAINER_OF(timer, udpai_scope, again);
    udpai_fault_question_again(scope->source);
    if (scope->is_refused)
        scope->is_refused = scope->is_sent = false;
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at)))
        if (request->is_refused)
            request->is_refused = request->is_denied = request->is_sent = false;
    udpai_source_touch(scope->source);
}

static void
refuse_mirror(udpai_scope *scope, bool is_denied)
{
    scope->is_refused = true;
    scope->is_denied = scope->has_denied = is_denied;
    udpai_timer_cancel(&scope->sync);
}

static void
ask_later(udpai_scope *scope)
{
    const udpai_sources *sources = scope->source->owner;
    if (!udpai_timer_is_set(&scope->again))
        udpai_timer_set(sources->context->wheel, &scope->again,
                        udpai_context_now(sources->context) + UDPAI_ASK_AGAIN_MS);
    udpai_source_touch(scope->source);
}

/* No other answer comes. */
static void
refuse_batch(udpai_scope *scope, uint64_t batch)
{
    if (!scope->on_demand && batch <= scope->own_batch)
        refuse_mirror(scope, false);
    UDPAI_LIST_FOREACH_SAFE (node, &scope->asked) {
        udpai_source_request *request = UDPAI_LIST_ENTRY(node, udpai_source_request, in_asked);
        if (request->batch == batch)
            udpai_source_request_refuse(request, false);
    }
    ask_later(scope);
}

/* The answer to the rest of the Subscribe comes behind it. */
static bool
refuse_name(udpai_scope *scope, const udpai_subscription_message *error, udpai_str name)
{
    udpai_str name_space = error->name_space;
    bool is_denied = udpa_err_from_grpc((int)error->status_code) == UDPA_ERR_DENIED;
    bool is_wildcard = udpai_name_is_wildcard(name);
    udpai_source_request *request =
        udpai_scope_request(scope, is_wildcard ? name_space : name, is_wildcard);
    bool is_mirror = !scope->on_demand && is_wildcard && scope->is_sent &&
                     udpai_str_eq(udpai_bytes_view(scope->prefix), name_space);
    if (is_mirror)
        refuse_mirror(scope, is_denied);
    else if (request && request->is_sent)
        udpai_source_request_refuse(request, is_denied);
    return is_mirror || (request && request->is_sent);
}

static void
refuse_names(udpai_scope *scope, const udpai_subscription_message *error)
{
    bool any = false;
    for (size_t i = 0; i < error->n_names; i++)
        any = refuse_name(scope, error, error->names[i]) || any;
    if (any)
        ask_later(scope);
}

/* It is not the end of the stream, but the last that was amiss. */
static void
note_refusal(udpai_source *source, const udpai_subscription_message *error)
{
    udpa_error *why =
        udpa_error_new(udpa_err_from_grpc((int)error->status_code), NULL,
                       "it refuses what it is asked for: %.*s", UDPAI_SHOWN(error->status_text));
    if (why)
        udpai_fault_of_question(source, why);
    udpa_error_unref(why);
}

void
udpai_source_refused(udpai_source *source, const udpai_subscription_message *error)
{
    uint64_t batch;
    note_refusal(source, error);
    udpai_scope *whole =
        error->n_names ? NULL
                       : udpai_question_take(source, error->type_url, error->name_space, &batch);
    if (whole)
        refuse_batch(whole, batch);
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_str_eq(udpai_bytes_view(scope->type), error->type_url))
            refuse_names(scope, error);
    }
}

/* ---- making one, and its end ---- */

void
udpai_scope_reset(udpai_scope *scope)
{
    scope->is_sent = scope->is_complete = scope->is_asked = scope->had_some = false;
    scope->is_other_store = false;
    scope->is_refused = scope->is_denied = false;
    udpai_questions_disown(scope);
    scope->last_batch = scope->own_batch = 0;
    udpai_timer_cancel(&scope->sync);
    udpai_timer_cancel(&scope->again);
    udpai_timer_cancel(&scope->silence);
    udpai_timer_cancel(&scope->silence_max);
    udpai_source_requests_reset(scope);
}

void
udpai_scope_give_up(udpai_scope *scope)
{
    scope->is_requested = false;
    udpai_source_requests_end(scope);
    udpai_scope_sync(scope);
    if (scope->is_known)
        note_known(scope, UDPAI_DURABLE_UNMARK);
    udpai_scope_free(scope);
}

udpai_scope *
udpai_scope_new(udpai_source *source, udpai_str type_url, udpai_str prefix, bool on_demand)
{
    udpai_scope *scope = udpai_alloc(sizeof(*scope));
    if (!scope)
        return NULL;
    if (udpa_bytes_new(&scope->type, type_url.data, type_url.len) != UDPA_OK ||
        udpa_bytes_new(&scope->prefix, prefix.data, prefix.len) != UDPA_OK) {
        udpa_bytes_unref(scope->type);
        udpai_free(scope);
        return NULL;
    }
    scope->source = source;
    scope->on_demand = on_demand;
    udpai_source_requests_init(scope);
    udpai_timer_init(&scope->sync, on_sync_timeout);
    udpai_timer_init(&scope->again, on_again);
    udpai_lookups_init(scope);
    udpai_timer_init(&scope->silence, on_silence);
    udpai_timer_init(&scope->silence_max, on_silence_max);
    udpai_list_init(&scope->in_source);
    udpai_list_append(&source->scopes, &scope->in_source);
    return scope;
}

void
udpai_scope_free(udpai_scope *scope)
{
    udpai_scope_reset(scope);
    udpai_timer_cancel(&scope->lookups);
    udpai_list_remove(&scope->in_source);
    udpai_source_requests_free(scope);
    udpa_bytes_unref(scope->type);
    udpa_bytes_unref(scope->prefix);
    udpa_bytes_unref(scope->seen_epoch);
    udpai_free(scope);
}

/* ---- for the parts above ---- */

bool
udpai_source_covers(const udpai_source *source, udpai_str type_url, udpai_str name)
{
    return udpai_source_scope(source, type_url, name) != NULL;
}

bool
udpai_source_has_sent_all(const udpai_source *source, udpai_str type_url, udpai_str name)
{
    const udpai_scope *scope = udpai_source_scope(source, type_url, name);
    return scope && scope->is_complete;
}

bool
udpai_source_has_read(const udpai_source *source, udpai_str type_url, udpai_str name)
{
    const udpai_scope *scope = udpai_source_scope(source, type_url, name);
    return scope && (scope->on_demand ? udpai_source_is_active(source) : scope->is_complete);
}

/* A mirror of a source that is not asked for names asks for no aliases. */
bool
udpai_source_is_asked_by_name(const udpai_source *source)
{
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (scope->on_demand || udpai_scope_looks_up(scope))
            return true;
    }
    return false;
}

void
udpai_source_restore_mark(const udpai_source *source, udpai_str type_url, udpai_str prefix)
{
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_str_eq(udpai_bytes_view(scope->type), type_url) &&
            udpai_str_eq(udpai_bytes_view(scope->prefix), prefix))
            scope->is_known = true;
    }
}

/* The names of a scope go together. */
static void
ask_again(udpai_scope *scope, const udpai_unmatched *unmatched, size_t n_unmatched)
{
    UDPAI_VECTOR(udpai_str) names = {0};
    for (size_t i = 0; i < n_unmatched; i++) {
        udpai_str type_url = unmatched[i].type_url;
        if ((type_url.len == 0 || udpai_str_eq(type_url, udpai_bytes_view(scope->type))) &&
            udpai_scope_may_have(scope, unmatched[i].name))
            (void)udpai_vector_push(&names, unmatched[i].name);
    }
    udpai_scope_ask_again(scope, names.items, names.n);
    udpai_vector_done(&names);
}

void
udpai_source_ask_again(udpai_source *source, const udpai_unmatched *unmatched, size_t n_unmatched)
{
    UDPAI_LIST_FOREACH (at, &source->scopes)
        ask_again(UDPAI_LIST_ENTRY(at, udpai_scope, in_source), unmatched, n_unmatched);
}
