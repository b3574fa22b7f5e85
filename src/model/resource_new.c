/* SPDX-License-Identifier: Apache-2.0 */
/* What a resource must look like, and making one from parts or from a caller's spec. */
#include "model/resource.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "model/name.h"
#include "model/type_url.h"
#include "model/variant.h"

static udpa_err
check_text(const char *what, udpai_str text, size_t max, udpa_error **ret_error)
{
    if (text.len > max)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s of %zu bytes is longer than %zu", what,
                          text.len, max);
    if (!udpai_utf8_valid(text))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is not UTF-8 text without zero bytes",
                          what);
    return UDPA_OK;
}

static udpa_err
check_any(const udpai_resource_parts *parts, udpa_error **ret_error)
{
    udpai_str type_url, value;
    const udpa_bytes *bytes = parts->value ? parts->value : parts->any;
    size_t size = parts->small.len ? parts->small.len : udpa_bytes_size(bytes);
    if (size == 0 && bytes == parts->any)
        return UDPA_OK; /* a refresh */
    if (size > UDPAI_ANY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "resource '%.*s' is larger than 2 GiB",
                          UDPAI_SHOWN(parts->name));
    if (!udpai_resource_parts_read_any(parts, &type_url, &value))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "resource '%.*s': malformed Any",
                          UDPAI_SHOWN(parts->name));
    udpai_str type = udpai_type_url_name(type_url);
    if (type.len == 0 || type.len == type_url.len)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.*s': type URL '%.*s' must be <prefix>/<message type>, such "
                          "as type.googleapis.com/envoy.config.cluster.v3.Cluster",
                          UDPAI_SHOWN(parts->name), UDPAI_SHOWN(type_url));
    return check_text("type URL", type_url, UDPAI_TYPE_URL_MAX, ret_error);
}

static udpa_err
check_counts(const udpai_resource_parts *parts, udpa_error **ret_error)
{
    if (parts->n_hops > UDPAI_HOPS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.*s' passed %zu nodes, more than %d: is there a loop?",
                          UDPAI_SHOWN(parts->name), parts->n_hops, UDPAI_HOPS_MAX);
    if (parts->n_aliases > UDPAI_ALIASES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "resource '%.*s' has %zu aliases, more than %d", UDPAI_SHOWN(parts->name),
                          parts->n_aliases, UDPAI_ALIASES_MAX);
    if (parts->ttl_ms > UDPAI_TTL_MAX_MS)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "resource '%.*s': a ttl above ten years",
                          UDPAI_SHOWN(parts->name));
    return UDPA_OK;
}

static udpa_err
check_lists(const udpai_resource_parts *parts, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < parts->n_hops && err == UDPA_OK; i++) {
        err =
            check_text("node id of a hop", parts->hops[i].node_id, UDPAI_AUTHORITY_MAX, ret_error);
        if (err == UDPA_OK)
            err = check_text("authority of a hop", parts->hops[i].authority, UDPAI_AUTHORITY_MAX,
                             ret_error);
        if (err == UDPA_OK)
            err = check_text("instance of a hop", parts->hops[i].instance, UDPAI_AUTHORITY_MAX,
                             ret_error);
    }
    for (size_t i = 0; i < parts->n_aliases && err == UDPA_OK; i++)
        err = udpai_alias_check(parts->aliases[i], parts->name, ret_error);
    return err;
}

/* A variant is known to clients by one name, which is not its own. */
static udpa_err
check_variant(const udpai_resource_parts *parts, udpa_error **ret_error)
{
    udpa_error *why = NULL;
    if (parts->constraints.len == 0)
        return UDPA_OK;
    if (parts->n_aliases != 1 || udpai_alias_is_pattern(parts->aliases[0]) ||
        udpai_str_eq(parts->aliases[0], parts->name))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.*s' has constraints, so it must have one alias, without a "
                          "pattern: the name that it is a variant of",
                          UDPAI_SHOWN(parts->name));
    if (udpai_constraints_check(parts->constraints, &why) == UDPA_OK)
        return UDPA_OK;
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_INVAL, "resource '%.*s': %s",
                              UDPAI_SHOWN(parts->name), udpa_error_message(why));
    udpa_error_unref(why);
    return err;
}

enum { /* field numbers of ResourceLocator */
    LOCATOR_SCHEME = 1,
    LOCATOR_RESOURCE_TYPE = 4
};

/* The type in a locator; of what is no xdstp locator, nothing. False: it is malformed. */
static bool
read_locator(udpai_str locator, udpai_str *ret_type)
{
    udpai_proto_reader reader = udpai_proto_read(locator);
    udpai_proto_field field;
    bool is_xdstp = true;
    *ret_type = (udpai_str){0};
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == LOCATOR_SCHEME)
            is_xdstp = field.value == 0;
        else if (field.number == LOCATOR_RESOURCE_TYPE && field.type == UDPAI_WIRE_BYTES)
            *ret_type = field.bytes;
    }
    if (!is_xdstp)
        *ret_type = (udpai_str){0};
    return !reader.failed;
}

/* What is at the other end must be of the same type. */
static udpa_err
check_redirect(const udpai_resource_parts *parts, udpa_error **ret_error)
{
    udpai_str type_url, value, target, type = udpai_type_url_name(parts->redirected_type);
    if (parts->redirected_type.len == 0 || udpa_bytes_size(parts->any) == 0)
        return UDPA_OK;
    if (type.len == 0 || type.len == parts->redirected_type.len)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.*s': redirected_type '%.*s' must be <prefix>/<message type>",
                          UDPAI_SHOWN(parts->name), UDPAI_SHOWN(parts->redirected_type));
    if (!udpai_any_parse(udpai_bytes_view(parts->any), &type_url, &value) ||
        !udpai_str_eq(udpai_type_url_name(type_url),
                      udpai_type_url_name(UDPAI_STR(UDPAI_TYPE_LOCATOR))) ||
        !read_locator(value, &target))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.*s' has a redirected_type, so its payload must be an "
                          "xds.core.v3.ResourceLocator",
                          UDPAI_SHOWN(parts->name));
    if (target.len && !udpai_str_eq(target, type))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.*s' is one of type %.*s, and redirected to one of type %.*s",
                          UDPAI_SHOWN(parts->name), UDPAI_SHOWN(type), UDPAI_SHOWN(target));
    return check_text("redirected_type", parts->redirected_type, UDPAI_TYPE_URL_MAX, ret_error);
}

udpa_err
udpai_resource_parts_check(const udpai_resource_parts *parts, udpa_error **ret_error)
{
    udpa_err err = udpai_name_check(parts->name, ret_error);
    if (err == UDPA_OK)
        err = check_any(parts, ret_error);
    if (err == UDPA_OK)
        err = check_text("version", parts->version, UDPAI_VERSION_MAX, ret_error);
    if (err == UDPA_OK)
        err = check_text("authority", parts->authority, UDPAI_AUTHORITY_MAX, ret_error);
    if (err == UDPA_OK)
        err = check_text("key id", parts->signature.key_id, UDPAI_AUTHORITY_MAX, ret_error);
    if (err == UDPA_OK)
        err = check_counts(parts, ret_error);
    if (err == UDPA_OK)
        err = check_lists(parts, ret_error);
    if (err == UDPA_OK)
        err = check_variant(parts, ret_error);
    if (err == UDPA_OK)
        err = check_redirect(parts, ret_error);
    return err;
}

static udpa_err
check_and_make(udpa_resource **ret_resource,
               const udpai_resource_parts *parts,
               udpa_error **ret_error)
{
    udpa_err err = udpai_resource_parts_check(parts, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, udpai_resource_make(ret_resource, parts));
    return err;
}

/* What must hold before anything in a spec is read or copied. */
static udpa_err
check_spec(const udpa_resource_spec *spec, udpa_error **ret_error)
{
    if (!spec || spec->struct_size != sizeof(*spec))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a udpa_resource_spec must begin as UDPA_RESOURCE_SPEC_INIT");
    if (!spec->name || !spec->type_url || !*spec->type_url)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a resource needs a name and a type URL");
    if ((!spec->payload && spec->payload_size) || (!spec->aliases && spec->n_aliases))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "resource '%.200s': a payload or aliases are counted but not given",
                          spec->name);
    if (spec->n_aliases > UDPAI_ALIASES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "resource '%.200s' has %zu aliases, more than %d", spec->name,
                          spec->n_aliases, UDPAI_ALIASES_MAX);
    if (spec->payload_size > UDPAI_ANY_MAX - 2 * UDPAI_TYPE_URL_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "resource '%.200s' is larger than 2 GiB",
                          spec->name);
    return UDPA_OK;
}

udpa_err
udpa_resource_new(udpa_resource **ret_resource,
                  const udpa_resource_spec *spec,
                  udpa_error **ret_error)
{
    if (ret_error)
        *ret_error = NULL;
    if (!ret_resource)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "there is no place to store the resource");
    udpa_err err = check_spec(spec, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str aliases[UDPAI_ALIASES_MAX];
    for (size_t i = 0; i < spec->n_aliases; i++)
        aliases[i] = udpai_str_from(spec->aliases[i]);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(udpai_str_from(spec->type_url),
                                     (udpai_str){spec->payload, spec->payload_size});
    if (!any)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_resource_parts parts = {
        .name = udpai_str_from(spec->name),
        .version = udpai_str_from(spec->version),
        .authority = udpai_str_from(spec->authority),
        .any = any,
        .ttl_ms = spec->ttl_ms,
        .lazy = spec->lazy != 0,
        .do_not_cache = spec->do_not_cache != 0,
        .aliases = aliases,
        .n_aliases = spec->n_aliases,
    };
    return check_and_make(ret_resource, &parts, ret_error);
}
