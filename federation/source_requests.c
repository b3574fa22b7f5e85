/* SPDX-License-Identifier: Apache-2.0 */
/* Names and wildcards that a source is subscribed to because somebody here is: the subscription,
 * the time that it outlasts the last one here, its end, and the withdrawal of what nothing brings
 * any more. */
#include "federation/source_internal.h"

#include "base/alloc.h"
#include "model/name.h"

/* Above it, what has lingered longest is given back at once: a client that asks for ever other
 * names must not make the node hold them all. */
#define LINGERING_MAX 100000
/* Of those without a subscription here, in all scopes of a source: a refresh that names no type is
 * asked for in each. */
#define AGAIN_MAX 100000

static udpai_str
request_key(const void *item)
{
    const udpai_source_request *request = item;
    return (udpai_str){request->text, request->len};
}

void
udpai_source_requests_init(udpai_scope *scope)
{
    udpai_map_init(&scope->requests, request_key);
    udpai_list_init(&scope->asked);
    udpai_list_init(&scope->lingering);
    udpai_list_init(&scope->ended);
}

/* ---- finding ---- */

udpai_source_request *
udpai_scope_request(const udpai_scope *scope, udpai_str subject, bool is_wildcard)
{
    char room[UDPAI_NAME_MAX + 1];
    if (!is_wildcard)
        return udpai_map_get(&scope->requests, subject);
    if (subject.len > UDPAI_NAME_MAX)
        return NULL;
    room[0] = '*';
    if (subject.len)
        memcpy(room + 1, subject.data, subject.len);
    return udpai_map_get(&scope->requests, (udpai_str){room, subject.len + 1});
}

typedef bool (*request_fn)(const udpai_source_request *request, const void *userdata);

static bool
any_of_name(const udpai_scope *scope, udpai_str name, request_fn counts, const void *userdata)
{
    const udpai_source_request *request = udpai_scope_request(scope, name, false);
    return request && counts(request, userdata);
}

/* A request for a name that a pattern matches is found among all. */
static bool
any_of_pattern(const udpai_scope *scope, udpai_str pattern, request_fn counts, const void *userdata)
{
    size_t at = 0;
    const udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at)))
        if (!request->is_wildcard &&
            udpai_alias_matches(pattern, udpai_source_request_subject(request)) &&
            counts(request, userdata))
            return true;
    return false;
}

static bool
any_wildcard(const udpai_scope *scope, udpai_str name, request_fn counts, const void *userdata)
{
    size_t at = 0;
    udpai_str prefix;
    while (udpai_name_next_prefix(name, &at, &prefix)) {
        const udpai_source_request *request = udpai_scope_request(scope, prefix, true);
        if (request && counts(request, userdata))
            return true;
    }
    return false;
}

/* Is there a request that brings the resource, and counts? */
static bool
is_brought(const udpai_scope *scope,
           const udpa_resource *resource,
           request_fn counts,
           const void *userdata)
{
    udpai_str name = udpai_resource_name(resource);
    if (any_of_name(scope, name, counts, userdata))
        return true;
    for (size_t i = 0; i < udpa_resource_n_aliases(resource); i++) {
        udpai_str alias = udpai_resource_alias(resource, i);
        if (udpai_alias_is_pattern(alias) ? any_of_pattern(scope, alias, counts, userdata)
                                          : any_of_name(scope, alias, counts, userdata))
            return true;
    }
    return !udpai_resource_is_lazy(resource) && any_wildcard(scope, name, counts, userdata);
}

static bool
is_removed_in(const udpai_publication *publication, udpai_str name)
{
    for (size_t i = 0; i < publication->removals.n; i++)
        if (udpai_str_eq(publication->removals.items[i].name, name))
            return true;
    return false;
}

static bool
goes_on(const udpai_source_request *request, const void *publication)
{
    return request->is_sent && !request->is_denied &&
           (request->is_wildcard ||
            !is_removed_in(publication, udpai_source_request_subject(request)));
}

static bool
is_not_denied(const udpai_source_request *request, const void *userdata)
{
    (void)userdata;
    return !request->is_denied;
}

bool
udpai_source_still_brings(const udpai_source *source,
                          const udpa_resource *resource,
                          const udpai_publication *publication)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    bool is_mirrored = true, is_covered = false, has_names = false;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        has_names |= scope->is_named && udpai_str_eq(udpai_bytes_view(scope->type), type_url);
        if (!udpai_scope_covers(scope, type_url, name))
            continue;
        bool is_by_name = udpai_resource_is_lazy(resource) && udpai_scope_looks_up(scope);
        is_covered = true;
        if (scope->on_demand || is_by_name
                ? is_brought(scope, resource, publication ? goes_on : is_not_denied, publication)
                : !scope->is_denied && !udpai_resource_is_lazy(resource))
            return true;
        is_mirrored = is_mirrored && !scope->on_demand && !scope->is_denied && !is_by_name;
    }
    return is_mirrored && (is_covered || !has_names);
}

/* ---- subscribing ---- */

static void
unlink_ending(udpai_source_request *request)
{
    if (udpai_timer_is_set(&request->linger))
        request->scope->n_lingering--;
    udpai_timer_cancel(&request->linger);
    udpai_list_remove(&request->in_ending);
}

static void
set_reasked(udpai_source_request *request, bool is_reasked)
{
    request->scope->source->n_reasked += (size_t)is_reasked - (size_t)request->is_reasked;
    request->is_reasked = is_reasked;
}

void
udpai_source_request_unask(udpai_source_request *request)
{
    udpai_list_remove(&request->in_asked);
    set_reasked(request, false);
}

static void
free_request(udpai_source_request *request)
{
    udpai_source_request_unask(request);
    unlink_ending(request);
    request->scope->source->n_again -= request->is_again;
    udpai_free(request);
}

static void
end(udpai_source_request *request)
{
    unlink_ending(request);
    udpai_list_append(&request->scope->ended, &request->in_ending);
    udpai_source_touch(request->scope->source);
}

static void
on_linger_end(udpai_timer *timer)
{
    udpai_source_request *request = UDPAI_CONTAINER_OF(timer, udpai_source_request, linger);
    request->scope->n_lingering--; /* the timer does not run any more */
    end(request);
}

static void
linger(udpai_source_request *request)
{
    udpai_scope *scope = request->scope;
    const udpai_sources *sources = scope->source->owner;
    unlink_ending(request);
    udpai_timer_set(sources->context->wheel, &request->linger,
                    udpai_context_now(sources->context) +
                        sources->context->timing.interest_linger_ms);
    udpai_list_append(&scope->lingering, &request->in_ending);
    if (++scope->n_lingering > LINGERING_MAX)
        end(UDPAI_LIST_ENTRY(scope->lingering.next, udpai_source_request, in_ending));
}

static udpai_source_request *
make_request(udpai_scope *scope, udpai_str text)
{
    udpai_source_request *request = udpai_alloc(sizeof(*request) + text.len);
    if (!request)
        return NULL;
    request->scope = scope;
    request->is_wildcard = text.data[0] == '*';
    request->len = (uint32_t)text.len;
    memcpy(request->text, text.data, text.len);
    udpai_list_init(&request->in_asked);
    udpai_list_init(&request->in_ending);
    udpai_timer_init(&request->linger, on_linger_end);
    if (udpai_map_add(&scope->requests, request))
        return request;
    udpai_free(request);
    return NULL;
}

udpai_source_request *
udpai_source_request_get(udpai_scope *scope, udpai_str text)
{
    udpai_source_request *request = udpai_map_get(&scope->requests, text);
    return request ? request : make_request(scope, text);
}

void
udpai_source_request_keep(udpai_source_request *request)
{
    request->n_subscribed = 1;
    unlink_ending(request);
}

void
udpai_source_request_linger(udpai_source_request *request)
{
    request->n_subscribed = 0;
    linger(request);
}

void
udpai_source_request_end(udpai_source_request *request)
{
    request->n_subscribed = 0;
    end(request);
}

/* What of a request lies in the scope, as a text of the same form; false: nothing. */
static bool
cut_to_scope(const udpai_scope *scope, udpai_str text, char *room, udpai_str *ret_text)
{
    udpai_str prefix = udpai_bytes_view(scope->prefix), subject = text;
    bool is_wildcard = text.data[0] == '*';
    if (is_wildcard)
        subject = (udpai_str){text.data + 1, text.len - 1};
    *ret_text = text;
    if (udpai_prefix_covers(prefix, subject))
        return true;
    if (!is_wildcard || !udpai_prefix_covers(subject, prefix))
        return false;
    room[0] = '*';
    memcpy(room + 1, prefix.data, prefix.len);
    *ret_text = (udpai_str){room, prefix.len + 1};
    return true;
}

/* Of one of the texts. */
static void
count_subscription(udpai_source_request *request, bool subscribed)
{
    if (subscribed)
        request->n_subscribed++;
    else if (request->n_subscribed) /* without memory it may not have been counted */
        request->n_subscribed--;
}

/* Sent with the next flush, together with all others that came meanwhile. Wildcards of wider name
 * spaces are one in the scope. */
void
udpai_scope_interest(udpai_scope *scope, udpai_str text, bool subscribed)
{
    char room[UDPAI_NAME_MAX + 1];
    if (!scope->on_demand) {
        if (subscribed)
            udpai_scope_look_up(scope, text);
        else
            udpai_scope_look_up_no_more(scope, text);
        return;
    }
    if (!cut_to_scope(scope, text, room, &text))
        return;
    udpai_source_request *request = udpai_map_get(&scope->requests, text);
    if (!request && subscribed)
        request = make_request(scope, text);
    if (!request)
        return;
    count_subscription(request, subscribed);
    if (request->n_subscribed)
        unlink_ending(request);
    else
        linger(request);
    udpai_source_touch(scope->source);
}

void
udpai_scope_end_name(udpai_scope *scope, udpai_str name)
{
    udpai_source_request *request = udpai_scope_request(scope, name, false);
    if (request)
        udpai_source_request_end(request);
}

/* ---- asking ---- */

/* It is answered with the Subscribe that was sent last. */
static void
note_asked(udpai_source_request *request)
{
    request->is_sent = true;
    request->batch = request->scope->last_batch;
    request->asked_ms = udpai_context_now(request->scope->source->owner->context);
    udpai_list_remove(&request->in_asked);
    udpai_list_append(&request->scope->asked, &request->in_asked);
    udpai_lookups_expect(request->scope);
}

/* Names that go together in one message. */
struct names {
    udpai_scope *scope;
    UDPAI_VECTOR(udpai_str) texts;
    UDPAI_VECTOR(udpai_source_request *) requests;
    size_t bytes;
    bool is_again; /* they were asked for before */
    bool failed;   /* some were not asked for */
};

static void
send_names(struct names *names)
{
    bool asked = names->texts.n && udpai_ask(names->scope, udpai_bytes_view(names->scope->prefix),
                                             names->texts.items, names->texts.n);
    names->failed = names->failed || (names->texts.n && !asked);
    for (size_t i = 0; asked && i < names->requests.n; i++) {
        note_asked(names->requests.items[i]);
        set_reasked(names->requests.items[i], names->is_again);
    }
    names->texts.n = names->requests.n = names->bytes = 0;
}

/* Without memory it is asked for with the next flush. */
static void
add_name(struct names *names, udpai_source_request *request)
{
    udpai_str name = udpai_source_request_subject(request);
    if (names->texts.n == UDPAI_ASKED_ITEMS_MAX ||
        names->bytes + name.len > UDPAI_ASKED_BYTES_MAX / 2)
        send_names(names);
    if (!udpai_vector_reserve(&names->requests, 1) || !udpai_vector_push(&names->texts, name)) {
        names->failed = true;
        udpai_source_touch(request->scope->source);
        return;
    }
    names->requests.items[names->requests.n++] = request;
    names->bytes += name.len;
}

static void
names_done(struct names *names)
{
    udpai_vector_done(&names->texts);
    udpai_vector_done(&names->requests);
}

/* False: without memory. */
static bool
ask_for_wildcard(udpai_scope *scope, udpai_source_request *request)
{
    const udpai_str wildcard = {"", 0};
    if (!udpai_ask(scope, udpai_source_request_subject(request), &wildcard, 1))
        return false;
    note_asked(request);
    return true;
}

/* Names go together, wildcards each by itself. */
static bool
ask_for_subscribed(udpai_scope *scope)
{
    struct names names = {.scope = scope};
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at))) {
        if (request->is_sent || request->is_refused || request->is_paused ||
            request->n_subscribed == 0)
            continue;
        if (!request->is_wildcard)
            add_name(&names, request);
        else if (!ask_for_wildcard(scope, request))
            names.failed = true;
    }
    send_names(&names);
    names_done(&names);
    return !names.failed;
}

/* What was asked for by another name, or by a wildcard, has a request of its own for a while, as if
 * it were subscribed to: a source that refreshes ever other names has not all of them kept. */
static udpai_source_request *
request_again(udpai_scope *scope, udpai_str name)
{
    udpai_source_request *request = udpai_scope_request(scope, name, false);
    if (request || scope->source->n_again == AGAIN_MAX || !(request = make_request(scope, name)))
        return request;
    request->is_again = true;
    scope->source->n_again++;
    linger(request);
    return request;
}

void
udpai_scope_ask_again(udpai_scope *scope, const udpai_str *names, size_t n_names)
{
    struct names batch = {.scope = scope, .is_again = true};
    for (size_t i = 0; i < n_names && scope->source->may_ask; i++) {
        udpai_source_request *request = request_again(scope, names[i]);
        if (request && !request->is_refused && !request->is_reasked)
            add_name(&batch, request);
    }
    send_names(&batch); /* without memory: with the next refresh */
    names_done(&batch);
}

/* One that came by a loop was not kept, and the source takes us to hold it: when it refreshes it by
 * another way, it must be asked for, though a question for it waits still. */
void
udpai_source_has_sent(udpai_source *source, const udpa_resource *resource)
{
    if (source->n_reasked == 0)
        return;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        udpai_source_request *request = udpai_scope_covers(scope, type_url, name)
                                            ? udpai_scope_request(scope, name, false)
                                            : NULL;
        if (request)
            set_reasked(request, false);
    }
}

/* ---- giving back ---- */

static void
send_unsubscribe(struct names *names)
{
    if (names->texts.n)
        udpai_ask_no_more(names->scope, udpai_bytes_view(names->scope->prefix), names->texts.items,
                          names->texts.n);
    for (size_t i = 0; i < names->requests.n; i++)
        free_request(names->requests.items[i]);
    names->texts.n = names->requests.n = names->bytes = 0;
}

/* Another scope has asked for it on this stream, where it was one with ours. */
static bool
is_asked_elsewhere(const udpai_scope *scope, udpai_str name)
{
    UDPAI_LIST_FOREACH (at, &scope->source->scopes) {
        const udpai_scope *other = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        const udpai_source_request *request =
            other != scope &&
                    udpai_str_eq(udpai_bytes_view(other->type), udpai_bytes_view(scope->type))
                ? udpai_scope_request(other, name, false)
                : NULL;
        if (request && request->is_sent)
            return true;
    }
    return false;
}

static void
forget_wildcards_of(udpai_scope *scope)
{
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at))) {
        if (!request->is_wildcard)
            continue;
        request->is_sent = false;
        udpai_source_request_unask(request);
    }
}

/* An Unsubscribe from the wildcard of everything, or any from a peer that knows no namespaces in
 * it, takes all wildcards of the type away. Those that are subscribed to are asked for again in the
 * next flush. */
static void
forget_wildcards(const udpai_scope *ended)
{
    UDPAI_LIST_FOREACH (node, &ended->source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(node, udpai_scope, in_source);
        if (!udpai_str_eq(udpai_bytes_view(scope->type), udpai_bytes_view(ended->type)))
            continue;
        scope->is_sent = false;
        forget_wildcards_of(scope);
    }
    udpai_source_touch(ended->source);
}

void
udpai_ask_wildcard_no_more(udpai_scope *scope, udpai_str prefix)
{
    const udpai_peer *peer = udpai_source_peer(scope->source);
    const udpai_str wildcard = {"", 0};
    udpai_ask_no_more(scope, prefix, &wildcard, 1);
    bool knows_prefixes = (peer && peer->is_extended) || udpai_source_is_xds(scope->source);
    if (prefix.len == 0 || !knows_prefixes)
        forget_wildcards(scope);
}

/* The names of one message; false: there are no more. */
static bool
give_back_some(udpai_scope *scope, struct names *names)
{
    while (names->texts.n < UDPAI_ASKED_ITEMS_MAX && names->bytes < UDPAI_ASKED_BYTES_MAX / 2) {
        if (udpai_list_empty(&scope->ended))
            return false;
        udpai_source_request *request =
            UDPAI_LIST_ENTRY(scope->ended.next, udpai_source_request, in_ending);
        udpai_str subject = udpai_source_request_subject(request);
        bool must_unsubscribe = request->is_sent && scope->source->may_ask &&
                                (request->is_wildcard || !is_asked_elsewhere(scope, subject));
        if (must_unsubscribe && !request->is_wildcard &&
            udpai_vector_reserve(&names->requests, 1) &&
            udpai_vector_push(&names->texts, subject)) {
            udpai_map_remove(&scope->requests, request_key(request));
            udpai_list_remove(&request->in_ending);
            names->requests.items[names->requests.n++] = request;
            names->bytes += subject.len;
            continue;
        }
        udpai_map_remove(&scope->requests, request_key(request));
        if (must_unsubscribe && request->is_wildcard)
            udpai_ask_wildcard_no_more(scope, subject);
        free_request(request);
    }
    return true;
}

static bool
is_brought_still(void *source, const udpa_resource *resource)
{
    return udpai_source_still_brings(source, resource, NULL);
}

static void
withdraw_unbrought(udpai_scope *scope)
{
    bool gives_back = (scope->on_demand && scope->source->kind != UDPAI_SOURCE_PATH) ||
                      udpai_scope_looks_up(scope);
    if (gives_back || scope->has_denied)
        udpai_store_withdraw_all(scope->source->owner->context->store, scope->source->origin,
                                 udpai_bytes_view(scope->type), udpai_bytes_view(scope->prefix),
                                 is_brought_still, scope->source);
    scope->has_denied = false;
    udpai_source_touch(scope->source);
}

static void
give_back_ended(udpai_scope *scope)
{
    if (udpai_list_empty(&scope->ended))
        return;
    struct names names = {.scope = scope};
    while (give_back_some(scope, &names))
        send_unsubscribe(&names);
    send_unsubscribe(&names);
    names_done(&names);
    withdraw_unbrought(scope);
}

void
udpai_source_request_refuse(udpai_source_request *request, bool is_denied)
{
    request->is_refused = true;
    request->is_denied = is_denied;
    request->is_known |= is_denied;
    request->scope->has_denied |= is_denied;
    udpai_source_request_unask(request);
}

bool
udpai_source_requests_sync(udpai_scope *scope)
{
    give_back_ended(scope);
    if (scope->has_denied)
        withdraw_unbrought(scope);
    bool asks = scope->on_demand || udpai_scope_looks_up(scope);
    return !scope->source->may_ask || !scope->is_requested || !asks || ask_for_subscribed(scope);
}

/* ---- losing and ending ---- */

void
udpai_source_requests_reset(udpai_scope *scope)
{
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at))) {
        request->is_sent = request->is_refused = request->is_denied = false;
        udpai_source_request_unask(request);
    }
}

void
udpai_source_requests_end(udpai_scope *scope)
{
    while (!udpai_list_empty(&scope->lingering))
        end(UDPAI_LIST_ENTRY(scope->lingering.next, udpai_source_request, in_ending));
}

void
udpai_source_requests_free(udpai_scope *scope)
{
    size_t at = 0;
    udpai_source_request *request;
    while ((request = udpai_map_next(&scope->requests, &at)))
        free_request(request);
    udpai_map_done(&scope->requests);
}
