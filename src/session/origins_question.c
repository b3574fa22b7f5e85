/* SPDX-License-Identifier: Apache-2.0 */
#include "session/origins_question.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/name.h"

bool
udpai_origins_question_parse(udpai_str question, udpai_origins_question *ret)
{
    udpai_str head = UDPAI_STR(UDPAI_ORIGINS_PREFIX);
    if (!udpai_str_starts(question, head) || question.len > UDPAI_NAME_MAX)
        return false;
    ret->name = (udpai_str){question.data + head.len, question.len - head.len};
    return udpai_str_cut(&ret->name, '/', &ret->token) && ret->token.len &&
           udpai_str_cut(&ret->name, '/', &ret->type_name) && ret->type_name.len && ret->name.len;
}

udpa_err
udpai_origins_question_compose(const udpai_origins_question *question, char **ret_name)
{
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, UDPAI_ORIGINS_PREFIX);
    udpai_strbuf_str(&out, question->token);
    udpai_strbuf_puts(&out, "/");
    udpai_strbuf_str(&out, question->type_name);
    udpai_strbuf_puts(&out, "/");
    udpai_strbuf_str(&out, question->name);
    size_t len = udpai_strbuf_view(&out).len;
    char *name = udpai_strbuf_take(&out);
    if (!name)
        return UDPA_ERR_NOMEM;
    if (len <= UDPAI_NAME_MAX) {
        *ret_name = name;
        return UDPA_OK;
    }
    udpai_free(name);
    return UDPA_ERR_LIMIT;
}
