/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/servers.h"

#include "base/alloc.h"
#include "federation/source_internal.h"
#include "model/server_list.h"

/* ---- which there are ---- */

static bool
is_list(const udpai_source *source)
{
    return source->kind == UDPAI_SOURCE_UDPA || source->kind == UDPAI_SOURCE_XDS;
}

udpa_err
udpai_servers_set(udpai_source *source, bool starts_anywhere)
{
    udpai_servers *servers = &source->servers;
    udpai_str rest = udpai_bytes_view(source->address), server;
    size_t n = is_list(source) ? udpai_server_list_size(rest) : 0;
    udpai_servers_done(source);
    if (n == 0)
        return UDPA_OK;
    servers->items = udpai_alloc_array(n, sizeof(*servers->items));
    if (!servers->items)
        return UDPA_ERR_NOMEM;
    servers->n = n;
    for (size_t i = 0; udpai_server_list_cut(&rest, &server); i++) {
        servers->items[i].address = udpai_bytes_cstring(server);
        if (!servers->items[i].address)
            return UDPA_ERR_NOMEM;
    }
    if (starts_anywhere && n > 1)
        servers->at = udpai_context_random(source->owner->context) % n;
    return UDPA_OK;
}

void
udpai_servers_done(udpai_source *source)
{
    udpai_servers *servers = &source->servers;
    for (size_t i = 0; i < servers->n; i++) {
        udpa_bytes_unref(servers->items[i].address);
        udpa_bytes_unref(servers->items[i].node);
        udpa_bytes_unref(servers->items[i].instance);
        udpa_error_unref(servers->items[i].why);
    }
    udpai_free(servers->items);
    *servers = (udpai_servers){0};
}

static const char *
address_of(const udpai_server *server)
{
    return server->address ? udpa_bytes_data(server->address) : "?";
}

const char *
udpai_servers_address(const udpai_source *source)
{
    const udpai_servers *servers = &source->servers;
    return servers->n ? address_of(&servers->items[servers->at]) : NULL;
}

/* ---- rounds ---- */

static void
forget_failures(udpai_servers *servers)
{
    servers->n_ended = 0;
    for (size_t i = 0; i < servers->n; i++)
        servers->items[i].why = udpa_error_unref(servers->items[i].why);
}

/* A server that takes the stream and ends it soon after has failed, or servers that all do so
 * would be dialled in turn without a pause. */
static bool
was_steady(const udpai_source *source)
{
    const udpai_context *context = source->owner->context;
    return udpai_source_is_active(source) &&
           udpai_context_now(context) >= source->active_since_ms + context->timing.backoff_base_ms;
}

bool
udpai_servers_ended(udpai_source *source, udpa_error *why)
{
    udpai_servers *servers = &source->servers;
    if (servers->n < 2)
        return false;
    if (was_steady(source))
        forget_failures(servers);
    udpai_server *server = &servers->items[servers->at];
    udpa_error_unref(server->why);
    server->why = why ? udpa_error_ref(why)
                      : udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "%s has ended the stream",
                                       address_of(server));
    servers->at = (servers->at + 1) % servers->n;
    return ++servers->n_ended % servers->n != 0;
}

unsigned
udpai_servers_n_rounds(const udpai_source *source)
{
    unsigned n = source->servers.n > 1 ? source->n_failures / (unsigned)source->servers.n
                                       : source->n_failures;
    return n ? n : 1;
}

bool
udpai_servers_are_untried(const udpai_source *source)
{
    return source->servers.n > 1 && source->servers.n_ended < source->servers.n;
}

/* Of servers that cannot be reached less is known than of one that has answered. */
static udpa_err
code_of(const udpai_servers *servers)
{
    for (size_t i = 0; i < servers->n; i++)
        if (servers->items[i].why &&
            udpa_error_code(servers->items[i].why) != UDPA_ERR_UNAVAILABLE &&
            udpa_error_code(servers->items[i].why) != UDPA_ERR_DEADLINE)
            return udpa_error_code(servers->items[i].why);
    return UDPA_ERR_UNAVAILABLE;
}

udpa_error *
udpai_servers_why(const udpai_source *source)
{
    const udpai_servers *servers = &source->servers;
    udpa_error *one = NULL, *all = NULL;
    udpai_strbuf text = {0};
    size_t n = 0;
    for (size_t i = 0; i < servers->n; i++) {
        if (!servers->items[i].why)
            continue;
        one = servers->items[i].why;
        udpai_strbuf_puts(&text, n++ ? " | " : "");
        udpai_strbuf_puts(&text, udpa_error_message(one));
    }
    if (n > 1 && !udpai_strbuf_failed(&text))
        all = udpa_error_new(code_of(servers), NULL, "%s", text.data);
    udpai_strbuf_done(&text);
    return n > 1 ? all : udpa_error_ref(one);
}

/* ---- one set ---- */

static bool
is_same(const udpa_bytes *a, const udpa_bytes *b)
{
    return udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b));
}

static bool
is_of_one_set(const udpai_server *a, const udpai_server *b)
{
    return !a->node || !b->node || (is_same(a->node, b->node) && is_same(a->instance, b->instance));
}

/* NULL: those that were introduced are one node, or there is no memory. */
static udpa_error *
describe(const udpai_source *source, const udpai_server *server)
{
    const udpai_servers *servers = &source->servers;
    const udpai_server *other = NULL;
    for (size_t i = 0; i < servers->n && !other; i++)
        if (!is_of_one_set(server, &servers->items[i]))
            other = &servers->items[i];
    if (!other)
        return NULL;
    udpai_str name = udpai_bytes_view(source->name), node = udpai_bytes_view(server->node),
              instance = udpai_bytes_view(server->instance),
              other_node = udpai_bytes_view(other->node),
              other_instance = udpai_bytes_view(other->instance);
    return udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "source %.*s: %s is the node '%.*s' of instance %.*s, but %s is '%.*s' of instance %.*s: "
        "the servers of one source must be replicas of one set; list others as sources of their "
        "own",
        UDPAI_SHOWN(name), address_of(server), UDPAI_SHOWN(node), UDPAI_SHOWN(instance),
        address_of(other), UDPAI_SHOWN(other_node), UDPAI_SHOWN(other_instance));
}

static void
replace(udpa_bytes **place, udpai_str text)
{
    udpa_bytes *made = NULL;
    if (*place && udpai_str_eq(udpai_bytes_view(*place), text))
        return;
    udpa_bytes_unref(*place);
    *place = udpa_bytes_new(&made, text.data ? text.data : "", text.len) == UDPA_OK ? made : NULL;
}

void
udpai_servers_introduced(udpai_source *source, const udpai_peer *peer)
{
    udpai_servers *servers = &source->servers;
    if (servers->n < 2)
        return;
    udpai_server *server = &servers->items[servers->at];
    replace(&server->node, udpai_node_info_parts(peer->info)->id);
    replace(&server->instance, udpai_node_info_instance(peer->info));
    if (!server->node || !server->instance) { /* it is not known then */
        server->node = udpa_bytes_unref(server->node);
        return;
    }
    UDPA_AUTO(udpa_error_unref) udpa_error *error = describe(source, server);
    if (error)
        udpai_log(UDPA_LOG_ERROR, "federation", "%s", udpa_error_message(error));
}

void
udpai_servers_visit_problems(const udpai_sources *sources, udpai_problem_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_source *source;
    while ((source = udpai_sources_next(sources, &at))) {
        if (source->servers.n < 2)
            continue;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        for (size_t i = 0; i < source->servers.n && !error; i++)
            error = describe(source, &source->servers.items[i]);
        if (error)
            visit(userdata, udpa_error_message(error));
    }
}
