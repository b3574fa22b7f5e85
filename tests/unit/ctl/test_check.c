/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of udpactl check: what is found, at which level, and what is not. */
#include "ctl/findings.h"

#include <stdio.h>

#include "model/types.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

#define NOW_S INT64_C(1700000000)
#define NOW_US (NOW_S * 1000000)
#define DAY 86400

/* ---- by the metrics ---- */

static void
check_page(const char *text, udpai_strbuf *out)
{
    udpai_ctl_findings findings = {0};
    udpai_cli_page page;
    const udpai_ctl_asked asked = {NOW_US, NOW_US};
    assert_ok(udpai_cli_page_read(&page, udpai_str_from(text), NULL));
    udpai_ctl_check_metrics(&findings, &page, &asked);
    assert_false(findings.failed);
    udpai_ctl_findings_put(&findings, out);
    udpai_ctl_findings_done(&findings);
    udpai_cli_page_done(&page);
}

/* @p begin: of the one line; NULL: nothing is found. */
static void
expect_of_page(const char *text, const char *begin)
{
    udpai_strbuf out = {0};
    check_page(text, &out);
    if (!begin)
        assert_str(udpai_strbuf_view(&out), "nothing found\n");
    else if (strncmp(out.data, begin, strlen(begin)) != 0)
        fail_msg("%s\nis not: %s", out.data, begin);
    else
        assert_true(strstr(out.data, "\n1 error, 0 warnings\n") ||
                    strstr(out.data, "\n0 errors, 1 warning\n"));
    udpai_strbuf_done(&out);
}

static void
expect_number(const char *name, int64_t value, const char *begin)
{
    char line[200];
    snprintf(line, sizeof(line), "%s %lld\n", name, (long long)value);
    expect_of_page(line, begin);
}

static void
certificates_expire(void **state)
{
    static const char name[] = "udpa_certificate_expiry_timestamp_seconds{use=\"socket\"}";
    (void)state;
    expect_number(name, NOW_S + 30 * DAY, NULL);
    expect_number(name, NOW_S + 30 * DAY - 1,
                  "warning  certificate socket: expires in 29 d 23 h; replace its files");
    expect_number(name, NOW_S + 7 * DAY, "warning  certificate socket: expires in 7 d;");
    expect_number(name, NOW_S + 7 * DAY - 1, "error    certificate socket: expires in 6 d 23 h;");
    expect_number(name, NOW_S - 3600, "error    certificate socket: expired 1 h ago: peers");
}

static void
clocks_differ(void **state)
{
    static const char name[] = "udpa_clock_timestamp_seconds";
    (void)state;
    expect_number(name, NOW_S + 5, NULL);
    expect_number(name, NOW_S - 6, NULL); /* the page may be a second old */
    expect_number(name, NOW_S + 6, "warning  clock of the node: is 6 s ahead of that of this");
    expect_number(name, NOW_S - 7, "warning  clock of the node: is 6 s behind that of this");
    expect_number(name, NOW_S - 302, "error    clock of the node: is 5 min 1 s behind");
    expect_number(name, NOW_S + 301, "error    clock of the node: is 5 min 1 s ahead");
}

static void
limits_are_near(void **state)
{
    (void)state;
    expect_of_page("process_open_fds 799\nprocess_max_fds 1000\n", NULL);
    expect_of_page("process_open_fds 800\n", NULL); /* without a limit */
    expect_of_page("process_open_fds 1\nprocess_max_fds 0\n", NULL);
    expect_of_page("process_open_fds 800\nprocess_max_fds 1000\n",
                   "warning  open files of the node: 80 % are used: 800 of 1000; raise");
    expect_of_page("process_open_fds 950\nprocess_max_fds 1000\n", "error    open files of the");
    expect_of_page("process_max_fds 10\nudpa_worker_open_fds{worker=\"2\"} 9\n",
                   "warning  open files of worker 2: 90 % are used: 9 of 10;");
    expect_of_page("udpa_store_disk_size_bytes 100\nudpa_store_disk_free_bytes 21\n", NULL);
    expect_of_page("udpa_store_disk_size_bytes 5368709120\n"
                   "udpa_store_disk_free_bytes 1073741824\n",
                   "warning  disk of the state directory: 80 % are used: 4.000 of 5.000 GiB;");
    expect_of_page("udpa_store_disk_size_bytes 100\nudpa_store_disk_free_bytes 0\n",
                   "error    disk of the state directory: 100 % are used");
    expect_of_page("udpa_replica_etcd_size_bytes 9\nudpa_replica_etcd_quota_bytes 10\n",
                   "warning  etcd database: 90 % are used: 0.000 of 0.000 GiB; compact");
    expect_of_page("udpa_limit_used_ratio{limit=\"streams\"} 0.79\n"
                   "udpa_limit_used_ratio{limit=\"connections\"} 0.79\n"
                   "udpa_limit_used_ratio{limit=\"open_files\"} 0.9\n" /* is looked at by itself */
                   "udpa_limit_used_ratio{limit=\"other\"} 0.9\n",
                   NULL);
    expect_of_page("udpa_limit_used_ratio{limit=\"streams\"} 0.8\n",
                   "warning  limit of streams: 80 % are used; raise limits.max_streams, or");
    expect_of_page("udpa_limit_used_ratio{limit=\"connections\"} 0.95\n",
                   "error    limit of connections: 95 % are used; raise limits.max_streams, or");
    expect_of_page("udpa_limit_used_ratio{limit=\"views\"} 0.9\n",
                   "warning  limit of selections: 90 % are used; raise limits.max_views");
    expect_of_page("udpa_limit_used_ratio{limit=\"resources\"} 1.5\n",
                   "error    limit of resources of the node: 150 % are used; remove some");
    expect_of_page("udpa_limit_used_ratio{limit=\"bytes\"} 0.85\n",
                   "warning  limit of bytes of the node: 85 % are used; remove resources");
    expect_of_page("udpa_limit_used_ratio{limit=\"namespace\"} 0.9\n",
                   "warning  limit of the fullest namespace: 90 % are used; remove resources");
    expect_of_page("udpa_limit_used_ratio{limit=\"publisher\"} 1\n",
                   "error    limit of the fullest publisher: 100 % are used; have it remove");
    expect_number("udpa_replica_etcd_has_alarm", 0, NULL);
    expect_number("udpa_replica_etcd_has_alarm", 1, "error    etcd: has an alarm");
}

static void
parts_of_the_node_fail(void **state)
{
    (void)state;
    expect_of_page("udpa_worker_up{worker=\"1\"} 1\nudpa_worker_up{worker=\"2\"} 0\n",
                   "error    worker 2: has not reported for 3 s");
    expect_number("udpa_store_failed_batches_total", 0, NULL);
    expect_number("udpa_store_failed_batches_total", 2, "error    store: 2 batches could not");
    expect_number("udpa_store_unreadable_secrets", 3, "error    store: 3 secrets are not served");
    expect_number("udpa_unsynchronized_seconds", 0, NULL);
    expect_number("udpa_unsynchronized_seconds", 60,
                  "warning  synchronization: the node has waited");
    expect_number("udpa_unsynchronized_seconds", 61,
                  "error    synchronization: the node has waited for sources for 1 min 1 s,");
}

/* ---- by the status ---- */

static udpa_resource *
packed(const char *type_url, const ProtobufCMessage *message)
{
    uint8_t room[2048];
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    assert_true(protobuf_c_message_get_packed_size(message) <= sizeof(room));
    spec.name = "udpa.node/n/x";
    spec.type_url = type_url;
    spec.payload = room;
    spec.payload_size = protobuf_c_message_pack(message, room);
    assert_ok(udpa_resource_new(&resource, &spec, NULL));
    return resource;
}

/* Gives the resources up. @p wanted: all of it, but for what is to be done; NULL: nothing. */
static void
expect_of(udpa_resource **resources, size_t n, const char *wanted)
{
    udpai_ctl_findings findings = {0};
    udpai_strbuf out = {0};
    udpai_strbuf_puts(&out, "");
    udpai_ctl_check_status(&findings, resources, n, "0.1.0", NOW_US);
    for (size_t i = 0; i < findings.items.n; i++) {
        const udpai_ctl_finding *it = &findings.items.items[i];
        assert_true(*it->action);
        udpai_strbuf_printf(&out, "%s %s %s: %s\n", it->level == UDPAI_CTL_ERROR ? "E" : "W",
                            it->what, it->where, it->why);
    }
    assert_str(udpai_strbuf_view(&out), wanted);
    udpai_strbuf_done(&out);
    udpai_ctl_findings_done(&findings);
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
}

static void
expect_of_one(udpa_resource *resource, const char *wanted)
{
    expect_of(&resource, 1, wanted);
}

/* protobuf-c has no const. */
#define T(text) ((char *)(uintptr_t)(text))
#define PACKED(type, message) packed((type), &(message).base)

static void
a_node_reports_problems(void **state)
{
    (void)state;
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    char *problems[] = {T("line 3 of a.yaml is no YAML\x1b[2J")};
    node.node_id = T("edge");
    node.version = T("0.1.0");
    expect_of_one(PACKED(UDPAI_TYPE_NODE_STATUS, node), "");
    node.version = T("0.2.0");
    expect_of_one(PACKED(UDPAI_TYPE_NODE_STATUS, node),
                  "W version edge: is 0.2.0, udpactl is 0.1.0\n");
    node.version = T("0.1.0");
    node.n_problems = 1;
    node.problems = problems;
    expect_of_one(PACKED(UDPAI_TYPE_NODE_STATUS, node),
                  "E node edge: reports: line 3 of a.yaml is no YAML?[2J\n");
}

static void
types_are_pending_and_sinks_lose(void **state)
{
    (void)state;
    Udpa__Status__V1__NodeStatus node = UDPA__STATUS__V1__NODE_STATUS__INIT;
    Udpa__Status__V1__TypeStatus type = UDPA__STATUS__V1__TYPE_STATUS__INIT, *types[] = {&type};
    Udpa__Status__V1__SinkStatus sink = UDPA__STATUS__V1__SINK_STATUS__INIT, *sinks[] = {&sink};
    char *sources[] = {T("a"), T("b"), T("c"), T("d"), T("e")};
    node.version = T("0.1.0");
    type.type_url = T(UDPAI_TYPE_CLUSTER);
    node.n_types = 1;
    node.types = types;
    node.n_sinks = 1;
    node.sinks = sinks;
    expect_of_one(PACKED(UDPAI_TYPE_NODE_STATUS, node), "");
    type.n_unsettled = 5;
    type.unsettled = sources;
    sink.kind = T("tap");
    sink.n_failed = 1;
    sink.n_dropped = 2;
    expect_of_one(PACKED(UDPAI_TYPE_NODE_STATUS, node),
                  "W resources cluster: are pending: a, b, c and 2 more has not sent all of them, "
                  "so the node sends no removal of any\n"
                  "E sink tap: 1 lines could not be written since the node started\n"
                  "W sink tap: 2 messages were dropped since the node started\n");
}

static void
sources_are_not_active(void **state)
{
    (void)state;
    Udpa__Status__V1__SourceStatus source = UDPA__STATUS__V1__SOURCE_STATUS__INIT;
    Udpa__Status__V1__SourceType type = UDPA__STATUS__V1__SOURCE_TYPE__INIT, *types[] = {&type};
    Google__Protobuf__Timestamp since = GOOGLE__PROTOBUF__TIMESTAMP__INIT;
    since.seconds = NOW_S - 65;
    source.name = T("core");
    source.since = &since;
    type.type_url = T(UDPAI_TYPE_CLUSTER);
    source.n_types = 1;
    source.types = types;
    expect_of_one(PACKED(UDPAI_TYPE_SOURCE_STATUS, source), ""); /* it is not needed */
    source.state = UDPA__STATUS__V1__SOURCE_STATUS__STATE__ACTIVE;
    expect_of_one(PACKED(UDPAI_TYPE_SOURCE_STATUS, source), "");
    source.last_error = T("refused x");
    expect_of_one(PACKED(UDPAI_TYPE_SOURCE_STATUS, source),
                  "W source core: is active, with an error: refused x\n");
    source.state = UDPA__STATUS__V1__SOURCE_STATUS__STATE__WAITING;
    expect_of_one(PACKED(UDPAI_TYPE_SOURCE_STATUS, source),
                  "E source core: is not active for 1 min 5 s: refused x\n");
    type.complete = true;
    source.last_error = (char *)protobuf_c_empty_string;
    expect_of_one(PACKED(UDPAI_TYPE_SOURCE_STATUS, source),
                  "W source core: is not active for 1 min 5 s: it has not answered yet; what it "
                  "sent before is served\n");
}

static void
resources_are_held(void **state)
{
    (void)state;
    Udpa__Status__V1__SourceStatus source = UDPA__STATUS__V1__SOURCE_STATUS__INIT;
    Udpa__Status__V1__SourceType type = UDPA__STATUS__V1__SOURCE_TYPE__INIT, *types[] = {&type};
    char *names[] = {T("a/1")};
    source.name = T("core");
    source.state = UDPA__STATUS__V1__SOURCE_STATUS__STATE__ACTIVE;
    source.n_types = 1;
    source.types = types;
    type.type_url = T(UDPAI_TYPE_CLUSTER);
    type.held = 12;
    type.n_held_names = 1;
    type.held_names = names;
    source.n_differing = 1;
    source.n_differing_names = 1;
    source.differing_names = names;
    source.not_recovered = true;
    expect_of_one(PACKED(UDPAI_TYPE_SOURCE_STATUS, source),
                  "W source core: no longer names 12 of cluster, which are held: a/1 and 11 more\n"
                  "W source core: has another version than it had before of a/1\n"
                  "W source core: is its standby, and nothing is adopted from it\n");
}

static void
replicas_are_behind_and_differ(void **state)
{
    (void)state;
    Udpa__Status__V1__ReplicaStatus own = UDPA__STATUS__V1__REPLICA_STATUS__INIT, other = own;
    Udpa__Status__V1__ReplicaHold hold = UDPA__STATUS__V1__REPLICA_HOLD__INIT;
    char *keys[] = {T("k1")};
    own.id = T("one");
    own.version = own.config = T("1");
    other = own;
    own.is_own = true;
    own.state = UDPA__STATUS__V1__REPLICA_STATUS__STATE__CURRENT;
    other.id = T("two");
    udpa_resource *both[] = {PACKED(UDPAI_TYPE_REPLICA_STATUS, own),
                             PACKED(UDPAI_TYPE_REPLICA_STATUS, other)};
    expect_of(both, 2, "");
    own.state = UDPA__STATUS__V1__REPLICA_STATUS__STATE__BEHIND;
    own.reason = T("etcd does not answer");
    other.version = other.config = T("2");
    other.n_missing_key_ids = 1;
    other.missing_key_ids = keys;
    both[0] = PACKED(UDPAI_TYPE_REPLICA_STATUS, own);
    both[1] = PACKED(UDPAI_TYPE_REPLICA_STATUS, other);
    expect_of(both, 2,
              "E replica one: is not current: etcd does not answer; publications are rejected\n"
              "E replica two: is not ready: it lacks the keys k1\n"
              "W version two: is 2, replica one is 1\n"
              "E replica two: is configured otherwise than replica one\n");
    own.state = UDPA__STATUS__V1__REPLICA_STATUS__STATE__HELD;
    own.reason = T("an older state");
    own.hold = &hold;
    hold.next = T("it asks an operator");
    own.hidden = 2;
    own.directories_waiting = 1;
    expect_of_one(PACKED(UDPAI_TYPE_REPLICA_STATUS, own),
                  "E replica one: is held: an older state; next: it asks an operator\n"
                  "W replica one: does not serve 2 resources, which others have accepted\n"
                  "W replica one: does not use what it has read of 1 directories: most replicas "
                  "have read others\n");
}

static void
what_cannot_be_read_is_passed_over(void **state)
{
    (void)state;
    expect_of_one(RESOURCE("com.acme/x", "1"), "");
}

/* ---- how it is written ---- */

static const udpai_ctl_finding begin = {
    .level = UDPAI_CTL_WARNING, .what = "thing", .action = (char *)(uintptr_t) "do it"};

static void
errors_come_first_and_json_has_all(void **state)
{
    (void)state;
    udpai_ctl_findings findings = {0};
    udpai_ctl_finding worse = begin;
    udpai_strbuf out = {0};
    worse.level = UDPAI_CTL_ERROR;
    udpai_ctl_findings_add(&findings, &begin, "a\n\"", "is %d", 1);
    udpai_ctl_findings_add(&findings, &worse, "", "is %d", 2);
    udpai_ctl_findings_put(&findings, &out);
    assert_str(udpai_strbuf_view(&out), "error    thing: is 2; do it\n"
                                        "warning  thing a?\": is 1; do it\n"
                                        "1 error, 1 warning\n");
    udpai_strbuf_done(&out);
    out = (udpai_strbuf){0};
    udpai_ctl_findings_put_json(&findings, &out);
    assert_str(
        udpai_strbuf_view(&out),
        "{\n  \"errors\": 1,\n  \"warnings\": 1,\n  \"findings\": [\n"
        "    {\"level\": \"warning\", \"what\": \"thing\", \"where\": \"a?\\\"\", "
        "\"why\": \"is 1\", \"action\": \"do it\"},\n"
        "    {\"level\": \"error\", \"what\": \"thing\", \"where\": \"\", \"why\": \"is 2\", "
        "\"action\": \"do it\"}\n  ]\n}\n");
    udpai_strbuf_done(&out);
    udpai_ctl_findings_done(&findings);
}

static void
a_list_is_bounded(void **state)
{
    (void)state;
    udpai_ctl_findings findings = {0};
    udpai_strbuf out = {0};
    for (int i = 0; i < UDPAI_CTL_FINDINGS_MAX + 2; i++)
        udpai_ctl_findings_add(&findings, &begin, "x", "is so");
    assert_int_equal(findings.items.n, UDPAI_CTL_FINDINGS_MAX);
    udpai_ctl_findings_put(&findings, &out);
    assert_non_null(strstr(out.data, "\n0 errors, 1002 warnings; 2 are not shown\n"));
    udpai_strbuf_done(&out);
    udpai_ctl_findings_done(&findings);
}

static udpa_err
add_one(void *context)
{
    udpai_ctl_findings findings = {0};
    udpai_strbuf out = {0};
    (void)context;
    udpai_ctl_findings_add(&findings, &begin, "x", "is so");
    out.failed = findings.failed;
    udpai_ctl_findings_put_json(&findings, &out);
    udpa_err err = udpai_strbuf_failed(&out) ? UDPA_ERR_NOMEM : UDPA_OK;
    udpai_strbuf_done(&out);
    udpai_ctl_findings_done(&findings);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    oom_torture(add_one, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(certificates_expire),
        cmocka_unit_test(clocks_differ),
        cmocka_unit_test(limits_are_near),
        cmocka_unit_test(parts_of_the_node_fail),
        cmocka_unit_test(a_node_reports_problems),
        cmocka_unit_test(types_are_pending_and_sinks_lose),
        cmocka_unit_test(sources_are_not_active),
        cmocka_unit_test(resources_are_held),
        cmocka_unit_test(replicas_are_behind_and_differ),
        cmocka_unit_test(what_cannot_be_read_is_passed_over),
        cmocka_unit_test(errors_come_first_and_json_has_all),
        cmocka_unit_test(a_list_is_bounded),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
