/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of two files compared by their names. */
#include "daemon/source_changes.h"

#include "base/strbuf.h"
#include "tests/unit/daemon/bootstrap_test.h"

#define HEAD "static_resources: {config_sources: ["
#define TAIL "]}\n"

static udpai_bootstrap
read_text(bootstrap_test *test, const char *text)
{
    bootstrap_test_read_unchecked(test, text);
    udpai_diagnostics_done(&test->diagnostics);
    test->diagnostics = (udpai_diagnostics){0};
    udpai_bootstrap taken = test->bootstrap;
    test->bootstrap = (udpai_bootstrap){0};
    assert_non_null(taken.message);
    return taken;
}

static void
put(void *userdata, const char *name, const char *change)
{
    udpai_strbuf_printf(userdata, "%s %s, ", name, change);
}

static void
expect(void **state, const char *before, const char *now, const char *expected, const char *alike)
{
    udpai_strbuf text = {0};
    udpai_bootstrap one = read_text(*state, before), other = read_text(*state, now);
    udpai_source_changes_visit(one.message, other.message, put, &text);
    udpai_strbuf_puts(&text, "");
    char *shown = udpai_strbuf_take(&text);
    assert_string_equal(shown ? shown : "", expected);
    for (const char *name = "abc"; *name; name++)
        assert_int_equal(
            udpai_source_is_reached_alike(one.message, other.message, (udpai_str){name, 1}),
            strchr(alike, *name) != NULL);
    udpai_free(shown);
    udpai_bootstrap_done(&one);
    udpai_bootstrap_done(&other);
}

static void
they_come_go_and_are_edited(void **state)
{
    expect(state, HEAD "{name: a, udpa: {address: x}}, {name: b, udpa: {address: y}}" TAIL,
           HEAD "{name: c, udpa: {address: x}}, {name: b, udpa: {address: z}}" TAIL,
           "c added, b edited, a removed, ", "");
    expect(state, "", "", "", "");
}

static void
the_order_is_no_change(void **state)
{
    expect(state, HEAD "{name: a, udpa: {address: x}}, {name: b, udpa: {address: y}}" TAIL,
           HEAD "{name: b, udpa: {address: y}}, {name: a, udpa: {address: x}}" TAIL, "", "ab");
}

static void
what_is_no_part_of_the_peer_leaves_it_where_it_is(void **state)
{
    expect(state, HEAD "{name: a, udpa: {address: x}}" TAIL,
           HEAD "{name: a, udpa: {address: x}, max_withdrawal: 3%, standby: [s], "
                "recover: {types: [r]}, standby_for: {types: [t]}}" TAIL,
           "a edited, ", "a");
    expect(state, HEAD "{name: a, udpa: {address: x}}" TAIL,
           HEAD "{name: a, udpa: {address: x, keepalive: {interval: 5s}}}" TAIL, "a edited, ", "");
    expect(state, HEAD "{name: a, udpa: {address: x}}" TAIL,
           HEAD "{name: a, xds: {address: x}}" TAIL, "a edited, ", "");
}

static void
those_in_descriptors_are_sources_too(void **state)
{
    expect(state,
           "providers: [{config_descriptors: [{config_source: {name: a, udpa: {address: x}}}]}]\n",
           HEAD "{name: a, udpa: {address: x}}" TAIL
                "providers: [{config_descriptors: [{resource_name: a}, "
                "{config_source: {name: b, path: {path: p}}}]}]\n",
           "b added, ", "a");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(they_come_go_and_are_edited),
        CASE(the_order_is_no_change),
        CASE(what_is_no_part_of_the_peer_leaves_it_where_it_is),
        CASE(those_in_descriptors_are_sources_too),
#undef CASE
    };
    return cmocka_run_group_tests_name("daemon source_changes", tests, NULL, NULL);
}
