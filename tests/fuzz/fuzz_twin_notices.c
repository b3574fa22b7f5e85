/* SPDX-License-Identifier: Apache-2.0 */
/* What peers say of nodes with one id: any bytes. What is written of it is read as the same. */
#include "model/twin_notices.h"
#include "tests/fuzz/fuzz.h"

static void
collect(udpai_str text, udpai_twin_notices *notices)
{
    udpai_twin_notice notice;
    while (udpai_twin_notices_next(&text, &notice))
        udpai_twin_notices_add(notices, &notice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const udpai_str input = {(const char *)data, size};
    udpai_twin_notices notices = {0}, again = {0};
    udpai_strbuf text = {0}, other = {0};
    collect(input, &notices);
    FUZZ_CHECK(notices.n <= UDPAI_TWIN_NOTICES_MAX);
    udpai_twin_notices_put(&notices, &text);
    collect(udpai_strbuf_view(&text), &again);
    udpai_twin_notices_put(&again, &other);
    FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&text), udpai_strbuf_view(&other)));
    udpai_strbuf_done(&text);
    udpai_strbuf_done(&other);
    return 0;
}
