/* SPDX-License-Identifier: Apache-2.0 */
/* Name spaces of groups of clients, and sources that are asked for each group. */
#include "daemon/plan.h"
#include "tests/unit/daemon/bootstrap_test.h"
#include "transport/grpc/stream_thread.h"
#include "xds/upstream.h"

static void
expect(bootstrap_test *test, const char *file, const char *mistakes)
{
    bootstrap_test_read(test, file);
    bootstrap_test_assert_mistakes(test, mistakes);
}

static void
words_in_braces_are_known(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           "shim: {default_namespace: 'a.b/{node}'}\n"
           "audiences: [{name: a, default_namespace: 'a.b/x/{cluster'}]\n",
           "test.yaml:1:27: shim.default_namespace: 'a.b/{node}': {node} is no word for what a "
           "client reports of itself; these are: {node_id}, {cluster}, {region}, {zone}, "
           "{sub_zone}, {identity}\ntest.yaml:2:42: audiences[0].default_namespace: "
           "'a.b/x/{cluster': {{cluster} is no word for what a client reports of itself; these "
           "are: {node_id}, {cluster}, {region}, {zone}, {sub_zone}, {identity}\n");
}

static void
clusters_are_waited_for_a_minute_at_most(void **state)
{
    expect(*state, "shim: {warm_timeout: 61s}\n",
           "test.yaml:1:22: shim.warm_timeout: must lie between 0 s and 60 s\n");
}

#define SOURCE(audience)                                                                           \
    "static_resources: {config_sources: [{name: m, xds: {address: 'a:1', authority: m, "           \
    "audience: " audience "}}]}\n"
#define PROVIDER(types, name_space)                                                                \
    "providers: [{" types "config_descriptors: [{resource_name: m, namespace: " name_space "}]}]"  \
    "\n"
#define AUDIENCE(name_space) "audiences: [{name: a, default_namespace: '" name_space "'}]\n"

static void
a_source_for_each_client_has_clients(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "a.b/c") AUDIENCE("a.b/d/{node_id}"),
           "test.yaml:2:49: providers[0].config_descriptors[0]: its source is asked for each group "
           "of clients by itself, but there is none below 'a.b/c': give an audience a "
           "default_namespace such as a.b/c/{node_id}\n");
}

/* Nothing would be asked for, and all clients told that there is nothing. */
static void
words_in_braces_stand_in_audiences_alone(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "'a.b/c/x-{node_id}'")
               AUDIENCE("a.b/c/x-{node_id}"),
           "test.yaml:2:79: providers[0].config_descriptors[0].namespace: 'a.b/c/x-{node_id}': "
           "words in braces are for the default_namespace of audiences alone: write what is "
           "before them here, 'a.b/c'\n");
}

static void
what_is_shown_has_no_words_in_braces(void **state)
{
    bootstrap_test *test = *state;
    expect(test, "audiences: [{name: a, namespaces: ['a.b/{node_id}']}]\n",
           "test.yaml:1:36: audiences[0].namespaces[0]: 'a.b/{node_id}': words in braces are for "
           "the default_namespace of audiences alone: write what is before them here, 'a.b'\n");
}

static void
one_clients_name_space_is_no_others(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "a.b/c") AUDIENCE("a.b/c/{zone}"),
           "test.yaml:2:49: providers[0].config_descriptors[0]: its source is PER_CLIENT, but "
           "several clients may share 'a.b/c/{zone}': put {node_id} or {identity} into it, or make "
           "the source PER_GROUP\n");
}

static void
its_provider_says_its_types(void **state)
{
    bootstrap_test *test = *state;
    bootstrap_test_read(test, SOURCE("PER_GROUP") PROVIDER("", "a.b/c") AUDIENCE("a.b/c/{zone}"));
    bootstrap_test_tell(test);
    assert_non_null(strstr(udpai_strbuf_view(&test->mistakes).data,
                           "list the types in 'types' of the provider"));
}

static void
one_for_each_client_is_taken(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "a.b/c") AUDIENCE("a.b/c/{identity}"),
           "");
}

static void
one_for_each_group_is_taken(void **state)
{
    bootstrap_test *test = *state;
    expect(test, SOURCE("PER_GROUP") PROVIDER("types: [a.B], ", "a.b") AUDIENCE("a.b/c/{zone}"),
           "");
}

static void
what_reads_files_is_a_client_too(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan plan = {0};
    bootstrap_test_read(
        test,
        SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "a.b/c")
            AUDIENCE("a.b/c/{node_id}") "limits: {max_client_groups: 7}\n"
                                        "write_files: [{directory: x, client: {node_id: n/1}}]\n");
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"}, NULL));
    assert_str(plan.writers.items[0].audience->default_namespace, "a.b/c/n%2F1");
    assert_str(udpai_node_info_parts(plan.writers.items[0].client)->id, "n/1");
    assert_int_equal(plan.xds.groups.max, 7);
    assert_int_equal(plan.settings.node.max_clients, 14);
    assert_non_null(plan.settings.node.sources[0].target_for);
    udpai_plan_done(&plan);
}

static void
one_that_is_polled_may_be_asked_so_too(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan plan = {0};
    bootstrap_test_read(test,
                        "static_resources: {config_sources: [{name: m, rest: {address: 'a:1', "
                        "authority: m, audience: PER_CLIENT}}]}\n" PROVIDER(
                            "types: [envoy.config.cluster.v3.Cluster], ", "a.b/c")
                            AUDIENCE("a.b/c/{node_id}"));
    bootstrap_test_assert_mistakes(test, "");
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"}, NULL));
    const udpai_source_config *source = &plan.settings.node.sources[0];
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *client = NULL;
    assert_ok(udpai_node_info_new(&client, &(udpai_node_parts){.id = UDPAI_STR("n")}));
    void *target = source->target_for(source->target, UDPAI_STR("a.b/c/n"), client);
    assert_non_null(target);
    assert_ptr_not_equal(udpai_grpc_target_server(target),
                         udpai_grpc_target_server(source->target));
    source->release_target(target);
    udpai_plan_done(&plan);
}

/* The target of one client has its own name space, and is reached as the configured one is. */
static void
each_client_has_a_target(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan plan = {0};
    bootstrap_test_read(test, SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "a.b/c")
                                  AUDIENCE("a.b/c/{node_id}"));
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"}, NULL));
    const udpai_source_config *source = &plan.settings.node.sources[0];
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *client = NULL;
    assert_ok(udpai_node_info_new(&client, &(udpai_node_parts){.id = UDPAI_STR("n")}));
    for (int i = 0; i < 2; i++) {
        void *target = source->target_for(source->target, UDPAI_STR("a.b/c/n"), i ? NULL : client);
        assert_non_null(target);
        source->release_target(target);
    }
    udpai_plan_done(&plan);
}

static size_t
count_in(udpai_str text, const char *word)
{
    size_t n = 0, len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        n += memcmp(text.data + i, word, len) == 0;
    return n;
}

/* The server answers this node, which does not read all that the client reads. */
static void
the_server_is_told_what_this_node_understands(void **state)
{
    bootstrap_test *test = *state;
    udpai_plan plan = {0};
    static const udpai_str features[] = {
        UDPAI_STR("envoy.lb.x"), UDPAI_STR("udpa.xds.resource-errors.v1"), UDPAI_STR("udpa.ext.v1"),
        UDPAI_STR("xds.config.resource-in-sotw"), UDPAI_STR("xds.config.what-comes-next")};
    bootstrap_test_read(test, SOURCE("PER_CLIENT") PROVIDER("types: [a.B], ", "a.b/c")
                                  AUDIENCE("a.b/c/{node_id}"));
    assert_ok(udpai_plan_make(&plan, &test->bootstrap, &(udpai_options){.program = "udpad"}, NULL));
    const udpai_source_config *source = &plan.settings.node.sources[0];
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *client = NULL;
    const udpai_node_parts parts = {UDPAI_STR("n"), .features = features,
                                    .n_features = UDPAI_ARRAY_LEN(features)};
    assert_ok(udpai_node_info_new(&client, &parts));
    void *target = source->target_for(source->target, UDPAI_STR("a.b/c/n"), client);
    assert_non_null(target);
    udpai_str node = udpai_upstream_settings(udpai_grpc_target_method(target)->context)->node;
    assert_int_equal(count_in(node, "envoy.lb.x"), 1);
    assert_int_equal(count_in(node, "udpa."), 1); /* that a node asks, whatever the client is */
    assert_int_equal(count_in(node, "udpa.node.v1"), 1);
    assert_int_equal(count_in(node, "xds.config.resource-in-sotw"), 1);
    assert_int_equal(count_in(node, "xds.config.supports-resource-ttl"), 1);
    assert_int_equal(count_in(node, "what-comes-next"), 0);
    source->release_target(target);
    udpai_plan_done(&plan);
}

/* What is kept of them is kept by their names. */
static void
no_source_has_the_name_of_a_clients(void **state)
{
    bootstrap_test *test = *state;
    expect(test,
           "static_resources: {config_sources: [\n"
           " {name: m/a.b/c/x, xds: {address: 'a:1', authority: m}},\n"
           " {name: m, xds: {address: 'a:1', authority: m, audience: PER_GROUP}},\n"
           " {name: mm/x, xds: {address: 'a:1', authority: m}}]}\n" PROVIDER(
               "types: [a.B], ", "a.b/c") AUDIENCE("a.b/c/{zone}"),
           "test.yaml:2:9: static_resources.config_sources[0].name: 'm/a.b/c/x' may be the name of "
           "what 'm' is asked for a group of clients by: begin it with something else than 'm/'\n");
}

#define CASE(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, bootstrap_test_setup, bootstrap_test_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(words_in_braces_are_known),
        CASE(clusters_are_waited_for_a_minute_at_most),
        CASE(a_source_for_each_client_has_clients),
        CASE(one_clients_name_space_is_no_others),
        CASE(its_provider_says_its_types),
        CASE(one_for_each_client_is_taken),
        CASE(one_for_each_group_is_taken),
        CASE(what_reads_files_is_a_client_too),
        CASE(one_that_is_polled_may_be_asked_so_too),
        CASE(each_client_has_a_target),
        CASE(the_server_is_told_what_this_node_understands),
        CASE(words_in_braces_stand_in_audiences_alone),
        CASE(what_is_shown_has_no_words_in_braces),
        CASE(no_source_has_the_name_of_a_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
