/* SPDX-License-Identifier: Apache-2.0 */
/* A stream as a client has it: what it asks for, of each type, and what it answers. */
#include <stdio.h>

#include "base/alloc.h"
#include "tools/conform/talk_internal.h"
#include "wire/compose.h"

#define SHOWN_NAMES 6

/* ---- opening and closing ---- */

static udpai_talk *
add_talk(udpai_script *script, const char *path)
{
    const udpai_peer *peer = script->stage->peer;
    udpai_talk *talk = udpai_alloc(sizeof(*talk));
    if (!talk || !udpai_vector_push(&script->talks, talk)) {
        udpai_free(talk);
        udpai_fail_script(script, "out of memory");
        return NULL;
    }
    talk->script = script;
    talk->number = ++script->stage->n_talks;
    talk->only = UDPAI_KINDS;
    talk->sends_node = true;
    udpai_decoder_init(&talk->decoder);
    talk->call = peer->open(peer->self, path);
    if (!talk->call)
        udpai_fail_script(script, "out of memory");
    udpai_transcribe(script, "* stream %u: %s", talk->number, path);
    return talk;
}

udpai_talk *
udpai_talk_open_path(udpai_script *script, const char *path)
{
    return udpai_is_running(script) ? add_talk(script, path) : NULL;
}

udpai_talk *
udpai_talk_open_method(udpai_script *script, udpai_kind only, udpai_xds_variant variant)
{
    udpai_str type = only == UDPAI_KINDS ? (udpai_str){0} : udpai_kind_url(only);
    const udpai_xds_method *method = udpai_xds_method_find(&script->stage->methods, type, variant);
    udpai_talk *talk = method ? udpai_talk_open_path(script, method->path) : NULL;
    if (!method)
        udpai_skip_script(script, "the protocol has no such method");
    if (talk) {
        talk->is_delta = variant == UDPAI_XDS_STREAM_DELTA;
        talk->only = only;
        talk->is_optional = true;
    }
    return talk;
}

udpai_talk *
udpai_talk_open(udpai_script *script, udpai_kind kind)
{
    return udpai_talk_open_method(script, script->is_aggregated ? UDPAI_KINDS : kind,
                                  script->is_delta ? UDPAI_XDS_STREAM_DELTA
                                                   : UDPAI_XDS_STREAM_SOTW);
}

void
udpai_talk_close(udpai_talk *talk)
{
    if (!talk || !talk->call)
        return;
    udpai_transcribe(talk->script, "* stream %u: closed by the client", talk->number);
    talk->script->stage->peer->close(talk->call);
    talk->call = NULL;
    talk->is_over = true;
}

static void
topic_done(udpai_topic *topic)
{
    udpai_vector_done(&topic->names);
    udpai_free(topic->nonce);
    udpai_free(topic->version);
}

void
udpai_talk_free(udpai_talk *talk)
{
    if (talk->call)
        talk->script->stage->peer->close(talk->call);
    for (size_t i = 0; i < talk->responses.n; i++) {
        udpai_free(talk->responses.items[i].nonce);
        udpai_free(talk->responses.items[i].version);
    }
    for (size_t i = 0; i < talk->news.n; i++) {
        udpai_free(talk->news.items[i].name);
        udpai_free(talk->news.items[i].version);
        udpai_free(talk->news.items[i].endpoints);
        udpai_free(talk->news.items[i].aliases);
    }
    for (size_t i = 0; i < talk->errors.n; i++)
        udpai_free(talk->errors.items[i].name);
    udpai_vector_done(&talk->errors);
    for (size_t i = 0; i < UDPAI_KINDS; i++)
        topic_done(&talk->topics[i]);
    udpai_vector_done(&talk->responses);
    udpai_vector_done(&talk->news);
    udpai_decoder_done(&talk->decoder);
    udpai_free(talk);
}

void
udpai_talk_mark(udpai_talk *talk)
{
    if (!talk)
        return;
    talk->mark = talk->news.n;
    talk->response_mark = talk->responses.n;
}

bool
udpai_talk_is_usable(const udpai_talk *talk)
{
    return talk && talk->call && !talk->is_over && udpai_is_running(talk->script);
}

/* ---- the Node ---- */

static udpa_bytes *
make_node(const udpai_talk *talk)
{
    static const udpai_str all[] = {
        {"xds.config.supports-resource-ttl", 32},
        {"xds.config.supports-resource-in-sotw", 36},
        {"xds.config.resource-in-sotw", 27},
        {"udpa.xds.resource-errors.v1", 27}, /* nothing else is known to say so */
    };
    size_t first = talk->wants_ttl ? 0 : UDPAI_ARRAY_LEN(all) - 1;
    size_t end = UDPAI_ARRAY_LEN(all) - (talk->reads_errors ? 0 : 1);
    udpai_node_info *info = NULL;
    udpai_node_parts parts = {
        .id = talk->script->stage->node_id,
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

/* ---- saying ---- */

static void
put_names(udpai_strbuf *out, const char *what, const udpai_str *names, size_t n)
{
    udpai_strbuf_printf(out, " %s[", what);
    for (size_t i = 0; i < n && i < SHOWN_NAMES; i++)
        udpai_strbuf_printf(out, "%s%.*s", i ? ", " : "", UDPAI_SHOWN(names[i]));
    if (n > SHOWN_NAMES)
        udpai_strbuf_printf(out, ", … %zu in all", n);
    udpai_strbuf_putc(out, ']');
}

static void
transcribe_ask(const udpai_talk *talk, udpai_kind kind, const udpai_xds_ask *ask)
{
    udpai_strbuf line = {0};
    udpai_strbuf_printf(&line, "> %u %s", talk->number,
                        kind == UDPAI_KINDS ? "(another type)" : udpai_kind_word(kind));
    put_names(&line, talk->is_delta ? "subscribe" : "", ask->names, ask->n_names);
    if (ask->n_unsubscribed)
        put_names(&line, "unsubscribe", ask->unsubscribed, ask->n_unsubscribed);
    for (size_t i = 0; i < ask->n_versions && i < SHOWN_NAMES; i++)
        udpai_strbuf_printf(&line, " holds %.*s=%.*s", UDPAI_SHOWN(ask->versions[i].name),
                            UDPAI_SHOWN(ask->versions[i].version));
    if (ask->version.len)
        udpai_strbuf_printf(&line, " version %.*s", UDPAI_SHOWN(ask->version));
    if (ask->nonce.len)
        udpai_strbuf_printf(&line, " nonce %.*s", UDPAI_SHOWN(ask->nonce));
    udpai_strbuf_puts(&line, ask->error_code ? " REFUSED" : "");
    if (line.data)
        udpai_transcribe(talk->script, "%s", line.data);
    udpai_strbuf_done(&line);
}

void
udpai_talk_send(udpai_talk *talk, udpai_kind kind, udpai_xds_ask *ask)
{
    udpa_bytes *node = NULL;
    if (talk->sends_node) {
        node = make_node(talk);
        ask->node = node ? udpai_bytes_view(node) : (udpai_str){0};
        talk->sends_node = false;
    }
    udpa_bytes *message = udpai_xds_ask_compose(ask, talk->is_delta);
    if (message) {
        transcribe_ask(talk, kind, ask);
        talk->script->stage->peer->send(talk->call, udpai_bytes_view(message));
    } else {
        udpai_fail_script(talk->script, "out of memory");
    }
    udpa_bytes_unref(message);
    udpa_bytes_unref(node);
}

/* The names of a list that the world has; fails or skips the script for what it has not. */
typedef UDPAI_VECTOR(udpai_str) str_vector;

static bool
resolve(udpai_talk *talk, udpai_kind kind, udpai_names names, str_vector *ret_names)
{
    for (; names && *names; names++) {
        const char *name = udpai_resolve(talk->script, kind, *names);
        if (!name || !udpai_vector_push(ret_names, udpai_str_from(name)))
            return false;
    }
    return true;
}

/* SotW requests that follow have these names. */
static void
remember_names(udpai_topic *topic, const str_vector *names)
{
    topic->names.n = 0;
    for (size_t i = 0; i < names->n; i++)
        (void)udpai_vector_push(&topic->names, names->items[i].data);
}

static udpai_str
nonce_of(const udpai_topic *topic, const char *given)
{
    return udpai_str_from(given ? given : topic->nonce ? topic->nonce : "");
}

void
udpai_say(udpai_talk *talk, udpai_kind kind, const udpai_saying *saying)
{
    str_vector names = {0}, unsubscribed = {0};
    if (!udpai_talk_is_usable(talk))
        return;
    udpai_topic *topic = &talk->topics[kind];
    udpai_talk_mark(talk);
    if (resolve(talk, kind, saying->names, &names) &&
        resolve(talk, kind, saying->unsubscribed, &unsubscribed)) {
        const char *version = saying->version ? saying->version : topic->version;
        if (!talk->is_delta)
            remember_names(topic, &names);
        udpai_talk_send(
            talk, kind,
            &(udpai_xds_ask){
                .type_url = saying->has_no_type ? (udpai_str){0} : udpai_kind_url(kind),
                .nonce = nonce_of(topic, saying->nonce),
                .version = udpai_str_from(version ? version : ""),
                .names = names.items,
                .n_names = names.n,
                .unsubscribed = unsubscribed.items,
                .n_unsubscribed = unsubscribed.n,
                .versions = saying->held,
                .n_versions = saying->n_held,
                .error_code = saying->error_code,
                .error_text = saying->error_code ? UDPAI_STR("refused by a test") : (udpai_str){0},
            });
    }
    udpai_vector_done(&names);
    udpai_vector_done(&unsubscribed);
}

static bool
has_name(const udpai_topic *topic, const char *name)
{
    for (size_t i = 0; i < topic->names.n; i++)
        if (strcmp(topic->names.items[i], name) == 0)
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

/* What is new is subscribed to, what is not wanted any more is unsubscribed from. */
static void
want_delta(udpai_talk *talk, udpai_kind kind, const str_vector *wanted)
{
    udpai_topic *topic = &talk->topics[kind];
    str_vector added = {0}, dropped = {0};
    for (size_t i = 0; i < wanted->n; i++)
        if (!has_name(topic, wanted->items[i].data))
            (void)udpai_vector_push(&added, wanted->items[i]);
    for (size_t i = 0; i < topic->names.n; i++)
        if (!is_among(wanted, topic->names.items[i]))
            (void)udpai_vector_push(&dropped, udpai_str_from(topic->names.items[i]));
    udpai_talk_send(talk, kind,
                    &(udpai_xds_ask){
                        .type_url = udpai_kind_url(kind),
                        .names = added.items,
                        .n_names = added.n,
                        .unsubscribed = dropped.items,
                        .n_unsubscribed = dropped.n,
                    });
    remember_names(topic, wanted);
    udpai_vector_done(&added);
    udpai_vector_done(&dropped);
}

void
udpai_want(udpai_talk *talk, udpai_kind kind, udpai_names names)
{
    str_vector wanted = {0};
    if (!udpai_talk_is_usable(talk))
        return;
    udpai_talk_mark(talk);
    if (!talk->is_delta)
        udpai_say(talk, kind, &(udpai_saying){.names = names});
    else if (resolve(talk, kind, names, &wanted))
        want_delta(talk, kind, &wanted);
    udpai_vector_done(&wanted);
}

udpai_talk *
udpai_resume(udpai_script *script, udpai_talk *before, udpai_names names, const char *held)
{
    const udpai_news *news = udpai_last_of(before, script->kind, held);
    const udpai_held_version version = {udpai_str_from(news ? news->name : ""),
                                        udpai_str_from(news ? news->version : "")};
    udpai_talk_close(before);
    udpai_talk *talk = udpai_talk_open(script, script->kind);
    udpai_say(talk, script->kind,
              &(udpai_saying){.names = names, .held = &version, .n_held = news ? 1 : 0});
    return talk;
}

void
udpai_say_type(udpai_talk *talk, const char *type_url)
{
    if (!udpai_talk_is_usable(talk))
        return;
    udpai_talk_mark(talk);
    udpai_talk_send(talk, UDPAI_KINDS, &(udpai_xds_ask){.type_url = udpai_str_from(type_url)});
}

void
udpai_say_bytes(udpai_talk *talk, udpai_str bytes)
{
    if (!udpai_talk_is_usable(talk))
        return;
    udpai_talk_mark(talk);
    udpai_transcribe(talk->script, "> %u %zu bytes that are no request", talk->number, bytes.len);
    talk->script->stage->peer->send(talk->call, bytes);
}

void
udpai_finish(udpai_talk *talk)
{
    if (udpai_talk_is_usable(talk))
        talk->script->stage->peer->end(talk->call);
}

void
udpai_behave(udpai_talk *talk, udpai_kind kind, udpai_manner manner)
{
    if (talk)
        talk->topics[kind].manner = manner;
}
