/* SPDX-License-Identifier: Apache-2.0 */
/* The page /runtime of a node, as a table. */
#include "ctl/runtime_page.h"

#include "base/error.h"
#include "tests/harness/oom.h"

#define PAGE                                                                                       \
    "{\"layers\": [\"base\", \"admin\"],"                                                          \
    " \"errors\": {\"disk\": \"a\\nloop\"},"                                                       \
    " \"configured\": [{\"name\": \"base\", \"kind\": \"static_layer\", \"in_use\": true,"         \
    " \"keys\": 2}, {\"name\": \"disk\", \"kind\": \"disk_layer\", \"in_use\": false,"             \
    " \"keys\": 0}, {\"name\": \"gone\", \"kind\": \"disk_layer\", \"in_use\": false,"             \
    " \"keys\": 0}, {\"name\": \"admin\", \"kind\": \"admin_layer\", \"in_use\": true,"            \
    " \"keys\": 1}],"                                                                              \
    " \"entries\": {\"a.b\": {\"final_value\": \"2\", \"layer_values\": [\"1\", \"2\"]},"          \
    " \"c\": {\"final_value\": \"x\\\"y\", \"layer_values\": [\"x\\\"y\", \"\"]}}}"

static udpai_cli_layout plain;

static void
expect_values(const char *const *keys, size_t n, bool is_json, const char *wanted)
{
    udpai_ctl_runtime runtime;
    udpai_strbuf out = {0};
    assert_ok(udpai_ctl_runtime_read(&runtime, UDPAI_STR(PAGE), NULL));
    udpai_strbuf_puts(&out, "");
    udpai_ctl_runtime_put_values(&runtime, keys, n, is_json ? NULL : &plain, &out);
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpai_ctl_runtime_done(&runtime);
}

static void
values_are_listed(void **state)
{
    (void)state;
    const char *const some[] = {"c", "nowhere"};
    expect_values(NULL, 0, false, "KEY   VALUE\na.b   2\nc     x\"y\n");
    expect_values(some, 2, false, "KEY   VALUE\nc     x\"y\n");
    expect_values(some + 1, 1, false, "");
    expect_values(NULL, 0, true, "{\n \"a.b\": \"2\",\n \"c\": \"x\\\"y\"\n}\n");
    expect_values(some + 1, 1, true, "{}\n");
}

/* Of what others have in the runtime, the keys alone. */
static void
of_keys_of_nodes_alone_the_values_stay(void **state)
{
    (void)state;
    udpai_ctl_runtime runtime;
    udpai_strbuf out = {0};
    const char *page =
        "{\"layers\": [\"base\", \"x\"], \"configured\": [{\"name\": \"base\", \"keys\": 2}],"
        " \"entries\": {\"udpa.a\": {\"final_value\": \"2\", \"layer_values\": [\"\", \"2\"]},"
        " \"udpal\": {\"final_value\": \"s\\\"1\", \"layer_values\": [\"\", \"s\\\"1\"]}}}";
    assert_ok(udpai_ctl_runtime_read(&runtime, udpai_str_from(page), NULL));
    udpai_ctl_runtime_put_redacted(&runtime, &out);
    assert_str(udpai_strbuf_view(&out),
               "{\n \"layers\": [\"base\", \"x\"],\n"
               " \"configured\": [{\"name\": \"base\", \"keys\": 2}],\n"
               " \"entries\": {\n"
               "  \"udpa.a\": {\"final_value\": \"2\", \"layer_values\": [\"\", \"2\"]},\n"
               "  \"udpal\": {\"final_value\": \"(redacted)\","
               " \"layer_values\": [\"\", \"(redacted)\"]}\n}\n}\n");
    udpai_strbuf_done(&out);
    udpai_ctl_runtime_done(&runtime);
}

static void
layers_are_listed(void **state)
{
    (void)state;
    udpai_ctl_runtime runtime;
    udpai_strbuf out = {0};
    assert_ok(udpai_ctl_runtime_read(&runtime, UDPAI_STR(PAGE), NULL));
    udpai_ctl_runtime_put_layers(&runtime, &plain, &out);
    assert_str(udpai_strbuf_view(&out), "LAYER   KIND     KEYS   STATE\n"
                                        "base    static      2   effective\n"
                                        "disk    disk        0   ignored: a?loop\n"
                                        "gone    disk        0   not found\n"
                                        "admin   admin       1   effective\n"
                                        "\n"
                                        "KEY   base   admin   FINAL\n"
                                        "a.b   1      2       2\n"
                                        "c     x\"y    -       x\"y\n");
    assert_str(udpai_ctl_runtime_layer_of(&runtime, UDPAI_STR("a.b")), "admin");
    assert_str(udpai_ctl_runtime_layer_of(&runtime, UDPAI_STR("c")), "base");
    assert_true(udpai_ctl_runtime_is_admin(&runtime, UDPAI_STR("admin")));
    assert_false(udpai_ctl_runtime_is_admin(&runtime, UDPAI_STR("base")));
    assert_false(udpai_ctl_runtime_is_admin(&runtime, UDPAI_STR("nowhere")));
    udpai_strbuf_done(&out);
    udpai_ctl_runtime_done(&runtime);
}

static void
what_has_no_effect_has_a_reason(void **state)
{
    (void)state;
    udpai_ctl_runtime runtime;
    assert_ok(udpai_ctl_runtime_read(
        &runtime, UDPAI_STR("{\"layers\": [], \"entries\": {}, \"ignored\": {\"a\": \"why\"}}"),
        NULL));
    assert_str(udpai_ctl_runtime_ignored(&runtime, UDPAI_STR("a")), "why");
    assert_str(udpai_ctl_runtime_ignored(&runtime, UDPAI_STR("b")), "");
    udpai_ctl_runtime_done(&runtime);
    assert_ok(udpai_ctl_runtime_read(
        &runtime, UDPAI_STR("{\"layers\": [], \"entries\": {}, \"ignored\": [1]}"), NULL));
    assert_str(udpai_ctl_runtime_ignored(&runtime, UDPAI_STR("a")), "");
    udpai_ctl_runtime_done(&runtime);
}

/* Which says nothing of what is not in use. */
static void
the_page_of_an_envoy_is_read(void **state)
{
    (void)state;
    udpai_ctl_runtime runtime;
    udpai_strbuf out = {0};
    assert_ok(udpai_ctl_runtime_read(
        &runtime,
        UDPAI_STR("{\"layers\": [\"a\"], \"entries\": {\"k\": {\"layer_values\": "
                  "[\"0123456789012345678901234567890123456789012345678901234567\xc3\xa4"
                  "9yz\"], \"final_value\": \"1\"}}}"),
        NULL));
    udpai_ctl_runtime_put_layers(&runtime, &plain, &out);
    assert_str(udpai_strbuf_view(&out),
               "KEY   a                                                                FINAL\n"
               "k     0123456789012345678901234567890123456789012345678901234567\xc3\xa4...   1\n");
    udpai_strbuf_done(&out);
    udpai_ctl_runtime_done(&runtime);
}

static void
what_is_no_page_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "x",
        "{\"layers\": [], \"entries\": []}",
        "{\"layers\": {}, \"entries\": {}}",
        "{\"layers\": [[]], \"entries\": {}}",
        "{\"layers\": [\"a\"], \"entries\": {\"k\": 1}}",
        "{\"layers\": [\"a\"], \"entries\": {\"k\": {\"final_value\": \"1\"}}}",
        "{\"layers\": [\"a\"], \"entries\": {\"k\": {\"final_value\": [], \"layer_values\": "
        "[\"1\"]}}}",
        "{\"layers\": [\"a\"], \"entries\": {\"k\": {\"final_value\": \"1\", \"layer_values\": "
        "[\"1\", \"2\"]}}}",
        "{\"layers\": [], \"entries\": {}, \"configured\": [1]}",
    };

    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_ctl_runtime runtime;
        assert_true(udpai_ctl_runtime_read(&runtime, udpai_str_from(texts[i]), &error) != UDPA_OK);
        assert_non_null(error);
        udpai_ctl_runtime_done(&runtime);
    }
}

static udpa_err
read_and_show(void *context)
{
    (void)context;
    udpai_ctl_runtime runtime;
    udpai_strbuf out = {0};
    udpa_err err = udpai_ctl_runtime_read(&runtime, UDPAI_STR(PAGE), NULL);
    if (!err) {
        udpai_ctl_runtime_put_values(&runtime, NULL, 0, &plain, &out);
        udpai_ctl_runtime_put_values(&runtime, NULL, 0, NULL, &out);
        udpai_ctl_runtime_put_layers(&runtime, &plain, &out);
        err = udpai_strbuf_failed(&out) ? UDPA_ERR_NOMEM : UDPA_OK;
    }
    udpai_strbuf_done(&out);
    udpai_ctl_runtime_done(&runtime);
    return err;
}

static void
without_memory_it_says_so(void **state)
{
    (void)state;
    oom_torture(read_and_show, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_listed),
        cmocka_unit_test(of_keys_of_nodes_alone_the_values_stay),
        cmocka_unit_test(layers_are_listed),
        cmocka_unit_test(what_has_no_effect_has_a_reason),
        cmocka_unit_test(the_page_of_an_envoy_is_read),
        cmocka_unit_test(what_is_no_page_is_refused),
        cmocka_unit_test(without_memory_it_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
