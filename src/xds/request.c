/* SPDX-License-Identifier: Apache-2.0 */
#include "xds/request.h"

#include "base/alloc.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "model/variant.h"
#include "wire/node_decode.h"
#include "wire/versions.h"

#define INITIAL_RESOURCE_VERSIONS 5 /* the number of the field in DeltaDiscoveryRequest */

typedef Envoy__Service__Discovery__V3__DiscoveryRequest sotw_message;
typedef Envoy__Service__Discovery__V3__DeltaDiscoveryRequest delta_message;
typedef Envoy__Service__Discovery__V3__ResourceLocator locator_message;

/* Scans, then unpacks into the arena. */
static udpa_err
unpack(udpai_decoder *decoder,
       const ProtobufCMessageDescriptor *type,
       udpai_str bytes,
       void *ret_message,
       udpa_error **ret_error)
{
    udpa_err err = udpai_scan(type, bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    void *message = protobuf_c_message_unpack(type, &decoder->arena.allocator, bytes.len,
                                              (const uint8_t *)bytes.data);
    if (!message)
        return udpai_fail(ret_error, UDPA_ERR_NOMEM, "cannot take in a request of %zu bytes: %s",
                          bytes.len, udpa_err_text(UDPA_ERR_NOMEM));
    *(void **)ret_message = message;
    return UDPA_OK;
}

static udpa_err
read_names(udpai_decoder *decoder, char **names, size_t n, const udpai_str **ret_names)
{
    udpai_str *views = udpai_arena_alloc(&decoder->arena, n * sizeof(*views));
    for (size_t i = 0; views && i < n; i++)
        views[i] = udpai_str_from(names[i]);
    *ret_names = views;
    return views ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* What is too much is noted as such, and answered as a name that cannot be any. */
static udpa_err
read_locator(udpai_decoder *decoder, const locator_message *from, udpai_xds_locator *to)
{
    udpai_parameter items[UDPAI_PARAMETERS_MAX];
    size_t n = from->n_dynamic_parameters;
    *to = (udpai_xds_locator){.name = udpai_str_from(from->name)};
    to->is_bad = n > UDPAI_PARAMETERS_MAX;
    if (to->is_bad || n == 0)
        return UDPA_OK;
    for (size_t i = 0; i < n; i++)
        items[i] = (udpai_parameter){udpai_str_from(from->dynamic_parameters[i]->key),
                                     udpai_str_from(from->dynamic_parameters[i]->value)};
    n = udpai_parameters_sort(items, n);
    to->is_bad = udpai_parameters_check(items, n, NULL) != UDPA_OK;
    if (to->is_bad)
        return UDPA_OK;
    char *at = udpai_arena_alloc(&decoder->arena, udpai_parameters_text_size(items, n));
    if (!at)
        return UDPA_ERR_NOMEM;
    to->parameters = udpai_parameters_put(&at, items, n);
    return UDPA_OK;
}

static udpa_err
read_locators(udpai_decoder *decoder,
              locator_message **from,
              size_t n,
              const udpai_xds_locator **ret_locators)
{
    udpai_xds_locator *locators = udpai_arena_alloc(&decoder->arena, n * sizeof(*locators));
    udpa_err err = locators ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = read_locator(decoder, from[i], &locators[i]);
    *ret_locators = locators;
    return err;
}

/* If there is something wrong, wherever it is, the scan finds the words for it. */
static udpa_err
take_versions(udpai_decoder *decoder,
              udpai_str bytes,
              udpai_versions *ret_versions,
              udpa_error **ret_error)
{
    udpa_err err =
        udpai_versions_take(&decoder->arena, bytes, INITIAL_RESOURCE_VERSIONS, ret_versions);
    if (err != UDPA_ERR_MALFORMED)
        return udpai_fail_code(ret_error, err);
    err = udpai_scan(&envoy__service__discovery__v3__delta_discovery_request__descriptor, bytes,
                     NULL, ret_error);
    return err != UDPA_OK ? err : udpai_fail_code(ret_error, UDPA_ERR_MALFORMED);
}

static void
read_error(const Google__Rpc__Status *status, udpai_xds_request *to)
{
    if (!status)
        return;
    to->is_refusal = true;
    to->error_code = status->code;
    to->error_text = udpai_str_from(status->message);
}

static udpa_err
read_node(const Envoy__Config__Core__V3__Node *node, bool needs_node, udpai_xds_request *to)
{
    return node && needs_node ? udpai_node_info_from_message(node, &to->node) : UDPA_OK;
}

udpa_err
udpai_xds_request_decode(udpai_decoder *decoder,
                         udpai_str bytes,
                         bool needs_node,
                         udpai_xds_request *ret_request,
                         udpa_error **ret_error)
{
    sotw_message *from = NULL;
    udpai_arena_reset(&decoder->arena);
    udpa_err err = unpack(decoder, &envoy__service__discovery__v3__discovery_request__descriptor,
                          bytes, &from, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_xds_request to = {
        .type_url = udpai_str_from(from->type_url),
        .nonce = udpai_str_from(from->response_nonce),
        .version = udpai_str_from(from->version_info),
        .n_names = from->n_resource_names,
        .n_locators = from->n_resource_locators,
    };
    read_error(from->error_detail, &to);
    err = read_names(decoder, from->resource_names, to.n_names, &to.names);
    if (err == UDPA_OK)
        err = read_locators(decoder, from->resource_locators, to.n_locators, &to.locators);
    if (err == UDPA_OK)
        err = read_node(from->node, needs_node, &to);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    *ret_request = to;
    return UDPA_OK;
}

udpa_err
udpai_xds_delta_request_decode(udpai_decoder *decoder,
                               udpai_str bytes,
                               bool needs_node,
                               udpai_xds_request *ret_request,
                               udpa_error **ret_error)
{
    delta_message *from = NULL;
    udpai_versions held;
    udpai_arena_reset(&decoder->arena);
    udpa_err err = take_versions(decoder, bytes, &held, ret_error);
    if (err == UDPA_OK)
        err = unpack(decoder, &envoy__service__discovery__v3__delta_discovery_request__descriptor,
                     held.rest, &from, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_xds_request to = {
        .type_url = udpai_str_from(from->type_url),
        .nonce = udpai_str_from(from->response_nonce),
        .n_names = from->n_resource_names_subscribe,
        .n_unsubscribed = from->n_resource_names_unsubscribe,
        .n_locators = from->n_resource_locators_subscribe,
        .n_unsubscribed_locators = from->n_resource_locators_unsubscribe,
        .versions = held.items,
        .n_versions = held.n,
    };
    read_error(from->error_detail, &to);
    err = read_names(decoder, from->resource_names_subscribe, to.n_names, &to.names);
    if (err == UDPA_OK)
        err = read_names(decoder, from->resource_names_unsubscribe, to.n_unsubscribed,
                         &to.unsubscribed);
    if (err == UDPA_OK)
        err =
            read_locators(decoder, from->resource_locators_subscribe, to.n_locators, &to.locators);
    if (err == UDPA_OK)
        err = read_locators(decoder, from->resource_locators_unsubscribe,
                            to.n_unsubscribed_locators, &to.unsubscribed_locators);
    if (err == UDPA_OK)
        err = read_node(from->node, needs_node, &to);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    *ret_request = to;
    return UDPA_OK;
}

void
udpai_xds_request_done(udpai_xds_request *request)
{
    request->node = udpai_node_info_unref(request->node);
}
