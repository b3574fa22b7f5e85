/* SPDX-License-Identifier: Apache-2.0 */
/* What one replica reads for all: the elected one proposes it, and each has what etcd has of it. */
#include "federation/shares.h"

#include "federation/held.h"
#include "tests/harness/log_lines.h"
#include "tests/harness/signing.h"
#include "tests/unit/federation/shares_bed.h"

#define VALID_S 36000

/* ---- the elected one ---- */

static void
what_it_reads_counts_when_it_is_committed(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1 y=2");
    assert_next("+x=1 +y=2 whole");
    assert_value(bed, "CDS", "x", "");
    assert_false(fed_settled(bed, "CDS", "com.acme"));
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "2");
    assert_true(fed_settled(bed, "CDS", "com.acme"));
    assert_nothing_proposed(bed);
}

static void
the_difference_alone_is_proposed(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1 y=2 z=3");
    commit_all(bed);
    uint64_t before = generation_of(bed, "x"), y_before = generation_of(bed, "y");
    read_all(bed, "x=1 y=2 z=3");
    assert_nothing_proposed(bed);
    read_all(bed, "x=2 y=2");
    assert_next("!z -z +x=2");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "z", "3");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_value(bed, "CDS", "z", "");
    assert_true(generation_of(bed, "x") > before);
    assert_int_equal(generation_of(bed, "y"), y_before);
}

static void
what_is_read_meanwhile_follows(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1");
    read_all(bed, "x=2");
    assert_int_equal(n_proposals, 1);
    commit_first(bed);
    assert_next("+x=2");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "2");
}

static void
nothing_there_is_a_state_as_well(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "");
    assert_next("whole");
    commit_all(bed);
    assert_true(fed_settled(bed, "CDS", "com.acme"));
}

static void
what_is_lost_is_compared_again(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1");
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_nothing_proposed(bed);
    fed_advance(bed, UDPAI_SHARES_AGAIN_MS);
    flush(bed);
    assert_next("+x=1 whole");
    end_first(bed, UDPAI_REPLICATED_UNKNOWN, NULL);
    fed_advance(bed, UDPAI_SHARES_AGAIN_MS);
    flush(bed);
    assert_next("+x=1 whole");
}

static void
note_problem(void *userdata, const char *text)
{
    (void)snprintf(userdata, 512, "%s", text);
}

static const char *
problem(fed_bed *bed)
{
    static char text[512];
    text[0] = '\0';
    udpai_shares_visit_problems(bed->node->parts.shares, note_problem, text);
    return text;
}

static void
what_etcd_rejects_is_reported(void **state)
{
    fed_bed *bed = *state;
    log_lines lines;
    begin(bed);
    read_all(bed, "x=1");
    log_lines_begin(&lines, UDPA_LOG_ERROR, "file");
    end_first(bed, UDPAI_REPLICATED_REJECTED, udpa_error_new(UDPA_ERR_LIMIT, NULL, "too large"));
    log_lines_end();
    assert_non_null(strstr(lines.text, "cannot be committed for all replicas"));
    assert_non_null(strstr(lines.text, "too large"));
    assert_non_null(strstr(problem(bed), "too large"));
    fed_advance(bed, UDPAI_SHARES_LATER_MS - 1);
    assert_nothing_proposed(bed);
    read_all(bed, "x=2");
    assert_next("+x=2 whole");
    commit_all(bed);
    assert_string_equal(problem(bed), "");
}

static void
without_etcd_nothing_changes(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1");
    commit_all(bed);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    read_all(bed, "x=2 y=2");
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "x", "1");
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    flush(bed);
    assert_next("+x=2 +y=2");
}

/* A publisher of one name of it is under way. */
static void
one_name_is_proposed_by_one_at_a_time(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    uint64_t session = fed_arrive(bed, &alice);
    publish(bed, session, "x=9");
    assert_int_equal(n_proposals, 1);
    read_all(bed, "x=1");
    assert_int_equal(n_proposals, 1);
    commit_first(bed);
    fed_advance(bed, UDPAI_SHARES_AGAIN_MS);
    flush(bed);
    assert_next("+x=1 whole");
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1"); /* files come first */
}

static void
a_ttl_does_not_end_in_etcd(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1", .ttl_ms = 3000);
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT), .resources = &resource, .n_resources = 1};
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpa_resource_unref(resource);
    flush(bed);
    assert_next("+x=1 whole");
    assert_int_equal(proposals[0].batch->ops.items[0].expires_us, 0);
    commit_all(bed);
    for (int i = 0; i < 10; i++) {
        fed_advance(bed, 1000);
        flush(bed);
    }
    assert_value(bed, "CDS", "x", "1");
    assert_nothing_proposed(bed);
}

static void
what_clients_report_is_no_file_of_all(void **state)
{
    fed_bed *bed = *state;
    log_lines lines;
    begin(bed);
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = "type.googleapis.com/udpa.load.v1.ClusterLoad", .value = "1",
                 .version = "1");
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT), .resources = &resource, .n_resources = 1};
    log_lines_begin(&lines, UDPA_LOG_ERROR, "file");
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpa_resource_unref(resource);
    flush(bed);
    log_lines_end();
    assert_non_null(strstr(lines.text, "of a type that clients report: a directory with"));
    assert_next("whole");
}

/* ---- how much may go ---- */

static void
much_that_is_missing_is_held(void **state)
{
    fed_bed *bed = *state;
    size_t n = 0;
    begin(bed);
    read_all(bed, TWELVE);
    commit_all(bed);
    read_all(bed, "a=2");
    assert_next("+a=2");
    commit_all(bed);
    assert_value(bed, "CDS", "l", "1");
    assert_true(udpai_held_accept(bed->node->parts.sources, UDPAI_STR(ROOT), &n));
    assert_int_equal(n, 11);
    flush(bed);
    assert_int_equal(proposals[0].batch->ops.n, 22);
    commit_all(bed);
    assert_value(bed, "CDS", "l", "");
    assert_value(bed, "CDS", "a", "2");
    assert_nothing_proposed(bed);
}

static void
what_is_accepted_stays_so_until_it_is_committed(void **state)
{
    fed_bed *bed = *state;
    size_t n = 0;
    begin(bed);
    read_all(bed, TWELVE);
    commit_all(bed);
    read_all(bed, "a=1");
    assert_true(udpai_held_accept(bed->node->parts.sources, UDPAI_STR(ROOT), &n));
    flush(bed);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    fed_advance(bed, UDPAI_SHARES_AGAIN_MS);
    flush(bed);
    commit_all(bed);
    assert_value(bed, "CDS", "l", "");
}

/* ---- signatures ---- */

/* Of the node's own authority: what it signs is required to be signed, and nobody's key is known.
 */
static udpai_keyring *
new_keyring(const test_key *key)
{
    static const udpai_str acme[] = {{"com.acme", 8}};
    const udpai_named_key signing = {
        .authority = UDPAI_STR("operator"), .key_id = UDPAI_STR("k"), .key = key->private_key};
    const udpai_signature_requirement required = {.prefixes = acme, .n_prefixes = 1};
    udpai_keyring *keyring = NULL;
    assert_ok(udpai_keyring_new(&keyring, &(udpai_keyring_options){
                                              .signing = &signing,
                                              .n_signing = 1,
                                              .required = &required,
                                              .n_required = 1,
                                              .validity_s = VALID_S,
                                              .skew_s = 60,
                                          }));
    return keyring;
}

/* So long, minute by minute, and until something is proposed. */
static void
wait_for_proposal(fed_bed *bed, int minutes)
{
    for (int i = 0; i < minutes && n_proposals == 0; i++) {
        fed_advance(bed, 60000);
        flush(bed);
    }
}

static void
the_elected_one_signs_anew(void **state)
{
    fed_bed *bed = *state;
    test_key key = test_key_new(UDPAI_KEY_ED25519);
    bed->config.keyring = new_keyring(&key);
    begin(bed);
    read_all(bed, "x=1");
    assert_non_null(udpai_resource_signature(proposals[0].batch->ops.items[0].resource));
    commit_all(bed);
    assert_value(bed, "CDS", "x", "1");
    uint64_t before = generation_of(bed, "x");
    tell_members(bed, "cc", 1);
    wait_for_proposal(bed, VALID_S / 60);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(generation_of(bed, "x"), before);
    tell_members(bed, "c", 0);
    wait_for_proposal(bed, 2);
    assert_next("+x=1");
    commit_all(bed);
    before = generation_of(bed, "x");
    wait_for_proposal(bed, VALID_S / 60);
    assert_next("+x=1");
    assert_int_equal(generation_of(bed, "x"), before);
    commit_all(bed);
    assert_true(generation_of(bed, "x") > before);
    udpai_keyring_unref(bed->config.keyring);
    bed->config.keyring = NULL;
    test_key_done(&key);
}

/* ---- the others ---- */

static void
others_read_and_use_what_etcd_has(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "cc", 1, share_root);
    read_all(bed, "x=1");
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "x", "");
    udpai_durable_batch *batch = new_batch();
    add_shared(batch, "com.acme/x", "2", 7);
    add_mark(batch, MARK, "whole");
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "2");
    assert_int_equal(generation_of(bed, "x"), 7);
    assert_true(fed_settled(bed, "CDS", "com.acme"));
    assert_nothing_proposed(bed);
}

static void
the_next_one_proposes_what_differs(void **state)
{
    fed_bed *bed = *state;
    begin_as(bed, "cc", 1, share_root);
    read_all(bed, "x=1 y=1");
    udpai_durable_batch *batch = new_batch();
    add_shared(batch, "com.acme/x", "1", 7);
    add_shared(batch, "com.acme/z", "1", 7);
    add_mark(batch, MARK, "whole");
    tell_change(bed, batch, false);
    flush(bed);
    assert_nothing_proposed(bed);
    tell_members(bed, "c", 0);
    flush(bed);
    assert_next("!z -z +y=1");
    commit_all(bed);
    assert_int_equal(generation_of(bed, "x"), 7);
    assert_nothing_proposed(bed);
}

static void
one_that_is_elected_no_more_proposes_nothing(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1");
    commit_all(bed);
    tell_members(bed, "cc", 1);
    read_all(bed, "x=2");
    assert_nothing_proposed(bed);
    assert_value(bed, "CDS", "x", "1");
}

/* By hand, or by a replica that was elected before. */
static void
what_others_change_is_changed_back(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_all(bed, "x=1 y=1");
    commit_all(bed);
    udpai_durable_batch *batch = new_batch();
    add_delete(batch, ORIGIN, "com.acme/x");
    tell_change(bed, batch, false);
    flush(bed);
    assert_value(bed, "CDS", "x", "");
    fed_advance(bed, UDPAI_SHARES_AGAIN_MS);
    flush(bed);
    assert_next("+x=1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(what_it_reads_counts_when_it_is_committed),
        replicated_test(the_difference_alone_is_proposed),
        replicated_test(what_is_read_meanwhile_follows),
        replicated_test(nothing_there_is_a_state_as_well),
        replicated_test(what_is_lost_is_compared_again),
        replicated_test(what_etcd_rejects_is_reported),
        replicated_test(without_etcd_nothing_changes),
        replicated_test(one_name_is_proposed_by_one_at_a_time),
        replicated_test(a_ttl_does_not_end_in_etcd),
        replicated_test(what_clients_report_is_no_file_of_all),
        replicated_test(much_that_is_missing_is_held),
        replicated_test(what_is_accepted_stays_so_until_it_is_committed),
        replicated_test(the_elected_one_signs_anew),
        replicated_test(others_read_and_use_what_etcd_has),
        replicated_test(the_next_one_proposes_what_differs),
        replicated_test(one_that_is_elected_no_more_proposes_nothing),
        replicated_test(what_others_change_is_changed_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
