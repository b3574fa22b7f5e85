/* SPDX-License-Identifier: Apache-2.0 */
/* The contents of a ConfigSource that is a resource. It comes from a peer, so it may contain
 * anything. */
#include "federation/dynamic_sources.h"
#include "udpa/config/v1/bootstrap.pb-c.h"
#include "wire/scan.h"

typedef Udpa__Config__V1__ConfigSource source_message;

#define NAME_MAX_LEN 128
#define ADDRESS_MAX_LEN 512

/* Only names of groups of clients contain a '/'. */
bool
udpai_dynamic_source_is_name(udpai_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && c != '-' && c != '_' && c != '.')
            return false;
    }
    return name.len > 0 && name.len <= NAME_MAX_LEN;
}

static const source_message *
unpack(udpai_dynamic_source_reading *reading, const udpa_resource *resource, udpa_error **ret_error)
{
    const ProtobufCMessageDescriptor *type = &udpa__config__v1__config_source__descriptor;
    udpai_arena *arena = &reading->arena;
    udpai_str payload;
    payload.data = udpa_resource_payload(resource, &payload.len);
    if (udpai_scan(type, payload, NULL, ret_error) != UDPA_OK)
        return NULL;
    const void *message = protobuf_c_message_unpack(type, &arena->allocator, payload.len,
                                                    (const uint8_t *)payload.data);
    if (!message)
        (void)udpai_fail_code(ret_error, arena->failed ? UDPA_ERR_NOMEM : UDPA_ERR_MALFORMED);
    return message;
}

static udpa_err
refuse(const source_message *message, const char *why, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "the ConfigSource '%s' %s", message->name, why);
}

static udpa_err
read_udpa(udpai_dynamic_source_config *config,
          const source_message *message,
          udpa_error **ret_error)
{
    config->kind = UDPAI_SOURCE_UDPA;
    config->address = udpai_str_from(message->udpa->address);
    if (message->udpa->tls)
        return refuse(message, "has tls, but a resource may name no files: give it a credential",
                      ret_error);
    return UDPA_OK;
}

static udpa_err
read_xds(udpai_dynamic_source_config *config, const source_message *message, udpa_error **ret_error)
{
    config->kind = UDPAI_SOURCE_XDS;
    config->address = udpai_str_from(message->xds->address);
    if (message->xds->tls)
        return refuse(message, "has tls, but a resource may name no files: give it a credential",
                      ret_error);
    if (message->xds->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        return refuse(message, "has an audience: only one of the bootstrap file may", ret_error);
    if (message->xds->load_reporting)
        return refuse(message, "has load_reporting: only one of the bootstrap file may", ret_error);
    if (!*message->xds->authority)
        return refuse(message, "needs an authority: name the one it publishes as", ret_error);
    return UDPA_OK;
}

/* From a tenth of a second to an hour, as in the bootstrap file. */
static bool
is_time(const Google__Protobuf__Duration *time)
{
    if (!time)
        return true;
    bool is_sane = time->seconds >= 0 && time->seconds <= 3600 && time->nanos >= 0;
    int64_t ms = is_sane ? time->seconds * 1000 + time->nanos / 1000000 : 0;
    return ms >= 100 && ms <= 3600000;
}

static udpa_err
read_rest(udpai_dynamic_source_config *config,
          const source_message *message,
          udpa_error **ret_error)
{
    const Udpa__Config__V1__RestSource *rest = message->rest;
    config->kind = UDPAI_SOURCE_REST;
    config->address = udpai_str_from(rest->address);
    if (rest->tls)
        return refuse(message, "has tls, but a resource may name no files: give it a credential",
                      ret_error);
    if (rest->audience != UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__SHARED)
        return refuse(message, "has an audience: only one of the bootstrap file may", ret_error);
    if (!*rest->authority)
        return refuse(message, "needs an authority: name the one it publishes as", ret_error);
    if (!is_time(rest->refresh_delay) || !is_time(rest->request_timeout))
        return refuse(message, "has times that must lie between 0.1 s and 1 h", ret_error);
    return UDPA_OK;
}

static udpa_err
read_kind(udpai_dynamic_source_config *config,
          const source_message *message,
          udpa_error **ret_error)
{
    if (message->replicas)
        return refuse(message, "has replicas: only one of the bootstrap file may", ret_error);
    if (message->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA)
        return read_udpa(config, message, ret_error);
    if (message->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS)
        return read_xds(config, message, ret_error);
    if (message->kind_case == UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST)
        return read_rest(config, message, ret_error);
    return refuse(message,
                  "must be of kind udpa, xds or rest: no other one is taken from a resource",
                  ret_error);
}

udpa_err
udpai_dynamic_source_read(udpai_dynamic_source_reading *reading,
                          const udpa_resource *resource,
                          udpa_error **ret_error)
{
    udpa_error *error = NULL;
    udpai_arena_init(&reading->arena);
    const source_message *message = unpack(reading, resource, &error);
    if (!message) {
        udpa_err err = error ? udpa_error_code(error) : UDPA_ERR_NOMEM;
        if (ret_error)
            *ret_error = error;
        else
            udpa_error_unref(error);
        return err;
    }
    udpai_dynamic_source_config *config = &reading->config;
    *config = (udpai_dynamic_source_config){
        .name = udpai_str_from(message->name),
        .credential = udpai_str_from(message->credential),
        .message = message,
    };
    if (!udpai_dynamic_source_is_name(config->name))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' is no name of a ConfigSource: it must be 1 to %d of a-z, A-Z, "
                          "0-9, '-', '_' and '.'",
                          UDPAI_SHOWN(config->name), NAME_MAX_LEN);
    if (message->recover || message->standby_for || message->n_standby)
        return refuse(message,
                      "has recover, standby_for or standby: only one of the bootstrap file may",
                      ret_error);
    udpa_err err = read_kind(config, message, ret_error);
    if (err == UDPA_OK && (config->address.len == 0 || config->address.len > ADDRESS_MAX_LEN))
        err = refuse(message, "needs an address, of at most 512 bytes", ret_error);
    return err;
}

void
udpai_dynamic_source_read_done(udpai_dynamic_source_reading *reading)
{
    udpai_arena_done(&reading->arena);
}
