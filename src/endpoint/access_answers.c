/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may do: whoever asks subscribes to a name (session/access_question.h), and as long as
 * he does, the answer is a resource of this node by that name, made anew when the rules change. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "endpoint/endpoint_internal.h"
#include "session/access_question.h"

/* What all peers together may ask at a time. */
#define QUESTIONS_MAX 1024

struct udpai_access_answers {
    udpa_endpoint *endpoint;
    udpai_acl *acl; /* NULL: none */
    udpai_map all;  /* of udpa_resource, by name */
    udpai_log_limit refusals;
};

static udpai_str
name_key(const void *item)
{
    return udpai_resource_name(item);
}

static udpai_str
type_url(void)
{
    return UDPAI_STR(UDPAI_ACCESS_TYPE);
}

static void
publish(udpai_access_answers *answers)
{
    UDPAI_VECTOR(udpa_resource *) list = {0};
    size_t at = 0;
    udpa_resource *one;
    bool made = udpai_vector_reserve(&list, answers->all.n);
    while (made && (one = udpai_map_next(&answers->all, &at)))
        list.items[list.n++] = one;
    if (!made ||
        udpai_node_set_own(answers->endpoint->node, type_url(), list.items, list.n) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "status", "a question about access is not answered: %s",
                  udpa_err_text(UDPA_ERR_NOMEM));
    udpai_vector_done(&list);
}

static void
refuse(udpai_access_answers *answers, const char *why)
{
    unsigned n_suppressed;
    uint64_t now_ms = udpai_loop_wheel_get(answers->endpoint->wheel)->now_ms;
    if (udpai_log_allow(&answers->refusals, now_ms, &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "status",
                  "a question about access is not answered: %s (%u more such warnings left out)",
                  why, n_suppressed);
}

/* NULL without memory. */
static udpa_resource *
answer(const udpai_access_answers *answers, udpai_str name, const udpai_access_question *question)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_access_answer(answers->acl, question);
    return body ? udpai_own_resource(UDPAI_ACCESS_TYPE, name, body) : NULL;
}

static void
begin(udpai_access_answers *answers, udpai_str name)
{
    udpai_access_question question;
    if (!udpai_access_question_parse(name, &question)) {
        refuse(answers, "its name is not udpa.node/access/ACTION/TYPE/PEER/AUTHORITY/NAME");
        return;
    }
    if (answers->all.n >= QUESTIONS_MAX) {
        refuse(answers, "too many are asked at a time");
        return;
    }
    udpa_resource *said = answer(answers, name, &question);
    if (said && udpai_map_add(&answers->all, said)) {
        publish(answers);
        return;
    }
    udpa_resource_unref(said);
    refuse(answers, udpa_err_text(UDPA_ERR_NOMEM));
}

/* Without memory for one, nothing is said to it until it is asked again. */
void
udpai_access_answers_set_acl(udpai_access_answers *answers, udpai_acl *acl)
{
    udpai_map before = answers->all;
    size_t at = 0;
    udpa_resource *one;
    udpai_access_question question;
    udpai_acl_unref(answers->acl);
    answers->acl = udpai_acl_ref(acl);
    udpai_map_init(&answers->all, name_key);
    while ((one = udpai_map_next(&before, &at))) {
        udpai_str name = udpai_resource_name(one);
        udpa_resource *said =
            udpai_access_question_parse(name, &question) ? answer(answers, name, &question) : NULL;
        if (said && !udpai_map_add(&answers->all, said))
            udpa_resource_unref(said);
    }
    publish(answers);
    at = 0;
    while ((one = udpai_map_next(&before, &at)))
        udpa_resource_unref(one);
    udpai_map_done(&before);
}

static void
end(udpai_access_answers *answers, udpai_str name)
{
    udpa_resource *known = udpai_map_remove(&answers->all, name);
    if (!known)
        return;
    publish(answers);
    udpa_resource_unref(known);
}

void
udpai_access_answers_report(udpai_access_answers *answers, const udpai_report *report)
{
    const udpai_subscription_message *message = report->subscription;
    if (report->kind != UDPAI_REPORT_INTEREST || message->names[0].len == 0 ||
        !udpai_str_eq(message->type_url, type_url()))
        return;
    if (report->wanted)
        begin(answers, message->names[0]);
    else
        end(answers, message->names[0]);
}

udpa_err
udpai_access_answers_new(udpai_access_answers **ret_answers,
                         udpa_endpoint *endpoint,
                         udpai_acl *acl)
{
    udpai_access_answers *answers = udpai_alloc(sizeof(*answers));
    if (!answers)
        return UDPA_ERR_NOMEM;
    answers->endpoint = endpoint;
    answers->acl = udpai_acl_ref(acl);
    udpai_map_init(&answers->all, name_key);
    udpa_err err = udpai_node_expect_own(endpoint->node, type_url(), true);
    if (err == UDPA_OK)
        *ret_answers = answers;
    else
        udpai_access_answers_free(answers);
    return err;
}

void
udpai_access_answers_free(udpai_access_answers *answers)
{
    if (!answers)
        return;
    size_t at = 0;
    udpa_resource *one;
    while ((one = udpai_map_next(&answers->all, &at)))
        udpa_resource_unref(one);
    udpai_map_done(&answers->all);
    udpai_acl_unref(answers->acl);
    udpai_free(answers);
}
