/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/client_names.h"

#include "base/percent.h"
#include "model/name.h"

#define CLIENT_ID_MAX ((size_t)256)
#define NUMBER_MAX ((size_t)20) /* digits */

/* Digits alone, and no number has two spellings. */
static bool
read_number(udpai_str text, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (text.len == 0 || text.len > NUMBER_MAX || text.data[0] == '0')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' ||
            __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.data[i] - '0'), &number))
            return false;
    }
    *ret_number = number;
    return true;
}

bool
udpai_client_name_read(udpai_str name, udpai_client_name *ret_name)
{
    udpai_str rest = name, part, client, number;
    *ret_name = (udpai_client_name){0};
    if (!udpai_str_cut(&rest, '/', &part) ||
        !udpai_str_eq(part, UDPAI_STR(UDPAI_CLIENTS_NAMESPACE)) ||
        !udpai_str_cut(&rest, '/', &ret_name->node) || ret_name->node.len == 0)
        return false;
    if (udpai_str_eq(rest, ret_name->node)) {
        ret_name->is_of_node = true;
        return true;
    }
    return udpai_str_cut(&rest, '/', &client) && udpai_str_cut(&rest, '/', &number) &&
           udpai_str_eq(rest, ret_name->node) && read_number(number, &ret_name->number);
}

void
udpai_client_names_put_prefix(udpai_strbuf *out, udpai_str node_id)
{
    udpai_strbuf_puts(out, UDPAI_CLIENTS_NAMESPACE "/");
    udpai_percent_encode_segment(out, node_id);
}

void
udpai_client_names_put_node(udpai_strbuf *out, udpai_str node_id)
{
    udpai_client_names_put_prefix(out, node_id);
    udpai_strbuf_putc(out, '/');
    udpai_percent_encode_segment(out, node_id);
}

void
udpai_client_names_put_client(udpai_strbuf *out,
                              udpai_str node_id,
                              udpai_str client_id,
                              uint64_t number)
{
    const udpai_str cut = {client_id.data, udpai_min_size(client_id.len, CLIENT_ID_MAX / 3)};
    udpai_client_names_put_prefix(out, node_id);
    udpai_strbuf_putc(out, '/');
    if (cut.len)
        udpai_percent_encode_segment(out, cut);
    else
        udpai_strbuf_putc(out, '-');
    udpai_strbuf_printf(out, "/%llu/", (unsigned long long)number);
    udpai_percent_encode_segment(out, node_id);
}

bool
udpai_client_names_match(udpai_str subscription, udpai_str node_id)
{
    udpai_strbuf own = {0};
    udpai_client_names_put_prefix(&own, node_id);
    bool is_wildcard = subscription.len && subscription.data[0] == '*';
    udpai_str text =
        is_wildcard ? (udpai_str){subscription.data + 1, subscription.len - 1} : subscription;
    bool is_match = !udpai_strbuf_failed(&own) &&
                    (udpai_prefix_covers(udpai_strbuf_view(&own), text) ||
                     (is_wildcard && udpai_prefix_covers(text, udpai_strbuf_view(&own))));
    udpai_strbuf_done(&own);
    return is_match;
}
