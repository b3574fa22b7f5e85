/* SPDX-License-Identifier: Apache-2.0 */
/* All contributions to one name (session/origins_question.h), while it is subscribed to. */
#include "endpoint/answers.h"
#include "session/origins_question.h"

#define QUESTIONS_MAX 4096
#define RENEW_MS 1000

static bool
is_question(udpai_str name)
{
    udpai_origins_question question;
    return udpai_origins_question_parse(name, &question);
}

static udpa_bytes *
answer(void *userdata, udpai_str name)
{
    const udpa_endpoint *endpoint = userdata;
    udpai_origins_question question;
    (void)udpai_origins_question_parse(name, &question);
    return udpai_node_describe_origins(udpai_endpoint_node(endpoint), question.type_name,
                                       question.name);
}

udpa_err
udpai_origin_answers_new(udpai_service **ret_answers, udpa_endpoint *endpoint)
{
    const udpai_answers_config config = {
        .type_url = UDPAI_ORIGINS_TYPE,
        .subject = "origins",
        .form = "udpa.node/origins/TOKEN/TYPE/NAME",
        .max = QUESTIONS_MAX,
        .renew_ms = RENEW_MS,
        .is_question = is_question,
        .answer = answer,
        .userdata = endpoint,
    };
    return udpai_answers_new(ret_answers, endpoint, &config);
}
