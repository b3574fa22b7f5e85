/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may do (session/access_question.h); answered anew when the rules change. */
#include "base/alloc.h"
#include "endpoint/answers.h"
#include "session/access_question.h"

#define QUESTIONS_MAX 1024

typedef struct access_answers {
    udpai_service service;
    udpai_acl *acl; /* NULL: none */
    udpai_service *answers;
} access_answers;

static bool
is_question(udpai_str name)
{
    udpai_access_question question;
    return udpai_access_question_parse(name, &question);
}

static udpa_bytes *
answer(void *userdata, udpai_str name)
{
    const access_answers *access = userdata;
    udpai_access_question question;
    (void)udpai_access_question_parse(name, &question);
    return udpai_access_answer(access->acl, &question);
}

static access_answers *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, access_answers, service);
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    access_answers *access = of(service);
    if (event->kind != UDPAI_SERVICE_ACL)
        return;
    udpai_acl_unref(access->acl);
    access->acl = udpai_acl_ref(event->acl);
    udpai_answers_renew(access->answers);
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    return udpai_service_report(of(service)->answers, report);
}

static void
free_access(udpai_service *service)
{
    access_answers *access = of(service);
    udpai_service_free(access->answers);
    udpai_acl_unref(access->acl);
    udpai_free(access);
}

udpa_err
udpai_access_answers_new(udpai_service **ret_access, udpa_endpoint *endpoint, udpai_acl *acl)
{
    static const udpai_service_ops ops = {
        .on_report = on_report,
        .on_event = on_event,
        .free = free_access,
    };
    access_answers *access = udpai_alloc(sizeof(*access));
    if (!access)
        return UDPA_ERR_NOMEM;
    const udpai_answers_config config = {
        .type_url = UDPAI_ACCESS_TYPE,
        .subject = "access",
        .form = "udpa.node/access/ACTION/TYPE/PEER/AUTHORITY/NAME",
        .max = QUESTIONS_MAX,
        .is_question = is_question,
        .answer = answer,
        .userdata = access,
    };
    access->service.ops = &ops;
    udpa_err err = udpai_answers_new(&access->answers, endpoint, &config);
    access->acl = udpai_acl_ref(acl);
    if (err == UDPA_OK)
        *ret_access = &access->service;
    else
        free_access(&access->service);
    return err;
}
