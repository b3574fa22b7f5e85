/* SPDX-License-Identifier: Apache-2.0 */
/* Targets to dial: addresses, certificates, and references. */
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

#include "transport/grpc/grpc_internal.h"

static udpa_err
make(const udpai_grpc_target_options *options, udpa_error **ret_error)
{
    udpai_grpc_target *target = NULL;
    udpa_err err = udpai_grpc_target_new(&target, options, ret_error);
    assert_true((err == UDPA_OK) == (target != NULL));
    udpai_grpc_target_unref(target);
    return err;
}

static void
test_addresses(void **state)
{
    (void)state;
    static const char *const good[] = {"localhost:1", "a.b.example:65535", "127.0.0.1:18000",
                                       "[::1]:18000", "[2001:db8::1]:1",   " x:1 ",
                                       "unix:/tmp/x"};
    static const char *const bad[] = {"",      "localhost", ":1",      "localhost:", "localhost:0",
                                      "x:y",   "x:65536",   "::1:80",  "[::1]",      "[]:1",
                                      "x:1 y", "x:-1",      "a/b:1",   "unix:tmp/x", "dns:///x:1",
                                      "x:+1",  "[::1]x:1",  "x:00001x"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(good); i++)
        assert_ok(make(&(udpai_grpc_target_options){.address = good[i]}, NULL));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (make(&(udpai_grpc_target_options){.address = bad[i]}, &error) != UDPA_ERR_INVAL)
            fail_msg("'%s' is accepted", bad[i]);
        assert_non_null(strstr(udpa_error_message(error), "write HOST:PORT"));
    }
}

static void
test_tls_needs_authorities(void **state)
{
    (void)state;
    const udpai_tls_files none = {0};
    const udpai_grpc_target_options options = {.address = "x:1", .tls = &none};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(make(&options, &error), UDPA_ERR_INVAL);
    assert_string_equal(
        udpa_error_message(error),
        "to dial x:1 with TLS, set ca_file: the CAs that its certificate may be signed by");
}

static void
test_is_counted(void **state)
{
    (void)state;
    const udpai_grpc_target_options options = {
        .address = "x:1",
        .server_name = "y",
        .method = {"/a/b", NULL, NULL},
    };
    udpai_grpc_target *target;
    assert_ok(udpai_grpc_target_new(&target, &options, NULL));
    assert_ptr_equal(udpai_grpc_target_hold(target), target);
    assert_ptr_equal(udpai_grpc_target_ref(target), target);
    udpai_grpc_target_drop(target);
    assert_null(udpai_grpc_target_unref(target));
    assert_string_equal(udpai_grpc_target_address(target, 0), "x:1");
    assert_string_equal(udpai_grpc_target_address(target, 1), "x:1");
    assert_string_equal(udpai_grpc_target_method(target)->path, "/a/b");
    udpai_grpc_target_unref(target);
    assert_null(udpai_grpc_target_ref(NULL));
    assert_null(udpai_grpc_target_unref(NULL));
}

static void
test_has_each_of_a_list(void **state)
{
    (void)state;
    const udpai_grpc_target_options options = {.address = "x:1, [::1]:2,z:3"};
    udpai_grpc_target *target;
    assert_ok(udpai_grpc_target_new(&target, &options, NULL));
    assert_string_equal(udpai_grpc_target_address(target, 0), "x:1");
    assert_string_equal(udpai_grpc_target_address(target, 1), "[::1]:2");
    assert_string_equal(udpai_grpc_target_address(target, 2), "z:3");
    udpai_grpc_target_unref(target);
}

static void
test_lists(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        "x",       "x:1,",      "x:1,y",
                                      "x:1 y:1", "x:1,x:1", "x:1,::1:2", "unix:x"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bad); i++)
        assert_int_equal(udpai_dial_list_check(bad[i], NULL), UDPA_ERR_INVAL);
    assert_ok(udpai_dial_list_check("x:1", NULL));
    assert_ok(udpai_dial_list_check("x:1,[::1]:2, y:3", NULL));
    assert_ok(udpai_dial_list_check("unix:/run/x, y:3", NULL));
}

static udpa_err
make_one(void *context)
{
    return make(context, NULL);
}

static void
test_without_memory(void **state)
{
    (void)state;
    udpai_grpc_target_options options = {.address = "x:1,z:1", .server_name = "y"};
    grpc_init();
    oom_torture(make_one, &options);
    grpc_shutdown();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),  cmocka_unit_test(test_tls_needs_authorities),
        cmocka_unit_test(test_is_counted), cmocka_unit_test(test_has_each_of_a_list),
        cmocka_unit_test(test_lists),      cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
