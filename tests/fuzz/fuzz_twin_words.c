/* SPDX-License-Identifier: Apache-2.0 */
/* What peers say of nodes with one id: any bytes. What is written of it is read as the same. */
#include "model/twin_words.h"
#include "tests/fuzz/fuzz.h"

static void
collect(udpai_str text, udpai_twin_words *words)
{
    udpai_twin_word word;
    while (udpai_twin_words_next(&text, &word))
        udpai_twin_words_add(words, &word);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const udpai_str input = {(const char *)data, size};
    udpai_twin_words words = {0}, again = {0};
    udpai_strbuf text = {0}, other = {0};
    collect(input, &words);
    FUZZ_CHECK(words.n <= UDPAI_TWIN_WORDS_MAX);
    udpai_twin_words_put(&words, &text);
    collect(udpai_strbuf_view(&text), &again);
    udpai_twin_words_put(&again, &other);
    FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&text), udpai_strbuf_view(&other)));
    udpai_strbuf_done(&text);
    udpai_strbuf_done(&other);
    return 0;
}
