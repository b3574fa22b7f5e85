/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/names.h"

#include "model/type_url.h"

/* Does a client that spells it so mean a full name? */
static bool
is_full(const udpai_xds_audience *audience, udpai_str name)
{
    for (size_t i = 0; i < audience->n_namespaces; i++)
        if (udpai_prefix_covers(audience->namespaces[i], name))
            return udpai_name_check(name, NULL) == UDPA_OK;
    return false;
}

/* Of a name that is not of the form xdstp://…. */
static bool
from_client(const udpai_xds_audience *audience,
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
udpai_xds_name_from_client(const udpai_xds_audience *audience,
                           udpai_str name,
                           char room[UDPAI_NAME_MAX],
                           udpai_str *ret_name)
{
    return !udpai_xdstp_is(name) && from_client(audience, name, room, ret_name);
}

/* ---- xdstp ---- */

static bool
shows(const udpai_xds_audience *audience, udpai_str full_name)
{
    if (udpai_xds_name_is_plain(audience, full_name))
        return true;
    for (size_t i = 0; i < audience->n_namespaces; i++)
        if (udpai_prefix_covers(audience->namespaces[i], full_name))
            return true;
    return false;
}

static udpa_err
deny(udpai_str name, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%.*s' lies in a namespace that you are not shown: the sections "
                      "'authorities' and 'audiences' of the node's configuration select the "
                      "namespaces that you are shown",
                      UDPAI_SHOWN(name));
}

static udpa_err
resolve_xdstp(const udpai_xds_audience *audience,
              udpai_str type_url,
              udpai_str name,
              udpai_xds_name *to,
              udpa_error **ret_error)
{
    udpai_xdstp xdstp;
    udpa_err err = udpai_xdstp_parse(name, &xdstp, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str type = udpai_type_url_name(type_url), name_space;
    if (!udpai_str_eq(xdstp.type, type))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' is the name of a %.*s, and was asked for as a %.*s",
                          UDPAI_SHOWN(name), UDPAI_SHOWN(xdstp.type), UDPAI_SHOWN(type));
    if (!udpai_xdstp_namespace(&audience->authorities, xdstp.authority, audience->default_namespace,
                               &name_space))
        return deny(name, ret_error);
    err = udpai_xdstp_full_name(&xdstp, name_space, to->room, &to->full, ret_error);
    if (err != UDPA_OK)
        return err;
    to->is_xdstp = true;
    to->is_glob = xdstp.is_glob;
    to->parameters = (udpai_str){0};
    return shows(audience, to->full) ? UDPA_OK : deny(name, ret_error);
}

udpa_err
udpai_xds_name_resolve(const udpai_xds_audience *audience,
                       udpai_str type_url,
                       udpai_str name,
                       udpai_xds_name *ret_name,
                       udpa_error **ret_error)
{
    if (udpai_xdstp_is(name))
        return resolve_xdstp(audience, type_url, name, ret_name, ret_error);
    ret_name->is_xdstp = ret_name->is_glob = false;
    ret_name->parameters = (udpai_str){0};
    if (from_client(audience, name, ret_name->room, &ret_name->full))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "a name must not be empty, nor longer than %d bytes", UDPAI_NAME_MAX);
}

/* ---- as clients know them ---- */

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
    if (id.len == 0 || udpai_str_eq(id, UDPAI_XDS_WILDCARD) || udpai_xdstp_is(id) ||
        is_full(audience, id))
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
