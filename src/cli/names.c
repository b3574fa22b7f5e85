/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/names.h"

#include <strings.h>

#include "base/strbuf.h"
#include "codec/suggest.h"
#include "model/types.h"
#include "model/xdstp.h"

/* The one with the next word in the alphabet; NULL: there is none. */
static const udpai_type_info *
type_after(const udpai_type_info *last)
{
    const udpai_type_info *next = NULL, *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++)
        if (type->word && (!last || strcmp(type->word, last->word) > 0) &&
            (!next || strcmp(type->word, next->word) < 0))
            next = type;
    return next;
}

static bool
is_plural_of(const char *given, const char *name)
{
    size_t len = strlen(name);
    return strncasecmp(given, name, len) == 0 && strcasecmp(given + len, "s") == 0;
}

/* The plural of each word counts too. */
static const udpai_type_info *
find_word(const char *given)
{
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++)
        if (type->word && (strcasecmp(given, type->word) == 0 || is_plural_of(given, type->word) ||
                           (type->discovery_word && strcasecmp(given, type->discovery_word) == 0)))
            return type;
    return NULL;
}

static udpa_err
fail_unknown(const char *given, udpa_error **ret_error)
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(given));
    char text[UDPAI_SUGGESTION_TEXT];
    for (const udpai_type_info *type = NULL; (type = type_after(type));)
        udpai_suggest_offer(&suggestion, type->word);
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no type%s (a short name, as 'udpactl help' lists them, or a full "
                      "one such as envoy.config.cluster.v3.Cluster)",
                      given, udpai_suggestion_text(&suggestion, text));
}

udpa_err
udpai_cli_type_url(const char *given, char **ret_type_url, udpa_error **ret_error)
{
    const udpai_type_info *type = find_word(given);
    udpai_strbuf url = {0};
    if (!type && !strpbrk(given, "./"))
        return fail_unknown(given, ret_error);
    if (type || !strchr(given, '/'))
        udpai_strbuf_puts(&url, UDPAI_TYPE_PREFIX);
    udpai_strbuf_puts(&url, type ? type->name.data : given);
    char *text = udpai_strbuf_take(&url);
    if (!text)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_type_url = text;
    return UDPA_OK;
}

udpai_str
udpai_cli_type_short(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return type && type->word ? udpai_str_from(type->word) : udpai_type_url_name(type_url);
}

static bool
is_full_name(const char *name)
{
    udpai_str name_space = udpai_name_namespace(udpai_str_from(name));
    return strchr(name, '/') && name_space.len && udpai_prefix_check(name_space, NULL) == UDPA_OK;
}

/* By default authorities map to their namespaces: which is listed, the node knows. */
static bool
put_xdstp(udpai_strbuf *full, const char *name, const char *name_space)
{
    static const udpai_xdstp_authorities none;
    udpai_xdstp xdstp;
    char room[UDPAI_NAME_MAX];
    udpai_str found;
    if (udpai_xdstp_parse(udpai_str_from(name), &xdstp, NULL) != UDPA_OK ||
        !udpai_xdstp_namespace(&none, xdstp.authority, udpai_str_from(name_space), &found) ||
        udpai_xdstp_full_name(&xdstp, found, room, &found, NULL) != UDPA_OK)
        return false;
    udpai_strbuf_str(full, found);
    return true;
}

char *
udpai_cli_full_name(const char *name, const char *name_space)
{
    udpai_strbuf full = {0};
    if (put_xdstp(&full, name, name_space))
        return udpai_strbuf_take(&full);
    if (!is_full_name(name)) {
        udpai_strbuf_puts(&full, name_space);
        udpai_strbuf_putc(&full, '/');
    }
    udpai_strbuf_puts(&full, name);
    return udpai_strbuf_take(&full);
}

bool
udpai_cli_may_be_id(const char *name, const char *name_space)
{
    udpai_str first = udpai_name_namespace(udpai_str_from(name));
    return is_full_name(name) && !memchr(first.data, '.', first.len) &&
           !udpai_str_eq(first, udpai_str_from(name_space));
}

/* More than are known: what has such a name is not to be printed. */
bool
udpai_cli_is_secret(udpai_str type_url)
{
    static const udpai_str end = {"Secret", sizeof("Secret") - 1};
    return type_url.len >= end.len &&
           udpai_str_eq((udpai_str){type_url.data + type_url.len - end.len, end.len}, end);
}

void
udpai_cli_visit_types(
    void (*visit)(void *userdata, const char *name, const char *also, const char *full),
    void *userdata)
{
    for (const udpai_type_info *type = NULL; (type = type_after(type));)
        visit(userdata, type->word, type->discovery_word ? type->discovery_word : "",
              type->name.data);
}
