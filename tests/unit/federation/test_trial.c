/* SPDX-License-Identifier: Apache-2.0 */
/* Publications that are only tried: they are rejected as others are, and report what they would do;
 * nothing of them is done, kept, counted or recorded. */
#include "federation/freeze.h"
#include "federation/node_internal.h"
#include "federation/node_metrics.h"
#include "tests/harness/metered.h"
#include "tests/unit/federation/federation_test.h"

#define T(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static uint64_t
begin(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_publish(bed, 'a', "CDS", "!");
    return fed_arrive(bed, &(fed_peer){.id = "publisher", .is_plain = true});
}

#define assert_try(bed, session, words, expected)                                                  \
    assert_string_equal(fed_try_at((bed), (session), "CDS", (words)), (expected))

static void
what_it_would_do_is_reported_and_not_done(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1 y=1 z=1"), "");
    fed_orders(bed);
    char before[FED_TEXT];
    memcpy(before, bed->audit, sizeof(before));
    size_t n_kept = bed->kept.n;
    assert_try(bed, session, "x=1 y=2 new=1 -z -nobody",
               "nothing, changes, adds, removes, nothing");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    assert_value(bed, "CDS", "z", "1");
    assert_value(bed, "CDS", "new", "");
    assert_orders(bed, "");
    assert_int_equal(bed->kept.n, n_kept);
    assert_string_equal(bed->audit, before);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "y=2 -z"), "");
    assert_value(bed, "CDS", "y", "2");
    assert_try(bed, session, "y=2 -z", "nothing, nothing");
}

/* Then publications are taken in without a staging. */
static void
without_a_store_nothing_is_done_either(void **state)
{
    fed_bed *bed = *state;
    bed->config.is_durable = false;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1 z=1"), "");
    assert_try(bed, session, "x=2 new=1 -z", "changes, adds, removes");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "z", "1");
    assert_value(bed, "CDS", "new", "");
    fed_restart(bed);
    assert_value(bed, "CDS", "new", "");
}

static void
what_others_have_may_be_effective(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    uint64_t first = fed_arrive(bed, &(fed_peer){.id = "a-first", .is_plain = true});
    fed_publish(bed, 'a', "CDS", "source=1");
    assert_string_equal(fed_publish_at(bed, first, "CDS", "x=1"), "");
    assert_try(bed, session, "x=2", "adds<a-first");
    assert_try(bed, session, "source=2", "adds");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=2 source=2"), "");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "source", "2");
    assert_try(bed, session, "-x -source", "removes<a-first, removes<a");
    assert_try(bed, first, "-x", "removes<publisher");
}

/* What its authority has published by another stream is older. */
static void
the_newest_of_an_authority_is_effective(void **state)
{
    fed_bed *bed = *state;
    (void)begin(bed);
    uint64_t first = fed_arrive(bed, &(fed_peer){.id = "1", .name = "alice", .is_plain = true});
    uint64_t second = fed_arrive(bed, &(fed_peer){.id = "2", .name = "alice", .is_plain = true});
    assert_string_equal(fed_publish_at(bed, first, "CDS", "x=1"), "");
    assert_try(bed, second, "x=2", "adds");
    assert_string_equal(fed_publish_at(bed, second, "CDS", "x=2"), "");
    assert_value(bed, "CDS", "x", "2");
    assert_try(bed, first, "x=3", "changes");
}

static void
it_is_rejected_as_it_would_be(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_try(bed, session, "y=1 y=2",
               "'com.acme/y' occurs twice in this message: the first one applies, adds, nothing");
    const char *answer = fed_try_at(bed, session, "CDS", "udpa.node/y=1");
    assert_non_null(strstr(answer, "reserved namespace"));
    const udpai_freeze freeze = {
        .prefix = UDPAI_STR("com.acme"), .reason = UDPAI_STR("incident"), .by = UDPAI_STR("ops")};
    assert_ok(udpai_node_freeze(bed->node, &freeze, NULL));
    udpai_node_flush(bed->node);
    answer = fed_try_at(bed, session, "CDS", "x=2 -x");
    assert_non_null(strstr(answer, "'com.acme/x' is frozen, by ops"));
    assert_non_null(strstr(answer, ", -'com.acme/x' is frozen"));
    assert_non_null(strstr(answer, ", nothing, nothing"));
    assert_try(bed, session, "x=1", "nothing");
    const udpai_meters *meters = udpai_node_meters(bed->node);
    assert_int_equal(metered(meters, UDPAI_METRIC_UPDATES_ACCEPTED, TEST_CDS), 1);
    assert_int_equal(metered(meters, UDPAI_METRIC_UPDATES_REJECTED, "already_exists"), -1);
    assert_int_equal(metered(meters, UDPAI_METRIC_UPDATES_REJECTED, "failed_precondition"), -1);
}

/* What else is tried with it takes room, too; nothing stays taken. */
static void
limits_are_those_of_the_whole(void **state)
{
    fed_bed *bed = *state;
    bed->config.store.max_resources_per_namespace = 3;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    for (int i = 0; i < 3; i++) {
        const char *answer = fed_try_at(bed, session, "CDS", "a=1 b=1 c=1");
        assert_non_null(strstr(answer, "limits.max_resources_per_namespace"));
        assert_non_null(strstr(answer, ", adds, adds, nothing"));
        assert_try(bed, session, "-x a=1 b=1", "adds, adds, removes");
    }
    assert_string_equal(fed_publish_at(bed, session, "CDS", "a=1 b=1"), "");
}

/* Nor is it counted: nothing was denied. */
static void
rules_deny_it_as_they_would(void **state)
{
    static const udpai_str acme[] = {T("com.acme")}, alice[] = {T("alice")};
    const udpai_acl_rule rule = {.name = T("alice"),
                                 .identities = alice,
                                 .n_identities = 1,
                                 .actions = UDPAI_ACL_PUBLISH,
                                 .prefixes = acme,
                                 .n_prefixes = 1};
    const udpai_acl_options options = {.rules = &rule, .n_rules = 1};
    fed_bed *bed = *state;
    (void)begin(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice", .is_plain = true});
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &options));
    fed_rule(bed, acl);
    uint64_t n_denied = udpai_node_n_denied(bed->node);
    assert_try(bed, session, "x=2", "changes");
    const char *answer = fed_try_at(bed, session, "CDS", "org.other/x=1");
    assert_non_null(strstr(answer, "alice may not publish 'org.other/x'"));
    answer = fed_put(
        bed, session,
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1", .authority = "bank"),
        false);
    assert_int_equal(udpai_node_n_denied(bed->node), n_denied + 1); /* what was not tried */
    assert_value(bed, "CDS", "x", "");
}

static const char *
try_removal(fed_bed *bed, uint64_t session, const char *type_url, udpa_resource *statement)
{
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    assert_ok(udpai_publication_set(&publication->type_url, udpai_str_from(type_url)));
    assert_ok(udpai_publication_remove_stated(publication, UDPAI_STR("com.acme/x"), statement));
    publication->is_trial = true;
    return fed_judge(bed, session, publication);
}

/* Consumes the resource. */
static const char *
try_one(fed_bed *bed, uint64_t session, udpa_resource *resource)
{
    udpai_publication *publication = udpai_publication_new();
    assert_true(publication && resource);
    assert_ok(udpai_publication_add(publication, resource, false));
    udpa_resource_unref(resource);
    publication->is_trial = true;
    return fed_judge(bed, session, publication);
}

/* So that who cleans up leaves it alone. */
static void
what_is_anothers_is_reported_as_such(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    assert_string_equal(fed_put(bed, session,
                                RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1",
                                         .value = "1", .authority = "bank"),
                                false),
                        "");
    assert_try(bed, session, "-x", "removes on behalf");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=2"), "");
    assert_try(bed, session, "-x", "removes");
}

static void
count_problem(void *userdata, const char *text)
{
    (void)text;
    ++*(size_t *)userdata;
}

/* Neither a loop nor another node of this id is noted. */
static void
what_has_been_here_is_not_added(void **state)
{
    fed_bed *bed = *state;
    bed->config.instance = UDPAI_STR("00000000000000000000000000000001");
    uint64_t session = begin(bed);
    assert_string_equal(
        try_one(bed, session,
                RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1",
                         .hops = {{"node", "far", "00000000000000000000000000000001"}})),
        "nothing");
    assert_string_equal(
        try_one(bed, session,
                RESOURCE("com.acme/x", .type = TEST_CDS, .version = "1", .value = "1",
                         .hops = {{"node", "far", "00000000000000000000000000000002"}})),
        "adds");
    size_t n_problems = 0;
    udpai_node_visit_problems(bed->node, count_problem, &n_problems);
    assert_int_equal(n_problems, 0);
    assert_int_equal(udpai_node_n_loops(bed->node), 0);
}

/* What is denied must not stay as it was before. */
static void
a_rejection_may_remove_what_was_there(void **state)
{
    fed_bed *bed = *state;
    static const udpai_str alice[] = {T("alice")};
    const udpai_acl_rule rule = {
        .name = T("alice"), .identities = alice, .n_identities = 1, .actions = UDPAI_ACL_PUBLISH};
    const udpai_acl_options options = {.rules = &rule, .n_rules = 1};
    (void)begin(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "n", .name = "alice", .is_plain = true});
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &options));
    fed_rule(bed, acl);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    const char *answer = try_one(bed, session,
                                 RESOURCE("com.acme/x", .type = TEST_CDS, .version = "2",
                                          .value = "2", .authority = "bank"));
    assert_non_null(strstr(answer, "on behalf of authority 'bank'"));
    assert_non_null(strstr(answer, ", removes"));
    assert_value(bed, "CDS", "x", "1");
}

static void
not_everything_can_be_tried(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    fed_publish(bed, 'a', "CDS", "source=1");
    assert_non_null(strstr(fed_try_at(bed, session, "CDS", "~x=1"), "a refresh cannot be tried"));
    assert_non_null(strstr(fed_try_at(bed, bed->sessions[0], "CDS", "source=2 -source"),
                           "a node does not try"));
    assert_value(bed, "CDS", "source", "1");
    uint64_t node = fed_arrive(bed, &(fed_peer){.id = "relay", .name = "relay"});
    assert_non_null(strstr(fed_try_at(bed, node, "CDS", "x=2"), "a node does not try"));
    assert_non_null(strstr(try_removal(bed, session, "", NULL), "needs its type"));
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *statement =
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "2", .authority = "bank");
    assert_non_null(strstr(try_removal(bed, session, TEST_CDS, statement), "cannot be tried"));
    assert_non_null(strstr(fed_try_at(bed, session, "CDS", "* x=2"), "cannot be tried"));
    assert_value(bed, "CDS", "x", "1");
}

/* Whatever memory there is, the answer is right or an error, and nothing is done. */
static void
without_memory_nothing_is_done(void **state)
{
    static const char wanted[] = "changes, adds, removes";
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    bool is_right = false;
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1 z=1"), "");
    for (long n = 0; !is_right; n++) {
        assert_true(n < 1000);
        fed_short(bed, n, false);
        const char *answer = fed_try_at(bed, session, "CDS", "x=2 new=1 -z");
        is_right = strcmp(answer, wanted) == 0;
        if (!is_right)
            assert_non_null(strstr(answer, "memory"));
        assert_value(bed, "CDS", "x", "1");
        assert_value(bed, "CDS", "z", "1");
        assert_value(bed, "CDS", "new", "");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_it_would_do_is_reported_and_not_done),
        fed_test(without_a_store_nothing_is_done_either),
        fed_test(what_others_have_may_be_effective),
        fed_test(the_newest_of_an_authority_is_effective),
        fed_test(it_is_rejected_as_it_would_be),
        fed_test(limits_are_those_of_the_whole),
        fed_test(rules_deny_it_as_they_would),
        fed_test(what_is_anothers_is_reported_as_such),
        fed_test(what_has_been_here_is_not_added),
        fed_test(a_rejection_may_remove_what_was_there),
        fed_test(not_everything_can_be_tried),
        fed_test(without_memory_nothing_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
