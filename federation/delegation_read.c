/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a delegation. It comes from a peer, so it may contain anything. */
#include "federation/delegation.h"
#include "udpa/config/v1/resource_provider.pb-c.h"
#include "wire/scan.h"

typedef Udpa__Config__V1__ResourceProvider provider_message;

/* A full name of a message. */
static bool
is_type_name(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '_' && c != '.')
            return false;
    }
    return text.len > 0;
}

bool
udpai_delegation_read_name(udpai_str name,
                           char room[UDPAI_TYPE_URL_MAX],
                           udpai_str *ret_type_url,
                           udpai_str *ret_name)
{
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    udpai_str head = UDPAI_STR(UDPAI_TYPE_PREFIX);
    if (!slash)
        return false;
    const udpai_str resource = {name.data, (size_t)(slash - name.data)};
    const udpai_str type = {slash + 1, name.len - resource.len - 1};
    if (head.len + type.len > UDPAI_TYPE_URL_MAX || !is_type_name(type) ||
        udpai_name_check(resource, NULL) != UDPA_OK)
        return false;
    memcpy(room, head.data, head.len);
    memcpy(room + head.len, type.data, type.len);
    *ret_type_url = (udpai_str){room, head.len + type.len};
    *ret_name = resource;
    return true;
}

/* ---- the payload ---- */

static udpa_err
unpack(udpai_delegation *delegation, const udpa_resource *resource, udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type = &udpa__config__v1__resource_provider__descriptor;
    udpai_arena *arena = &delegation->arena;
    udpai_str payload;
    payload.data = udpa_resource_payload(resource, &payload.len);
    udpa_err err = udpai_scan(type, payload, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    delegation->message = protobuf_c_message_unpack(type, &arena->allocator, payload.len,
                                                    (const uint8_t *)payload.data);
    if (delegation->message)
        return UDPA_OK;
    return udpai_fail_code(ret_error, arena->failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED);
}

/* Its contents must match its name, since the rules on names decide which peer may publish it. */
static udpa_err
check_name(const udpai_delegation *delegation, udpai_str own_name, udpa_error **ret_error)
{
    const provider_message *message = delegation->message;
    udpai_str type_url = delegation->named.type_url;
    const udpai_str type = {type_url.data + strlen(UDPAI_TYPE_PREFIX),
                            type_url.len - strlen(UDPAI_TYPE_PREFIX)};
    if (udpai_str_eq(udpai_str_from(message->type), type) &&
        udpai_str_eq(udpai_str_from(message->resource_name), delegation->named.name))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "the provider of '%s', of type '%s', is called '%.*s': its name must be "
                      "'%s/%s'",
                      message->resource_name, message->type, UDPAI_SHOWN(own_name),
                      message->resource_name, message->type);
}

static udpa_err
read_descriptor(udpai_delegation *delegation,
                const Udpa__Config__V1__ConfigDescriptor *from,
                udpa_error **ret_error)
{
    udpai_str name = delegation->named.name;
    if (from->source_case != UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the provider of '%.*s' must give each source by the name of a "
                          "ConfigSource (resource_name), not inline",
                          UDPAI_SHOWN(name));
    if ((unsigned)from->continuation > UDPAI_CONTINUE ||
        (unsigned)from->mode > UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the provider of '%.*s' has a continuation or a mode that this node does "
                          "not know",
                          UDPAI_SHOWN(name));
    delegation->descriptors[delegation->named.n_descriptors++] = (udpai_descriptor_config){
        .source = udpai_str_from(from->resource_name),
        .prefix = udpai_str_from(from->namespace_),
        .continuation = (udpai_continuation)from->continuation,
        .on_demand = from->mode == UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__MODE__ON_DEMAND,
    };
    return UDPA_OK;
}

static udpa_err
read_descriptors(udpai_delegation *delegation, udpa_error **ret_error)
{
    const provider_message *message = delegation->message;
    udpa_err err = UDPA_OK;
    if (message->n_config_descriptors > UDPAI_DESCRIPTORS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the provider of '%s' has %zu config_descriptors: at most %d can be",
                          message->resource_name, message->n_config_descriptors,
                          UDPAI_DESCRIPTORS_MAX);
    for (size_t i = 0; i < message->n_config_descriptors && err == UDPA_OK; i++)
        err = read_descriptor(delegation, message->config_descriptors[i], ret_error);
    return err;
}

udpa_err
udpai_delegation_read(udpai_delegation *delegation,
                      const udpa_resource *resource,
                      udpa_error **ret_error)
{
    udpai_str own_name = udpai_resource_name(resource);
    udpai_arena_init(&delegation->arena);
    delegation->named = (udpai_named_config){.descriptors = delegation->descriptors};
    if (!udpai_delegation_read_name(own_name, delegation->room, &delegation->named.type_url,
                                    &delegation->named.name))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' is no name of a ResourceProvider: it must be that of the "
                          "resource, a '/', and its type, such as "
                          "com.acme/backend/envoy.config.endpoint.v3.ClusterLoadAssignment",
                          UDPAI_SHOWN(own_name));
    udpa_err err = unpack(delegation, resource, ret_error);
    if (err == UDPA_OK)
        err = check_name(delegation, own_name, ret_error);
    if (err == UDPA_OK &&
        udpai_str_eq(delegation->named.type_url, UDPAI_STR(UDPAI_DELEGATION_TYPE)))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "'%.*s': an authority that delegates cannot be delegated",
                         UDPAI_SHOWN(own_name));
    return err == UDPA_OK ? read_descriptors(delegation, ret_error) : err;
}

void
udpai_delegation_done(udpai_delegation *delegation)
{
    udpai_arena_done(&delegation->arena);
}
