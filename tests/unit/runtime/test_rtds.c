/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from envoy.service.runtime.v3.Runtime. */
#include "runtime/rtds.h"

#include "tests/harness/oom.h"
#include "tests/unit/runtime/structs.h"
#include "tests/unit/runtime/value_at.h"

static udpa_err
layer_of(const udpai_strbuf *message, udpai_runtime_layer **ret_layer, udpa_error **ret_error)
{
    return udpai_runtime_layer_of_rtds(ret_layer, UDPAI_STR("rtds"), udpai_strbuf_view(message),
                                       ret_error);
}

static void
test_name_and_values(void **state)
{
    (void)state;
    udpai_strbuf message = {0}, root = {0}, inner = {0};
    number(&inner, "min_interval", 5);
    bytes(&root, "health_check", 5, udpai_strbuf_view(&inner));
    bytes(&root, "a.b", 3, UDPAI_STR("words"));
    bytes_field(&message, 1, UDPAI_STR("another name"));
    bytes_field(&message, 2, udpai_strbuf_view(&root));
    bytes_field(&message, 77, UDPAI_STR("nobody knows"));
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *layer = NULL;
    assert_ok(layer_of(&message, &layer, NULL));
    assert_str(udpai_runtime_layer_name(layer), "rtds");
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 2);
    assert_int_equal(value_at(layer, "health_check.min_interval")->integer, 5);
    assert_str(value_at(layer, "a.b")->text, "words");
    udpai_strbuf_done(&message);
    udpai_strbuf_done(&root);
    udpai_strbuf_done(&inner);
}

/* As whoever writes protobuf may do, and whoever reads it must take. */
static void
test_layer_in_two_parts(void **state)
{
    (void)state;
    udpai_strbuf message = {0}, first = {0}, second = {0};
    number(&first, "a", 1);
    number(&first, "b", 1);
    number(&second, "b", 2);
    number(&second, "c", 2);
    bytes_field(&message, 2, udpai_strbuf_view(&first));
    bytes_field(&message, 2, udpai_strbuf_view(&second));
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *layer = NULL;
    assert_ok(layer_of(&message, &layer, NULL));
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 3);
    assert_int_equal(value_at(layer, "a")->integer, 1);
    assert_int_equal(value_at(layer, "b")->integer, 2);
    assert_int_equal(value_at(layer, "c")->integer, 2);
    udpai_strbuf_done(&message);
    udpai_strbuf_done(&first);
    udpai_strbuf_done(&second);
}

static void
test_nothing_in_it(void **state)
{
    (void)state;
    udpai_strbuf message = {0};
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *layer = NULL;
    assert_ok(layer_of(&message, &layer, NULL));
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 0);
}

/* Nothing of it counts, not even what stands before the mistake. */
static void
expect_refused(udpai_strbuf *message, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_runtime_layer *layer = NULL;
    assert_int_equal(layer_of(message, &layer, &error), code);
    assert_null(layer);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpai_strbuf_done(message);
}

static void
test_what_may_not_be(void **state)
{
    (void)state;
    udpai_strbuf message = {0}, root = {0};
    number(&root, "good", 1);
    bytes(&root, "many", 6, UDPAI_STR(""));
    bytes_field(&message, 2, udpai_strbuf_view(&root));
    expect_refused(&message, UDPA_ERR_INVAL, "many is a list");
    bytes_field(&message, 2, UDPAI_STR("\x0a\x7f"));
    expect_refused(&message, UDPA_ERR_MALFORMED, "no google.protobuf.Struct");
    udpai_strbuf_puts(&message, "\x0a\x7f");
    expect_refused(&message, UDPA_ERR_MALFORMED, "no envoy.service.runtime.v3.Runtime");
    udpai_strbuf_done(&root);
}

static udpa_err
make(void *message)
{
    udpai_runtime_layer *layer = NULL;
    udpa_err err = layer_of(message, &layer, NULL);
    udpai_runtime_layer_unref(layer);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    udpai_strbuf message = {0}, root = {0}, inner = {0};
    number(&inner, "numerator", 3);
    bytes(&root, "share", 5, udpai_strbuf_view(&inner));
    bytes(&root, "text", 3, UDPAI_STR("hello"));
    bytes_field(&message, 1, UDPAI_STR("name"));
    bytes_field(&message, 2, udpai_strbuf_view(&root));
    oom_torture(make, &message);
    udpai_strbuf_done(&message);
    udpai_strbuf_done(&root);
    udpai_strbuf_done(&inner);
}

static void
test_any_bytes(void **state)
{
    (void)state;
    static const char begins[] = "\x0a\x12\x2a\x1a\x11\x20\x02\x04"; /* of fields */
    uint64_t seed = 2;
    size_t n_taken = 0;
    for (int i = 0; i < 20000; i++) {
        char room[40];
        size_t len = test_random_below(&seed, sizeof(room));
        for (size_t j = 0; j < len; j++)
            room[j] = test_random_below(&seed, 2) ? begins[test_random_below(&seed, 8)]
                                                  : (char)test_random_below(&seed, 256);
        udpai_runtime_layer *layer = NULL;
        n_taken += udpai_runtime_layer_of_rtds(&layer, UDPAI_STR("x"), (udpai_str){room, len},
                                               NULL) == UDPA_OK;
        udpai_runtime_layer_unref(layer);
    }
    assert_in_range(n_taken, 100, 19000); /* it was not one and the same all the time */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_and_values), cmocka_unit_test(test_layer_in_two_parts),
        cmocka_unit_test(test_nothing_in_it),   cmocka_unit_test(test_what_may_not_be),
        cmocka_unit_test(test_without_memory),  cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
