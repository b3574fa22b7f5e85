/* SPDX-License-Identifier: Apache-2.0 */
#include "model/client_type.h"

#include "base/percent.h"
#include "model/name.h"
#include "model/type_url.h"

static const struct client_type {
    const char *name;
    bool is_of_others; /* its names end with what somebody speaks of, not with who speaks */
} types[] = {
    {"udpa.load.v1.ClientLoad", false},     {"udpa.load.v1.ClusterLoad", false},
    {"udpa.load.v1.OrcaReport", true},      {"udpa.health.v1.EndpointHealth", false},
    {"udpa.health.v1.Checker", false},      {"udpa.status.v1.ResourceState", false},
    {"udpa.status.v1.ClientStatus", false},
};

static const struct client_type *
find(udpai_str type_url)
{
    udpai_str name = udpai_type_url_name(type_url);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++)
        if (udpai_str_eq(name, udpai_str_from(types[i].name)))
            return &types[i];
    return NULL;
}

bool
udpai_type_is_client(udpai_str type_url)
{
    return find(type_url) != NULL;
}

const char *
udpai_client_type_at(size_t index)
{
    return index < UDPAI_ARRAY_LEN(types) ? types[index].name : NULL;
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
