/* SPDX-License-Identifier: Apache-2.0 */
/* Who has acknowledged a resource: whoever asks subscribes to a name (session/acknowledgement.h),
 * and as long as he does, the answer is a resource of this node by that name, made anew several
 * times a second. Nobody is ever told that there is none: an answer is always to come. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "endpoint/endpoint_internal.h"
#include "session/acknowledgement.h"

#define INTERVAL_MS 200
/* What all peers together may ask at a time. */
#define QUESTIONS_MAX 8192

struct udpai_questions {
    udpa_endpoint *endpoint;
    udpai_timer timer;
    udpai_map names; /* of udpa_bytes */
    udpai_log_limit refusals;
};

static udpai_str
type_url(void)
{
    return UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_TYPE);
}

static udpai_str
name_key(const void *item)
{
    return udpai_bytes_view(item);
}

/* ---- answers ---- */

static void
set_answers(udpai_questions *questions, udpa_resource *const *resources, size_t n)
{
    if (udpai_node_set_own(questions->endpoint->node, type_url(), resources, n) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "status",
                  "a question about acknowledgements is not answered: %s",
                  udpa_err_text(UDPA_ERR_NOMEM));
}

/* What nobody asks any more is left out; what there was no memory for is so until the next time. */
static void
take_answers(udpai_questions *questions, const udpai_report *report)
{
    UDPAI_VECTOR(udpa_resource *) answers = {0};
    const udpai_subscription_message *asked = report->subscription;
    for (size_t i = 0; i < asked->n_names && i < report->statuses.n; i++) {
        udpa_bytes *body = report->statuses.items[i];
        bool is_asked = udpai_map_get(&questions->names, asked->names[i]) != NULL;
        udpa_resource *answer =
            body && is_asked ? udpai_own_resource(UDPAI_ACKNOWLEDGEMENT_TYPE, asked->names[i], body)
                             : NULL;
        if (answer && !udpai_vector_push(&answers, answer))
            udpa_resource_unref(answer);
    }
    set_answers(questions, answers.items, answers.n);
    for (size_t i = 0; i < answers.n; i++)
        udpa_resource_unref(answers.items[i]);
    udpai_vector_done(&answers);
}

/* ---- asking ---- */

static void
ask(udpai_questions *questions)
{
    size_t n = 0, at = 0;
    UDPAI_AUTO_FREE udpai_str *names = udpai_alloc_array(questions->names.n, sizeof(*names));
    const udpa_bytes *name;
    while (names && (name = udpai_map_next(&questions->names, &at)))
        names[n++] = udpai_bytes_view(name);
    const udpai_subscription_message message = {.names = names, .n_names = n};
    udpai_order *order = names ? udpai_order_new(UDPAI_ORDER_ACKNOWLEDGEMENTS) : NULL;
    if (order)
        order->subscription = udpai_subscription_message_copy(&message);
    if (order && order->subscription)
        udpai_stream_thread_order(questions->endpoint->streams, order);
    else
        udpai_order_free(order);
    udpai_wheel *wheel = udpai_loop_wheel_get(questions->endpoint->wheel);
    udpai_timer_set(wheel, &questions->timer, wheel->now_ms + INTERVAL_MS);
}

/* What is asked at the same time is asked together. */
static void
ask_soon(udpai_questions *questions)
{
    udpai_wheel *wheel = udpai_loop_wheel_get(questions->endpoint->wheel);
    udpai_timer_set(wheel, &questions->timer, wheel->now_ms);
}

static void
on_timer(udpai_timer *timer)
{
    ask(UDPAI_CONTAINER_OF(timer, udpai_questions, timer));
}

static void
refuse(udpai_questions *questions, const char *why)
{
    unsigned n_suppressed;
    uint64_t now_ms = udpai_loop_wheel_get(questions->endpoint->wheel)->now_ms;
    if (udpai_log_allow(&questions->refusals, now_ms, &n_suppressed))
        udpai_log(
            UDPA_LOG_WARNING, "status",
            "a question about acknowledgements is not answered: %s (%u more such warnings left "
            "out)",
            why, n_suppressed);
}

static void
begin(udpai_questions *questions, udpai_str name)
{
    udpai_str type, resource;
    udpa_bytes *copy = NULL;
    if (!udpai_acknowledgement_parse(name, &type, &resource)) {
        refuse(questions, "its name is not udpa.node/acknowledgement/TOKEN/TYPE URL/NAME");
    } else if (questions->names.n >= QUESTIONS_MAX) {
        refuse(questions, "too many are asked at a time");
    } else if (udpa_bytes_new(&copy, name.data, name.len) != UDPA_OK ||
               !udpai_map_add(&questions->names, copy)) {
        udpa_bytes_unref(copy);
        refuse(questions, udpa_err_text(UDPA_ERR_NOMEM));
    } else {
        ask_soon(questions);
    }
}

static void
end(udpai_questions *questions, udpai_str name)
{
    udpa_bytes *known = udpai_map_remove(&questions->names, name);
    udpa_bytes_unref(known);
    if (!known || questions->names.n)
        return;
    udpai_timer_cancel(&questions->timer);
    set_answers(questions, NULL, 0);
}

void
udpai_questions_report(udpai_questions *questions, const udpai_report *report)
{
    const udpai_subscription_message *message = report->subscription;
    if (report->kind == UDPAI_REPORT_ACKNOWLEDGEMENTS)
        take_answers(questions, report);
    else if (report->kind == UDPAI_REPORT_INTEREST && message->names[0].len &&
             udpai_str_eq(message->type_url, type_url())) {
        if (report->wanted)
            begin(questions, message->names[0]);
        else
            end(questions, message->names[0]);
    }
}

/* ---- coming and going ---- */

udpa_err
udpai_questions_new(udpai_questions **ret_questions, udpa_endpoint *endpoint)
{
    udpai_questions *questions = udpai_alloc(sizeof(*questions));
    if (!questions)
        return UDPA_ERR_NOMEM;
    questions->endpoint = endpoint;
    udpai_timer_init(&questions->timer, on_timer);
    udpai_map_init(&questions->names, name_key);
    udpa_err err = udpai_node_expect_own(endpoint->node, type_url(), true);
    if (err == UDPA_OK)
        *ret_questions = questions;
    else
        udpai_questions_free(questions);
    return err;
}

void
udpai_questions_free(udpai_questions *questions)
{
    if (!questions)
        return;
    size_t at = 0;
    udpa_bytes *name;
    while ((name = udpai_map_next(&questions->names, &at)))
        udpa_bytes_unref(name);
    udpai_map_done(&questions->names);
    udpai_timer_cancel(&questions->timer);
    udpai_free(questions);
}
