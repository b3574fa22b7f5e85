/* SPDX-License-Identifier: Apache-2.0 */
#include "session/origins_question.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/name.h"

/* What stands before the next slash; both it and what is left behind must be something. */
static bool
take_segment(udpai_str *rest, udpai_str *ret_segment)
{
    const char *end = rest->len ? memchr(rest->data, '/', rest->len) : NULL;
    if (!end || end == rest->data || end + 1 == rest->data + rest->len)
        return false;
    *ret_segment = (udpai_str){rest->data, (size_t)(end - rest->data)};
    *rest = (udpai_str){end + 1, rest->len - ret_segment->len - 1};
    return true;
}

bool
udpai_origins_question_parse(udpai_str question, udpai_origins_question *ret)
{
    udpai_str head = UDPAI_STR(UDPAI_ORIGINS_PREFIX);
    if (!udpai_str_starts(question, head) || question.len > UDPAI_NAME_MAX)
        return false;
    ret->name = (udpai_str){question.data + head.len, question.len - head.len};
    return take_segment(&ret->name, &ret->token) && take_segment(&ret->name, &ret->type_name);
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
