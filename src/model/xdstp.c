/* SPDX-License-Identifier: Apache-2.0 */
#include "model/xdstp.h"

#include <stdlib.h>

#include "base/percent.h"
#include "base/utf8.h"

/* A context parameter, decoded. */
typedef struct param {
    udpai_str key, value;
} param;

/* Text that grows up to a bound; beyond it the rest is dropped, and that noted. */
typedef struct sink {
    char *data;
    size_t len, capacity;
    bool is_full;
} sink;

static void
put(sink *to, char c)
{
    if (to->len < to->capacity)
        to->data[to->len++] = c;
    else
        to->is_full = true;
}

static udpa_err
fail(udpai_str text, udpa_error **ret_error, const char *reason)
{
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%.*s' is no name of the form xdstp://AUTHORITY/TYPE/ID?KEY=VALUE: %s",
                      UDPAI_SHOWN(text), reason);
}

/* ---- percent signs ---- */

/* Appends the decoded text to the room; false: it is malformed, or no text when decoded. */
static bool
decode(udpai_str text, char **at, udpai_str *ret_decoded)
{
    return udpai_percent_decode(text, at, ret_decoded) && udpai_utf8_valid(*ret_decoded);
}

static void
put_escaped(sink *to, udpai_str text, const char *special)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x20 && c != 0x7f && !strchr(special, c)) {
            put(to, (char)c);
            continue;
        }
        put(to, '%');
        put(to, digits[c >> 4]);
        put(to, digits[c & 15]);
    }
}

/* ---- taking apart ---- */

/* What is before the first `border`; `*rest` begins behind it. Without one: all of it. */
static udpai_str
cut(udpai_str text, char border, udpai_str *rest, bool *ret_found)
{
    const char *found = text.len ? memchr(text.data, border, text.len) : NULL;
    *ret_found = found != NULL;
    size_t len = found ? (size_t)(found - text.data) : text.len;
    *rest = found ? (udpai_str){found + 1, text.len - len - 1} : (udpai_str){NULL, 0};
    return (udpai_str){text.data, len};
}

static bool
is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool
is_type(udpai_str type)
{
    for (size_t i = 0; i < type.len; i++)
        if (!is_alphanumeric(type.data[i]) && type.data[i] != '.' && type.data[i] != '_')
            return false;
    return type.len > 0;
}

static int
compare_params(const void *a, const void *b)
{
    return udpai_str_cmp(((const param *)a)->key, ((const param *)b)->key);
}

/* A parameter given twice is refused: implementations disagree on which counts. NULL: all is
 * well. */
static const char *
read_params(udpai_str query, char **at, param *params, size_t *ret_n)
{
    size_t n = 0;
    while (query.len) {
        bool any;
        udpai_str rest, value, piece = cut(query, '&', &rest, &any);
        query = rest;
        if (piece.len == 0)
            continue;
        udpai_str key = cut(piece, '=', &value, &any);
        if (n == UDPAI_XDSTP_PARAMS_MAX)
            return "it has more than 64 context parameters";
        if (!decode(key, at, &params[n].key) || !decode(value, at, &params[n].value))
            return "a context parameter has a '%' without two hexadecimal digits, or is no UTF-8";
        if (params[n].key.len == 0 || !is_alphanumeric(params[n].key.data[0]))
            return "the key of a context parameter must begin with a letter or a digit; others are "
                   "reserved";
        n++;
    }
    if (n > 1)
        qsort(params, n, sizeof(*params), compare_params);
    for (size_t i = 1; i < n; i++)
        if (udpai_str_eq(params[i - 1].key, params[i].key))
            return "a context parameter is there twice";
    *ret_n = n;
    return NULL;
}

static udpai_str
last_segment(udpai_str path)
{
    const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    if (!slash)
        return path;
    size_t skip = (size_t)(slash - path.data) + 1;
    return (udpai_str){path.data + skip, path.len - skip};
}

static bool
is_star(udpai_str text)
{
    return text.len == 1 && *text.data == '*';
}

static void
put_canonical(sink *to, udpai_str id, const param *params, size_t n_params)
{
    put_escaped(to, id, "%?#");
    for (size_t i = 0; i < n_params; i++) {
        put(to, i == 0 ? '?' : '&');
        put_escaped(to, params[i].key, "%&=#/?");
        put(to, '=');
        put_escaped(to, params[i].value, "%&=#/?");
    }
}

/* Decoded, it would be a border of the path where the client has none. */
static bool
has_escaped_slash(udpai_str path)
{
    for (size_t i = 0; i + 2 < path.len; i++)
        if (path.data[i] == '%' && path.data[i + 1] == '2' && (path.data[i + 2] | 0x20) == 'f')
            return true;
    return false;
}

/* Behind the type. NULL: all is well. */
static const char *
read_id(udpai_str text, udpai_xdstp *to, char *at)
{
    param params[UDPAI_XDSTP_PARAMS_MAX];
    char scratch[UDPAI_XDSTP_TEXT_MAX], *scratch_at = scratch;
    bool any;
    size_t n_params = 0;
    udpai_str query, id, path = cut(text, '?', &query, &any);
    if (has_escaped_slash(path))
        return "a '/' of its path must not be escaped";
    if (!decode(path, &scratch_at, &id))
        return "its path has a '%' without two hexadecimal digits, or is no UTF-8";
    if (id.len == 0)
        return "it has no id";
    const char *problem = read_params(query, &scratch_at, params, &n_params);
    if (problem)
        return problem;
    sink canonical = {.data = at, .capacity = UDPAI_NAME_MAX};
    put_canonical(&canonical, id, params, n_params);
    if (canonical.is_full)
        return "its id is too long";
    to->id = (udpai_str){at, canonical.len};
    to->is_glob = is_star(last_segment(id));
    return NULL;
}

bool
udpai_xdstp_is(udpai_str text)
{
    return udpai_str_starts(text, UDPAI_STR(UDPAI_XDSTP_SCHEME));
}

udpa_err
udpai_xdstp_parse(udpai_str text, udpai_xdstp *ret_xdstp, udpa_error **ret_error)
{
    size_t skip = sizeof(UDPAI_XDSTP_SCHEME) - 1;
    char *at = ret_xdstp->room;
    bool any;
    if (!udpai_xdstp_is(text) || text.len > UDPAI_XDSTP_TEXT_MAX)
        return fail(text, ret_error, "it has another scheme, or is longer than 4096 bytes");
    udpai_str rest = {text.data + skip, text.len - skip};
    if (memchr(rest.data, '#', rest.len))
        return fail(text, ret_error, "what is behind '#' is for locators, and never asked for");
    udpai_str authority = cut(rest, '/', &rest, &any);
    if (!decode(authority, &at, &ret_xdstp->authority))
        return fail(text, ret_error,
                    "its authority has a '%' without two hexadecimal digits, or is no UTF-8");
    ret_xdstp->type = cut(rest, '/', &rest, &any);
    if (!any || !is_type(ret_xdstp->type))
        return fail(text, ret_error, "it has no resource type, or no id");
    const char *problem = read_id(rest, ret_xdstp, at);
    return problem ? fail(text, ret_error, problem) : UDPA_OK;
}

bool
udpai_xdstp_namespace(const udpai_xdstp_authorities *listed,
                      udpai_str authority,
                      udpai_str default_namespace,
                      udpai_str *ret_namespace)
{
    for (size_t i = 0; i < listed->n; i++) {
        if (!udpai_str_eq(listed->items[i].name, authority))
            continue;
        *ret_namespace = listed->items[i].prefix;
        return true;
    }
    *ret_namespace = authority.len ? authority : default_namespace;
    return authority.len == 0 || (!memchr(authority.data, '/', authority.len) &&
                                  udpai_prefix_check(authority, NULL) == UDPA_OK);
}

udpa_err
udpai_xdstp_full_name(const udpai_xdstp *xdstp,
                      udpai_str name_space,
                      char room[UDPAI_NAME_MAX],
                      udpai_str *ret_name,
                      udpa_error **ret_error)
{
    size_t len = name_space.len + 1 + xdstp->id.len;
    if (len > UDPAI_NAME_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the id '%.*s' with the namespace '%.*s' is longer than %d bytes",
                          UDPAI_SHOWN(xdstp->id), UDPAI_SHOWN(name_space), UDPAI_NAME_MAX);
    memcpy(room, name_space.data, name_space.len);
    room[name_space.len] = '/';
    memcpy(room + name_space.len + 1, xdstp->id.data, xdstp->id.len);
    *ret_name = (udpai_str){room, len};
    return udpai_name_check(*ret_name, ret_error);
}

/* ---- collections by glob ---- */

/* Of a name, in three parts: up to the last slash of the path, with it; the last segment; the
 * parameters, with their question mark. */
static bool
divide(udpai_str name, udpai_str *ret_parent, udpai_str *ret_last, udpai_str *ret_params)
{
    const char *mark = name.len ? memchr(name.data, '?', name.len) : NULL;
    size_t path_len = mark ? (size_t)(mark - name.data) : name.len;
    const char *slash = path_len ? memrchr(name.data, '/', path_len) : NULL;
    if (!slash)
        return false;
    size_t parent_len = (size_t)(slash - name.data) + 1;
    *ret_parent = (udpai_str){name.data, parent_len};
    *ret_last = (udpai_str){name.data + parent_len, path_len - parent_len};
    *ret_params = (udpai_str){name.data + path_len, name.len - path_len};
    return true;
}

bool
udpai_glob_of_name(udpai_str name, char room[UDPAI_GLOB_MAX], udpai_str *ret_glob)
{
    udpai_str parent, last, params;
    if (name.len > UDPAI_NAME_MAX || !divide(name, &parent, &last, &params) || is_star(last))
        return false;
    char *at = room;
    udpai_str_put(&at, parent);
    *at++ = '*';
    udpai_str_put(&at, params);
    *ret_glob = (udpai_str){room, (size_t)(at - room)};
    return true;
}

udpai_str
udpai_glob_prefix(udpai_str glob)
{
    udpai_str parent, last, params;
    return divide(glob, &parent, &last, &params) ? parent : glob;
}

bool
udpai_glob_member(udpai_str spelling,
                  udpai_str full_name,
                  char room[UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX],
                  udpai_str *ret_name)
{
    udpai_str parent, star, params, own_parent, last, own_params;
    if (!divide(spelling, &parent, &star, &params) ||
        !divide(full_name, &own_parent, &last, &own_params) ||
        parent.len + last.len + params.len > UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX)
        return false;
    char *at = room;
    udpai_str_put(&at, parent);
    udpai_str_put(&at, last);
    udpai_str_put(&at, params);
    *ret_name = (udpai_str){room, (size_t)(at - room)};
    return true;
}
