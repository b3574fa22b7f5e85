/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas sign what publishers publish once for all of them, also when it is due again. */
#include "federation/janitor.h"
#include "federation/node_internal.h"
#include "federation/signatures.h"
#include "tests/harness/signing.h"
#include "tests/unit/federation/replicated_bed.h"

#define HOUR_MS ((uint64_t)3600 * 1000)
#define VALIDITY_HOURS 10

static test_key ours, acme;

static void
begin(fed_bed *bed)
{
    static const udpai_str prefixes[] = {{"com.acme", 8}};
    const udpai_signature_requirement required = {.prefixes = prefixes, .n_prefixes = 1};
    ours = test_key_new(UDPAI_KEY_ED25519);
    const udpai_named_key signing = {
        .authority = UDPAI_STR("alice"), .key_id = UDPAI_STR("o1"), .key = ours.private_key};
    acme = test_key_new(UDPAI_KEY_ED25519);
    const udpai_named_key trusted = {
        .authority = UDPAI_STR("acme"), .key_id = UDPAI_STR("k1"), .key = acme.public_key};
    const udpai_keyring_options keys = {
        .trusted = &trusted,
        .n_trusted = 1,
        .signing = &signing,
        .n_signing = 1,
        .required = &required,
        .n_required = 1,
        .validity_s = VALIDITY_HOURS * 3600,
        .skew_s = 60,
    };
    assert_ok(udpai_keyring_new(&bed->config.keyring, &keys));
    uint64_t session = arrive(bed, &alice);
    udpai_keyring_unref(bed->config.keyring);
    publish(bed, session, "x=1");
    assert_proposed(0, "+alice x=1");
    commit_first(bed);
}

static bool
note_signed(void *userdata, const udpai_contribution *held)
{
    const udpai_signature *signature = udpai_resource_signature(held->resource);
    assert_non_null(signature);
    *(int64_t *)userdata = udpai_signature_not_after_s(signature);
    return true;
}

/* Until when the signature holds. */
static int64_t
end_s(fed_bed *bed)
{
    int64_t end = 0;
    udpai_store_visit_name(bed->node->context.store, UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/x"),
                           note_signed, &end);
    return end;
}

static void
pass_hours(fed_bed *bed, unsigned hours)
{
    for (unsigned i = 0; i < 60 * hours; i++) {
        fed_advance(bed, HOUR_MS / 60);
        flush(bed);
    }
}

static void
pass_until_proposed(fed_bed *bed)
{
    for (unsigned i = 0; i < 60 * VALIDITY_HOURS && n_proposals == 0; i++) {
        fed_advance(bed, HOUR_MS / 60);
        flush(bed);
    }
    assert_proposed(0, "+alice x=1");
}

static void
the_janitor_signs_anew_for_all(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    int64_t first = end_s(bed);
    pass_until_proposed(bed);
    assert_true(proposals[0].batch->is_janitors);
    assert_true(end_s(bed) == first); /* not before it is committed */
    commit_first(bed);
    int64_t second = end_s(bed);
    assert_true(second > first);
    pass_hours(bed, VALIDITY_HOURS / 4);
    assert_int_equal(n_proposals, 0);
    assert_true(end_s(bed) == second);
}

static void
others_leave_it_to_the_janitor(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    tell_members(bed, "aa", 1);
    int64_t first = end_s(bed);
    pass_hours(bed, VALIDITY_HOURS - 2);
    assert_int_equal(n_proposals, 0);
    assert_true(end_s(bed) == first);
    tell_members(bed, "a", 0); /* the other one has died */
    fed_advance(bed, 2 * 60 * 1000);
    flush(bed);
    assert_proposed(0, "+alice x=1");
    commit_first(bed);
    assert_true(end_s(bed) > first);
}

/* The signature of what is there no more is not put in the place of what is. */
static void
what_was_published_meanwhile_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    pass_until_proposed(bed);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    assert_int_equal(n_proposals, 0);
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 2 * 60 * 1000);
    flush(bed);
    assert_proposed(0, "+alice x=1"); /* it is tried again */
}

/* ---- what ends by the clock of one of them ---- */

#define LATE_MS ((uint64_t)UDPAI_JANITOR_LATE_MS)

/* Bob has published it; what signs it holds for so many minutes from now on. */
static udpai_durable_batch *
signed_for(fed_bed *bed, int64_t minutes, const test_key *key)
{
    int64_t now_s = wall_us(bed) / 1000000;
    udpai_durable_batch *batch = new_batch();
    add_put(
        batch, BOB,
        test_sign(cluster("com.acme/y", "1", 5), key, "k1", now_s - 36000, now_s + 60 * minutes),
        0);
    return batch;
}

static void
list(fed_bed *bed, const udpai_durable_batch *there)
{
    udpai_durable_batch *batch = new_batch();
    for (size_t i = 0; i < there->ops.n; i++)
        assert_ok(udpai_durable_batch_add(batch, &there->ops.items[i]));
    tell_change(bed, batch, true);
    flush(bed);
}

static bool
is_removal_proposed(fed_bed *bed)
{
    fed_advance(bed, UDPAI_JANITOR_GRACE_MS + 1000);
    flush(bed);
    return n_proposals > 0;
}

/* It may be good to others still. */
static void
what_has_just_ended_is_hidden_and_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *there = signed_for(bed, -10, &acme);
    list(bed, there);
    assert_false(is_there(bed, "y"));
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 1);
    assert_false(is_removal_proposed(bed));
    int n_before = (int)n_lists;
    fed_advance(bed, LATE_MS);
    flush(bed);
    assert_int_equal(n_lists, n_before + 1);
    list(bed, there);
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 1);
    assert_true(is_removal_proposed(bed));
    assert_proposed(0, "-bob y");
}

static void
what_is_not_good_yet_stays(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    int64_t now_s = wall_us(bed) / 1000000;
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *there = new_batch();
    add_put(there, BOB,
            test_sign(cluster("com.acme/y", "1", 5), &acme, "k1", now_s + 1800, now_s + 36000), 0);
    list(bed, there);
    assert_false(is_there(bed, "y"));
    assert_false(is_removal_proposed(bed));
    fed_advance(bed, LATE_MS);
    flush(bed);
    list(bed, there);
    assert_value(bed, "CDS", "y", "1");
    assert_int_equal(udpai_node_replica_status(bed->node)->n_hidden, 0);
}

static void
what_was_never_good_is_removed(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    UDPA_AUTO(udpai_durable_batch_free) udpai_durable_batch *there = signed_for(bed, -10, &ours);
    list(bed, there);
    assert_true(is_removal_proposed(bed));
    assert_proposed(0, "-bob y");
}

static int
teardown_with_keys(void **state)
{
    test_key_done(&ours);
    test_key_done(&acme);
    return teardown(state);
}

#define signing_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown_with_keys)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        signing_test(the_janitor_signs_anew_for_all),
        signing_test(others_leave_it_to_the_janitor),
        signing_test(what_was_published_meanwhile_stays),
        signing_test(what_has_just_ended_is_hidden_and_stays),
        signing_test(what_is_not_good_yet_stays),
        signing_test(what_was_never_good_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
