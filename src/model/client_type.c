/* SPDX-License-Identifier: Apache-2.0 */
#include "model/client_type.h"

#include "base/alloc.h"
#include "base/percent.h"
#include "model/name.h"
#include "model/types.h"

/* Those of the configuration; set once, then only read. */
static const char *added[UDPAI_CLIENT_TYPES_MAX];
static size_t n_added;

static bool
is_added(udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < n_added; i++)
        if (udpai_str_eq(name, udpai_str_from(added[i])))
            return true;
    return false;
}

static void
forget_added(void)
{
    while (n_added)
        udpai_free((void *)(uintptr_t)added[--n_added]);
}

udpa_err
udpai_client_types_set(const udpai_str *type_urls, size_t n)
{
    forget_added();
    if (n > UDPAI_CLIENT_TYPES_MAX)
        return UDPA_ERR_LIMIT;
    for (size_t i = 0; i < n; i++) {
        udpai_str name = udpai_type_url_name(type_urls[i]);
        char *copy = udpai_strndup(name.data, name.len);
        if (!copy) {
            forget_added();
            return UDPA_ERR_NOMEM;
        }
        added[n_added++] = copy;
    }
    return UDPA_OK;
}

bool
udpai_type_is_client(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return (type && type->is_client) || is_added(type_url);
}

const char *
udpai_client_type_at(size_t index)
{
    const udpai_type_info *type;
    for (size_t i = 0; (type = udpai_type_at(i)); i++)
        if (type->is_client && index-- == 0)
            return type->name.data;
    return index < n_added ? added[index] : NULL;
}

bool
udpai_type_names_client(udpai_str type_url)
{
    const udpai_type_info *type = udpai_type_find(type_url);
    return type && type->is_client ? !type->is_of_others : is_added(type_url);
}

udpa_err
udpai_client_name_check(udpai_str name, udpai_str client_id, udpa_error **ret_error)
{
    char room[UDPAI_NAME_MAX], *at = room;
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    size_t skip = slash ? (size_t)(slash - name.data) + 1 : name.len;
    udpai_str last = {name.data + skip, name.len - skip}, decoded;
    if (last.len <= sizeof(room) && udpai_percent_decode(last, &at, &decoded) &&
        udpai_str_eq(decoded, client_id))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%.*s' is the name of another client: the last segment of what a client "
                      "reports must be the id of its Node, '%.*s', percent-encoded",
                      (int)name.len, name.data, (int)client_id.len, client_id.data);
}
