/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/names.h"

/* Does a client that spells it so mean a full name? */
static bool
is_full(const udpai_xds_audience *audience, udpai_str name)
{
    for (size_t i = 0; i < audience->n_namespaces; i++)
        if (udpai_prefix_covers(audience->namespaces[i], name))
            return udpai_name_check(name, NULL) == UDPA_OK;
    return false;
}

bool
udpai_xds_name_from_client(const udpai_xds_audience *audience,
                           udpai_str name,
                           char room[UDPAI_NAME_MAX],
                           udpai_str *ret_name)
{
    size_t skip = audience->default_namespace.len + 1;
    if (name.len == 0 || udpai_str_eq(name, UDPAI_XDS_WILDCARD))
        return false;
    if (is_full(audience, name)) {
        *ret_name = name;
        return true;
    }
    if (skip + name.len > UDPAI_NAME_MAX)
        return false;
    memcpy(room, audience->default_namespace.data, skip - 1);
    room[skip - 1] = '/';
    memcpy(room + skip, name.data, name.len);
    *ret_name = (udpai_str){room, skip + name.len};
    return true;
}

bool
udpai_xds_name_is_plain(const udpai_xds_audience *audience, udpai_str name)
{
    size_t len = audience->default_namespace.len;
    return name.len > len && name.data[len] == '/' &&
           udpai_str_starts(name, audience->default_namespace);
}

bool
udpai_xds_name_to_client(const udpai_xds_audience *audience, udpai_str name, udpai_str *ret_name)
{
    if (!udpai_xds_name_is_plain(audience, name)) {
        *ret_name = name;
        return is_full(audience, name);
    }
    size_t skip = audience->default_namespace.len + 1;
    udpai_str id = {name.data + skip, name.len - skip};
    if (id.len == 0 || udpai_str_eq(id, UDPAI_XDS_WILDCARD) || is_full(audience, id))
        return false;
    *ret_name = id;
    return true;
}

udpai_str
udpai_xds_wildcard_prefix(const udpai_xds_audience *audience,
                          size_t index,
                          char room[UDPAI_NAME_MAX])
{
    udpai_str own = audience->default_namespace;
    if (index > 0)
        return audience->namespaces[index - 1];
    /* With the slash, namespaces below the default one do not count: clients could not name what is
     * in them. */
    size_t len = udpai_min_size(own.len, UDPAI_NAME_MAX - 1);
    memcpy(room, own.data, len);
    room[len] = '/';
    return (udpai_str){room, len + 1};
}
