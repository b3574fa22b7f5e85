/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/answers.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "endpoint/status.h"

typedef struct udpai_answers {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_answers_config config;
    udpai_map all; /* of udpa_resource, by name */
    udpai_timer renewal, publishing;
    udpai_log_limit refusals;
} udpai_answers;

static udpai_answers *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_answers, service);
}

static udpai_str
name_key(const void *item)
{
    return udpai_resource_name(item);
}

static udpai_wheel *
wheel_of(const udpai_answers *answers)
{
    return udpai_endpoint_wheel(answers->endpoint);
}

static void
publish(udpai_answers *answers)
{
    UDPAI_VECTOR(udpa_resource *) list = {0};
    size_t at = 0;
    udpa_resource *one;
    bool made = udpai_vector_reserve(&list, answers->all.n);
    while (made && (one = udpai_map_next(&answers->all, &at)))
        list.items[list.n++] = one;
    if (!made ||
        udpai_node_set_own(udpai_endpoint_node(answers->endpoint),
                           udpai_str_from(answers->config.type_url), list.items, list.n) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "status", "a question about %s is not answered: %s",
                  answers->config.subject, udpa_err_text(UDPA_ERR_NOMEM));
    udpai_vector_done(&list);
}

/* What many ask in one turn is answered at once: each time it costs as much as there are answers.
 */
static void
publish_soon(udpai_answers *answers)
{
    udpai_wheel *wheel = wheel_of(answers);
    udpai_timer_set(wheel, &answers->publishing, wheel->now_ms);
}

static void
on_publishing(udpai_timer *timer)
{
    publish(UDPAI_CONTAINER_OF(timer, udpai_answers, publishing));
}

static void
set_timer(udpai_answers *answers)
{
    udpai_wheel *wheel = wheel_of(answers);
    if (answers->config.renew_ms && answers->all.n)
        udpai_timer_set(wheel, &answers->renewal, wheel->now_ms + answers->config.renew_ms);
    else
        udpai_timer_cancel(&answers->renewal);
}

/* NULL without memory. */
static udpa_resource *
make(const udpai_answers *answers, udpai_str name)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *body = answers->config.answer(answers->config.userdata, name);
    return body ? udpai_own_resource(answers->config.type_url, name, body) : NULL;
}

/* ---- coming and going ---- */

static void
refuse(udpai_answers *answers, const char *why, const char *form)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&answers->refusals, wheel_of(answers)->now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "status",
                  "a question about %s is not answered: %s%s (%u more not shown)",
                  answers->config.subject, why, form, n_suppressed);
}

static void
begin(udpai_answers *answers, udpai_str name)
{
    if (!answers->config.is_question(name)) {
        refuse(answers, "its name is not ", answers->config.form);
        return;
    }
    if (answers->all.n >= answers->config.max) {
        refuse(answers, "too many are asked at a time", "");
        return;
    }
    udpa_resource *made = make(answers, name);
    if (made && udpai_map_add(&answers->all, made)) {
        publish_soon(answers);
        set_timer(answers);
        return;
    }
    udpa_resource_unref(made);
    refuse(answers, udpa_err_text(UDPA_ERR_NOMEM), "");
}

static void
end(udpai_answers *answers, udpai_str name)
{
    udpa_resource *known = udpai_map_remove(&answers->all, name);
    if (!known)
        return;
    udpa_resource_unref(known);
    publish_soon(answers);
    set_timer(answers);
}

static void
drop_all(udpai_map *all)
{
    size_t at = 0;
    udpa_resource *one;
    while ((one = udpai_map_next(all, &at)))
        udpa_resource_unref(one);
    udpai_map_done(all);
}

/* Without memory for one, its subscriber gets nothing until it is asked again. */
void
udpai_answers_renew(udpai_service *service)
{
    udpai_answers *answers = of(service);
    udpai_map before = answers->all;
    size_t at = 0;
    udpa_resource *one;
    udpai_map_init(&answers->all, name_key);
    while ((one = udpai_map_next(&before, &at))) {
        udpa_resource *made = make(answers, udpai_resource_name(one));
        if (made && !udpai_map_add(&answers->all, made))
            udpa_resource_unref(made);
    }
    publish(answers);
    drop_all(&before);
    set_timer(answers);
}

static void
on_renewal(udpai_timer *timer)
{
    udpai_answers *answers = UDPAI_CONTAINER_OF(timer, udpai_answers, renewal);
    udpai_answers_renew(&answers->service);
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    udpai_answers *answers = of(service);
    const udpai_subscription_message *message = report->subscription;
    if (report->kind != UDPAI_REPORT_INTEREST || message->names[0].len == 0 ||
        !udpai_str_eq(message->type_url, udpai_str_from(answers->config.type_url)))
        return false;
    if (report->subscribed)
        begin(answers, message->names[0]);
    else
        end(answers, message->names[0]);
    return false; /* the node subscribes, too */
}

static void
free_answers(udpai_service *service)
{
    udpai_answers *answers = of(service);
    udpai_timer_cancel(&answers->renewal);
    udpai_timer_cancel(&answers->publishing);
    drop_all(&answers->all);
    udpai_free(answers);
}

udpa_err
udpai_answers_new(udpai_service **ret_answers,
                  udpa_endpoint *endpoint,
                  const udpai_answers_config *config)
{
    static const udpai_service_ops ops = {.on_report = on_report, .free = free_answers};
    udpai_answers *answers = udpai_alloc(sizeof(*answers));
    if (!answers)
        return UDPA_ERR_NOMEM;
    answers->service.ops = &ops;
    answers->endpoint = endpoint;
    answers->config = *config;
    udpai_map_init(&answers->all, name_key);
    udpai_timer_init(&answers->renewal, on_renewal);
    udpai_timer_init(&answers->publishing, on_publishing);
    udpa_err err = udpai_node_expect_own(udpai_endpoint_node(endpoint),
                                         udpai_str_from(config->type_url), true);
    if (err == UDPA_OK)
        *ret_answers = &answers->service;
    else
        free_answers(&answers->service);
    return err;
}
