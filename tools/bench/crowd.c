/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/crowd.h"

#include <stdio.h>

#include "base/alloc.h"
#include "loop/clock.h"

#define AT_ONCE 64    /* connections that are made */
#define QUIET_MS 1000 /* nothing more comes: where it is not known how much there is */
#define TURN_MS 100

/* ---- what comes ---- */

static void
note_error(udpai_crowd *crowd, size_t link, udpa_err code, const char *what, udpai_str reason)
{
    if (crowd->n_errors++ > 0)
        return;
    crowd->first_code = code;
    udpai_strbuf_printf(&crowd->first_error, "%s: connection %zu: %s: %.*s", crowd->options->server,
                        link, what, UDPAI_SHOWN(reason));
}

static void
acknowledge(udpai_crowd_stream *stream, const udpai_load_talk *talk)
{
    const udpai_load_answer answer = {udpai_load_text_view(&talk->nonce),
                                      udpai_load_text_view(&talk->version)};
    udpai_strbuf *out = udpai_link_out(stream->crowd->links[stream->link].link, stream->index);
    udpai_load_put_acknowledgement(out, talk->protocol, &stream->question, &answer);
    if (udpai_strbuf_failed(out))
        note_error(stream->crowd, stream->link, UDPA_ERR_NOMEM, "nothing can be sent",
                   UDPAI_STR("out of memory"));
}

static void
count(udpai_crowd_stream *stream, const udpai_load_talk *talk)
{
    udpai_crowd *crowd = stream->crowd;
    uint64_t before = stream->n_resources;
    crowd->n_messages++;
    crowd->last_ns = crowd->loop->now_ns;
    crowd->n_resources += talk->n_resources;
    stream->n_resources += talk->n_resources;
    if (before < stream->n_wanted && stream->n_resources >= stream->n_wanted)
        crowd->n_satisfied++;
}

static void
on_message(void *userdata, const udpai_load_talk *talk)
{
    udpai_crowd_stream *stream = userdata;
    udpai_crowd *crowd = stream->crowd;
    if (!stream->is_slow)
        count(stream, talk);
    if (talk->is_refused)
        note_error(crowd, stream->link, UDPA_ERR_DENIED, "the server refuses what is asked for",
                   talk->reason.len ? udpai_load_text_view(&talk->reason)
                                    : UDPAI_STR("it does not say why"));
    if (talk->protocol == UDPAI_LOAD_UDPA ? talk->wants_receipt : talk->nonce.len > 0)
        acknowledge(stream, talk);
}

static void
on_data(void *userdata, size_t index, udpai_str bytes)
{
    const udpai_crowd_link *link = userdata;
    udpai_crowd *crowd = link->crowd;
    udpai_crowd_stream *stream = &crowd->streams[link->first + index];
    if (crowd->found && !stream->is_slow)
        udpai_mark_find(&stream->finder, bytes, crowd->found, crowd->userdata);
    if (!udpai_load_talk_take(&stream->talk, bytes))
        note_error(crowd, link->index, UDPA_ERR_MALFORMED, "what came is no answer",
                   UDPAI_STR("it cannot be read"));
}

static void
on_ready(void *userdata)
{
    udpai_crowd_link *link = userdata;
    link->is_ready = true;
    link->crowd->n_ready++;
}

static void
on_ended(void *userdata, size_t index, const char *reason)
{
    const udpai_crowd_link *link = userdata;
    (void)index;
    note_error(link->crowd, link->index, UDPA_ERR_ABORTED, "a stream was ended",
               udpai_str_from(reason));
}

static void
on_broken(void *userdata, const char *reason)
{
    const udpai_crowd_link *link = userdata;
    note_error(link->crowd, link->index, UDPA_ERR_UNAVAILABLE, "lost", udpai_str_from(reason));
}

udpa_err
udpai_crowd_check(const udpai_crowd *crowd, udpa_error **ret_error)
{
    if (crowd->n_errors == 0)
        return UDPA_OK;
    char more[48] = "";
    if (crowd->n_errors > 1)
        snprintf(more, sizeof(more), " (and %llu more)", (unsigned long long)crowd->n_errors - 1);
    if (udpai_strbuf_failed(&crowd->first_error))
        return udpai_fail_code(ret_error, crowd->first_code);
    return udpai_fail(ret_error, crowd->first_code, "%s%s", crowd->first_error.data, more);
}

/* ---- connections ---- */

static udpa_err
open_link(udpai_crowd_link *link, udpa_error **ret_error)
{
    static const udpai_link_events events = {on_ready, on_data, on_ended, on_broken};
    const udpai_crowd *crowd = link->crowd;
    return udpai_link_open(&link->link,
                           &(udpai_link_options){
                               .loop = crowd->loop,
                               .server = crowd->options->server,
                               .tls = crowd->tls,
                               .server_name = crowd->options->tls.server_name,
                               .session = link->session,
                               .events = &events,
                               .userdata = link,
                           },
                           ret_error);
}

/* Waits while it goes on: until so many connections can be used. */
static udpa_err
await_ready(udpai_crowd *crowd, size_t n, udpa_error **ret_error)
{
    const udpai_load_options *options = crowd->options;
    uint64_t last_ms = udpai_monotonic_ms();
    udpa_err err = udpai_crowd_check(crowd, ret_error);
    while (err == UDPA_OK && crowd->n_ready < n) {
        size_t before = crowd->n_ready;
        udpai_load_loop_run(crowd->loop, TURN_MS);
        udpai_load_loop_tell(crowd->loop, "connections", crowd->n_ready, options->n_connections);
        if (crowd->n_ready > before)
            last_ms = udpai_monotonic_ms();
        err = udpai_crowd_check(crowd, ret_error);
        if (err == UDPA_OK && udpai_monotonic_ms() - last_ms > options->patience_ms)
            err = udpai_fail(ret_error, UDPA_ERR_DEADLINE,
                             "%s: %zu of %zu connections can be used, and for %llu ms no more",
                             options->server, crowd->n_ready, options->n_connections,
                             (unsigned long long)options->patience_ms);
    }
    return err;
}

udpa_err
udpai_crowd_connect(udpai_crowd *crowd, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    size_t n = crowd->options->n_connections;
    crowd->n_ready = 0;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        err = open_link(&crowd->links[i], ret_error);
        if (err == UDPA_OK && i >= AT_ONCE)
            err = await_ready(crowd, i - AT_ONCE, ret_error);
    }
    return err == UDPA_OK ? await_ready(crowd, n, ret_error) : err;
}

void
udpai_crowd_disconnect(udpai_crowd *crowd)
{
    for (size_t i = 0; i < crowd->options->n_connections; i++) {
        udpai_crowd_link *link = &crowd->links[i];
        if (!link->link)
            continue;
        SSL_SESSION_free(link->session);
        link->session = udpai_link_session(link->link);
        link->link = udpai_link_close(link->link);
        link->is_ready = false;
    }
    for (size_t i = 0; i < crowd->options->n_streams; i++)
        crowd->streams[i].is_slow = false;
}

/* ---- streams ---- */

static bool
open_stream(udpai_crowd_stream *stream, bool with_versions)
{
    udpai_crowd *crowd = stream->crowd;
    udpai_link *link = crowd->links[stream->link].link;
    stream->talk = (udpai_load_talk){
        .protocol = crowd->options->protocol,
        .message = on_message,
        .userdata = stream,
        .learned = crowd->versions,
        .n_learned = crowd->options->n_resources,
    };
    stream->finder.n = 0;
    stream->n_resources = 0;
    stream->question.held = with_versions ? crowd->versions : NULL;
    if (!udpai_link_request(link, udpai_load_path(crowd->options->protocol)))
        return false;
    udpai_strbuf *out = udpai_link_out(link, stream->index);
    udpai_load_put_question(out, crowd->options->protocol, &stream->question);
    return !udpai_strbuf_failed(out);
}

udpa_err
udpai_crowd_subscribe(udpai_crowd *crowd, bool with_versions, udpa_error **ret_error)
{
    crowd->n_satisfied = crowd->n_resources = crowd->n_messages = 0;
    for (size_t i = 0; i < crowd->options->n_connections; i++) {
        const udpai_crowd_link *link = &crowd->links[i];
        for (size_t j = 0; j < link->n; j++)
            if (!open_stream(&crowd->streams[link->first + j], with_versions))
                return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        udpai_link_flush(link->link);
        if (i % AT_ONCE == AT_ONCE - 1)
            udpai_load_loop_run(crowd->loop, 0);
        udpai_load_loop_tell(crowd->loop, "streams", link->first, crowd->options->n_streams);
    }
    return udpai_crowd_check(crowd, ret_error);
}

static udpa_err
await_quiet(udpai_crowd *crowd, udpa_error **ret_error)
{
    uint64_t last_ms = udpai_monotonic_ms(), n = UINT64_MAX;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_monotonic_ms() - last_ms < QUIET_MS) {
        udpai_load_loop_run(crowd->loop, TURN_MS);
        udpai_load_loop_tell(crowd->loop, "resources", crowd->n_resources, 0);
        if (n != crowd->n_messages)
            last_ms = udpai_monotonic_ms();
        n = crowd->n_messages;
        err = udpai_crowd_check(crowd, ret_error);
    }
    return err;
}

static udpa_err
fail_late(const udpai_crowd *crowd, udpa_error **ret_error)
{
    const udpai_load_options *options = crowd->options;
    return udpai_fail(ret_error, UDPA_ERR_DEADLINE,
                      "%s: of %zu streams %zu have all %zu resources, and nothing has come for "
                      "%llu ms: does the server have them (--resources)?",
                      options->server, options->n_streams, crowd->n_satisfied,
                      crowd->streams[0].n_wanted, (unsigned long long)options->patience_ms);
}

udpa_err
udpai_crowd_await(udpai_crowd *crowd, udpa_error **ret_error)
{
    uint64_t last_ms = udpai_monotonic_ms(), n_bytes = 0;
    size_t n = crowd->options->n_streams;
    if (crowd->options->n_resources == 0)
        return await_quiet(crowd, ret_error);
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && crowd->n_satisfied < n) {
        udpai_load_loop_run(crowd->loop, TURN_MS);
        udpai_load_loop_tell(crowd->loop, "streams with all resources", crowd->n_satisfied, n);
        if (n_bytes != crowd->loop->n_bytes_read)
            last_ms = udpai_monotonic_ms();
        n_bytes = crowd->loop->n_bytes_read;
        err = udpai_crowd_check(crowd, ret_error);
        if (err == UDPA_OK && udpai_monotonic_ms() - last_ms > crowd->options->patience_ms)
            err = fail_late(crowd, ret_error);
    }
    return err;
}

static bool
asks_for(const udpai_crowd_stream *stream, size_t resource)
{
    const udpai_load_options *options = stream->crowd->options;
    size_t at = (resource + options->n_resources - stream->question.first) % options->n_resources;
    return udpai_load_asks_for_space(options, stream->space,
                                     udpai_load_space_of(options, resource)) &&
           (options->n_names == 0 || at < options->n_names);
}

size_t
udpai_crowd_n_readers(const udpai_crowd *crowd, size_t resource)
{
    size_t n = 0;
    for (size_t i = 0; i < crowd->options->n_streams; i++)
        n += !crowd->streams[i].is_slow && asks_for(&crowd->streams[i], resource);
    return n;
}

/* ---- their life ---- */

static void
place_stream(udpai_crowd *crowd, size_t i, size_t link)
{
    const udpai_load_options *options = crowd->options;
    udpai_crowd_stream *stream = &crowd->streams[i];
    bool is_plain = options->has_plain_names && options->protocol != UDPAI_LOAD_UDPA;
    if (crowd->links[link].n == 0)
        crowd->links[link].first = i;
    stream->crowd = crowd;
    stream->link = link;
    stream->index = crowd->links[link].n++;
    stream->space = udpai_load_space_of(options, i);
    stream->n_wanted =
        options->n_names ? options->n_names : udpai_load_n_in_spaces(options, stream->space);
    stream->question = (udpai_load_question){
        .type_url = options->type_url,
        .node_id = options->node_id,
        .name_space = is_plain ? "" : crowd->spaces[stream->space],
        .spaces = crowd->spaces,
        .n_spaces = udpai_load_n_spaces(options),
        .first_space = stream->space,
        .n_of_a_stream = udpai_load_n_of_a_stream(options),
        .first = options->n_resources ? i * options->n_names % options->n_resources : 0,
        .n_names = options->n_names,
        .n_resources = options->n_resources,
        .number = (unsigned)i,
    };
}

udpa_err
udpai_crowd_begin(udpai_crowd *crowd,
                  udpai_load_loop *loop,
                  const udpai_load_options *options,
                  udpa_error **ret_error)
{
    size_t n = options->n_connections;
    *crowd = (udpai_crowd){.options = options, .loop = loop};
    crowd->streams = udpai_alloc((options->n_streams + 1) * sizeof(*crowd->streams));
    crowd->links = udpai_alloc((n + 1) * sizeof(*crowd->links));
    crowd->spaces = udpai_alloc_array(udpai_load_n_spaces(options), sizeof(*crowd->spaces));
    if (options->reconnects)
        crowd->versions = udpai_alloc((options->n_resources + 1) * sizeof(*crowd->versions));
    if (!crowd->streams || !crowd->links || !crowd->spaces ||
        (options->reconnects && !crowd->versions))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < udpai_load_n_spaces(options); i++)
        udpai_load_space_name(crowd->spaces[i], options, i);
    for (size_t i = 0; i < n; i++) {
        crowd->links[i].crowd = crowd;
        crowd->links[i].index = i;
    }
    for (size_t i = 0; i < options->n_streams; i++)
        place_stream(crowd, i, i * n / options->n_streams);
    return udpai_load_tls_new(&crowd->tls, &options->tls, ret_error);
}

void
udpai_crowd_end(udpai_crowd *crowd)
{
    if (crowd->links)
        udpai_crowd_disconnect(crowd);
    for (size_t i = 0; crowd->links && i < crowd->options->n_connections; i++)
        SSL_SESSION_free(crowd->links[i].session);
    SSL_CTX_free(crowd->tls);
    udpai_free(crowd->links);
    udpai_free(crowd->streams);
    udpai_free(crowd->spaces);
    udpai_free(crowd->versions);
    udpai_strbuf_done(&crowd->first_error);
}
