/* SPDX-License-Identifier: Apache-2.0 */
/* What a server of REST answers: whole or broken, it stays so when more follows, and nothing is
 * said to be longer than what came. The first byte says whether the connection has ended. */
#include "tools/conform/http_answer.h"

#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool is_over = data[0] & 1;
    udpai_str bytes = {(const char *)data + 1, size - 1};
    udpai_strbuf body = {0}, again = {0};
    udpai_http_answer answer = {0}, same = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_http_state state = udpai_http_answer_read(bytes, is_over, &answer, &body, &error);
    FUZZ_CHECK((state == UDPAI_HTTP_BROKEN) == (error != NULL));
    FUZZ_CHECK(state == UDPAI_HTTP_WHOLE || body.len == 0);
    FUZZ_CHECK(!is_over || state != UDPAI_HTTP_PARTIAL);
    FUZZ_CHECK(answer.size <= bytes.len && body.len <= bytes.len);
    FUZZ_CHECK(state != UDPAI_HTTP_WHOLE || (answer.status >= 200 && answer.status <= 999));
    if (state == UDPAI_HTTP_WHOLE && answer.size < bytes.len) {
        bytes.len = answer.size; /* what follows has made no difference */
        FUZZ_CHECK(udpai_http_answer_read(bytes, is_over, &same, &again, NULL) == state);
        FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&body), udpai_strbuf_view(&again)));
    }
    udpai_strbuf_done(&body);
    udpai_strbuf_done(&again);
    return 0;
}
