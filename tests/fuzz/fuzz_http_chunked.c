/* SPDX-License-Identifier: Apache-2.0 */
/* A body in chunks, cut in two ways: both give the same, and nothing beyond the limit. */
#include "tests/fuzz/fuzz.h"
#include "transport/http/chunked.h"

#define MAX 4096

static udpa_err
feed(udpai_chunked *chunked, udpai_str text, size_t step, udpai_strbuf *body)
{
    for (size_t at = 0; at < text.len; at += step) {
        udpai_str piece = {text.data + at, udpai_min_size(step, text.len - at)};
        udpa_err err = udpai_chunked_take(chunked, piece, MAX, body, NULL);
        if (err != UDPA_OK)
            return err;
    }
    return UDPA_OK;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    udpai_chunked a = {0}, b = {0};
    udpai_strbuf whole = {0}, cut = {0};
    udpai_str text = {(const char *)data + 1, size - 1};
    udpa_err err = feed(&a, text, text.len ? text.len : 1, &whole);
    FUZZ_CHECK(feed(&b, text, data[0] % 16 + 1, &cut) == err);
    FUZZ_CHECK(whole.len <= MAX && cut.len <= MAX);
    FUZZ_CHECK(a.state == b.state || err != UDPA_OK);
    FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&whole), udpai_strbuf_view(&cut)));
    udpai_strbuf_done(&whole);
    udpai_strbuf_done(&cut);
    return 0;
}
