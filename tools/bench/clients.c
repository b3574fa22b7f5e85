/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/clients.h"

#include <stdio.h>

#include "base/alloc.h"
#include "loop/clock.h"

#define AT_ONCE 64    /* connections that are made */
#define QUIET_MS 1000 /* nothing more comes: where it is not known how much there is */
#define TURN_MS 100

/* ---- what comes ---- */

static void
note_error(
    udpai_load_clients *clients, size_t link, udpa_err code, const char *what, udpai_str reason)
{
    if (clients->n_errors++ > 0)
        return;
    clients->first_code = code;
    udpai_strbuf_printf(&clients->first_error, "%s: connection %zu: %s: %.*s",
                        clients->options->server, link, what, UDPAI_SHOWN(reason));
}

static void
acknowledge(udpai_load_client *client, const udpai_load_stream *stream)
{
    const udpai_load_ack answer = {udpai_load_text_view(&stream->nonce),
                                   udpai_load_text_view(&stream->version),
                                   udpai_load_text_view(&stream->type_url)};
    udpai_strbuf *out = udpai_link_out(client->clients->links[client->link].link, client->index);
    udpai_load_put_acknowledgement(out, stream->protocol, &client->subscription, &answer);
    if (udpai_strbuf_failed(out))
        note_error(client->clients, client->link, UDPA_ERR_NOMEM, "nothing can be sent",
                   UDPAI_STR("out of memory"));
}

static void
count(udpai_load_client *client, const udpai_load_stream *stream)
{
    udpai_load_clients *clients = client->clients;
    uint64_t before = client->n_resources;
    clients->n_messages++;
    clients->last_ns = clients->loop->now_ns;
    clients->n_resources += stream->n_resources;
    client->n_resources += stream->n_resources;
    if (before < client->n_expected && client->n_resources >= client->n_expected)
        clients->n_complete++;
}

static void
on_message(void *userdata, const udpai_load_stream *stream)
{
    udpai_load_client *client = userdata;
    udpai_load_clients *clients = client->clients;
    if (!client->is_slow)
        count(client, stream);
    if (stream->is_rejected)
        note_error(clients, client->link, UDPA_ERR_DENIED, "the server refuses what is asked for",
                   stream->reason.len ? udpai_load_text_view(&stream->reason)
                                      : UDPAI_STR("it does not say why"));
    if (stream->protocol == UDPAI_LOAD_UDPA ? stream->wants_receipt : stream->nonce.len > 0)
        acknowledge(client, stream);
}

static void
on_data(void *userdata, size_t index, udpai_str bytes)
{
    const udpai_load_connection *link = userdata;
    udpai_load_clients *clients = link->clients;
    udpai_load_client *client = &clients->items[link->first + index];
    if (clients->found && !client->is_slow)
        udpai_mark_find(&client->finder, bytes, clients->found, clients->userdata);
    if (!udpai_load_stream_read(&client->stream, bytes))
        note_error(clients, link->index, UDPA_ERR_MALFORMED, "what came is no answer",
                   UDPAI_STR("it cannot be read"));
}

static void
on_ready(void *userdata)
{
    udpai_load_connection *link = userdata;
    link->is_ready = true;
    link->clients->n_ready++;
}

static void
on_ended(void *userdata, size_t index, const char *reason)
{
    const udpai_load_connection *link = userdata;
    (void)index;
    note_error(link->clients, link->index, UDPA_ERR_ABORTED, "a stream was ended",
               udpai_str_from(reason));
}

static void
on_broken(void *userdata, const char *reason)
{
    const udpai_load_connection *link = userdata;
    note_error(link->clients, link->index, UDPA_ERR_UNAVAILABLE, "lost", udpai_str_from(reason));
}

udpa_err
udpai_load_clients_check(const udpai_load_clients *clients, udpa_error **ret_error)
{
    if (clients->n_errors == 0)
        return UDPA_OK;
    char more[48] = "";
    if (clients->n_errors > 1)
        snprintf(more, sizeof(more), " (and %llu more)", (unsigned long long)clients->n_errors - 1);
    if (udpai_strbuf_failed(&clients->first_error))
        return udpai_fail_code(ret_error, clients->first_code);
    return udpai_fail(ret_error, clients->first_code, "%s%s", clients->first_error.data, more);
}

/* ---- connections ---- */

static udpa_err
open_link(udpai_load_connection *link, udpa_error **ret_error)
{
    static const udpai_link_events events = {on_ready, on_data, on_ended, on_broken};
    const udpai_load_clients *clients = link->clients;
    return udpai_link_open(&link->link,
                           &(udpai_link_options){
                               .loop = clients->loop,
                               .server = clients->options->server,
                               .tls = clients->tls,
                               .server_name = clients->options->tls.server_name,
                               .session = link->session,
                               .events = &events,
                               .userdata = link,
                           },
                           ret_error);
}

/* Waits while it goes on: until so many connections can be used. */
static udpa_err
await_ready(udpai_load_clients *clients, size_t n, udpa_error **ret_error)
{
    const udpai_load_options *options = clients->options;
    uint64_t last_ms = udpai_monotonic_ms();
    udpa_err err = udpai_load_clients_check(clients, ret_error);
    while (err == UDPA_OK && clients->n_ready < n) {
        size_t before = clients->n_ready;
        udpai_load_loop_run(clients->loop, TURN_MS);
        udpai_load_loop_report(clients->loop, "connections", clients->n_ready,
                               options->n_connections);
        if (clients->n_ready > before)
            last_ms = udpai_monotonic_ms();
        err = udpai_load_clients_check(clients, ret_error);
        if (err == UDPA_OK && udpai_monotonic_ms() - last_ms > options->patience_ms)
            err = udpai_fail(ret_error, UDPA_ERR_DEADLINE,
                             "%s: %zu of %zu connections can be used, and for %llu ms no more",
                             options->server, clients->n_ready, options->n_connections,
                             (unsigned long long)options->patience_ms);
    }
    return err;
}

udpa_err
udpai_load_clients_connect(udpai_load_clients *clients, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    size_t n = clients->options->n_connections;
    clients->n_ready = 0;
    for (size_t i = 0; i < n && err == UDPA_OK; i++) {
        err = open_link(&clients->links[i], ret_error);
        if (err == UDPA_OK && i >= AT_ONCE)
            err = await_ready(clients, i - AT_ONCE, ret_error);
    }
    return err == UDPA_OK ? await_ready(clients, n, ret_error) : err;
}

void
udpai_load_clients_disconnect(udpai_load_clients *clients)
{
    for (size_t i = 0; i < clients->options->n_connections; i++) {
        udpai_load_connection *link = &clients->links[i];
        if (!link->link)
            continue;
        SSL_SESSION_free(link->session);
        link->session = udpai_link_session(link->link);
        link->link = udpai_link_close(link->link);
        link->is_ready = false;
    }
    for (size_t i = 0; i < clients->options->n_streams; i++)
        clients->items[i].is_slow = false;
}

/* ---- streams ---- */

static bool
open_stream(udpai_load_client *client, bool with_versions)
{
    udpai_load_clients *clients = client->clients;
    udpai_link *link = clients->links[client->link].link;
    client->stream = (udpai_load_stream){
        .protocol = clients->options->protocol,
        .message = on_message,
        .userdata = client,
        .learned = clients->versions,
        .n_learned = clients->options->n_resources,
    };
    client->finder.n = 0;
    client->n_resources = 0;
    client->subscription.held = with_versions ? &clients->held : NULL;
    if (!udpai_link_request(link, udpai_load_path(clients->options->protocol)))
        return false;
    udpai_strbuf *out = udpai_link_out(link, client->index);
    udpai_load_put_subscription(out, clients->options->protocol, &client->subscription);
    return !udpai_strbuf_failed(out);
}

static bool
note_what_is_held(udpai_load_clients *clients)
{
    const udpai_load_client *first = clients->items;
    udpai_load_held_done(&clients->held);
    return udpai_load_held_make(&clients->held, clients->options->protocol,
                                first->subscription.name_space, clients->versions,
                                clients->options->n_resources);
}

udpa_err
udpai_load_clients_subscribe(udpai_load_clients *clients,
                             bool with_versions,
                             udpa_error **ret_error)
{
    if (with_versions && !note_what_is_held(clients))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    clients->n_complete = clients->n_resources = clients->n_messages = 0;
    for (size_t i = 0; i < clients->options->n_connections; i++) {
        const udpai_load_connection *link = &clients->links[i];
        for (size_t j = 0; j < link->n; j++)
            if (!open_stream(&clients->items[link->first + j], with_versions))
                return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        udpai_link_flush(link->link);
        if (i % AT_ONCE == AT_ONCE - 1)
            udpai_load_loop_run(clients->loop, 0);
        udpai_load_loop_report(clients->loop, "streams", link->first, clients->options->n_streams);
    }
    return udpai_load_clients_check(clients, ret_error);
}

static udpa_err
await_quiet(udpai_load_clients *clients, udpa_error **ret_error)
{
    uint64_t last_ms = udpai_monotonic_ms(), n = UINT64_MAX;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_monotonic_ms() - last_ms < QUIET_MS) {
        udpai_load_loop_run(clients->loop, TURN_MS);
        udpai_load_loop_report(clients->loop, "resources", clients->n_resources, 0);
        if (n != clients->n_messages)
            last_ms = udpai_monotonic_ms();
        n = clients->n_messages;
        err = udpai_load_clients_check(clients, ret_error);
    }
    return err;
}

static udpa_err
fail_late(const udpai_load_clients *clients, udpa_error **ret_error)
{
    const udpai_load_options *options = clients->options;
    return udpai_fail(ret_error, UDPA_ERR_DEADLINE,
                      "%s: of %zu streams %zu have all %zu resources, and nothing has come for "
                      "%llu ms: does the server have them (--resources)?",
                      options->server, options->n_streams, clients->n_complete,
                      clients->items[0].n_expected, (unsigned long long)options->patience_ms);
}

udpa_err
udpai_load_clients_await(udpai_load_clients *clients, udpa_error **ret_error)
{
    uint64_t last_ms = udpai_monotonic_ms(), n_bytes = 0;
    size_t n = clients->options->n_streams;
    if (clients->options->n_resources == 0)
        return await_quiet(clients, ret_error);
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && clients->n_complete < n) {
        udpai_load_loop_run(clients->loop, TURN_MS);
        udpai_load_loop_report(clients->loop, "streams with all resources", clients->n_complete, n);
        if (n_bytes != clients->loop->n_bytes_read)
            last_ms = udpai_monotonic_ms();
        n_bytes = clients->loop->n_bytes_read;
        err = udpai_load_clients_check(clients, ret_error);
        if (err == UDPA_OK && udpai_monotonic_ms() - last_ms > clients->options->patience_ms)
            err = fail_late(clients, ret_error);
    }
    return err;
}

static bool
asks_for(const udpai_load_client *client, size_t resource)
{
    const udpai_load_options *options = client->clients->options;
    size_t at =
        (resource + options->n_resources - client->subscription.first) % options->n_resources;
    return udpai_load_subscribes_to_space(options, client->space,
                                          udpai_load_space_of(options, resource)) &&
           (options->n_names == 0 || at < options->n_names);
}

size_t
udpai_load_clients_n_readers(const udpai_load_clients *clients, size_t resource)
{
    size_t n = 0;
    for (size_t i = 0; i < clients->options->n_streams; i++)
        n += !clients->items[i].is_slow && asks_for(&clients->items[i], resource);
    return n;
}

/* ---- their life ---- */

static void
place_stream(udpai_load_clients *clients, size_t i, size_t link)
{
    const udpai_load_options *options = clients->options;
    udpai_load_client *client = &clients->items[i];
    bool is_plain = options->has_plain_names && options->protocol != UDPAI_LOAD_UDPA;
    if (clients->links[link].n == 0)
        clients->links[link].first = i;
    client->clients = clients;
    client->link = link;
    client->index = clients->links[link].n++;
    client->space = udpai_load_space_of(options, i);
    client->n_expected =
        options->n_of_envoys +
        (options->n_names ? options->n_names : udpai_load_n_in_spaces(options, client->space));
    client->subscription = (udpai_load_subscription){
        .type_url = options->type_url,
        .node_id = options->node_id,
        .name_space = is_plain ? "" : clients->spaces[client->space],
        .spaces = clients->spaces,
        .n_spaces = udpai_load_n_spaces(options),
        .first_space = client->space,
        .n_of_a_stream = udpai_load_n_of_a_stream(options),
        .first = options->n_resources ? i * options->n_names % options->n_resources : 0,
        .n_names = options->n_names,
        .n_resources = options->n_resources,
        .is_of_envoy = options->n_of_envoys > 0,
        .number = (unsigned)i,
    };
}

udpa_err
udpai_load_clients_begin(udpai_load_clients *clients,
                         udpai_load_loop *loop,
                         const udpai_load_options *options,
                         udpa_error **ret_error)
{
    size_t n = options->n_connections;
    *clients = (udpai_load_clients){.options = options, .loop = loop};
    clients->items = udpai_alloc((options->n_streams + 1) * sizeof(*clients->items));
    clients->links = udpai_alloc((n + 1) * sizeof(*clients->links));
    clients->spaces = udpai_alloc_array(udpai_load_n_spaces(options), sizeof(*clients->spaces));
    if (options->reconnects)
        clients->versions = udpai_alloc((options->n_resources + 1) * sizeof(*clients->versions));
    if (!clients->items || !clients->links || !clients->spaces ||
        (options->reconnects && !clients->versions))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < udpai_load_n_spaces(options); i++)
        udpai_load_space_name(clients->spaces[i], options, i);
    for (size_t i = 0; i < n; i++) {
        clients->links[i].clients = clients;
        clients->links[i].index = i;
    }
    for (size_t i = 0; i < options->n_streams; i++)
        place_stream(clients, i, i * n / options->n_streams);
    return udpai_load_tls_new(&clients->tls, &options->tls, ret_error);
}

void
udpai_load_clients_end(udpai_load_clients *clients)
{
    if (clients->links)
        udpai_load_clients_disconnect(clients);
    for (size_t i = 0; clients->links && i < clients->options->n_connections; i++)
        SSL_SESSION_free(clients->links[i].session);
    SSL_CTX_free(clients->tls);
    udpai_free(clients->links);
    udpai_free(clients->items);
    udpai_free(clients->spaces);
    udpai_free(clients->versions);
    udpai_load_held_done(&clients->held);
    udpai_strbuf_done(&clients->first_error);
}
