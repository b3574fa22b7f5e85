/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that stand in for the node, and those that it stands in for. */
#include "tests/unit/daemon/bootstrap_test.h"

static void
expect(bootstrap_test *test, const char *file, const char *mistakes)
{
    bootstrap_test_read(test, file);
    bootstrap_test_assert_mistakes(test, mistakes);
}

#define SOURCE(kind, more) "static_resources: {config_sources: [{name: s, " kind ", " more "}]}\n"
#define UDPA "udpa: {address: 'a:1'}"

static void
both_sides_can_be_said(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           SOURCE(UDPA,
                  "recover: {types: [a.B], namespaces: [com.acme]}, standby_for: {types: [c.D]}"),
           "");
}

static void
one_that_dials_us_may_stand_in(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE("udpa_listen: {peer: p}", "recover: {types: [a.B]}"), "");
}

static void
only_udpa_knows_of_it(void **state)
{
    bootstrap_test *test = *state;
    expect(
        test,
        SOURCE("path: {path: p, authority: a}", "recover: {types: [a.B]}, standby_for: {types: "
                                                "[a.B]}"),
        "test.yaml:1:87: static_resources.config_sources[0].recover: is for sources of kind udpa "
        "and udpa_listen alone: others can neither be a standby of a node, nor take anything "
        "over\n"
        "test.yaml:1:116: static_resources.config_sources[0].standby_for: is for sources of kind "
        "udpa and udpa_listen alone: others can neither be a standby of a node, nor take anything "
        "over\n");
}

static void
it_must_be_said_of_what(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE(UDPA, "recover: {namespaces: [com.acme]}"),
           "test.yaml:1:80: static_resources.config_sources[0].recover: needs types: which may be "
           "changed?\n");
}

static void
words_are_looked_at(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCE(UDPA, "recover: {types: ['a b'], namespaces: ['/x']}, "
                                           "standby_for: {types: ['']}"));
    bootstrap_test_tell(test);
    const char *said = udpai_strbuf_view(&test->mistakes).data;
    assert_non_null(strstr(said, "recover.types[0]"));
    assert_non_null(strstr(said, "recover.namespaces[0]"));
    assert_non_null(strstr(said, "standby_for.types[0]"));
}

static void
one_may_stand_by_for_what_clients_report(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           SOURCE(UDPA, "standby: [udpa.load.v1.ClientLoad, "
                        "type.googleapis.com/udpa.health.v1.EndpointHealth]"),
           "");
}

static void
one_that_dials_us_may_stand_by(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE("udpa_listen: {peer: p}", "standby: [udpa.status.v1.ResourceState]"), "");
}

static void
one_stands_by_for_nothing_else(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE(UDPA, "standby: [type.googleapis.com/a.B]"),
           "test.yaml:1:81: static_resources.config_sources[0].standby[0]: 'a.B' is no type that "
           "clients report, which flow to the source: udpa.load.v1.ClientLoad, "
           "udpa.load.v1.SharedClientLoad, "
           "udpa.load.v1.ClusterLoad, udpa.load.v1.OrcaReport, udpa.health.v1.EndpointHealth, "
           "udpa.health.v1.Checker, udpa.status.v1.ResourceState, udpa.status.v1.ClientStatus\n");
}

#define SERVERS(list) SOURCE("udpa: {address: '" list "'}", "max_withdrawal: '10%'")
#define AT "test.yaml:1:63: static_resources.config_sources[0].udpa.address: "

static void
one_may_have_several_servers(void **state)
{
    expect(*state, SERVERS("a:1,[::1]:1, c:1"), "");
}

static void
no_server_of_a_list_is_left_out(void **state)
{
    expect(*state, SERVERS("a:1,,c:1"),
           AT "'a:1,,c:1': server 2 of the list is empty: write HOST:PORT between commas\n");
}

static void
each_server_of_a_list_is_an_address(void **state)
{
    expect(*state, SERVERS("a:1,b"),
           AT "'b' is no address to dial: write HOST:PORT, such as node.example.com:18000 or "
              "[2001:db8::1]:18000\n");
}

static void
no_server_of_a_list_is_the_node_itself(void **state)
{
    expect(*state,
           SERVERS("a:1,127.0.0.1:7") "sockets: [{address: '127.0.0.1:7', insecure: true}]\n",
           AT "'127.0.0.1:7' is this node itself: it listens there by sockets[0]\n");
}

static void
a_directory_cannot_stand_by(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE("path: {path: p, authority: a}", "standby: [udpa.load.v1.ClientLoad]"),
           "test.yaml:1:87: static_resources.config_sources[0].standby: is for sources of kind "
           "udpa and udpa_listen alone: others cannot be sent what clients report\n");
}

static void
an_empty_word_is_none_to_stand_by_for(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCE(UDPA, "standby: ['']"));
    bootstrap_test_tell(test);
    assert_non_null(strstr(udpai_strbuf_view(&test->mistakes).data, "standby[0]"));
}

static void
what_a_provider_takes_is_not_taken_over(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           SOURCE(UDPA, "recover: {types: [type.googleapis.com/a.B, c.D]}") "providers: [{types: "
                                                                            "[a.B], "
                                                                            "config_descriptors: "
                                                                            "[{resource_name: s}]}]"
                                                                            "\n",
           "test.yaml:1:89: static_resources.config_sources[0].recover.types[0]: providers[0] "
           "takes 'a.B' from this source already: its contributions are effective there, and there "
           "is nothing to take over\n");
}

#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(both_sides_can_be_said),
        CASE(one_that_dials_us_may_stand_in),
        CASE(only_udpa_knows_of_it),
        CASE(it_must_be_said_of_what),
        CASE(one_may_stand_by_for_what_clients_report),
        CASE(one_that_dials_us_may_stand_by),
        CASE(one_stands_by_for_nothing_else),
        CASE(one_may_have_several_servers),
        CASE(no_server_of_a_list_is_left_out),
        CASE(each_server_of_a_list_is_an_address),
        CASE(no_server_of_a_list_is_the_node_itself),
        CASE(a_directory_cannot_stand_by),
        CASE(an_empty_word_is_none_to_stand_by_for),
        CASE(words_are_looked_at),
        CASE(what_a_provider_takes_is_not_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
