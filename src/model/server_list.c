/* SPDX-License-Identifier: Apache-2.0 */
#include "model/server_list.h"

static bool
is_space(char c)
{
    return c == ' ' || c == '\t';
}

static udpai_str
without_spaces(udpai_str text)
{
    while (text.len && is_space(text.data[text.len - 1]))
        text.len--;
    while (text.len && is_space(*text.data)) {
        text.data++;
        text.len--;
    }
    return text;
}

/* The text of the rest is NULL once the last one was taken: behind a comma there is one, if an
 * empty one. */
bool
udpai_server_list_cut(udpai_str *rest, udpai_str *ret_server)
{
    if (!rest->data)
        return false;
    udpai_str part = *rest;
    if (!udpai_str_cut(rest, ',', &part))
        *rest = (udpai_str){0};
    *ret_server = without_spaces(part);
    return true;
}

size_t
udpai_server_list_size(udpai_str list)
{
    udpai_str server;
    size_t n = 0;
    if (list.len == 0)
        return 0;
    while (udpai_server_list_cut(&list, &server))
        n++;
    return n;
}

udpai_str
udpai_server_list_at(udpai_str list, size_t index)
{
    udpai_str server;
    for (size_t i = 0; udpai_server_list_cut(&list, &server); i++)
        if (i == index)
            return server;
    return (udpai_str){0};
}

static bool
has_before(udpai_str list, size_t index, udpai_str server)
{
    for (size_t i = 0; i < index; i++)
        if (udpai_str_eq(udpai_server_list_at(list, i), server))
            return true;
    return false;
}

udpa_err
udpai_server_list_check(udpai_str list, udpa_error **ret_error)
{
    udpai_str rest = list, server;
    size_t n = udpai_server_list_size(list);
    if (n > UDPAI_SERVERS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%zu servers are more than the %d that a list may have", n,
                          UDPAI_SERVERS_MAX);
    for (size_t i = 0; udpai_server_list_cut(&rest, &server); i++) {
        if (server.len == 0 && n > 1)
            return udpai_fail(ret_error, UDPA_ERR_INVAL,
                              "'%.*s': server %zu of the list is empty: write HOST:PORT between "
                              "commas",
                              UDPAI_SHOWN(list), i + 1);
        if (has_before(list, i, server))
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%.*s': '%.*s' is in the list twice",
                              UDPAI_SHOWN(list), UDPAI_SHOWN(server));
    }
    return UDPA_OK;
}
