/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/http/site.h"

#include <arpa/inet.h>

#include "base/pattern.h"

/* Without the port; of an IPv6 address without the brackets, which are noted. */
static udpai_str
without_port(udpai_str host, bool *ret_has_brackets)
{
    const char *end = host.len ? memchr(host.data, ']', host.len) : NULL;
    *ret_has_brackets = host.len && host.data[0] == '[' && end;
    if (*ret_has_brackets)
        return (udpai_str){host.data + 1, (size_t)(end - host.data) - 1};
    const char *colon = host.len ? memchr(host.data, ':', host.len) : NULL;
    return colon ? (udpai_str){host.data, (size_t)(colon - host.data)} : host;
}

static bool
is_address(udpai_str name, bool has_brackets)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr sixth;
    struct in_addr fourth;
    if (name.len >= sizeof(text))
        return false;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return has_brackets ? inet_pton(AF_INET6, text, &sixth) == 1 : inet_aton(text, &fourth) != 0;
}

/* No name that everybody can look up is without a dot. */
static bool
is_local(udpai_str name)
{
    if (name.len && name.data[name.len - 1] == '.')
        name.len--;
    return name.len == 0 || !memchr(name.data, '.', name.len);
}

static bool
is_listed(udpai_str name, const udpai_str *hosts, size_t n_hosts)
{
    char lower[UDPAI_HTTP_VALUE_MAX];
    for (size_t i = 0; i < name.len; i++)
        lower[i] =
            name.data[i] >= 'A' && name.data[i] <= 'Z' ? (char)(name.data[i] + 32) : name.data[i];
    return udpai_patterns_fit(hosts, n_hosts, (udpai_str){lower, name.len});
}

static udpa_err
check_host(udpai_str host, const udpai_str *hosts, size_t n_hosts, udpa_error **ret_error)
{
    bool has_brackets;
    udpai_str name = without_port(host, &has_brackets);
    if (is_address(name, has_brackets) || is_local(name) || is_listed(name, hosts, n_hosts))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "this node does not answer for the host '%.*s': add it to http.hosts in its "
                      "bootstrap file, or ask by the address",
                      UDPAI_SHOWN(name));
}

static bool
is_same_case(udpai_str a, udpai_str b)
{
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

static bool
is_of_host(udpai_str origin, udpai_str host)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(schemes); i++) {
        size_t len = strlen(schemes[i]);
        if (origin.len > len && strncasecmp(origin.data, schemes[i], len) == 0)
            return is_same_case((udpai_str){origin.data + len, origin.len - len}, host);
    }
    return false;
}

udpa_err
udpai_http_site_check(const udpai_http_head *head,
                      const udpai_str *hosts,
                      size_t n_hosts,
                      udpa_error **ret_error)
{
    udpai_str host = udpai_str_from(udpai_http_head_value(head, UDPAI_HTTP_HOST));
    udpai_str origin = udpai_str_from(udpai_http_head_value(head, UDPAI_HTTP_ORIGIN));
    const char *site = udpai_http_head_value(head, UDPAI_HTTP_SITE);
    if (head->n_seen[UDPAI_HTTP_ORIGIN] && !is_of_host(origin, host))
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "a page of '%.*s' asks, and only pages of this node may",
                          UDPAI_SHOWN(origin));
    if (strcasecmp(site, "cross-site") == 0)
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "a page of another site asks, and only pages of this node may");
    return check_host(host, hosts, n_hosts, ret_error);
}
