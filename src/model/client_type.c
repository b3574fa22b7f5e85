/* SPDX-License-Identifier: Apache-2.0 */
#include "model/client_type.h"

#include "base/alloc.h"
#include "base/percent.h"
#include "model/name.h"
#include "model/type_url.h"

static const struct client_type {
    const char *name;
    bool is_of_others; /* its names end with what somebody speaks of, not with who speaks */
} types[] = {
    {"udpa.load.v1.ClientLoad", false},       {"udpa.load.v1.SharedClientLoad", false},
    {"udpa.load.v1.ClusterLoad", false},      {"udpa.load.v1.OrcaReport", true},
    {"udpa.health.v1.EndpointHealth", false}, {"udpa.health.v1.Checker", false},
    {"udpa.status.v1.ResourceState", false},  {"udpa.status.v1.ClientStatus", false},
};

/* Those of the configuration; set once, then only read. */
static struct client_type added[UDPAI_CLIENT_TYPES_MAX];
static size_t n_added;

static const struct client_type *
find_among(const struct client_type *among, size_t n, udpai_str name)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_str_eq(name, udpai_str_from(among[i].name)))
            return &among[i];
    return NULL;
}

static const struct client_type *
find(udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    const struct client_type *found = find_among(types, UDPAI_ARRAY_LEN(types), name);
    return found ? found : find_among(added, n_added, name);
}

static void
forget_added(void)
{
    while (n_added)
        udpai_free((void *)(uintptr_t)added[--n_added].name);
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
        added[n_added++].name = copy;
    }
    return UDPA_OK;
}

bool
udpai_type_is_client(udpai_str type_url)
{
    return find(type_url) != NULL;
}

const char *
udpai_client_type_at(size_t index)
{
    const size_t n = UDPAI_ARRAY_LEN(types);
    if (index < n)
        return types[index].name;
    return index - n < n_added ? added[index - n].name : NULL;
}

bool
udpai_type_names_client(udpai_str type_url)
{
    const struct client_type *type = find(type_url);
    return type && !type->is_of_others;
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
                      "'%.*s' speaks for another client: the last segment of what a client "
                      "reports must be the id of its Node, '%.*s', percent-encoded",
                      (int)name.len, name.data, (int)client_id.len, client_id.data);
}
