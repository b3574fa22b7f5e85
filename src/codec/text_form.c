/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/text_form.h"

#include <arpa/inet.h>

#define HOSTNAME_MAX 253
#define LABEL_MAX 63
#define EMAIL_MAX 254
#define EMAIL_NAME_MAX 64

/* Not of ctype.h, which asks the locale. */
static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool
is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static udpai_str
from(udpai_str text, size_t start)
{
    return (udpai_str){text.data + start, text.len - start};
}

/* ---- hosts ---- */

static bool
is_label(udpai_str label)
{
    if (label.len == 0 || label.len > LABEL_MAX || label.data[0] == '-' ||
        label.data[label.len - 1] == '-')
        return false;
    for (size_t i = 0; i < label.len; i++)
        if (!is_letter(label.data[i]) && !is_digit(label.data[i]) && label.data[i] != '-')
            return false;
    return true;
}

bool
udpai_text_is_hostname(udpai_str text)
{
    if (text.len == 0 || text.len > HOSTNAME_MAX)
        return false;
    while (text.len) {
        const char *dot = memchr(text.data, '.', text.len);
        size_t len = dot ? (size_t)(dot - text.data) : text.len;
        if (!is_label((udpai_str){text.data, len}))
            return false;
        text = from(text, dot ? len + 1 : len);
    }
    return true;
}

static bool
is_address(int family, udpai_str text)
{
    char copy[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (text.len >= sizeof(copy) || (text.len && memchr(text.data, '\0', text.len)))
        return false;
    if (text.len)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return inet_pton(family, copy, address) == 1;
}

bool
udpai_text_is_ipv4(udpai_str text)
{
    return is_address(AF_INET, text);
}

bool
udpai_text_is_ipv6(udpai_str text)
{
    return is_address(AF_INET6, text);
}

bool
udpai_text_is_ip(udpai_str text)
{
    return udpai_text_is_ipv4(text) || udpai_text_is_ipv6(text);
}

/* ---- mail ---- */

static bool
is_email_name(udpai_str name)
{
    bool was_dot = true;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        if (c == '.' ? was_dot
                     : !is_letter(c) && !is_digit(c) && !is_one_of(c, "!#$%&'*+-/=?^_`{|}~"))
            return false;
        was_dot = c == '.';
    }
    return name.len && name.len <= EMAIL_NAME_MAX && !was_dot;
}

bool
udpai_text_is_email(udpai_str text)
{
    const char *at = text.len ? memchr(text.data, '@', text.len) : NULL;
    if (!at || text.len > EMAIL_MAX)
        return false;
    size_t len = (size_t)(at - text.data);
    return is_email_name((udpai_str){text.data, len}) &&
           udpai_text_is_hostname(from(text, len + 1));
}

/* ---- URIs ---- */

static size_t
scheme_length(udpai_str text)
{
    if (!text.len || !is_letter(text.data[0]))
        return 0;
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] == ':')
            return i;
        if (!is_letter(text.data[i]) && !is_digit(text.data[i]) && !is_one_of(text.data[i], "+-."))
            return 0;
    }
    return 0;
}

/* Behind the scheme: any order of parts that RFC 3986 allows has these characters. */
static bool
has_uri_characters(udpai_str text)
{
    bool in_fragment = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '%') {
            if (text.len - i < 3 || !is_hex(text.data[i + 1]) || !is_hex(text.data[i + 2]))
                return false;
        } else if (c == '#') {
            if (in_fragment)
                return false;
            in_fragment = true;
        } else if (!is_letter(c) && !is_digit(c) && !is_one_of(c, "-._~:/?[]@!$&'()*+,;=")) {
            return false;
        }
    }
    return true;
}

/* A first segment with a colon would be a scheme. */
static bool
begins_with_colon_segment(udpai_str text)
{
    for (size_t i = 0; i < text.len && !is_one_of(text.data[i], "/?#"); i++)
        if (text.data[i] == ':')
            return true;
    return false;
}

bool
udpai_text_is_uri(udpai_str text)
{
    size_t len = scheme_length(text);
    return len && has_uri_characters(from(text, len + 1));
}

bool
udpai_text_is_uri_reference(udpai_str text)
{
    return udpai_text_is_uri(text) ||
           (!begins_with_colon_segment(text) && has_uri_characters(text));
}

/* ---- */

bool
udpai_text_is_uuid(udpai_str text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (text.len != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (form[i] == 'x' ? !is_hex(text.data[i]) : text.data[i] != '-')
            return false;
    return true;
}
