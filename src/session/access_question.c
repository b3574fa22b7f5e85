/* SPDX-License-Identifier: Apache-2.0 */
#include "session/access_question.h"

#include "base/alloc.h"
#include "base/percent.h"
#include "base/proto.h"
#include "base/strbuf.h"
#include "session/status.h"

static const struct {
    const char *word;
    udpai_acl_action action;
} actions[] = {
    {"publish", UDPAI_ACL_PUBLISH},
    {"subscribe", UDPAI_ACL_SUBSCRIBE},
    {"admin", UDPAI_ACL_ADMIN},
};

udpai_acl_action
udpai_access_action(udpai_str word)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(actions); i++)
        if (udpai_str_eq(word, udpai_str_from(actions[i].word)))
            return actions[i].action;
    return 0;
}

static const char *
word_of(udpai_acl_action action)
{
    size_t i = 0;
    while (i + 1 < UDPAI_ARRAY_LEN(actions) && actions[i].action != action)
        i++;
    return actions[i].word;
}

/* ---- as a name ---- */

bool
udpai_access_question_parse(udpai_str question, udpai_access_question *ret)
{
    udpai_str head = UDPAI_STR(UDPAI_ACCESS_PREFIX), action, peer, authority;
    if (!udpai_str_starts(question, head) || question.len > UDPAI_NAME_MAX)
        return false;
    udpai_str rest = {question.data + head.len, question.len - head.len};
    char *at = ret->room;
    if (!udpai_str_cut(&rest, '/', &action) || !udpai_str_cut(&rest, '/', &ret->type_name) ||
        !udpai_str_cut(&rest, '/', &peer) || !udpai_str_cut(&rest, '/', &authority))
        return false;
    ret->action = udpai_access_action(action);
    ret->name = rest;
    return ret->action && ret->type_name.len && udpai_percent_decode(peer, &at, &ret->peer) &&
           udpai_percent_decode(authority, &at, &ret->authority);
}

static void
put_encoded(udpai_strbuf *out, udpai_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '/' || c == '%' || c == '*' || c < 0x21 || c > 0x7e)
            udpai_strbuf_printf(out, "%%%02X", c);
        else
            udpai_strbuf_putc(out, (char)c);
    }
}

udpa_err
udpai_access_question_compose(const udpai_access_question *question, char **ret_name)
{
    udpai_strbuf out = {0};
    udpai_strbuf_printf(&out, UDPAI_ACCESS_PREFIX "%s/", word_of(question->action));
    udpai_strbuf_str(&out, question->type_name);
    udpai_strbuf_puts(&out, "/");
    put_encoded(&out, question->peer);
    udpai_strbuf_puts(&out, "/");
    put_encoded(&out, question->authority);
    udpai_strbuf_puts(&out, "/");
    udpai_strbuf_str(&out, question->name);
    size_t len = udpai_strbuf_view(&out).len;
    *ret_name = udpai_strbuf_take(&out);
    if (*ret_name && len <= UDPAI_NAME_MAX)
        return UDPA_OK;
    udpa_err err = *ret_name ? UDPA_ERR_LIMIT : UDPA_ERR_NOMEM;
    udpai_free(*ret_name);
    *ret_name = NULL;
    return err;
}

/* ---- the answer ---- */

struct answer {
    bool is_allowed, is_dry_run, has_rules;
    udpai_str rule, reason;
};

static void
put_answer(udpai_proto_writer *writer, const void *what)
{
    const struct answer *answer = what;
    udpai_proto_put_varint_opt(writer, 1, answer->is_allowed);
    udpai_proto_put_bytes_opt(writer, 2, answer->rule);
    udpai_proto_put_bytes_opt(writer, 3, answer->reason);
    udpai_proto_put_varint_opt(writer, 4, answer->is_dry_run);
    udpai_proto_put_varint_opt(writer, 5, answer->has_rules);
}

udpa_bytes *
udpai_access_answer(const udpai_acl *acl, const udpai_access_question *question)
{
    struct answer answer = {.is_allowed = true};
    if (!acl)
        return udpai_proto_encode(put_answer, &answer);
    udpai_strbuf type_url = {0};
    udpai_strbuf_puts(&type_url, "type.googleapis.com/");
    udpai_strbuf_str(&type_url, question->type_name);
    const udpai_acl_question asked = {
        .action = question->action,
        .type_url = udpai_strbuf_view(&type_url),
        .name = question->name,
        .authority = question->authority,
    };
    const udpai_acl_subject subject = {.known_as = question->peer};
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    bool is_short = udpai_strbuf_failed(&type_url);
    const udpai_acl_rule *rule = is_short ? NULL : udpai_acl_decide(acl, &subject, &asked, &why);
    udpai_strbuf_done(&type_url);
    if (is_short)
        return NULL;
    answer.is_allowed = rule != NULL;
    answer.is_dry_run = udpai_acl_settings(acl)->is_dry_run;
    answer.has_rules = true;
    if (rule)
        answer.rule = rule->name;
    if (why)
        answer.reason = udpai_str_from(udpa_error_message(why));
    return udpai_proto_encode(put_answer, &answer);
}
