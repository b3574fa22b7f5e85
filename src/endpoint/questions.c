/* SPDX-License-Identifier: Apache-2.0 */
/* Which subscribers have acknowledged a resource: a client subscribes to a name
 * (session/acknowledgement.h), and as long as it does, the answer is a resource of this node by
 * that name, made anew several times a second. No not-found is ever sent: an answer is always to
 * come. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "endpoint/answers.h"
#include "endpoint/set_question.h"
#include "endpoint/status.h"
#include "federation/reporting.h"
#include "session/acknowledgement.h"

#define INTERVAL_MS 200
/* The stream thread answers so many at a time, and does its other work between. */
#define BATCH 32
/* Without memory no answer may come: then it is asked again. */
#define PATIENCE_MS 2000
/* What all peers together may ask at a time. */
#define QUESTIONS_MAX 8192

typedef struct question {
    udpa_bytes *name;
    udpai_set_question of_set; /* what other replicas have answered */
    udpa_resource *answer;     /* NULL: none yet */
} question;

typedef struct udpai_questions {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_timer timer;
    udpai_map all; /* of question */
    size_t at;     /* of the round: those before it were asked */
    bool is_again; /* it was asked again since the round began */
    udpai_log_limit refusals;
} udpai_questions;

static udpai_str
type_url(void)
{
    return UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_TYPE);
}

static udpai_str
name_key(const void *item)
{
    return udpai_bytes_view(((const question *)item)->name);
}

static void
free_question(udpai_questions *questions, question *one)
{
    if (!one)
        return;
    if (one->name)
        udpai_set_question_end(&one->of_set, questions->endpoint, udpai_bytes_view(one->name));
    udpa_bytes_unref(one->name);
    udpa_resource_unref(one->answer);
    udpai_free(one);
}

static void
set_timer(udpai_questions *questions, uint64_t delay_ms)
{
    udpai_wheel *wheel = udpai_endpoint_wheel(questions->endpoint);
    udpai_timer_set(wheel, &questions->timer, wheel->now_ms + delay_ms);
}

/* ---- asking ---- */

/* The next of the round; false: there is no memory, or that was all. */
static bool
ask_batch(udpai_questions *questions)
{
    udpai_str names[BATCH];
    size_t n = 0;
    question *one;
    while (n < BATCH && (one = udpai_map_next(&questions->all, &questions->at))) {
        names[n++] = udpai_bytes_view(one->name);
        udpai_set_question_ask(&one->of_set, questions->endpoint, names[n - 1]);
    }
    const udpai_subscription_message message = {.names = names, .n_names = n};
    udpai_order *order = n ? udpai_order_new(UDPAI_ORDER_ACKNOWLEDGEMENTS) : NULL;
    if (order)
        order->subscription = udpai_subscription_message_copy(&message);
    if (!order || !order->subscription) {
        udpai_order_free(order);
        return false;
    }
    udpai_endpoint_order(questions->endpoint, order);
    set_timer(questions, PATIENCE_MS);
    return true;
}

static void
on_timer(udpai_timer *timer)
{
    udpai_questions *questions = UDPAI_CONTAINER_OF(timer, udpai_questions, timer);
    questions->at = 0;
    questions->is_again = false;
    if (!ask_batch(questions))
        set_timer(questions, INTERVAL_MS);
}

/* ---- answers ---- */

static void
publish(udpai_questions *questions)
{
    UDPAI_VECTOR(udpa_resource *) answers = {0};
    size_t at = 0;
    const question *one;
    bool made = udpai_vector_reserve(&answers, questions->all.n);
    while (made && (one = udpai_map_next(&questions->all, &at)))
        if (one->answer)
            answers.items[answers.n++] = one->answer;
    if (!made || udpai_node_set_own(udpai_endpoint_node(questions->endpoint), type_url(),
                                    answers.items, answers.n) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "status",
                  "questions about acknowledgements are not answered: %s",
                  udpa_err_text(UDPA_ERR_NOMEM));
    udpai_vector_done(&answers);
}

/* What is not asked any more is dropped. */
static void
take_answer(udpai_questions *questions, udpai_str name, udpa_bytes *body)
{
    question *one = udpai_map_get(&questions->all, name);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *joined =
        one && body ? udpai_set_question_join(&one->of_set, questions->endpoint, body) : NULL;
    udpa_resource *answer =
        joined ? udpai_own_resource(UDPAI_ACKNOWLEDGEMENT_TYPE, name, joined) : NULL;
    if (!answer)
        return;
    udpa_resource_unref(one->answer);
    one->answer = answer;
}

static void
take_answers(udpai_questions *questions, const udpai_report *report)
{
    const udpai_subscription_message *asked = report->subscription;
    for (size_t i = 0; i < asked->n_names && i < report->statuses.n; i++)
        take_answer(questions, asked->names[i], report->statuses.items[i]);
    if (questions->all.n == 0 || ask_batch(questions))
        return;
    publish(questions);
    set_timer(questions, questions->is_again ? 0 : INTERVAL_MS);
}

/* ---- questions ---- */

static void
refuse(udpai_questions *questions, const char *why)
{
    unsigned n_suppressed;
    uint64_t now_ms = udpai_endpoint_wheel(questions->endpoint)->now_ms;
    if (udpai_log_allow(&questions->refusals, now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "status",
                  "a question about acknowledgements is not answered: %s (%u more not shown)", why,
                  n_suppressed);
}

static udpa_err
add(udpai_questions *questions, udpai_str name)
{
    question *one = udpai_alloc(sizeof(*one));
    if (one && udpa_bytes_new(&one->name, name.data, name.len) == UDPA_OK &&
        udpai_map_add(&questions->all, one))
        return UDPA_OK;
    free_question(questions, one);
    return UDPA_ERR_NOMEM;
}

/* Those that come while a round is under way get one of their own behind it. */
static void
begin(udpai_questions *questions, udpai_str name)
{
    udpai_str type, resource;
    if (!udpai_acknowledgement_parse(name, &type, &resource))
        refuse(questions, "its name is not udpa.node/acknowledgement/TOKEN/TYPE URL/NAME");
    else if (questions->all.n >= QUESTIONS_MAX)
        refuse(questions, "too many are asked at a time");
    else if (add(questions, name) != UDPA_OK)
        refuse(questions, udpa_err_text(UDPA_ERR_NOMEM));
    else if (questions->all.n == 1)
        set_timer(questions, 0);
    else
        questions->is_again = true;
}

static void
end(udpai_questions *questions, udpai_str name)
{
    question *known = udpai_map_remove(&questions->all, name);
    free_question(questions, known);
    if (!known || questions->all.n)
        return;
    udpai_timer_cancel(&questions->timer);
    publish(questions);
}

/* What other replicas have answered is for the node's eyes alone. */
static void
take_of_set(udpai_questions *questions, const udpai_report *report)
{
    udpai_publication *publication = report->publication;
    char room[UDPA_NAME_MAX];
    udpai_str name;
    if (!udpai_set_question_is_of_set(questions->endpoint, report->session))
        return;
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_publication_entry *entry = &publication->entries.items[i];
        if (entry->error || entry->is_refresh ||
            !udpai_set_question_name_of(entry->resource, room, &name))
            continue;
        entry->is_ignored = true;
        question *one = udpai_map_get(&questions->all, name);
        if (one)
            udpai_set_question_take(&one->of_set, report->session,
                                    udpai_resource_value(entry->resource));
    }
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    udpai_questions *questions = UDPAI_CONTAINER_OF(service, udpai_questions, service);
    const udpai_subscription_message *message = report->subscription;
    if (report->kind == UDPAI_REPORT_PUBLICATION)
        take_of_set(questions, report);
    if (report->kind == UDPAI_REPORT_ACKNOWLEDGEMENTS)
        take_answers(questions, report);
    else if (report->kind == UDPAI_REPORT_INTEREST && message->names[0].len &&
             udpai_str_eq(message->type_url, type_url())) {
        if (report->subscribed)
            begin(questions, message->names[0]);
        else
            end(questions, message->names[0]);
    }
    return false; /* the node subscribes, too */
}

/* ---- coming and going ---- */

static void
free_questions(udpai_service *service)
{
    udpai_questions *questions = UDPAI_CONTAINER_OF(service, udpai_questions, service);
    size_t at = 0;
    question *one;
    while ((one = udpai_map_next(&questions->all, &at)))
        free_question(questions, one);
    udpai_map_done(&questions->all);
    udpai_timer_cancel(&questions->timer);
    udpai_free(questions);
}

udpa_err
udpai_questions_new(udpai_service **ret_questions, udpa_endpoint *endpoint)
{
    static const udpai_service_ops ops = {.on_report = on_report, .free = free_questions};
    udpai_questions *questions = udpai_alloc(sizeof(*questions));
    if (!questions)
        return UDPA_ERR_NOMEM;
    questions->service.ops = &ops;
    questions->endpoint = endpoint;
    udpai_timer_init(&questions->timer, on_timer);
    udpai_map_init(&questions->all, name_key);
    udpa_err err = udpai_node_expect_own(udpai_endpoint_node(endpoint), type_url(), true);
    if (err == UDPA_OK)
        *ret_questions = &questions->service;
    else
        free_questions(&questions->service);
    return err;
}
