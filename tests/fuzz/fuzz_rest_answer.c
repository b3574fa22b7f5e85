/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of servers by REST: any text as the JSON of a DiscoveryResponse. What becomes bytes is
 * read as any response is, is canonical, and means the same when it has been JSON once more. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "tests/fuzz/fuzz.h"
#include "transport/http/json_codec.h"
#include "xds/exchange.h"

#define RESPONSE "envoy.service.discovery.v3.DiscoveryResponse"

static udpai_schema *
schema(void)
{
    static udpai_schema *made;
    if (!made)
        FUZZ_CHECK(udpai_schema_new(&made, NULL) == UDPA_OK);
    return made;
}

static void
check_decodes(udpai_str bytes)
{
    udpai_decoder decoder;
    udpai_xds_answer answer;
    udpai_decoder_init(&decoder);
    udpa_error *error = NULL;
    (void)udpai_xds_answer_decode(&decoder, bytes, false, &answer, &error);
    udpa_error_unref(error);
    udpai_decoder_done(&decoder);
}

static void
check_round(const udpa_bytes *bytes)
{
    udpa_bytes *json = NULL, *again = NULL;
    udpa_err err = udpai_json_of_bytes(schema(), RESPONSE, udpai_bytes_view(bytes), &json, NULL);
    if (err == UDPA_OK &&
        udpai_bytes_of_json(schema(), RESPONSE, udpai_bytes_view(json), &again, NULL) == UDPA_OK)
        FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(bytes), udpai_bytes_view(again)));
    udpa_bytes_unref(json);
    udpa_bytes_unref(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)schema(); /* lasts */
    unsigned long before = udpai_alloc_live();
    udpa_bytes *bytes = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_bytes_of_json(schema(), RESPONSE, (udpai_str){(const char *)data, size},
                                       &bytes, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK((err == UDPA_OK) == (bytes != NULL));
    if (bytes) {
        check_decodes(udpai_bytes_view(bytes));
        check_round(bytes);
    }
    udpa_error_unref(error);
    udpa_bytes_unref(bytes);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
