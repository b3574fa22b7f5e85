/* SPDX-License-Identifier: Apache-2.0 */
/* What is in effect after a reload: the file, but for what takes a restart. */
#include "daemon/config_merge.h"

#include "base/alloc.h"
#include "daemon/config_difference.h"
#include "tests/harness/oom.h"
#include "tests/unit/daemon/bootstrap_test.h"

typedef Udpa__Config__V1__Bootstrap message;

static udpai_bootstrap in_effect, later;

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

/* It is as the third file; and these fields of the second take a restart. */
static void
expect(
    void **state, const char *before, const char *read, const char *expected, const char *restart)
{
    udpai_arena arena;
    message *merged = NULL;
    udpai_arena_init(&arena);
    in_effect = read_text(*state, before);
    later = read_text(*state, read);
    udpai_bootstrap wanted = read_text(*state, expected);
    assert_ok(udpai_config_merge(in_effect.message, later.message, &arena, &merged));
    char *differs = udpai_config_name_differences(merged, wanted.message),
         *takes = udpai_config_name_differences(merged, later.message);
    assert_string_equal(differs ? differs : "", "");
    assert_string_equal(takes ? takes : "", restart);
    udpai_free(differs);
    udpai_free(takes);
    udpai_bootstrap_done(&wanted);
    udpai_bootstrap_done(&in_effect);
    udpai_bootstrap_done(&later);
    udpai_arena_done(&arena);
}

static void
sections_are_taken_over(void **state)
{
    expect(state, "acl: {rules: [{name: one}]}\n", "acl: {rules: [{name: two}, {name: three}]}\n",
           "acl: {rules: [{name: two}, {name: three}]}\n", "");
    expect(state, "", "signatures: {trusted: [{key_id: two}]}\n",
           "signatures: {trusted: [{key_id: two}]}\n", "");
    expect(state, "reload: WATCH\n", "reload: SIGNAL\n", "reload: SIGNAL\n", "");
    expect(state, "write_files: [{directory: a}]\n", "write_files: [{directory: b}]\n",
           "write_files: [{directory: b}]\n", "");
}

static void
the_rest_takes_a_restart(void **state)
{
    expect(state, "node: {id: one, cluster: a}\nworkers: 2\nsockets: [{address: '127.0.0.1:1'}]\n",
           "node: {id: two, cluster: a}\nsockets: [{address: '127.0.0.1:2'}]\n",
           "node: {id: one, cluster: a}\nworkers: 2\nsockets: [{address: '127.0.0.1:1'}]\n",
           "node.id, sockets[0], workers");
}

#define SOCKET(more) "sockets: [{address: 'a:1'" more "}]\n"

static void
sockets_are_taken_over(void **state)
{
    static const char beside[] = SOCKET(", also_serves: [REST]");
    expect(state, SOCKET(""), SOCKET(", max_message_bytes: 5"), SOCKET(", max_message_bytes: 5"),
           "");
    expect(state, beside, SOCKET(""), SOCKET(""), "");
    expect(state, "http: {sockets: [{address: 'b:1'}]}\n" SOCKET(""),
           "http: {sockets: [{address: 'b:1'}]}\n" SOCKET(", also_serves: [REST]"),
           "http: {sockets: [{address: 'b:1'}]}\n" SOCKET(", also_serves: [REST]"), "");
    expect(state, SOCKET(""), beside, SOCKET(""), "sockets[0]"); /* nothing there serves it */
}

static void
of_a_section_parts_are_taken_over(void **state)
{
    expect(state, "limits: {max_streams: 3, max_client_groups: 4}\n",
           "limits: {max_streams: 5, max_client_groups: 6, max_withdrawal: 20%}\n",
           "limits: {max_streams: 5, max_client_groups: 6, max_withdrawal: 20%}\n", "");
    expect(state, "push: [{types: [a], debounce: 1s}]\n", "push: [{debounce: 2s}]\n",
           "push: [{debounce: 2s}]\n", "");
    expect(state, "audit: {file: a}\n", "audit: {off: true, file: b, max_age: 3600s}\n",
           "audit: {file: b, max_age: 3600s}\n", "audit.off");
    expect(state, "store: {in_memory: true}\naudit: {file: a}\n",
           "store: {in_memory: true}\naudit: {file: b}\n",
           "store: {in_memory: true}\naudit: {file: a}\n", "audit.file");
    expect(state, "store: {directory: one, keys: [{file: one}]}\n",
           "store: {directory: two, keys: [{file: two}, {file: three}]}\n",
           "store: {directory: one, keys: [{file: two}, {file: three}]}\n", "store.directory");
    expect(state, "static_resources: {directories: [{path: a}], config_sources: [{name: one}]}\n",
           "static_resources: {directories: [{path: b}, {path: c}], config_sources: [{name: "
           "two}]}\n",
           "static_resources: {directories: [{path: b}, {path: c}], config_sources: [{name: "
           "two}]}\n",
           "");
}

#define SOURCES(all) "static_resources: {config_sources: [" all "]}\n"
#define ONE(how) "{name: one, udpa: {" how "}}"
#define OTHER ", {name: two, xds: {address: '127.0.0.1:3'}}"

static void
sources_may_be_reached_otherwise(void **state)
{
    expect(state, SOURCES(ONE("address: 'a:1'") OTHER),
           SOURCES(ONE("address: 'b:2', keepalive: {interval: 5s}") OTHER),
           SOURCES(ONE("address: 'b:2', keepalive: {interval: 5s}") OTHER), "");
    expect(state, SOURCES(ONE("address: 'a:1', tls: {ca_file: a}")),
           SOURCES(ONE("address: 'a:1', tls: {ca_file: b}")),
           SOURCES(ONE("address: 'a:1', tls: {ca_file: b}")), "");
}

#define PROVIDERS(source, namespace)                                                               \
    "providers: [{types: [x], config_descriptors: [{resource_name: " source                        \
    ", namespace: " namespace "}]}]\n"

static void
sources_and_providers_come_and_go(void **state)
{
    static const char before[] = SOURCES(ONE("address: 'a:1'") OTHER);
    static const char *const others[] = {
        "",
        SOURCES(ONE("address: 'b:1'")),
        SOURCES(ONE("address: 'b:1', tls: {ca_file: a}") OTHER),
        SOURCES("{name: one, udpa: {address: 'b:1'}, max_withdrawal: 3%}" OTHER),
        SOURCES(ONE("address: 'b:1'") ", {name: two, xds: {address: '127.0.0.1:4'}}"),
        SOURCES("{name: one, udpa_listen: {peer: x}}" OTHER) PROVIDERS("one", "a"),
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(others); i++) {
        expect(state, before, others[i], others[i], "");
        expect(state, others[i], before, before, "");
    }
}

#define GROUPED SOURCES("{name: own, xds: {address: 'a:1', audience: PER_GROUP}}")
#define REPORTED SOURCES("{name: own, xds: {address: 'a:1', load_reporting: {}}}")

/* Not those that are asked for groups of clients, nor those that load is reported to. */
static void
some_sources_take_a_restart(void **state)
{
    static const char sources[] = "static_resources.config_sources",
                      both[] = "static_resources.config_sources, providers";
    expect(state, GROUPED, "", GROUPED, "static_resources");
    expect(state, GROUPED,
           SOURCES("{name: own, xds: {address: 'b:2', audience: PER_GROUP}, max_withdrawal: 3%}"),
           SOURCES("{name: own, xds: {address: 'b:2', audience: PER_GROUP}, max_withdrawal: 3%}"),
           "");
    expect(state, GROUPED, SOURCES("{name: own, xds: {address: 'a:1', audience: PER_CLIENT}}"),
           GROUPED, sources);
    expect(state, "", REPORTED, "static_resources: {}\n", sources);
    expect(state, REPORTED, SOURCES("{name: own, xds: {address: 'a:1'}}"), REPORTED, sources);
    expect(state, GROUPED PROVIDERS("own", "a"), GROUPED PROVIDERS("own", "b"),
           GROUPED PROVIDERS("own", "a"), "providers[0]");
    expect(state, REPORTED PROVIDERS("own", "a"), REPORTED PROVIDERS("own", "b"),
           REPORTED PROVIDERS("own", "b"), "");
    expect(state, GROUPED, SOURCES(ONE("address: 'b:1'")) PROVIDERS("one", "b"), GROUPED, both);
}

static void
a_section_may_come_or_go(void **state)
{
    expect(state, "", "log: {level: DEBUG, format: JSON}\n", "log: {level: DEBUG, format: JSON}\n",
           "");
    expect(state, "timing: {connect_grace: 2s}\n", "", "", "");
    expect(state, "timing: {connect_grace: 2s, max_stream_age: 60s}\n", "", "", "");
    expect(state, "", "timing: {}\n", "timing: {}\n", "");
    expect(state, "store: {directory: one, keys: [{file: one}]}\n", "", "store: {directory: one}\n",
           "store");
}

static void
no_slip_opens_the_node(void **state)
{
    expect(state, "acl: {rules: [{name: one}]}\nsignatures: {trusted: [{key_id: one}]}\n", "",
           "acl: {rules: [{name: one}]}\nsignatures: {trusted: [{key_id: one}]}\n",
           "acl, signatures");
}

static void
replicas_keep_their_directories(void **state)
{
    expect(state, "store: {engine: ETCD}\nstatic_resources: {directories: [{path: a}]}\n",
           "store: {engine: ETCD}\nstatic_resources: {directories: [{path: b}]}\n",
           "store: {engine: ETCD}\nstatic_resources: {directories: [{path: a}]}\n",
           "static_resources.directories");
    expect(state, "store: {engine: ETCD}\n",
           "store: {engine: ETCD}\n" SOURCES(ONE("address: 'b:1'")) PROVIDERS("one", "b"),
           "store: {engine: ETCD}\n", "static_resources, providers");
}

static udpa_err
merge(void *context)
{
    udpai_arena arena;
    message *merged = context;
    udpai_arena_init(&arena);
    udpa_err err = udpai_config_merge(in_effect.message, later.message, &arena, &merged);
    udpai_arena_done(&arena);
    return err;
}

static void
without_memory_there_is_none(void **state)
{
    in_effect = read_text(*state, "limits: {max_streams: 3}\n");
    later = read_text(*state, "limits: {max_streams: 4}\n");
    assert_true(oom_torture(merge, NULL) > 0);
    udpai_bootstrap_done(&in_effect);
    udpai_bootstrap_done(&later);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, bootstrap_test_setup, bootstrap_test_teardown)
        CASE(sections_are_taken_over),          CASE(the_rest_takes_a_restart),
        CASE(sockets_are_taken_over),           CASE(of_a_section_parts_are_taken_over),
        CASE(sources_may_be_reached_otherwise), CASE(sources_and_providers_come_and_go),
        CASE(some_sources_take_a_restart),      CASE(a_section_may_come_or_go),
        CASE(no_slip_opens_the_node),           CASE(replicas_keep_their_directories),
        CASE(without_memory_there_is_none),
#undef CASE
    };
    return cmocka_run_group_tests_name("daemon config_merge", tests, NULL, NULL);
}
