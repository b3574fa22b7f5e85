/* SPDX-License-Identifier: Apache-2.0 */
/* Life of an upstream session. */
#include "xds/upstream_internal.h"

#include "base/alloc.h"
#include "session/status.h"

static const udpai_session_ops upstream_ops, rest_ops;

/* ---- a server, across streams ---- */

static udpai_str
kept_key(const void *item)
{
    return udpai_bytes_view(((const udpai_upstream_kept *)item)->type);
}

udpa_err
udpai_upstream_new(udpai_upstream **ret_upstream, const udpai_upstream_options *options)
{
    size_t size = options->type_url.len + options->name_space.len + options->authority.len +
                  options->node.len;
    udpai_upstream *upstream = udpai_alloc(sizeof(*upstream) + size);
    if (!upstream)
        return UDPA_ERR_NOMEM;
    char *at = upstream->texts;
    upstream->options = *options;
    upstream->options.type_url = udpai_str_put(&at, options->type_url);
    upstream->options.name_space = udpai_str_put(&at, options->name_space);
    upstream->options.authority = udpai_str_put(&at, options->authority);
    upstream->options.node = udpai_str_put(&at, options->node);
    if (!options->patience_ms)
        upstream->options.patience_ms = UDPAI_UPSTREAM_PATIENCE_MS;
    if (!options->silence_ms)
        upstream->options.silence_ms = UDPAI_UPSTREAM_SILENCE_MS;
    if (!options->max_held)
        upstream->options.max_held = UDPAI_UPSTREAM_MAX_HELD;
    udpai_map_init(&upstream->resumable, kept_key);
    *ret_upstream = upstream;
    return UDPA_OK;
}

udpai_upstream *
udpai_upstream_free(udpai_upstream *upstream)
{
    size_t at = 0;
    udpai_upstream_kept *kept;
    if (!upstream)
        return NULL;
    while ((kept = udpai_map_next(&upstream->resumable, &at))) {
        udpai_upstream_held_free_all(&kept->held);
        udpa_bytes_unref(kept->type);
        udpai_free(kept);
    }
    udpai_map_done(&upstream->resumable);
    udpai_free(upstream);
    return NULL;
}

const udpai_upstream_options *
udpai_upstream_settings(const udpai_upstream *upstream)
{
    return &upstream->options;
}

void
udpai_upstream_drop(void *upstream)
{
    udpai_upstream_free(upstream);
}

/* ---- beginning and end ---- */

static udpai_str
type_key(const void *item)
{
    return udpai_bytes_view(((const udpai_upstream_type *)item)->type);
}

udpa_err
udpai_upstream_session_new(udpai_session **ret_session,
                           udpai_hub *hub,
                           const udpai_stream_info *info)
{
    udpai_upstream_session *session = udpai_alloc(sizeof(*session));
    if (!session)
        return UDPA_ERR_NOMEM;
    session->closed = udpai_report_new(UDPAI_REPORT_CLOSED);
    udpai_upstream *upstream = info->context;
    const udpai_session_ops *ops = upstream->options.is_rest ? &rest_ops : &upstream_ops;
    udpa_err err =
        session->closed ? udpai_session_init(&session->session, hub, ops, info) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_report_free(session->closed);
        udpai_free(session);
        return err;
    }
    session->upstream = upstream;
    udpai_map_init(&session->types, type_key);
    udpai_list_init(&session->due);
    udpai_list_init(&session->pending);
    udpai_timer_init(&session->unread, udpai_upstream_on_unread);
    *ret_session = &session->session;
    udpai_upstream_check(session, udpai_session_report_opened(&session->session));
    return UDPA_OK;
}

static udpai_upstream_session *
upstream_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_upstream_session, session);
}

static void
free_types(udpai_upstream_session *session)
{
    size_t at = 0;
    udpai_upstream_type *type;
    while ((type = udpai_map_next(&session->types, &at))) {
        if (session->upstream->options.is_delta)
            udpai_upstream_keep(type);
        udpai_upstream_type_free(type);
    }
    udpai_map_done(&session->types);
}

static void
upstream_free(udpai_session *base)
{
    udpai_upstream_session *session = upstream_of(base);
    session->closed->session = base->id;
    session->closed->link = base->info.link;
    session->closed->error = udpa_error_ref((udpa_error *)(uintptr_t)base->why);
    udpai_hub_report(base->hub, UDPAI_TAKE(session->closed));
    udpai_timer_cancel(&session->unread);
    free_types(session);
    udpa_bytes_unref(session->writing);
    udpai_free(session);
}

/* ---- orders ---- */

static void
upstream_order(udpai_session *base, udpai_order *order)
{
    udpai_upstream_session *session = upstream_of(base);
    switch (order->kind) {
    case UDPAI_ORDER_SUBSCRIBE:
        udpai_upstream_subscribe(session, order);
        break;
    case UDPAI_ORDER_UNSUBSCRIBE:
        udpai_upstream_unsubscribe(session, order);
        break;
    case UDPAI_ORDER_PUBLICATION_DONE:
        udpai_upstream_publication_done(session, order->publication);
        break;
    default:
        break;
    }
}

static void
put_status(udpai_proto_writer *writer, const void *what)
{
    const udpai_upstream_session *session = what;
    udpai_status_put_session(writer, &session->session, NULL, session->n_received);
}

static udpa_bytes *
upstream_describe(const udpai_session *session)
{
    return udpai_proto_encode(put_status,
                              UDPAI_CONTAINER_OF(session, const udpai_upstream_session, session));
}

#define OPS_CALLED(its_name)                                                                       \
    {                                                                                              \
        .name = (its_name), .receive = udpai_upstream_receive, .next = udpai_upstream_next,        \
        .order = upstream_order, .describe = upstream_describe, .free = upstream_free,             \
    }

static const udpai_session_ops upstream_ops = OPS_CALLED("xds-upstream");
static const udpai_session_ops rest_ops = OPS_CALLED("rest-upstream");
