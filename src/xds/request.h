/* SPDX-License-Identifier: Apache-2.0 */
/* DiscoveryRequest and DeltaDiscoveryRequest: bytes from a client to values, in one shape for both.
 * Every request is scanned before it is unpacked. */
#ifndef UDPAI_XDS_REQUEST_H
#define UDPAI_XDS_REQUEST_H

#include "wire/message.h"

/* A ResourceLocator: a name that is asked for with dynamic parameters. */
typedef struct udpai_xds_locator {
    udpai_str name;
    udpai_str parameters; /* as udpai_parameters_put() makes them */
    bool is_bad;          /* there are too many of them, or they are too long */
} udpai_xds_locator;

typedef struct udpai_xds_request {
    udpai_node_info *node; /* NULL: none was sent, or it was not needed; owned */
    udpai_str type_url, nonce;
    udpai_str version;      /* version_info: of the last response that was accepted; not of delta */
    const udpai_str *names; /* resource_names, or resource_names_subscribe */
    size_t n_names;
    const udpai_str *unsubscribed;
    size_t n_unsubscribed;
    const udpai_xds_locator *locators; /* resource_locators, or resource_locators_subscribe */
    size_t n_locators;
    const udpai_xds_locator *unsubscribed_locators;
    size_t n_unsubscribed_locators;
    const udpai_held_version *versions; /* initial_resource_versions; not NUL-terminated */
    size_t n_versions;
    bool is_refusal; /* error_detail is there */
    int32_t error_code;
    udpai_str error_text;
} udpai_xds_request;

/* Decodes one request. Views are valid until the next call with this decoder, and no longer than
 * @p bytes. To be followed by udpai_xds_request_done(). */
udpa_err udpai_xds_request_decode(udpai_decoder *decoder,
                                  udpai_str bytes,
                                  bool needs_node,
                                  udpai_xds_request *ret_request,
                                  udpa_error **ret_error);
/* The same for the delta protocol. */
udpa_err udpai_xds_delta_request_decode(udpai_decoder *decoder,
                                        udpai_str bytes,
                                        bool needs_node,
                                        udpai_xds_request *ret_request,
                                        udpa_error **ret_error);
void udpai_xds_request_done(udpai_xds_request *request);

#endif
