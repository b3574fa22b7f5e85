/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of xDS servers: the first byte says of which protocol; the rest is the message. What is
 * taken in is clean text, within what was sent; what is refused leaves nothing behind. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "tests/fuzz/fuzz.h"
#include "xds/exchange.h"

static void
check_within(udpai_str text, udpai_str input)
{
    FUZZ_CHECK(text.data);
    if (text.len)
        FUZZ_CHECK(text.data >= input.data && text.data + text.len <= input.data + input.len);
}

static void
check_text(udpai_str text, udpai_str input)
{
    check_within(text, input);
    FUZZ_CHECK(udpai_utf8_valid(text) && !memchr(text.data, '\0', text.len));
}

static void
check_resource(const udpai_xds_received *received, udpai_str input)
{
    if (received->is_wrapped)
        check_text(received->name, input);
    else
        check_within(received->name, input);
    check_text(received->version, input);
    check_within(received->any, input);
    FUZZ_CHECK(received->has_any || received->any.len == 0);
    FUZZ_CHECK(received->has_ttl || received->ttl_ms == 0);
    FUZZ_CHECK(2 * received->n_aliases <= input.len);
    for (size_t i = 0; i < received->n_aliases; i++)
        check_text(received->aliases[i], input);
}

static void
check_answer(const udpai_xds_answer *answer, udpai_str input, bool is_delta)
{
    FUZZ_CHECK(2 * (answer->n_resources + answer->n_removed) <= input.len);
    FUZZ_CHECK(is_delta || answer->n_removed == 0);
    check_text(answer->type_url, input);
    check_text(answer->nonce, input);
    check_text(answer->version, input);
    check_text(answer->control_plane, input);
    for (size_t i = 0; i < answer->n_resources; i++)
        check_resource(&answer->resources[i], input);
    for (size_t i = 0; i < answer->n_removed; i++)
        check_text(answer->removed[i], input);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    bool is_delta = fuzz_take_byte(&input) & 1;
    udpai_decoder decoder;
    udpai_decoder_init(&decoder);
    udpai_xds_answer answer = {0};
    udpa_error *error = NULL;
    udpa_err err = udpai_xds_answer_decode(&decoder, input, is_delta, &answer, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    udpa_error_unref(error);
    if (err == UDPA_OK)
        check_answer(&answer, input, is_delta);
    else
        FUZZ_CHECK(!answer.resources && !answer.removed);
    udpai_decoder_done(&decoder);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
