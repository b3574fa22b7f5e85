/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/hook_words.h"

#include "codec/json_text.h"

/* JSON's base64 is in quotes, which come off. */
static void
put_base64(udpai_strbuf *out, udpai_str bytes)
{
    udpai_strbuf quoted = {0};
    udpai_json_put_base64(&quoted, bytes);
    if (udpai_strbuf_failed(&quoted))
        out->failed = true;
    else
        udpai_strbuf_append(out, quoted.data + 1, quoted.len - 2);
    udpai_strbuf_done(&quoted);
}

void
udpai_hook_put_change(udpai_strbuf *out, const udpai_edit *change)
{
    udpai_strbuf_puts(out, change->is_removal ? "remove " : "set ");
    udpai_strbuf_str(out, udpai_kind_url(change->kind));
    udpai_strbuf_printf(out, " %s", change->name);
    if (!change->is_removal) {
        udpai_strbuf_printf(out, " %u ", change->variant);
        put_base64(out, change->payload);
    }
    if (!change->is_removal && change->ttl_ms)
        udpai_strbuf_printf(out, " ttl_ms=%llu", (unsigned long long)change->ttl_ms);
    if (!change->is_removal && change->alias)
        udpai_strbuf_printf(out, " alias=%s", change->alias);
    if (!change->is_removal && change->is_lazy)
        udpai_strbuf_puts(out, " lazy=1");
    udpai_strbuf_putc(out, '\n');
}

/* The next word, and the rest behind it. */
static udpai_str
take_word(udpai_str *rest)
{
    while (rest->len && strchr(" \t\r\n", *rest->data))
        *rest = (udpai_str){rest->data + 1, rest->len - 1};
    size_t len = 0;
    while (len < rest->len && !strchr(" \t\r\n", rest->data[len]))
        len++;
    udpai_str word = {rest->data, len};
    *rest = (udpai_str){rest->data + len, rest->len - len};
    return word;
}

udpai_change_result
udpai_hook_read_answer(udpai_str line, udpai_strbuf *why)
{
    udpai_str rest = line, word = take_word(&rest);
    while (rest.len && strchr(" \t\r\n", *rest.data))
        rest = (udpai_str){rest.data + 1, rest.len - 1};
    while (rest.len && strchr(" \t\r\n", rest.data[rest.len - 1]))
        rest.len--;
    if (udpai_str_eq(word, UDPAI_STR("ok"))) {
        udpai_strbuf_str(why, rest);
        return UDPAI_CHANGE_MADE;
    }
    if (udpai_str_eq(word, UDPAI_STR("unsupported"))) {
        udpai_strbuf_str(why, rest);
        return UDPAI_CHANGE_UNSUPPORTED;
    }
    if (udpai_str_eq(word, UDPAI_STR("error")))
        udpai_strbuf_str(why, rest);
    else
        udpai_strbuf_printf(why, "it answers '%.*s', which is none of ok, unsupported, and error",
                            UDPAI_SHOWN(line));
    return UDPAI_CHANGE_FAILED;
}

unsigned
udpai_hook_read_abilities(udpai_str words)
{
    static const struct {
        udpai_str word;
        unsigned ability;
    } known[] = {
        {{"atomic", 6}, UDPAI_CAN_ATOMIC}, {{"ttl", 3}, UDPAI_CAN_TTL},
        {{"alias", 5}, UDPAI_CAN_ALIAS},   {{"xdstp", 5}, UDPAI_CAN_XDSTP},
        {{"lazy", 4}, UDPAI_CAN_LAZY},     {{"glob", 4}, UDPAI_CAN_GLOB},
    };

    unsigned abilities = 0;
    for (udpai_str word = take_word(&words); word.len; word = take_word(&words))
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++)
            abilities |= udpai_str_eq(word, known[i].word) ? known[i].ability : 0;
    return abilities;
}
