/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from google.protobuf.Struct. */
#include "runtime/snapshot.h"
#include "tests/harness/oom.h"
#include "tests/unit/runtime/structs.h"
#include "tests/unit/runtime/value_at.h"

static udpa_err
layer_of(udpai_strbuf *message, udpai_runtime_layer **ret_layer, udpa_error **ret_error)
{
    *ret_layer = udpai_runtime_layer_new(UDPAI_STR("static"));
    return *ret_layer
               ? udpai_runtime_layer_put_struct(*ret_layer, udpai_strbuf_view(message), ret_error)
               : UDPA_ERR_NOMEM;
}

static void
expect_refused(udpai_strbuf *message, const char *words)
{
    udpa_error *error = NULL;
    udpai_runtime_layer *layer;
    assert_int_not_equal(layer_of(message, &layer, &error), UDPA_OK);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpa_error_unref(error);
    udpai_runtime_layer_unref(layer);
    udpai_strbuf_done(message);
}

/* ---- tests ---- */

static void
test_edges_and_scalars(void **state)
{
    (void)state;
    udpai_strbuf root = {0}, inner = {0}, share = {0};
    number(&inner, "min_interval", 5);
    varint(&inner, "on", 4, 1);
    bytes(&inner, "a.b", 3, UDPAI_STR("17"));
    number(&share, "numerator", 3);
    bytes(&share, "denominator", 3, UDPAI_STR("MILLION"));
    bytes(&inner, "share", 5, udpai_strbuf_view(&share));
    bytes(&root, "health_check", 5, udpai_strbuf_view(&inner));
    number(&root, "half", 2.5);
    bytes(&root, "nothing", 5, UDPAI_STR(""));
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *layer = NULL;
    assert_ok(layer_of(&root, &layer, NULL));
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 5);
    assert_int_equal(value_at(layer, "health_check.min_interval")->integer, 5);
    assert_str(value_at(layer, "health_check.min_interval")->text, "5");
    assert_true(value_at(layer, "health_check.on")->truth);
    assert_str(value_at(layer, "health_check.on")->text, "true");
    assert_int_equal(value_at(layer, "health_check.a.b")->integer, 17);
    assert_int_equal(value_at(layer, "half")->integer, 2);
    assert_str(value_at(layer, "half")->text, "2.5");
    assert_int_equal(value_at(layer, "health_check.share")->share.numerator, 3);
    assert_int_equal(value_at(layer, "health_check.share")->share.denominator, 1000000);
    assert_str(value_at(layer, "health_check.share")->text,
               "{\"numerator\": 3, \"denominator\": \"MILLION\"}");
    udpai_strbuf_done(&root);
    udpai_strbuf_done(&inner);
    udpai_strbuf_done(&share);
}

static void
test_what_is_no_value(void **state)
{
    (void)state;
    udpai_strbuf message = {0}, inner = {0}, many = {0};
    varint(&message, "gone", 1, 0);
    expect_refused(&message, "gone is null");
    bytes(&message, "many", 6, UDPAI_STR(""));
    expect_refused(&message, "many is a list");
    number(&inner, "numerator", -3);
    bytes(&message, "share", 5, udpai_strbuf_view(&inner));
    expect_refused(&message, "share is no fraction");
    number(&inner, "other", 3);
    bytes(&message, "share", 5, udpai_strbuf_view(&inner));
    expect_refused(&message, "reserved");
    for (int i = 0; i < 100; i++)
        number(&many, "numerator", 3);
    bytes(&message, "share", 5, udpai_strbuf_view(&many));
    expect_refused(&message, "reserved");
    udpai_strbuf_puts(&message, "\x0a\x7f");
    expect_refused(&message, "no google.protobuf.Struct");
    udpai_strbuf_done(&many);
    udpai_strbuf_done(&inner);
}

static void
test_a_value_that_is_no_text_is_left_out_alone(void **state)
{
    (void)state;
    udpai_strbuf message = {0};
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("one"));
    udpai_str key;
    bytes(&message, "text", 3, UDPAI_STR("\xff"));
    bytes(&message, "zero", 3, UDPAI_STR("a\0b"));
    bytes(&message, "good", 3, UDPAI_STR("x"));
    assert_ok(udpai_runtime_layer_put_struct(layer, udpai_strbuf_view(&message), NULL));
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 1);
    assert_string_equal(value_at(layer, "good")->text.data, "x");
    assert_int_equal(udpai_runtime_layer_n_ignored(layer, &key), 2);
    assert_true(udpai_str_eq(key, UDPAI_STR("text")));
    udpai_runtime_layer_unref(layer);
    bytes(&message, "bad\xff", 3, UDPAI_STR("\xff"));
    expect_refused(&message, "UTF-8");
}

static void
test_deep(void **state)
{
    (void)state;
    udpai_strbuf message = {0};
    number(&message, "leaf", 1);
    for (int i = 0; i < UDPAI_RUNTIME_DEPTH_MAX - 1; i++) {
        udpai_strbuf outer = {0};
        bytes(&outer, "d", 5, udpai_strbuf_view(&message));
        udpai_strbuf_done(&message);
        message = outer;
    }
    UDPA_AUTO(udpai_runtime_layer_unref) udpai_runtime_layer *layer = NULL;
    assert_ok(layer_of(&message, &layer, NULL));
    assert_int_equal(value_at(layer, "d.d.d.d.d.d.d.d.d.d.d.d.d.d.d.leaf")->integer, 1);
    udpai_strbuf outer = {0};
    bytes(&outer, "d", 5, udpai_strbuf_view(&message));
    udpai_strbuf_done(&message);
    expect_refused(&outer, "16 structs deep");
}

static udpa_err
make(void *message)
{
    udpai_runtime_layer *layer;
    udpa_err err = layer_of(message, &layer, NULL);
    udpai_runtime_layer_unref(layer);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    udpai_strbuf message = {0}, inner = {0};
    number(&inner, "numerator", 3);
    bytes(&message, "share", 5, udpai_strbuf_view(&inner));
    bytes(&message, "text", 3, UDPAI_STR("hello"));
    oom_torture(make, &message);
    udpai_strbuf_done(&message);
    udpai_strbuf_done(&inner);
}

static void
test_any_bytes(void **state)
{
    (void)state;
    static const char begins[] = "\x0a\x12\x2a\x1a\x11\x20\x02\x04"; /* of fields */
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char room[40];
        size_t len = test_random_below(&seed, sizeof(room));
        for (size_t j = 0; j < len; j++)
            room[j] = test_random_below(&seed, 2) ? begins[test_random_below(&seed, 8)]
                                                  : (char)test_random_below(&seed, 256);
        udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
        (void)udpai_runtime_layer_put_struct(layer, (udpai_str){room, len}, NULL);
        udpai_runtime_layer_unref(layer);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges_and_scalars),
        cmocka_unit_test(test_what_is_no_value),
        cmocka_unit_test(test_a_value_that_is_no_text_is_left_out_alone),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
