/* SPDX-License-Identifier: Apache-2.0 */
/* Subscribes to a source: what they state as held already, and which of them an answer answers. */
#include "federation/source_internal.h"

#include "base/alloc.h"
#include "model/name.h"

/* Of Subscribes for names and on demand, at most so many are kept with what their source waits for:
 * the answers to others in a ring come after cycle_timeout. */
#define WAITING_MAX 256
#define ENTRY_BYTES 32 /* of an entry of a Subscribe's maps, besides its texts, at most */

static bool
send(udpai_scope *scope, udpai_order_kind kind, const udpai_subscription_message *message)
{
    udpai_order *order = udpai_order_new(kind);
    if (order)
        order->subscription = udpai_subscription_message_copy(message);
    if (!order || !order->subscription) {
        udpai_order_free(order);
        return false;
    }
    order->session = scope->source->session;
    udpai_context_order(scope->source->owner->context, order);
    return true;
}

static void
set_waits(udpai_source *source, udpai_question *question, udpai_str waits)
{
    source->n_waiting += (size_t)(waits.len != 0) - (size_t)(question->waits.len != 0);
    udpai_free((char *)(uintptr_t)question->waits.data);
    question->waits = waits;
}

static void
free_question(udpai_source *source, udpai_question *question)
{
    udpai_list_remove(&question->in_source);
    set_waits(source, question, (udpai_str){0});
    if (question->scope)
        question->scope->n_questions--;
    udpa_bytes_unref(question->type);
    udpai_free(question);
}

/* False: without memory nothing is asked. */
static bool
send_question(udpai_scope *scope, const udpai_subscription_message *message)
{
    udpai_str name_space = message->name_space;
    udpai_question *question = udpai_alloc(sizeof(*question) + name_space.len);
    if (!question || !send(scope, UDPAI_ORDER_SUBSCRIBE, message)) {
        udpai_free(question);
        return false;
    }
    question->scope = scope;
    question->type = udpa_bytes_ref(scope->type);
    question->batch = ++scope->last_batch;
    question->len = (uint32_t)name_space.len;
    if (name_space.len)
        memcpy(question->name_space, name_space.data, name_space.len);
    udpai_list_append(&scope->source->questions, &question->in_source);
    scope->n_questions++;
    return true;
}

/* ---- what we hold ---- */

/* What we hold already, as a Subscribe states it. */
typedef struct holdings {
    udpai_scope *scope;
    udpai_subscription_message message;
    UDPAI_VECTOR(udpai_held_digest) digests, paths;
    UDPAI_VECTOR(udpai_held_version) versions;
    size_t bytes;
    bool extended, is_node;
    bool is_xds; /* an xDS server, whose session reports when it has answered */
    bool failed; /* what is held could not all be stated */
} holdings;

static void
put_holdings(const holdings *held, udpai_subscription_message *message)
{
    message->digests = held->digests.items;
    message->n_digests = held->digests.n;
    message->paths = held->paths.items;
    message->n_paths = held->paths.n;
    message->versions = held->versions.items;
    message->n_versions = held->versions.n;
}

/* What fills a message goes ahead of the Subscribe, in one without names, which changes nothing. */
static bool
send_ahead(holdings *held)
{
    udpai_subscription_message ahead = held->message;
    ahead.n_names = 0;
    put_holdings(held, &ahead);
    held->digests.n = held->paths.n = 0;
    held->bytes = 0;
    return send_question(held->scope, &ahead);
}

/* A peer without our extensions is sent versions, in one message, as many as fit into one. What it
 * does not get it sends again, and cannot report which of that was removed meanwhile. */
static bool
add_version(holdings *held, const udpa_resource *resource)
{
    udpai_str name = udpai_resource_name(resource), version = udpai_resource_version(resource);
    held->bytes += name.len + version.len + ENTRY_BYTES;
    if (held->is_xds) /* sent to the session, which sends the server what fits into a message */
        return udpai_vector_push(&held->versions, ((udpai_held_version){name, version}));
    return held->bytes <= UDPAI_ASKED_BYTES_MAX && held->versions.n < UDPAI_ASKED_ITEMS_MAX &&
           udpai_vector_push(&held->versions, ((udpai_held_version){name, version}));
}

/* What is not stated and was removed there would stay here for ever: all of it, or nothing is
 * asked. */
static bool
add_digest(holdings *held, const udpa_resource *resource)
{
    udpai_str name = udpai_resource_name(resource);
    size_t bytes = (held->is_node ? 2 : 1) * (name.len + ENTRY_BYTES);
    if (held->digests.n &&
        (held->bytes + bytes > UDPAI_ASKED_BYTES_MAX || held->digests.n == UDPAI_ASKED_ITEMS_MAX) &&
        !send_ahead(held))
        return false;
    held->bytes += bytes;
    /* The last hop is ours: the peer sent those before it. */
    size_t n_hops = udpa_resource_n_hops(resource);
    uint64_t path = udpai_resource_path_digest(resource, n_hops ? n_hops - 1 : 0);
    return udpai_vector_push(&held->digests,
                             ((udpai_held_digest){name, udpai_resource_digest(resource)})) &&
           (!held->is_node || udpai_vector_push(&held->paths, ((udpai_held_digest){name, path})));
}

static bool
add_holding(void *userdata, const udpai_contribution *contribution)
{
    holdings *held = userdata;
    const udpa_resource *resource = contribution->resource;
    if (!udpai_prefix_covers(held->message.name_space, udpai_resource_name(resource)))
        return true;
    held->scope->had_some = true;
    if (contribution->absence != UDPAI_ABSENCE_NONE)
        return true; /* as if it were not: so it comes, if it is there again */
    if (udpai_resource_is_lazy(resource) && udpai_name_is_wildcard(held->message.names[0]))
        return true; /* its name brought it, and will be asked for by itself */
    if (!held->extended) {
        bool is_added = add_version(held, resource);
        held->failed = held->is_xds && !is_added;
        return is_added;
    }
    held->failed = !add_digest(held, resource);
    return !held->failed;
}

static void
add_all_holdings(holdings *held)
{
    const udpai_source *source = held->scope->source;
    const udpai_store *store = source->owner->context->store;
    udpai_contribution contribution;
    if (udpai_name_is_wildcard(held->message.names[0])) {
        udpai_store_visit_origin(store, source->origin, held->message.type_url, add_holding, held);
        return;
    }
    for (size_t i = 0; i < held->message.n_names; i++)
        if (udpai_store_get(store, source->origin, held->message.type_url, held->message.names[i],
                            &contribution))
            if (!add_holding(held, &contribution))
                return;
}

/* The end of the answer of a peer that does not report it itself. */
static void
await_silence(const holdings *held)
{
    udpai_scope *scope = held->scope;
    const udpai_sources *sources = scope->source->owner;
    if (held->is_xds)
        return;
    if (!held->extended)
        udpai_timer_set(sources->context->wheel, &scope->silence_max,
                        udpai_context_now(sources->context) +
                            sources->context->timing.silence_max_ms);
    else if (!held->is_node) /* an endpoint publishes what it likes, and has nothing more to send */
        udpai_timer_set(sources->context->wheel, &scope->silence_max,
                        udpai_context_now(sources->context));
}

/* False: a variant of what is asked for. */
static bool
stays(void *userdata, const udpa_resource *resource)
{
    const udpai_subscription_message *asked = userdata;
    if (udpai_resource_constraints(resource).len == 0)
        return true;
    for (size_t i = 0; i < asked->n_names; i++)
        if (udpai_str_eq(asked->names[i], udpai_resource_asked_name(resource)))
            return false;
    return true;
}

/* The peer cannot be sent what is held of the variants of a name. So it sends all of them, and no
 * removal of those that have ended: they are not effective from here on, and stay until the answer
 * shows that they are removed. */
static void
forget_variants(const udpai_scope *scope, udpai_subscription_message *asked)
{
    udpai_origin *origin = scope->source->origin;
    if (udpai_store_n_variants(origin) && !udpai_name_is_wildcard(asked->names[0]))
        udpai_store_withdraw_all(scope->source->owner->context->store, origin, asked->type_url,
                                 (udpai_str){0}, stays, asked);
}

bool
udpai_ask(udpai_scope *scope, udpai_str name_space, const udpai_str *names, size_t n_names)
{
    const udpai_peer *peer = udpai_source_peer(scope->source);
    holdings held = {
        .scope = scope,
        .extended = peer && peer->is_extended,
        .is_node = peer && peer->is_node,
        .is_xds = udpai_source_is_xds(scope->source),
    };
    held.message = (udpai_subscription_message){
        .type_url = udpai_bytes_view(scope->type),
        .name_space = name_space,
        .names = names,
        .n_names = n_names,
        .recovers = scope->recovers && held.is_node,
    };
    add_all_holdings(&held);
    put_holdings(&held, &held.message);
    bool asked = !held.failed && send_question(scope, &held.message);
    udpai_vector_done(&held.digests);
    udpai_vector_done(&held.paths);
    udpai_vector_done(&held.versions);
    if (asked) {
        forget_variants(scope, &held.message);
        await_silence(&held);
    } else {
        udpai_source_touch(scope->source);
    }
    return asked;
}

void
udpai_ask_no_more(udpai_scope *scope, udpai_str name_space, const udpai_str *names, size_t n_names)
{
    const udpai_subscription_message message = {
        .type_url = udpai_bytes_view(scope->type),
        .name_space = name_space,
        .names = names,
        .n_names = n_names,
    };
    (void)send(scope, UDPAI_ORDER_UNSUBSCRIBE, &message);
}

/* ---- answers ---- */

/* The Subscribe of this type and name space that is older than all but so many. */
static udpai_question *
find_question(const udpai_source *source,
              udpai_str type_url,
              udpai_str name_space,
              uint32_t n_older)
{
    UDPAI_LIST_FOREACH (at, &source->questions) {
        udpai_question *question = UDPAI_LIST_ENTRY(at, udpai_question, in_source);
        if (udpai_str_eq((udpai_str){question->name_space, question->len}, name_space) &&
            udpai_str_eq(udpai_bytes_view(question->type), type_url) && n_older-- == 0)
            return question;
    }
    return NULL;
}

udpai_scope *
udpai_question_take(udpai_source *source,
                    udpai_str type_url,
                    udpai_str name_space,
                    uint64_t *ret_batch)
{
    udpai_question *question = find_question(source, type_url, name_space, 0);
    if (!question)
        return NULL;
    udpai_scope *scope = question->scope;
    *ret_batch = question->batch;
    free_question(source, question);
    return scope;
}

void
udpai_source_waits(udpai_source *source, udpai_publication *publication)
{
    udpai_question *question = find_question(source, publication->type_url, publication->name_space,
                                             publication->waits_behind);
    if (!question || !question->scope)
        return;
    bool is_mirror = !question->scope->on_demand && question->batch <= question->scope->own_batch;
    if (!is_mirror && question->waits.len == 0 && source->n_waiting >= WAITING_MAX)
        return;
    set_waits(source, question, publication->waits);
    publication->waits = (udpai_str){0};
    udpai_source_touch(source);
}

const udpai_question *
udpai_question_next_waiting(const udpai_scope *scope, const udpai_question *after)
{
    const udpai_list *questions = &scope->source->questions;
    const udpai_list *at = after ? after->in_source.next : questions->next;
    for (; scope->source->n_waiting && at != questions; at = at->next) {
        const udpai_question *question = UDPAI_LIST_ENTRY(at, const udpai_question, in_source);
        if (question->scope == scope && question->waits.len)
            return question;
    }
    return NULL;
}

void
udpai_questions_forget(udpai_scope *scope)
{
    UDPAI_LIST_FOREACH_SAFE (at, &scope->source->questions) {
        udpai_question *question = UDPAI_LIST_ENTRY(at, udpai_question, in_source);
        if (question->scope == scope)
            free_question(scope->source, question);
    }
}

void
udpai_questions_disown(udpai_scope *scope)
{
    UDPAI_LIST_FOREACH (at, &scope->source->questions) {
        udpai_question *question = UDPAI_LIST_ENTRY(at, udpai_question, in_source);
        if (question->scope != scope)
            continue;
        set_waits(scope->source, question, (udpai_str){0});
        question->scope = NULL;
    }
    scope->n_questions = 0;
}

void
udpai_questions_end(udpai_source *source)
{
    while (!udpai_list_empty(&source->questions))
        free_question(source, UDPAI_LIST_ENTRY(source->questions.next, udpai_question, in_source));
}
