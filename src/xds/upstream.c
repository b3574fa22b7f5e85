/* SPDX-License-Identifier: Apache-2.0 */
/* Life of an upstream session, and what it hands up. */
#include "xds/upstream_internal.h"

#include "base/alloc.h"
#include "session/status.h"

/* Responses whose ACK the server has not taken. */
#define UNREAD_MAX 256
#define UNREAD_PATIENCE_MS 30000

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

/* ---- what is handed up ---- */

void
udpai_upstream_check(udpai_upstream_session *session, udpa_err result)
{
    if (result != UDPA_OK)
        udpai_session_finish(&session->session,
                             udpa_error_new(result, NULL,
                                            "cannot go on with what the server sends: "
                                            "%s",
                                            udpa_err_text(result)));
}

void
udpai_upstream_pace(udpai_upstream_session *session)
{
    const udpai_hub_options *options = udpai_hub_settings(session->session.hub);
    udpai_wheel *wheel = udpai_hub_wheel(session->session.hub);
    bool is_unread = session->n_responses >= options->max_unjudged + UNREAD_MAX;
    if (!is_unread)
        udpai_timer_cancel(&session->unread);
    else if (!udpai_timer_is_set(&session->unread))
        udpai_timer_set(wheel, &session->unread, wheel->now_ms + UNREAD_PATIENCE_MS);
    udpai_session_pause(&session->session,
                        is_unread || session->n_unjudged >= options->max_unjudged ||
                            session->unjudged_bytes >= options->max_unjudged_bytes);
}

/* Two that wait for each other to read would wait for ever. */
static void
on_unread(udpai_timer *timer)
{
    udpai_upstream_session *session = UDPAI_CONTAINER_OF(timer, udpai_upstream_session, unread);
    if (!session->session.is_writing) { /* it is not the server who is waited for */
        udpai_upstream_pace(session);
        return;
    }
    udpai_session_finish(&session->session,
                         udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                        "the server does not read: %zu of its responses wait to be "
                                        "acknowledged",
                                        session->n_responses));
}

udpa_err
udpai_upstream_publish(udpai_upstream_session *session, udpai_publication *publication)
{
    size_t n = publication->entries.n, size = publication->size_bytes;
    udpa_err err = udpai_session_report_publication(&session->session, publication);
    if (err != UDPA_OK)
        return err;
    session->n_received += n;
    session->n_unjudged++;
    session->unjudged_bytes += size;
    udpai_upstream_pace(session);
    return UDPA_OK;
}

udpa_err
udpai_upstream_publish_or_free(udpai_upstream_type *type,
                               udpai_publication *publication,
                               udpa_err err)
{
    bool any = publication->entries.n + publication->removals.n;
    if (err == UDPA_OK && any)
        err = udpai_publication_set(&publication->type_url, udpai_bytes_view(type->type));
    if (err == UDPA_OK && any)
        return udpai_upstream_publish(type->session, publication);
    udpai_publication_free(publication);
    return err;
}

void
udpai_upstream_touch(udpai_upstream_type *type)
{
    if (!udpai_list_linked(&type->in_due))
        udpai_list_append(&type->session->due, &type->in_due);
    udpai_session_ready(&type->session->session);
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
    udpai_list_init(&session->unjudged);
    udpai_timer_init(&session->unread, on_unread);
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
    case UDPAI_ORDER_JUDGED:
        udpai_upstream_judged(session, order->publication);
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
    return udpai_status_encode(put_status,
                               UDPAI_CONTAINER_OF(session, const udpai_upstream_session, session));
}

#define OPS_CALLED(its_name)                                                                       \
    {                                                                                              \
        .name = (its_name), .receive = udpai_upstream_receive, .next = udpai_upstream_next,        \
        .order = upstream_order, .describe = upstream_describe, .free = upstream_free,             \
    }

static const udpai_session_ops upstream_ops = OPS_CALLED("xds-upstream");
static const udpai_session_ops rest_ops = OPS_CALLED("rest-upstream");
