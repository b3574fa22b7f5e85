/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a session: Node first, then whatever comes. */
#include "session/udpa_internal.h"

#include "base/alloc.h"
#include "base/log.h"
#include "session/client_log.h"

static const udpai_session_ops udpa_ops;

static void
on_wake(udpai_subscriber *subscriber)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(subscriber, udpai_udpa, subscriber)->session);
}

static const udpai_subscriber_ops subscriber_ops = {.wake = on_wake};

static udpai_str
asked_key(const void *item)
{
    udpa_bytes *type = ((const udpai_asked *)item)->type;
    return udpai_bytes_view(type);
}

/* ---- what waits to be written ---- */

static void
start_patience(udpai_udpa *udpa)
{
    udpai_wheel *wheel = udpai_hub_wheel(udpa->session.hub);
    udpai_timer_set(wheel, &udpa->unread, wheel->now_ms + UDPAI_ANSWERS_PATIENCE_MS);
}

void
udpai_udpa_pace(udpai_udpa *udpa)
{
    const udpai_hub_options *options = udpai_hub_settings(udpa->session.hub);
    bool has_enough = udpa->n_pending >= options->max_pending ||
                      udpa->pending_bytes >= options->max_pending_bytes;
    if (!udpai_udpa_is_unread(udpa))
        udpai_timer_cancel(&udpa->unread);
    else if (!udpai_timer_is_set(&udpa->unread))
        start_patience(udpa);
    udpai_session_pause(&udpa->session, has_enough || udpai_udpa_is_unread(udpa));
}

static void
finish_unread(udpai_udpa *udpa, const char *why)
{
    udpai_session_finish(&udpa->session,
                         udpa_error_new(UDPA_ERR_LIMIT, NULL,
                                        "the peer does not read: %zu messages wait for it, %zu "
                                        "bytes of them answers, %s",
                                        udpa->n_controls, udpa->answer_bytes, why));
}

/* Two that wait for each other to read would wait for ever. */
static void
on_patience_end(udpai_timer *timer)
{
    finish_unread(UDPAI_CONTAINER_OF(timer, udpai_udpa, unread), "and none has gone for a minute");
}

udpai_control *
udpai_udpa_control_new(udpai_udpa *udpa, udpa_bytes *message)
{
    udpai_memory *memory = udpai_hub_memory(udpa->session.hub);
    udpai_control *control = udpai_alloc_in(memory, sizeof(*control));
    if (!control)
        return NULL;
    udpai_memory_add(memory, udpa_bytes_size(message));
    control->message = message;
    udpai_list_init(&control->node);
    return control;
}

udpa_bytes *
udpai_udpa_control_take(udpai_udpa *udpa, udpai_control *control)
{
    udpai_memory *memory = udpai_hub_memory(udpa->session.hub);
    udpa_bytes *message = control->message;
    udpai_memory_subtract(memory, udpa_bytes_size(message));
    udpai_free_in(memory, control, sizeof(*control));
    return message;
}

static udpa_err
queue(udpai_udpa *udpa, udpa_bytes *message, bool is_answer, uint64_t nonce)
{
    udpai_control *control = message ? udpai_udpa_control_new(udpa, message) : NULL;
    if (!control) {
        udpa_bytes_unref(message);
        udpai_session_finish(
            &udpa->session,
            udpa_error_new(UDPA_ERR_NOMEM, NULL, "cannot queue a message: out of memory"));
        return UDPA_ERR_NOMEM;
    }
    size_t answer_bytes = is_answer ? udpa_bytes_size(message) : 0;
    if (udpa->n_controls >= UDPAI_CONTROLS_MAX ||
        udpa->answer_bytes + answer_bytes > UDPAI_ANSWERS_MAX_BYTES) {
        udpa_bytes_unref(udpai_udpa_control_take(udpa, control));
        finish_unread(udpa, "and one more is above the limit");
        return UDPA_ERR_LIMIT;
    }
    control->is_answer = is_answer;
    control->nonce = nonce;
    udpai_list_append(&udpa->controls, &control->node);
    udpa->n_controls++;
    udpa->answer_bytes += answer_bytes;
    udpai_session_ready(&udpa->session);
    return UDPA_OK;
}

udpa_err
udpai_udpa_send(udpai_udpa *udpa, udpa_bytes *message)
{
    return queue(udpa, message, false, 0);
}

udpa_err
udpai_udpa_send_publication(udpai_udpa *udpa, udpa_bytes *message, uint64_t nonce)
{
    return queue(udpa, message, false, nonce);
}

udpa_err
udpai_udpa_answer(udpai_udpa *udpa, udpa_bytes *message)
{
    udpa_err err = queue(udpa, message, true, 0);
    udpai_udpa_pace(udpa);
    return err;
}

/* ---- beginning and end ---- */

static udpa_err
introduce(udpai_udpa *udpa)
{
    return udpai_udpa_send(udpa, udpai_hub_introduce(udpa->session.hub, udpa->is_source));
}

udpa_err
udpai_udpa_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    udpai_udpa *udpa = udpai_alloc(sizeof(*udpa));
    if (!udpa)
        return UDPA_ERR_NOMEM;
    udpa->closed = udpai_report_new(UDPAI_REPORT_CLOSED);
    udpa_err err =
        udpa->closed ? udpai_session_init(&udpa->session, hub, &udpa_ops, info) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_report_free(udpa->closed);
        udpai_free(udpa);
        return err;
    }
    udpai_list_init(&udpa->controls);
    udpai_list_init(&udpa->in_flight);
    udpai_map_init(&udpa->asked, asked_key);
    udpai_timer_init(&udpa->unread, on_patience_end);
    udpa->is_source = info->is_source;
    *ret_session = &udpa->session;
    err = udpai_session_init_subscriber(&udpa->session, &udpa->subscriber, &subscriber_ops, NULL);
    if (err == UDPA_OK && info->is_source)
        err = udpai_subscriber_set_link(&udpa->subscriber, info->link);
    udpai_udpa_choose_renderer(udpa);
    if (err == UDPA_OK)
        err = udpai_session_admit(&udpa->session, &udpa->subscriber, NULL, NULL);
    if (err == UDPA_OK)
        err = udpai_session_report_opened(&udpa->session);
    if (err == UDPA_OK)
        err = introduce(udpa);
    if (err != UDPA_OK)
        udpai_session_finish(&udpa->session, udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
    return UDPA_OK;
}

/* Consumes the reference. */
static void
set_peer(udpai_udpa *udpa, udpai_node_info *peer)
{
    udpai_memory_change(udpai_hub_memory(udpa->session.hub), udpai_node_info_size(udpa->peer),
                        udpai_node_info_size(peer));
    udpai_node_info_unref(udpa->peer);
    udpa->peer = peer;
}

static void
udpa_free(udpai_session *session)
{
    udpai_udpa *udpa = udpai_udpa_of(session);
    udpai_session_report_closed(session, UDPAI_TAKE(udpa->closed));
    udpai_list *node;
    while ((node = udpai_list_pop(&udpa->controls))) {
        udpa_bytes_unref(
            udpai_udpa_control_take(udpa, UDPAI_LIST_ENTRY(node, udpai_control, node)));
    }
    udpai_timer_cancel(&udpa->unread);
    udpai_udpa_free_events(udpa);
    udpai_udpa_free_served(udpa);
    udpai_udpa_free_asked(udpa);
    udpai_subscriber_done(&udpa->subscriber);
    udpai_body_unref(udpa->writing);
    udpa_bytes_unref(udpa->writing_control);
    set_peer(udpa, NULL);
    udpai_free(udpa);
}

/* ---- the peer's Node ---- */

static udpa_resource *
node_resource(const udpai_message *message)
{
    if (message->kind != UDPAI_MESSAGE_PUBLISH || message->publication->entries.n != 1)
        return NULL;
    udpa_resource *resource = message->publication->entries.items[0].resource;
    return udpai_str_eq(udpai_resource_type_url(resource), UDPAI_STR(UDPAI_TYPE_NODE)) ? resource
                                                                                       : NULL;
}

static udpa_err
take_node(udpai_udpa *udpa, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_node_info *info = NULL;
    udpa_err err = udpai_node_info_decode(udpai_hub_decoder(udpa->session.hub),
                                          udpai_resource_value(resource), &info, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str id = udpai_node_info_parts(info)->id, instance = udpai_node_info_instance(info);
    if (id.len == 0 || id.len > UDPAI_AUTHORITY_MAX || instance.len > UDPAI_AUTHORITY_MAX) {
        udpai_node_info_unref(info);
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the peer's Node has no id, or one above %d bytes, or such an instance",
                          UDPAI_AUTHORITY_MAX);
    }
    set_peer(udpa, info);
    udpa->is_extended = udpai_node_info_has_feature(info, UDPAI_FEATURE_EXTENSIONS) &&
                        udpai_node_info_has_feature(udpai_hub_settings(udpa->session.hub)->info,
                                                    UDPAI_FEATURE_EXTENSIONS);
    udpai_udpa_choose_renderer(udpa);
    err = udpai_session_admit(&udpa->session, &udpa->subscriber, info, ret_error);
    if (err == UDPA_OK)
        err = udpai_session_check_copying(&udpa->session, info, ret_error);
    if (err == UDPA_OK && udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE))
        err = udpai_subscriber_set_except(&udpa->subscriber, instance);
    udpa->subscriber.receives_waits =
        udpa->is_extended && udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_udpa_review_events(udpa);
    if (udpa->session.info.link == 0)
        udpai_client_log_node(&udpa->session, info);
    udpai_report *report = udpai_session_report_new(&udpa->session, UDPAI_REPORT_NODE);
    if (!report)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    report->info = udpai_node_info_ref(info);
    report->is_extended = udpa->is_extended;
    udpai_hub_report(udpa->session.hub, report);
    return UDPA_OK;
}

/* ---- messages ---- */

static udpa_err
take_publication(udpai_udpa *udpa, udpai_publication *publication, udpa_error **ret_error)
{
    size_t nonce_len = publication->nonce.len;
    if (nonce_len <= UDPAI_NONCE_MAX)
        return udpai_udpa_on_publication(udpa, publication);
    udpai_publication_free(publication);
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "a Publish has a nonce of %zu bytes; at most %d go back in a receipt",
                      nonce_len, UDPAI_NONCE_MAX);
}

static udpa_err
take_message(udpai_udpa *udpa, udpai_message *message, udpa_error **ret_error)
{
    switch (message->kind) {
    case UDPAI_MESSAGE_SUBSCRIBE:
        return udpai_udpa_on_subscribe(udpa, &message->subscription, ret_error);
    case UDPAI_MESSAGE_UNSUBSCRIBE:
        return udpai_udpa_on_unsubscribe(udpa, &message->subscription);
    case UDPAI_MESSAGE_PUBLISH:
        return take_publication(udpa, UDPAI_TAKE(message->publication), ret_error);
    case UDPAI_MESSAGE_RECEIPT:
        udpai_udpa_on_receipt(udpa, &message->receipt);
        return UDPA_OK;
    case UDPAI_MESSAGE_SUBSCRIPTION_ERROR:
        return udpai_session_report_subscription_error(&udpa->session, &message->subscription);
    case UDPAI_MESSAGE_NONE:
    case UDPAI_MESSAGE_KINDS:
        break;
    }
    return UDPA_OK;
}

static udpa_err
udpa_receive(udpai_session *session, udpai_str bytes, udpa_error **ret_error)
{
    udpai_udpa *udpa = udpai_udpa_of(session);
    udpai_message message = {0};
    udpa_err err = udpai_message_decode(udpai_hub_decoder(session->hub), bytes, udpa->is_extended,
                                        &message, ret_error);
    if (err != UDPA_OK)
        return err;
    udpa_resource *node = node_resource(&message);
    if (node || udpa->peer || session->info.link)
        err = udpai_session_report_alive(session);
    if (err == UDPA_OK && node)
        err = take_node(udpa, node, ret_error);
    else if (err == UDPA_OK && !udpa->peer && session->info.link == 0)
        err = udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                         "the side that dials must publish its envoy.config.core.v3.Node before "
                         "anything else");
    else if (err == UDPA_OK)
        err = take_message(udpa, &message, ret_error);
    session->is_calm = err == UDPA_OK && message.kind == UDPAI_MESSAGE_RECEIPT;
    udpai_message_done(&message);
    return udpai_fail_code(ret_error, err);
}

/* A ConfigSource may see less than any other peer. */
static void
attach(udpai_udpa *udpa, const udpai_order *order)
{
    udpai_session *session = &udpa->session;
    udpa->is_source = session->info.is_source = order->is_source;
    session->info.link = order->link;
    if (udpai_subscriber_set_link(&udpa->subscriber, order->is_source ? order->link : 0) != UDPA_OK)
        udpai_session_finish(session, udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
    if (udpa->is_source && udpa->is_extended && udpai_hub_has_twins(session->hub))
        (void)introduce(udpa);
}

/* Other rules hold. A peer that may not have a copy with secrets any more gets nothing. */
static void
admit_again(udpai_udpa *udpa)
{
    udpa_error *error = NULL;
    udpai_session_admit_again(&udpa->session, &udpa->subscriber, udpa->peer);
    udpai_udpa_review_events(udpa);
    if (!udpa->peer)
        return;
    udpa_err err = udpai_session_check_copying(&udpa->session, udpa->peer, &error);
    if (err != UDPA_OK)
        udpai_session_finish(&udpa->session,
                             error ? error : udpa_error_new(err, NULL, "%s", udpa_err_text(err)));
}

static void
udpa_order(udpai_session *session, udpai_order *order)
{
    udpai_udpa *udpa = udpai_udpa_of(session);
    switch (order->kind) {
    case UDPAI_ORDER_ATTACH:
        attach(udpa, order);
        if (udpai_hub_settings(session->hub)->n_withheld)
            udpai_session_admit_again(session, &udpa->subscriber, udpa->peer);
        break;
    case UDPAI_ORDER_SUBSCRIBE:
        udpai_udpa_ask(udpa, order->subscription);
        break;
    case UDPAI_ORDER_UNSUBSCRIBE:
        udpai_udpa_unask(udpa, order->subscription);
        break;
    case UDPAI_ORDER_PUBLICATION_DONE:
        udpai_udpa_publication_done(udpa, order->publication);
        break;
    case UDPAI_ORDER_PUBLISH:
        (void)udpai_udpa_publish(udpa, order);
        break;
    case UDPAI_ORDER_ACL:
        admit_again(udpa);
        break;
    case UDPAI_ORDER_EPOCH: /* what was sent before it was known */
        if (udpa->is_extended)
            (void)introduce(udpa);
        break;
    case UDPAI_ORDER_TWINS:
        if (udpa->is_extended && udpa->is_source)
            (void)introduce(udpa);
        break;
    case UDPAI_ORDER_COMMIT:
        udpa->owes_commit = udpa->is_extended && udpa->subscriber.subscriptions.n;
        udpai_session_ready(session);
        break;
    case UDPAI_ORDER_FORGET:
        udpai_udpa_forget(udpa, order->ticket);
        break;
    default:
        break;
    }
}

/* Without memory the next one has it. */
static bool
next_commit(udpai_udpa *udpa, udpai_outgoing *out)
{
    const udpai_publish_plan plan = {.commit = udpai_hub_commit(udpa->session.hub)};
    if (udpa->owes_commit && plan.commit)
        udpa->writing_control = udpai_publish_compose_whole(&plan, 0);
    udpa->owes_commit = false;
    out->parts = &udpa->writing_control;
    out->n_parts = 1;
    return udpa->writing_control != NULL;
}

static udpa_err
udpa_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_udpa *udpa = udpai_udpa_of(session);
    udpa->writing = udpai_body_unref(udpa->writing);
    udpa->writing_control = udpa_bytes_unref(udpa->writing_control);
    udpai_list *node = udpai_list_pop(&udpa->controls);
    if (!node && next_commit(udpa, out)) {
        *ret_any = true;
        return UDPA_OK;
    }
    if (!node) {
        udpa_err err = udpai_udpa_next_delivery(udpa, out, ret_any, ret_error);
        return err == UDPA_OK && !*ret_any ? udpai_udpa_next_event(udpa, out, ret_any, ret_error)
                                           : err;
    }
    udpai_control *control = UDPAI_LIST_ENTRY(node, udpai_control, node);
    udpa->n_controls--;
    if (control->is_answer)
        udpa->answer_bytes -= udpa_bytes_size(control->message);
    udpa->writing_control = udpai_udpa_control_take(udpa, control);
    if (udpai_timer_is_set(&udpa->unread))
        start_patience(udpa); /* some of it was sent */
    udpai_udpa_pace(udpa);
    session->is_calm = false; /* it may need an answer */
    out->parts = &udpa->writing_control;
    out->n_parts = 1;
    *ret_any = true;
    return UDPA_OK;
}

static const udpai_session_ops udpa_ops = {
    .name = "udpa",
    .size = sizeof(udpai_udpa),
    .receive = udpa_receive,
    .next = udpa_next,
    .order = udpa_order,
    .describe = udpai_udpa_describe,
    .ack_status = udpai_udpa_ack_status,
    .unanswered = udpai_udpa_unanswered,
    .peer = udpai_udpa_peer,
    .subscriber = udpai_udpa_subscriber,
    .call = udpai_udpa_call,
    .free = udpa_free,
};
