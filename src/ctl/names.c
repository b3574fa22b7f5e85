/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/names.h"

#include <strings.h>

#include "base/strbuf.h"
#include "codec/suggest.h"
#include "model/type_url.h"
#include "model/xdstp.h"

#define PREFIX "type.googleapis.com/"

/* The plural of each name counts too. */
static const struct alias {
    const char *name, *also, *full;
} aliases[] = {
    {"cluster", "cds", "envoy.config.cluster.v3.Cluster"},
    {"endpoint", "eds", "envoy.config.endpoint.v3.ClusterLoadAssignment"},
    {"event", "", "udpa.event.v1.Event"},
    {"extension", "ecds", "envoy.config.core.v3.TypedExtensionConfig"},
    {"listener", "lds", "envoy.config.listener.v3.Listener"},
    {"node", "", "udpa.status.v1.NodeStatus"},
    {"route", "rds", "envoy.config.route.v3.RouteConfiguration"},
    {"runtime", "rtds", "envoy.service.runtime.v3.Runtime"},
    {"scopedroute", "srds", "envoy.config.route.v3.ScopedRouteConfiguration"},
    {"secret", "sds", "envoy.extensions.transport_sockets.tls.v3.Secret"},
    {"session", "", "udpa.status.v1.SessionStatus"},
    {"source", "", "udpa.status.v1.SourceStatus"},
    {"virtualhost", "vhds", "envoy.config.route.v3.VirtualHost"},
};

static bool
is_plural_of(const char *given, const char *name)
{
    size_t len = strlen(name);
    return strncasecmp(given, name, len) == 0 && strcasecmp(given + len, "s") == 0;
}

static const struct alias *
find_alias(const char *given)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++)
        if (strcasecmp(given, aliases[i].name) == 0 || is_plural_of(given, aliases[i].name) ||
            (*given && strcasecmp(given, aliases[i].also) == 0))
            return &aliases[i];
    return NULL;
}

static udpa_err
fail_unknown(const char *given, udpa_error **ret_error)
{
    udpai_suggestion suggestion = udpai_suggest(udpai_str_from(given));
    char text[UDPAI_SUGGESTION_TEXT];
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++)
        udpai_suggest_offer(&suggestion, aliases[i].name);
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is no type%s (a short name, as 'udpactl help' lists them, or a full "
                      "one such as envoy.config.cluster.v3.Cluster)",
                      given, udpai_suggestion_text(&suggestion, text));
}

udpa_err
udpai_ctl_type_url(const char *given, char **ret_type_url, udpa_error **ret_error)
{
    const struct alias *alias = find_alias(given);
    udpai_strbuf url = {0};
    if (!alias && !strpbrk(given, "./"))
        return fail_unknown(given, ret_error);
    if (alias || !strchr(given, '/'))
        udpai_strbuf_puts(&url, PREFIX);
    udpai_strbuf_puts(&url, alias ? alias->full : given);
    char *text = udpai_strbuf_take(&url);
    if (!text)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_type_url = text;
    return UDPA_OK;
}

udpai_str
udpai_ctl_type_short(udpai_str type_url)
{
    udpai_str full = udpai_type_url_name(type_url);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++)
        if (udpai_str_eq(full, udpai_str_from(aliases[i].full)))
            return udpai_str_from(aliases[i].name);
    return full;
}

static bool
is_full_name(const char *name)
{
    udpai_str name_space = udpai_name_namespace(udpai_str_from(name));
    return strchr(name, '/') && name_space.len && udpai_prefix_check(name_space, NULL) == UDPA_OK;
}

/* By what authorities stand for if nobody has said another: which is listed, the node knows. */
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
udpai_ctl_full_name(const char *name, const char *name_space)
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
udpai_ctl_may_be_id(const char *name, const char *name_space)
{
    udpai_str first = udpai_name_namespace(udpai_str_from(name));
    return is_full_name(name) && !memchr(first.data, '.', first.len) &&
           !udpai_str_eq(first, udpai_str_from(name_space));
}

bool
udpai_ctl_is_secret(udpai_str type_url)
{
    static const udpai_str end = {"Secret", sizeof("Secret") - 1};
    return type_url.len >= end.len &&
           udpai_str_eq((udpai_str){type_url.data + type_url.len - end.len, end.len}, end);
}

void
udpai_ctl_visit_types(
    void (*visit)(void *userdata, const char *name, const char *also, const char *full),
    void *userdata)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(aliases); i++)
        visit(userdata, aliases[i].name, aliases[i].also, aliases[i].full);
}
