/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of xDS clients: the first byte says of which protocol, and whether the Node is wanted;
 * the rest is the message. What is taken in is clean text, and no more of it than was sent; what is
 * refused leaves nothing behind. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "tests/fuzz/fuzz.h"
#include "wire/scan.h"
#include "xds/request.h"

enum { /* bits of the first byte */
    IS_DELTA = 1,
    WANTS_NODE = 2,
};

static void
check_view(udpai_str text, size_t *total)
{
    FUZZ_CHECK(text.data && udpai_utf8_valid(text) && !memchr(text.data, '\0', text.len));
    *total += text.len;
}

static void
check_text(udpai_str text, size_t *total)
{
    check_view(text, total);
    FUZZ_CHECK(text.data[text.len] == '\0');
}

static void
check_request(const udpai_xds_request *request, uint8_t how, size_t size)
{
    size_t total = 0, n = request->n_names + request->n_unsubscribed + request->n_versions;
    FUZZ_CHECK(2 * n <= size); /* each has a tag and a length */
    check_text(request->type_url, &total);
    check_text(request->nonce, &total);
    for (size_t i = 0; i < request->n_names; i++)
        check_text(request->names[i], &total);
    for (size_t i = 0; i < request->n_unsubscribed; i++)
        check_text(request->unsubscribed[i], &total);
    for (size_t i = 0; i < request->n_versions; i++) {
        check_view(request->versions[i].name, &total);
        check_view(request->versions[i].version, &total);
    }
    if (request->is_refusal)
        check_text(request->error_text, &total);
    FUZZ_CHECK(total <= size);
    FUZZ_CHECK(how & IS_DELTA || (request->n_unsubscribed == 0 && request->n_versions == 0));
    FUZZ_CHECK(how & WANTS_NODE || !request->node);
}

/* The versions are those that protobuf-c finds. It is stricter with tags and lengths. */
static void
check_versions(const udpai_xds_request *request, udpai_str bytes)
{
    Envoy__Service__Discovery__V3__DeltaDiscoveryRequest *whole =
        envoy__service__discovery__v3__delta_discovery_request__unpack(NULL, bytes.len,
                                                                       (const uint8_t *)bytes.data);
    if (!whole)
        return;
    FUZZ_CHECK(whole->n_initial_resource_versions == request->n_versions);
    for (size_t i = 0; i < request->n_versions; i++) {
        FUZZ_CHECK(udpai_str_eq(request->versions[i].name,
                                udpai_str_from(whole->initial_resource_versions[i]->key)));
        FUZZ_CHECK(udpai_str_eq(request->versions[i].version,
                                udpai_str_from(whole->initial_resource_versions[i]->value)));
    }
    envoy__service__discovery__v3__delta_discovery_request__free_unpacked(whole, NULL);
}

/* What a scan of the whole finds malformed is refused. */
static void
check_refusal(udpa_err err, udpai_str bytes, uint8_t how)
{
    const ProtobufCMessageDescriptor *type =
        how & IS_DELTA ? &envoy__service__discovery__v3__delta_discovery_request__descriptor
                       : &envoy__service__discovery__v3__discovery_request__descriptor;
    udpa_err scanned = udpai_scan(type, bytes, NULL, NULL);
    FUZZ_CHECK(scanned != UDPA_ERR_MALFORMED || err == scanned);
}

static udpa_err
decode(udpai_decoder *decoder, udpai_str bytes, uint8_t how, udpai_xds_request *request)
{
    udpa_error *error = NULL;
    udpa_err err = (how & IS_DELTA ? udpai_xds_delta_request_decode : udpai_xds_request_decode)(
        decoder, bytes, how & WANTS_NODE, request, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    udpa_error_unref(error);
    return err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    uint8_t how = fuzz_take_byte(&input);
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_xds_request request = {.error_code = 42};
    udpa_err err = decode(&decoder, input, how, &request);
    check_refusal(err, input, how);
    if (err == UDPA_OK)
        check_request(&request, how, input.len);
    else
        FUZZ_CHECK(request.error_code == 42 && !request.node && !request.names);
    if (err == UDPA_OK && how & IS_DELTA)
        check_versions(&request, input);
    udpai_xds_request_done(&request);
    udpai_xds_request again = {0}; /* the arena is good for another one */
    FUZZ_CHECK(decode(&decoder, input, how, &again) == err);
    udpai_xds_request_done(&again);
    udpai_decoder_done(&decoder);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
