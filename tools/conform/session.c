/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of a client: its subscriptions of each type, and what it sends. */
#include <stdio.h>

#include "base/alloc.h"
#include "tools/conform/session_internal.h"
#include "wire/compose.h"

#define LISTED_NAMES 6

/* ---- opening and closing ---- */

static udpai_test_session *
add_session(udpai_script *script, const char *path)
{
    const udpai_peer *peer = script->stage->peer;
    udpai_test_session *session = udpai_alloc(sizeof(*session));
    if (!session || !udpai_vector_push(&script->sessions, session)) {
        udpai_free(session);
        udpai_fail_script(script, "out of memory");
        return NULL;
    }
    session->script = script;
    session->number = ++script->stage->n_sessions;
    session->only = UDPAI_KINDS;
    session->sends_node = true;
    udpai_decoder_init(&session->decoder);
    session->call = peer->open(peer->self, path);
    if (!session->call)
        udpai_fail_script(script, "out of memory");
    udpai_transcribe(script, "* stream %u: %s", session->number, path);
    return session;
}

udpai_test_session *
udpai_test_session_open_path(udpai_script *script, const char *path)
{
    return udpai_is_running(script) ? add_session(script, path) : NULL;
}

udpai_test_session *
udpai_test_session_open_method(udpai_script *script, udpai_kind only, udpai_xds_variant variant)
{
    udpai_str type = only == UDPAI_KINDS ? (udpai_str){0} : udpai_kind_url(only);
    const udpai_xds_method *method = udpai_xds_method_find(&script->stage->methods, type, variant);
    udpai_test_session *session =
        method ? udpai_test_session_open_path(script, method->path) : NULL;
    if (!method)
        udpai_skip_script(script, "the protocol has no such method");
    if (session) {
        session->is_delta = variant == UDPAI_XDS_STREAM_DELTA;
        session->only = only;
        session->is_optional = true;
    }
    return session;
}

udpai_test_session *
udpai_test_session_open(udpai_script *script, udpai_kind kind)
{
    return udpai_test_session_open_method(script, script->is_aggregated ? UDPAI_KINDS : kind,
                                          script->is_delta ? UDPAI_XDS_STREAM_DELTA
                                                           : UDPAI_XDS_STREAM_SOTW);
}

void
udpai_test_session_close(udpai_test_session *session)
{
    if (!session || !session->call)
        return;
    udpai_transcribe(session->script, "* stream %u: closed by the client", session->number);
    session->script->stage->peer->close(session->call);
    session->call = NULL;
    session->is_over = true;
}

static void
subscription_done(udpai_test_subscription *subscription)
{
    udpai_vector_done(&subscription->names);
    udpai_free(subscription->nonce);
    udpai_free(subscription->version);
}

void
udpai_test_session_free(udpai_test_session *session)
{
    if (session->call)
        session->script->stage->peer->close(session->call);
    for (size_t i = 0; i < session->responses.n; i++) {
        udpai_free(session->responses.items[i].nonce);
        udpai_free(session->responses.items[i].version);
    }
    for (size_t i = 0; i < session->updates.n; i++) {
        udpai_free(session->updates.items[i].name);
        udpai_free(session->updates.items[i].version);
        udpai_free(session->updates.items[i].endpoints);
        udpai_free(session->updates.items[i].aliases);
    }
    for (size_t i = 0; i < session->errors.n; i++)
        udpai_free(session->errors.items[i].name);
    udpai_vector_done(&session->errors);
    for (size_t i = 0; i < UDPAI_KINDS; i++)
        subscription_done(&session->subscriptions[i]);
    udpai_vector_done(&session->responses);
    udpai_vector_done(&session->updates);
    udpai_decoder_done(&session->decoder);
    udpai_free(session);
}

void
udpai_test_session_mark(udpai_test_session *session)
{
    if (!session)
        return;
    session->mark = session->updates.n;
    session->response_mark = session->responses.n;
}

bool
udpai_test_session_is_usable(const udpai_test_session *session)
{
    return session && session->call && !session->is_over && udpai_is_running(session->script);
}

/* ---- the Node ---- */

static udpa_bytes *
make_node(const udpai_test_session *session)
{
    static const udpai_str all[] = {
        {"xds.config.supports-resource-ttl", 32},
        {"xds.config.supports-resource-in-sotw", 36},
        {"xds.config.resource-in-sotw", 27},
        {"udpa.xds.resource-errors.v1", 27}, /* no other feature announces it */
    };
    size_t first = session->supports_ttl ? 0 : UDPAI_ARRAY_LEN(all) - 1;
    size_t end = UDPAI_ARRAY_LEN(all) - (session->reads_errors ? 0 : 1);
    udpai_node_info *info = NULL;
    udpai_node_parts parts = {
        .id = session->script->stage->node_id,
        .cluster = UDPAI_STR("conform"),
        .user_agent_name = UDPAI_STR("udpactl conform"),
        .features = all + first,
        .n_features = end - first,
    };
    udpa_bytes *node = NULL;
    if (udpai_node_info_new(&info, &parts) == UDPA_OK)
        node = udpai_node_encode(info);
    udpai_node_info_unref(info);
    return node;
}

/* ---- sending ---- */

static void
put_names(udpai_strbuf *out, const char *what, const udpai_str *names, size_t n)
{
    udpai_strbuf_printf(out, " %s[", what);
    for (size_t i = 0; i < n && i < LISTED_NAMES; i++)
        udpai_strbuf_printf(out, "%s%.*s", i ? ", " : "", UDPAI_SHOWN(names[i]));
    if (n > LISTED_NAMES)
        udpai_strbuf_printf(out, ", … %zu in all", n);
    udpai_strbuf_putc(out, ']');
}

static void
transcribe_ask(const udpai_test_session *session, udpai_kind kind, const udpai_xds_ask *ask)
{
    udpai_strbuf line = {0};
    udpai_strbuf_printf(&line, "> %u %s", session->number,
                        kind == UDPAI_KINDS ? "(another type)" : udpai_kind_word(kind));
    put_names(&line, session->is_delta ? "subscribe" : "", ask->names, ask->n_names);
    if (ask->n_unsubscribed)
        put_names(&line, "unsubscribe", ask->unsubscribed, ask->n_unsubscribed);
    for (size_t i = 0; i < ask->n_versions && i < LISTED_NAMES; i++)
        udpai_strbuf_printf(&line, " holds %.*s=%.*s", UDPAI_SHOWN(ask->versions[i].name),
                            UDPAI_SHOWN(ask->versions[i].version));
    if (ask->version.len)
        udpai_strbuf_printf(&line, " version %.*s", UDPAI_SHOWN(ask->version));
    if (ask->nonce.len)
        udpai_strbuf_printf(&line, " nonce %.*s", UDPAI_SHOWN(ask->nonce));
    udpai_strbuf_puts(&line, ask->error_code ? " NACK" : "");
    if (line.data)
        udpai_transcribe(session->script, "%s", line.data);
    udpai_strbuf_done(&line);
}

void
udpai_test_session_send(udpai_test_session *session, udpai_kind kind, udpai_xds_ask *ask)
{
    udpa_bytes *node = NULL;
    if (session->sends_node) {
        node = make_node(session);
        ask->node = node ? udpai_bytes_view(node) : (udpai_str){0};
        session->sends_node = false;
    }
    udpa_bytes *message = udpai_xds_ask_compose(ask, session->is_delta);
    if (message) {
        transcribe_ask(session, kind, ask);
        session->script->stage->peer->send(session->call, udpai_bytes_view(message));
    } else {
        udpai_fail_script(session->script, "out of memory");
    }
    udpa_bytes_unref(message);
    udpa_bytes_unref(node);
}

/* The names of a list that the world has; fails or skips the script for what it has not. */
typedef UDPAI_VECTOR(udpai_str) str_vector;

static bool
resolve(udpai_test_session *session, udpai_kind kind, udpai_names names, str_vector *ret_names)
{
    for (; names && *names; names++) {
        const char *name = udpai_resolve(session->script, kind, *names);
        if (!name || !udpai_vector_push(ret_names, udpai_str_from(name)))
            return false;
    }
    return true;
}

/* SotW requests that follow have these names. */
static void
remember_names(udpai_test_subscription *subscription, const str_vector *names)
{
    subscription->names.n = 0;
    for (size_t i = 0; i < names->n; i++)
        (void)udpai_vector_push(&subscription->names, names->items[i].data);
}

static udpai_str
nonce_of(const udpai_test_subscription *subscription, const char *given)
{
    return udpai_str_from(given ? given : subscription->nonce ? subscription->nonce : "");
}

void
udpai_send_request(udpai_test_session *session, udpai_kind kind, const udpai_test_request *request)
{
    str_vector names = {0}, unsubscribed = {0};
    if (!udpai_test_session_is_usable(session))
        return;
    udpai_test_subscription *subscription = &session->subscriptions[kind];
    udpai_test_session_mark(session);
    if (resolve(session, kind, request->names, &names) &&
        resolve(session, kind, request->unsubscribed, &unsubscribed)) {
        const char *version = request->version ? request->version : subscription->version;
        if (!session->is_delta)
            remember_names(subscription, &names);
        udpai_test_session_send(
            session, kind,
            &(udpai_xds_ask){
                .type_url = request->has_no_type ? (udpai_str){0} : udpai_kind_url(kind),
                .nonce = nonce_of(subscription, request->nonce),
                .version = udpai_str_from(version ? version : ""),
                .names = names.items,
                .n_names = names.n,
                .unsubscribed = unsubscribed.items,
                .n_unsubscribed = unsubscribed.n,
                .versions = request->held,
                .n_versions = request->n_held,
                .error_code = request->error_code,
                .error_text =
                    request->error_code ? UDPAI_STR("rejected by a test") : (udpai_str){0},
            });
    }
    udpai_vector_done(&names);
    udpai_vector_done(&unsubscribed);
}

static bool
has_name(const udpai_test_subscription *subscription, const char *name)
{
    for (size_t i = 0; i < subscription->names.n; i++)
        if (strcmp(subscription->names.items[i], name) == 0)
            return true;
    return false;
}

static bool
is_among(const str_vector *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (udpai_str_eq(names->items[i], udpai_str_from(name)))
            return true;
    return false;
}

/* Subscribes to new names, unsubscribes from those that are left out. */
static void
subscribe_delta(udpai_test_session *session, udpai_kind kind, const str_vector *requested)
{
    udpai_test_subscription *subscription = &session->subscriptions[kind];
    str_vector added = {0}, dropped = {0};
    for (size_t i = 0; i < requested->n; i++)
        if (!has_name(subscription, requested->items[i].data))
            (void)udpai_vector_push(&added, requested->items[i]);
    for (size_t i = 0; i < subscription->names.n; i++)
        if (!is_among(requested, subscription->names.items[i]))
            (void)udpai_vector_push(&dropped, udpai_str_from(subscription->names.items[i]));
    udpai_test_session_send(session, kind,
                            &(udpai_xds_ask){
                                .type_url = udpai_kind_url(kind),
                                .names = added.items,
                                .n_names = added.n,
                                .unsubscribed = dropped.items,
                                .n_unsubscribed = dropped.n,
                            });
    remember_names(subscription, requested);
    udpai_vector_done(&added);
    udpai_vector_done(&dropped);
}

void
udpai_subscribe(udpai_test_session *session, udpai_kind kind, udpai_names names)
{
    str_vector requested = {0};
    if (!udpai_test_session_is_usable(session))
        return;
    udpai_test_session_mark(session);
    if (!session->is_delta)
        udpai_send_request(session, kind, &(udpai_test_request){.names = names});
    else if (resolve(session, kind, names, &requested))
        subscribe_delta(session, kind, &requested);
    udpai_vector_done(&requested);
}

udpai_test_session *
udpai_resume(udpai_script *script, udpai_test_session *before, udpai_names names, const char *held)
{
    const udpai_update *update = udpai_last_of(before, script->kind, held);
    const udpai_held_version version = {udpai_str_from(update ? update->name : ""),
                                        udpai_str_from(update ? update->version : "")};
    udpai_test_session_close(before);
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_send_request(
        session, script->kind,
        &(udpai_test_request){.names = names, .held = &version, .n_held = update ? 1 : 0});
    return session;
}

void
udpai_send_request_of_type(udpai_test_session *session, const char *type_url)
{
    if (!udpai_test_session_is_usable(session))
        return;
    udpai_test_session_mark(session);
    udpai_test_session_send(session, UDPAI_KINDS,
                            &(udpai_xds_ask){.type_url = udpai_str_from(type_url)});
}

void
udpai_send_bytes(udpai_test_session *session, udpai_str bytes)
{
    if (!udpai_test_session_is_usable(session))
        return;
    udpai_test_session_mark(session);
    udpai_transcribe(session->script, "> %u %zu bytes that are no request", session->number,
                     bytes.len);
    session->script->stage->peer->send(session->call, bytes);
}

void
udpai_half_close(udpai_test_session *session)
{
    if (udpai_test_session_is_usable(session))
        session->script->stage->peer->end(session->call);
}

void
udpai_behave(udpai_test_session *session, udpai_kind kind, udpai_manner manner)
{
    if (session)
        session->subscriptions[kind].manner = manner;
}
