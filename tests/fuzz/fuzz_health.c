/* SPDX-License-Identifier: Apache-2.0 */
/* A specifier, a capability, and answers to it: a byte, the capability; a text with its length in
 * two bytes, the specifier; the rest, answers by the same form. Whatever they are: what is sent has
 * no check beyond the capability; what is passed on can be read, and merged with itself says the
 * same; and counts add up. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "reports/health_table.h"
#include "tests/fuzz/fuzz.h"

#define MESSAGES_MAX 16

static udpai_str
take_message(udpai_str *input)
{
    size_t high = fuzz_take_byte(input), low = fuzz_take_byte(input);
    return fuzz_take(input, high << 8 | low);
}

static void
check_limited(udpa_bytes *limited, unsigned capability)
{
    udpa_bytes *again = NULL;
    size_t n_left_out;
    FUZZ_CHECK(udpai_health_specifier_limit(udpai_bytes_view(limited), capability, &again,
                                            &n_left_out, NULL) == UDPA_OK);
    FUZZ_CHECK(n_left_out == 0);
    FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(again), udpai_bytes_view(limited)));
    udpa_bytes_unref(again);
}

static void
check_said(const udpai_health_table *table, size_t cluster)
{
    udpa_bytes *said = udpai_health_table_compose(table, cluster, UDPAI_STR("local/c"));
    FUZZ_CHECK(said);
    const udpai_health_opinion opinions[] = {
        {udpai_bytes_view(said), 0}, {udpai_bytes_view(said), 0}, {udpai_bytes_view(said), 1}};
    udpai_health_verdict one, two;
    size_t n_malformed;
    FUZZ_CHECK(udpai_health_merge(opinions, 1, 5, UDPAI_HEALTH_ANY, &one, &n_malformed) ==
                   UDPA_OK &&
               n_malformed == 0);
    FUZZ_CHECK(udpai_health_merge(opinions, 3, 5, UDPAI_HEALTH_MAJORITY, &two, &n_malformed) ==
                   UDPA_OK &&
               n_malformed == 0);
    FUZZ_CHECK(one.endpoints.n == two.endpoints.n);
    for (size_t i = 0; i < one.endpoints.n; i++) {
        const udpai_health_endpoint *judged = &one.endpoints.items[i];
        FUZZ_CHECK(judged->status != UDPAI_HEALTH_UNKNOWN);
        FUZZ_CHECK(udpai_utf8_valid(judged->address.text));
        FUZZ_CHECK(udpai_health_verdict_find(&two, &judged->address) == judged->status);
    }
    udpai_health_verdict_done(&one);
    udpai_health_verdict_done(&two);
    udpa_bytes_unref(said);
}

static void
answer(udpai_health_table *table, udpai_str *input)
{
    for (int64_t now = 1; input->len && now <= MESSAGES_MAX; now++) {
        udpai_str message = take_message(input);
        udpai_health_answer read;
        udpai_health_taken taken;
        udpa_err err = udpai_health_answer_read(message, &read, NULL);
        FUZZ_CHECK(err == udpai_health_table_answer(table, NULL, message, now, &taken, NULL));
        if (err == UDPA_OK) {
            FUZZ_CHECK(taken.n_taken + taken.n_unasked == read.results.n);
            FUZZ_CHECK(taken.n_strange == read.n_strange);
        }
        udpai_health_answer_done(&read);
        for (size_t i = 0; i < udpai_health_table_n_clusters(table); i++)
            if (udpai_health_table_is_due(table, i, (uint64_t)now)) {
                check_said(table, i);
                udpai_health_table_passed_on(table, i, (uint64_t)now);
                FUZZ_CHECK(!udpai_health_table_is_due(table, i, (uint64_t)now));
            }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    unsigned capability = fuzz_take_byte(&input) & 7;
    udpai_str specifier = take_message(&input);
    udpa_bytes *limited = NULL;
    udpai_health_table *table = NULL, *next = NULL;
    size_t n_left_out;
    if (udpai_health_specifier_limit(specifier, capability, &limited, &n_left_out, NULL) != UDPA_OK)
        return 0;
    check_limited(limited, capability);
    if (udpai_health_table_new(&table, limited, NULL) == UDPA_OK) {
        answer(table, &input);
        FUZZ_CHECK(udpai_health_table_new(&next, limited, NULL) == UDPA_OK);
        udpai_health_table_inherit(next, table);
        for (size_t i = 0; i < udpai_health_table_n_clusters(next); i++) {
            FUZZ_CHECK(udpai_health_table_find(next, udpai_health_table_cluster(next, i)) == i);
            udpa_bytes *before = udpai_health_table_compose(table, i, UDPAI_STR("c")),
                       *after = udpai_health_table_compose(next, i, UDPAI_STR("c"));
            FUZZ_CHECK(udpai_str_eq(udpai_bytes_view(before), udpai_bytes_view(after)));
            udpa_bytes_unref(before);
            udpa_bytes_unref(after);
        }
    }
    udpai_health_table_free(next);
    udpai_health_table_free(table);
    udpa_bytes_unref(limited);
    return 0;
}
