/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may do (session/access_question.h); answered anew when the rules change. */
#include "base/alloc.h"
#include "endpoint/answers.h"
#include "session/access_question.h"

#define QUESTIONS_MAX 1024

struct udpai_access_answers {
    udpai_acl *acl; /* NULL: none */
    udpai_answers *answers;
};

static bool
is_question(udpai_str name)
{
    udpai_access_question question;
    return udpai_access_question_parse(name, &question);
}

static udpa_bytes *
answer(void *userdata, udpai_str name)
{
    const udpai_access_answers *access = userdata;
    udpai_access_question question;
    (void)udpai_access_question_parse(name, &question);
    return udpai_access_answer(access->acl, &question);
}

void
udpai_access_answers_set_acl(udpai_access_answers *access, udpai_acl *acl)
{
    udpai_acl_unref(access->acl);
    access->acl = udpai_acl_ref(acl);
    udpai_answers_renew(access->answers);
}

void
udpai_access_answers_report(udpai_access_answers *access, const udpai_report *report)
{
    udpai_answers_report(access->answers, report);
}

udpa_err
udpai_access_answers_new(udpai_access_answers **ret_access, udpa_endpoint *endpoint, udpai_acl *acl)
{
    udpai_access_answers *access = udpai_alloc(sizeof(*access));
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
    udpa_err err = udpai_answers_new(&access->answers, endpoint, &config);
    access->acl = udpai_acl_ref(acl);
    if (err == UDPA_OK)
        *ret_access = access;
    else
        udpai_access_answers_free(access);
    return err;
}

void
udpai_access_answers_free(udpai_access_answers *access)
{
    if (!access)
        return;
    udpai_answers_free(access->answers);
    udpai_acl_unref(access->acl);
    udpai_free(access);
}
