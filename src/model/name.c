/* SPDX-License-Identifier: Apache-2.0 */
#include "model/name.h"

#include <stdlib.h>

#include "base/utf8.h"

enum { /* what a character of a namespace is */
    IN_LABEL = 1,
    BETWEEN_LABELS = 2,
};

static const uint8_t character_kinds[256] = {
    ['a' ... 'z'] = IN_LABEL,
    ['0' ... '9'] = IN_LABEL,
    ['-'] = IN_LABEL,
    ['.'] = BETWEEN_LABELS,
};

/* Labels of [a-z0-9-], none empty, joined by dots. */
static bool
is_namespace(udpai_str text)
{
    uint8_t before = BETWEEN_LABELS;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t kind = character_kinds[(uint8_t)text.data[i]];
        if (!kind || (kind & before & BETWEEN_LABELS))
            return false;
        before = kind;
    }
    return before == IN_LABEL;
}

udpai_str
udpai_name_namespace(udpai_str name)
{
    const char *slash = name.len ? memchr(name.data, '/', name.len) : NULL;
    return (udpai_str){name.data, slash ? (size_t)(slash - name.data) : name.len};
}

udpai_str
udpai_name_id(udpai_str name)
{
    size_t skip = udpai_name_namespace(name).len + 1;
    return skip > name.len ? (udpai_str){NULL, 0} : (udpai_str){name.data + skip, name.len - skip};
}

bool
udpai_name_is_full(udpai_str written, udpai_str default_namespace)
{
    udpai_str name_space = udpai_name_namespace(written);
    if (name_space.len == written.len)
        return false;
    return udpai_str_eq(name_space, default_namespace) ||
           (is_namespace(name_space) && memchr(name_space.data, '.', name_space.len));
}

bool
udpai_name_is_wildcard(udpai_str name)
{
    return name.len == 0 || (name.len == 1 && name.data[0] == '*');
}

/* What names and prefixes have in common. `name_space`: of the text. */
static udpa_err
check_text(bool is_prefix, udpai_str text, udpai_str name_space, udpa_error **ret_error)
{
    const char *what = is_prefix ? "namespace" : "resource name";
    if (text.len > UDPAI_NAME_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s of %zu bytes is longer than %d: '%.60s…'",
                          what, text.len, UDPAI_NAME_MAX, text.data);
    if (!udpai_utf8_valid(text))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is not UTF-8 text without zero bytes",
                          what);
    if (is_namespace(name_space))
        return UDPA_OK;
    const char *rule = "must be labels of a-z, 0-9 and '-' with dots between, such as com.acme";
    if (is_prefix && name_space.len == text.len)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s '%.*s' %s", what, UDPAI_SHOWN(text), rule);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s '%.*s' has no valid namespace: '%.*s' %s",
                      what, UDPAI_SHOWN(text), UDPAI_SHOWN(name_space), rule);
}

udpa_err
udpai_name_check(udpai_str name, udpa_error **ret_error)
{
    udpai_str name_space = udpai_name_namespace(name);
    udpa_err err = check_text(false, name, name_space, ret_error);
    if (err == UDPA_OK && name.len <= name_space.len + 1)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "resource name '%.*s' has no id: it must be <namespace>/<id>, such as "
                         "com.acme/service-a",
                         UDPAI_SHOWN(name));
    return err;
}

udpa_err
udpai_prefix_check(udpai_str prefix, udpa_error **ret_error)
{
    return prefix.len ? check_text(true, prefix, udpai_name_namespace(prefix), ret_error) : UDPA_OK;
}

/* May a prefix end before position `at`? */
static bool
is_border(udpai_str text, size_t at, bool in_namespace)
{
    return at == text.len || text.data[at] == '/' || (in_namespace && text.data[at] == '.');
}

bool
udpai_prefix_covers(udpai_str prefix, udpai_str text)
{
    if (prefix.len == 0)
        return true;
    if (!udpai_str_starts(text, prefix))
        return false;
    if (prefix.data[prefix.len - 1] == '/')
        return true;
    return is_border(text, prefix.len, !memchr(prefix.data, '/', prefix.len));
}

bool
udpai_name_next_prefix(udpai_str name, size_t *position, udpai_str *ret_prefix)
{
    size_t at = *position;
    if (at > name.len + 1)
        return false;
    if (at == 0) { /* the empty prefix; from here on *position = length of the last one, plus 1 */
        *position = 1;
        *ret_prefix = (udpai_str){name.data, 0};
        return true;
    }
    size_t namespace_len = udpai_name_namespace(name).len;
    for (size_t len = at; len <= name.len; len++) {
        if (name.data[len - 1] == '/' || is_border(name, len, len < namespace_len)) {
            *position = len + 1;
            *ret_prefix = (udpai_str){name.data, len};
            return true;
        }
    }
    *position = name.len + 2;
    return false;
}

static int
compare_prefixes(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

size_t
udpai_prefix_minimal_cover(udpai_str *prefixes, size_t n)
{
    if (n > 1)
        qsort(prefixes, n, sizeof(*prefixes), compare_prefixes);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool covered = false;
        for (size_t k = 0; k < kept && !covered; k++)
            covered = udpai_prefix_covers(prefixes[k], prefixes[i]);
        if (!covered)
            prefixes[kept++] = prefixes[i];
    }
    return kept;
}

/* The '*' of a pattern: right after a '/'. NULL if the alias has none; `*ret_bad` if one is
 * elsewhere, or there are two. */
static const char *
find_star(udpai_str alias, bool *ret_bad)
{
    const char *star = NULL;
    *ret_bad = false;
    for (size_t i = 0; i < alias.len; i++) {
        if (alias.data[i] != '*')
            continue;
        if (star || i == 0 || alias.data[i - 1] != '/')
            *ret_bad = true;
        star = alias.data + i;
    }
    return star;
}

udpa_err
udpai_alias_check(udpai_str alias, udpai_str resource_name, udpa_error **ret_error)
{
    udpa_err err = udpai_name_check(alias, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_str_eq(udpai_name_namespace(alias), udpai_name_namespace(resource_name)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "alias '%.*s' lies outside the namespace of its resource '%.*s'",
                          UDPAI_SHOWN(alias), UDPAI_SHOWN(resource_name));
    bool bad;
    find_star(alias, &bad);
    if (bad)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "alias '%.*s': one '*' may stand, right after a '/'", UDPAI_SHOWN(alias));
    return UDPA_OK;
}

bool
udpai_alias_is_pattern(udpai_str alias)
{
    bool bad;
    return find_star(alias, &bad) && !bad;
}

bool
udpai_alias_matches(udpai_str pattern, udpai_str name)
{
    bool bad;
    const char *star = find_star(pattern, &bad);
    if (!star || bad)
        return false;
    udpai_str before = {pattern.data, (size_t)(star - pattern.data)};
    udpai_str after = {star + 1, pattern.len - before.len - 1};
    if (name.len <= before.len + after.len || !udpai_str_starts(name, before))
        return false;
    /* The '*' ends where the name's path segment must go on as the pattern does. */
    size_t stood_for = name.len - before.len - after.len;
    return !memchr(name.data + before.len, '/', stood_for) &&
           udpai_str_eq((udpai_str){name.data + before.len + stood_for, after.len}, after);
}
