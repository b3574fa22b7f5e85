/* SPDX-License-Identifier: Apache-2.0 */
/* Who has changed what: a record in the batch that does so, of what publishers change and of what
 * the node ends by itself, and of nothing else. */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
#define CLUSTER "\"type\":\"type.googleapis.com/envoy.config.cluster.v3.Cluster\""

static const fed_peer alice = {.id = "n", .name = "alice"};

/* What was recorded since the last call. */
static const char *
recorded(fed_bed *bed)
{
    static char text[FED_TEXT];
    memcpy(text, bed->audit, sizeof(text));
    bed->audit[0] = '\0';
    return text;
}

#define assert_recorded(bed, expected) assert_string_equal(recorded(bed), (expected))

static void
start(fed_bed *bed)
{
    bed->config.has_audit = true;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_CONTINUE, false});
    fed_start(bed);
}

static uint64_t
arrive(fed_bed *bed)
{
    start(bed);
    return fed_arrive(bed, &alice);
}

static void
what_is_published_and_removed_is_recorded(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    const char *text = recorded(bed);
    assert_non_null(strstr(text, "{\"action\":\"publish\",\"actor\":\"alice\",\"proven\":true,"
                                 "\"peer\":\"n\","));
    assert_non_null(strstr(text, CLUSTER ",\"name\":\"com.acme/x\",\"version\":\"1\","
                                         "\"generation\":"));
    (void)fed_publish_at(bed, session, "CDS", "-x");
    text = recorded(bed);
    assert_non_null(strstr(text, "{\"action\":\"remove\",\"actor\":\"alice\",\"proven\":true,"));
    assert_non_null(strstr(text, "\"name\":\"com.acme/x\""));
    assert_null(strstr(text + 1, "{")); /* once */
}

static void
one_without_a_certificate_has_the_name_that_it_has_sent(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "carol"});
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    assert_non_null(strstr(recorded(bed), "\"actor\":\"carol\",\"proven\":false,"));
}

static void
nothing_is_recorded_where_there_is_no_audit(void **state)
{
    fed_bed *bed = *state;
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    assert_recorded(bed, "");
}

static void
the_rule_is_recorded(void **state)
{
    static const udpai_str acme[] = {T("com.acme")}, names[] = {T("alice")};
    static const udpai_acl_rule rules[] = {
        {.name = T("alice's rule"),
         .identities = names,
         .n_identities = 1,
         .actions = UDPAI_ACL_PUBLISH,
         .prefixes = acme,
         .n_prefixes = 1},
    };
    fed_bed *bed = *state;
    const udpai_acl_options options = {.rules = rules, .n_rules = 1};
    assert_ok(udpai_acl_new(&bed->config.acl, &options));
    uint64_t session = arrive(bed);
    udpai_acl_unref(bed->config.acl);
    (void)fed_publish_at(bed, session, "CDS", "x=1 org.other/y=1");
    const char *text = recorded(bed);
    assert_non_null(strstr(text, "\"rule\":\"alice's rule\"}"));
    assert_null(strstr(text, "org.other")); /* what is denied is not in it */
}

static void
what_only_renews_is_not_recorded(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .value = "1", .version = "1", .ttl_ms = 60000), false);
    assert_non_null(strstr(recorded(bed), "com.acme/x"));
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .value = "", .version = "1", .ttl_ms = 60000), true);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .value = "1", .version = "1", .ttl_ms = 60000), false);
    assert_recorded(bed, "");
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .value = "1", .version = "2", .ttl_ms = 60000), false);
    assert_non_null(strstr(recorded(bed), "com.acme/x")); /* another version is a change */
}

static void
what_sources_send_is_not_recorded(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_recorded(bed, "");
}

static void
clients_are_not_recorded(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/me", .type = UDPAI_TYPE_ORCA_REPORT, .value = "v",
                           .version = "1", .ttl_ms = 60000),
                  false);
    assert_recorded(bed, "");
}

/* ---- the node by itself ---- */

static void
assert_ended(fed_bed *bed, const char *why)
{
    char end[200];
    const char *text = recorded(bed);
    (void)snprintf(end, sizeof(end), "\"name\":\"com.acme/x\",\"reason\":\"%s\"} ", why);
    assert_non_null(strstr(text, "{\"action\":\"end\",\"actor\":\"node\",\"proven\":true,"));
    assert_string_equal(strstr(text, "\"name\""), end);
}

static void
what_ends_by_its_ttl_is_recorded(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    (void)fed_put(bed, session,
                  RESOURCE("com.acme/x", .value = "1", .version = "1", .ttl_ms = 5000), false);
    (void)recorded(bed);
    fed_advance(bed, 6000);
    assert_ended(bed, "its ttl has ended");
}

static void
what_other_rules_end_is_recorded(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    udpai_acl *acl = NULL;
    const udpai_acl_options none = {.n_rules = 0};
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    (void)recorded(bed);
    assert_ok(udpai_acl_new(&acl, &none));
    fed_rule(bed, acl);
    assert_ended(bed, "the rules do not allow it any more");
}

static void
what_a_revoked_publisher_had_is_recorded(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    (void)recorded(bed);
    fed_leave(bed, session, true);
    assert_ended(bed, "the certificate of its publisher was revoked");
}

/* ---- what ends while the node is down ---- */

static void
put_lease(fed_bed *bed, uint64_t session, const char *name)
{
    (void)fed_put(bed, session,
                  RESOURCE(name, .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 5000),
                  false);
}

/* The process ends, and another one begins when so much time has passed. */
static void
restart_after(fed_bed *bed, int seconds)
{
    (void)recorded(bed);
    bed->wall_us += (int64_t)seconds * 1000000;
    fed_restart(bed);
}

static void
what_ends_by_its_ttl_while_the_node_is_down_is_recorded_once(void **state)
{
    fed_bed *bed = *state;
    put_lease(bed, arrive(bed), "com.acme/x");
    restart_after(bed, 6);
    assert_ended(bed, "its ttl has ended");
    assert_value(bed, "CDS", "x", "");
    restart_after(bed, 1);
    assert_recorded(bed, "");
}

static void
what_is_left_of_a_ttl_goes_on(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    put_lease(bed, session, "com.acme/x");
    (void)fed_publish_at(bed, session, "CDS", "always=1");
    restart_after(bed, 4);
    assert_recorded(bed, "");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 2000);
    assert_ended(bed, "its ttl has ended");
    assert_value(bed, "CDS", "always", "1");
}

/* As while it is up. */
static void
what_a_source_has_sent_ends_unrecorded(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_connect(bed, 'a');
    put_lease(bed, bed->sessions[0], "com.acme/x");
    assert_value(bed, "CDS", "x", "1");
    restart_after(bed, 6);
    assert_recorded(bed, "");
    assert_value(bed, "CDS", "x", "");
    assert_false(fed_disk_has(&bed->kept, "com.acme/x"));
}

static void
without_an_audit_it_ends_all_the_same(void **state)
{
    fed_bed *bed = *state;
    FED_PROVIDER(bed, {'a', "", UDPAI_CONTINUE, false});
    fed_type(bed, "CDS");
    fed_start(bed);
    put_lease(bed, fed_arrive(bed, &alice), "com.acme/x");
    restart_after(bed, 6);
    assert_recorded(bed, "");
    assert_false(fed_disk_has(&bed->kept, "com.acme/x"));
}

/* Nothing was committed of the first one. */
static void
a_start_that_is_broken_off_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    put_lease(bed, arrive(bed), "com.acme/x");
    (void)recorded(bed);
    bed->wall_us += (int64_t)6 * 1000000;
    bed->node = udpai_node_free(bed->node);
    assert_ok(fed_make(bed, NULL));
    for (size_t i = 0; i < bed->kept.n; i++)
        assert_ok(udpai_node_restore(bed->node, &bed->kept.items[i]));
    udpai_node_start(bed->node);
    assert_true(fed_disk_has(&bed->kept, "com.acme/x"));
    restart_after(bed, 0);
    assert_ended(bed, "its ttl has ended");
    restart_after(bed, 0);
    assert_recorded(bed, "");
}

/* What has the name by then is not what has ended. */
static void
what_it_ends_comes_back_when_it_is_published_again(void **state)
{
    fed_bed *bed = *state;
    put_lease(bed, arrive(bed), "com.acme/x");
    restart_after(bed, 6);
    assert_ended(bed, "its ttl has ended");
    uint64_t session = fed_arrive(bed, &alice);
    (void)fed_publish_at(bed, session, "CDS", "x=2");
    assert_non_null(strstr(recorded(bed), "\"action\":\"publish\""));
    restart_after(bed, 6);
    assert_recorded(bed, "");
    assert_value(bed, "CDS", "x", "2");
}

/* A row that the engine cannot read: it knows no more than where it was. */
static void
what_cannot_be_read_ends_in_its_time(void **state)
{
    fed_bed *bed = *state;
    put_lease(bed, arrive(bed), "com.acme/x");
    for (size_t i = 0; i < bed->kept.n; i++)
        if (bed->kept.items[i].expires_us)
            fed_disk_damage(&bed->kept, i);
    restart_after(bed, 4);
    assert_recorded(bed, "");
    assert_true(fed_disk_has(&bed->kept, "com.acme/x"));
    restart_after(bed, 2);
    assert_ended(bed, "its ttl has ended");
    assert_false(fed_disk_has(&bed->kept, "com.acme/x"));
}

/* What is remembered of removals is no publisher's. */
static void
what_was_remembered_ends_unrecorded(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice", .is_plain = true});
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    (void)fed_publish_at(bed, session, "CDS", "-x");
    assert_true(fed_disk_has(&bed->kept, "com.acme/x"));
    restart_after(bed, 599);
    assert_true(fed_disk_has(&bed->kept, "com.acme/x"));
    restart_after(bed, 1);
    assert_recorded(bed, "");
    assert_false(fed_disk_has(&bed->kept, "com.acme/x"));
    assert_int_equal(udpai_store_highest_generation(udpai_node_store(bed->node),
                                                    UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/x")),
                     0);
}

/* False: it could not even be loaded. */
static bool
begins_with(fed_bed *bed, long n_allocations)
{
    bed->node = udpai_node_free(bed->node);
    assert_ok(fed_make(bed, NULL));
    udpa_err err = UDPA_OK;
    udpai_alloc_fail_after(n_allocations);
    for (size_t i = 0; i < bed->kept.n && err == UDPA_OK; i++)
        err = udpai_node_restore(bed->node, &bed->kept.items[i]);
    if (err == UDPA_OK) {
        udpai_node_start(bed->node);
        udpai_node_flush(bed->node);
    }
    udpai_alloc_fail_after(-1);
    return err == UDPA_OK;
}

static size_t
count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void
copy_disk(fed_disk *to, const fed_disk *from)
{
    fed_disk_done(to);
    for (size_t i = 0; i < from->n; i++)
        fed_disk_do(to, &from->items[i]);
}

#define N_ENDS(bed) count_of((bed)->audit, "\"action\":\"end\"")

static void
without_memory_each_ends_with_its_record_or_not(void **state)
{
    fed_bed *bed = *state;
    fed_disk before = {0};
    uint64_t session = arrive(bed);
    put_lease(bed, session, "com.acme/x");
    put_lease(bed, session, "com.acme/y");
    copy_disk(&before, &bed->kept);
    bed->wall_us += (int64_t)6 * 1000000;
    bool is_enough = false;
    for (long n = 0; !is_enough; n++) {
        assert_true(n < 1000);
        copy_disk(&bed->kept, &before);
        (void)recorded(bed);
        bool is_loaded = begins_with(bed, n);
        is_enough = N_ENDS(bed) == 2;
        if (is_loaded)
            assert_value(bed, "CDS", "x", "");
        size_t n_left = (size_t)fed_disk_has(&bed->kept, "com.acme/x") +
                        (size_t)fed_disk_has(&bed->kept, "com.acme/y");
        assert_int_equal(N_ENDS(bed), 2 - n_left);
        assert_int_equal(count_of(bed->audit, "\"name\":\"com.acme/x\""),
                         !fed_disk_has(&bed->kept, "com.acme/x"));
    }
    fed_disk_done(&before);
}

/* ---- what is done ---- */

static void
what_the_surroundings_record_is_committed(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    udpai_node_audit(bed->node, &(udpai_audit_record){.action = UDPAI_STR("reload"),
                                                      .actor = UDPAI_STR(UDPAI_AUDIT_NODE),
                                                      .reason = UDPAI_STR("why\n")});
    udpai_node_flush(bed->node);
    const char *text = recorded(bed);
    assert_non_null(strstr(text, "{\"action\":\"reload\",\"actor\":\"node\",\"proven\":false,"));
    assert_non_null(strstr(text, "\"reason\":\"why\\u000a\"}"));
}

static void
that_it_is_restored_is_recorded(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_restored = true;
    start(bed);
    assert_non_null(strstr(recorded(bed), "{\"action\":\"restore\",\"actor\":\"node\","));
}

static void
a_secret_has_no_version(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = arrive(bed);
    (void)fed_put(
        bed, session,
        RESOURCE("com.acme/s", .type = UDPAI_TYPE_SECRET, .value = "1", .version = "5ec4e7"),
        false);
    const char *text = recorded(bed);
    assert_non_null(strstr(text, "com.acme/s"));
    assert_null(strstr(text, "5ec4e7"));
}

/* 1 kB of escapes is a text like another. */
static void
a_hostile_name_is_a_text(void **state)
{
    fed_bed *bed = *state;
    char name[1025];
    memset(name, '\x1b', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    start(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = name});
    (void)fed_publish_at(bed, session, "CDS", "x=1");
    const char *text = recorded(bed);
    assert_non_null(strstr(text, "\"actor\":\"\\u001b\\u001b"));
    assert_null(strchr(text, '\x1b'));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_is_published_and_removed_is_recorded),
        fed_test(one_without_a_certificate_has_the_name_that_it_has_sent),
        fed_test(nothing_is_recorded_where_there_is_no_audit),
        fed_test(the_rule_is_recorded),
        fed_test(what_only_renews_is_not_recorded),
        fed_test(what_sources_send_is_not_recorded),
        fed_test(clients_are_not_recorded),
        fed_test(what_ends_by_its_ttl_is_recorded),
        fed_test(what_other_rules_end_is_recorded),
        fed_test(what_a_revoked_publisher_had_is_recorded),
        fed_test(what_ends_by_its_ttl_while_the_node_is_down_is_recorded_once),
        fed_test(what_is_left_of_a_ttl_goes_on),
        fed_test(what_a_source_has_sent_ends_unrecorded),
        fed_test(without_an_audit_it_ends_all_the_same),
        fed_test(a_start_that_is_broken_off_changes_nothing),
        fed_test(what_it_ends_comes_back_when_it_is_published_again),
        fed_test(what_cannot_be_read_ends_in_its_time),
        fed_test(what_was_remembered_ends_unrecorded),
        fed_test(without_memory_each_ends_with_its_record_or_not),
        fed_test(what_the_surroundings_record_is_committed),
        fed_test(that_it_is_restored_is_recorded),
        fed_test(a_secret_has_no_version),
        fed_test(a_hostile_name_is_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
