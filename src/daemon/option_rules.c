/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/option_rules.h"

#include <ctype.h>

#include "base/strbuf.h"
#include "codec/place.h"
#include "model/name.h"
#include "model/types.h"
#include "store/settled.h"

udpa_err
udpai_namespace_check(const char *name_space, udpa_error **ret_error)
{
    udpai_str prefix = udpai_str_from(name_space);
    udpa_err err = udpai_prefix_check(prefix, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), prefix))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "namespace '%s' is reserved for what nodes report of themselves: use another",
                      name_space);
}

udpa_err
udpai_prefix_check_word(const char *prefix, udpa_error **ret_error)
{
    return udpai_prefix_check(udpai_str_from(prefix), ret_error);
}

static bool
has_controls(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return true;
    return false;
}

udpa_err
udpai_node_id_check(const char *id, udpa_error **ret_error)
{
    udpai_str text = udpai_str_from(id);
    if (has_controls(text))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' is no id of a node: it has control characters", UDPAI_QUOTE(text));
    udpai_strbuf name = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_strbuf_printf(&name, "%s/%s/node", UDPAI_NODE_NAMESPACE, id);
    udpa_err err = udpai_strbuf_failed(&name) ? UDPA_ERR_NOMEM
                                              : udpai_name_check(udpai_strbuf_view(&name), &error);
    udpai_strbuf_done(&name);
    if (err == UDPA_OK)
        return UDPA_OK;
    return udpai_fail(ret_error, err, "'%s' is no id of a node, which must fit into a name: %s",
                      UDPAI_QUOTE(text), udpa_error_message(error));
}

/* Identifiers with dots between them, two at least: every type has a package. */
static bool
is_type_name(udpai_str name)
{
    size_t n_dots = 0;
    char last = '.';
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        bool may_begin = isalpha(c) || c == '_';
        if (last == '.' ? !may_begin : !(may_begin || isdigit(c) || c == '.'))
            return false;
        n_dots += c == '.';
        last = (char)c;
    }
    return n_dots > 0 && last != '.';
}

udpa_err
udpai_type_check(const char *type, udpa_error **ret_error)
{
    if (is_type_name(udpai_type_url_name(udpai_str_from(type))))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no type: write the whole name, such as "
                      "envoy.config.cluster.v3.Cluster",
                      UDPAI_QUOTE(udpai_str_from(type)));
}

const char *
udpai_type_without_prefix(const char *type)
{
    bool has_it = udpai_str_starts(udpai_str_from(type), UDPAI_STR(UDPAI_TYPE_PREFIX));
    return has_it ? UDPAI_TYPE_NAME(type) : type;
}

unsigned
udpai_percentage(const char *word)
{
    unsigned value = 0;
    size_t n = strspn(word, "0123456789");
    if (n == 0 || n > 3 || strcmp(word + n, "%") != 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (unsigned)(word[i] - '0');
    return value;
}

udpa_err
udpai_percentage_check(const char *word, udpa_error **ret_error)
{
    unsigned value = udpai_percentage(word);
    if (!*word || (value > 0 && value <= 100))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "'%s' is no percentage: write '1%%' to '100%%'",
                      word);
}
