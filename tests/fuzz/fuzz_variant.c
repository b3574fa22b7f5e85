/* SPDX-License-Identifier: Apache-2.0 */
/* Constraints of two variants, and a client's dynamic parameters: what holds of any bytes. */
#include "base/bytes.h"
#include "base/utf8.h"
#include "model/variant.h"
#include "tests/fuzz/fuzz.h"

/* False: refused, in words. */
static bool
check_one(udpai_str constraints, const udpai_parameters *parameters)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_constraints_check(constraints, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    FUZZ_CHECK(udpai_constraints_n_keys(constraints) <= UDPAI_CONSTRAINTS_NODES_MAX);
    bool matches = udpai_constraints_match(constraints, parameters);
    FUZZ_CHECK(!matches || err == UDPA_OK);
    return err == UDPA_OK;
}

static void
take_parameters(udpai_str *input, udpai_parameters *to)
{
    size_t n = fuzz_take_byte(input) % (UDPAI_PARAMETERS_MAX + 1);
    for (to->n = 0; to->n < n; to->n++) {
        udpai_str key = fuzz_take_text(input), value = fuzz_take_text(input);
        bool is_one = key.len && udpai_utf8_valid(key) && udpai_utf8_valid(value);
        to->items[to->n] = is_one ? (udpai_parameter){key, value}
                                  : (udpai_parameter){UDPAI_STR("k"), UDPAI_STR("v")};
    }
    to->n = udpai_parameters_sort(to->items, to->n);
}

/* As text and back, and as constraints, they are the same. */
static void
check_parameters(const udpai_parameters *parameters)
{
    static char room[2 * UDPAI_PARAMETERS_MAX * 256];
    static udpai_parameters again;
    char *at = room;
    udpai_str text = udpai_parameters_put(&at, parameters->items, parameters->n);
    udpai_parameters_read(text, &again);
    FUZZ_CHECK(again.n == parameters->n);
    for (size_t i = 0; i < again.n; i++)
        FUZZ_CHECK(udpai_str_eq(again.items[i].key, parameters->items[i].key) &&
                   udpai_str_eq(again.items[i].value, parameters->items[i].value));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *same = udpai_constraints_of_parameters(parameters);
    FUZZ_CHECK(same);
    if (udpa_bytes_size(same) <= UDPAI_CONSTRAINTS_MAX)
        FUZZ_CHECK(udpai_constraints_match(udpai_bytes_view(same), parameters));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static udpai_parameters parameters, example;
    udpai_str input = {(const char *)data, size};
    udpai_str first = fuzz_take_text(&input), second = fuzz_take_text(&input);
    take_parameters(&input, &parameters);
    check_parameters(&parameters);
    bool is_first_good = check_one(first, &parameters);
    bool both = check_one(second, &parameters) && is_first_good;
    check_one(input, &parameters);
    bool overlap = udpai_constraints_overlap(first, second, &example);
    FUZZ_CHECK(overlap == udpai_constraints_overlap(second, first, &example));
    FUZZ_CHECK(!overlap || (both && udpai_constraints_match(first, &example) &&
                            udpai_constraints_match(second, &example)));
    return 0;
}
