/* SPDX-License-Identifier: Apache-2.0 */
/* What each replica reads by itself has one generation on all of them. */
#include "federation/node_internal.h"
#include "federation/stamps.h"
#include "model/digest.h"
#include "model/secret_type.h"
#include "tests/unit/federation/replicated_bed.h"

#define NAME "com.acme/x"

/* ---- what is read ---- */

static udpa_resource *
read_resource(const char *type, const char *value)
{
    udpa_resource *resource = RESOURCE(NAME, .type = type, .version = value, .value = value);
    assert_non_null(resource);
    return resource;
}

static void
read_files(fed_bed *bed, const char *type, const char *value)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = read_resource(type, value ? value : "");
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"),
        .resources = &resource,
        .n_resources = value ? 1 : 0,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    flush(bed);
}

static bool
note_generation(void *userdata, const udpai_contribution *held)
{
    *(uint64_t *)userdata = udpa_resource_generation(held->resource);
    return true;
}

/* Of the only contribution. */
static uint64_t
generation(fed_bed *bed)
{
    uint64_t noted = 0;
    udpai_store_visit_name(bed->node->context.store, UDPAI_STR(TEST_CDS), UDPAI_STR(NAME),
                           note_generation, &noted);
    return noted;
}

static void
begin(fed_bed *bed)
{
    bed->root = "/files";
    (void)arrive(bed, &alice);
}

/* ---- stamps of others ---- */

static void
stamp_key(char key[64], const char *value)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = read_resource(TEST_CDS, value);
    char hex[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex(udpai_resource_content_hash(resource), hex);
    (void)snprintf(key, 64, "stamp:%.*s", UDPAI_CONTENT_HASH_HEX, hex);
}

static void
add_stamp(udpai_durable_batch *batch, const char *value, uint64_t at)
{
    char key[64];
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = read_resource(TEST_CDS, value);
    stamp_key(key, value);
    add_put(batch, key, udpai_removal_of(resource, at), 0);
}

static void
others_stamp(fed_bed *bed, const char *value, uint64_t at)
{
    udpai_durable_batch *batch = new_batch();
    add_stamp(batch, value, at);
    tell_change(bed, batch, false);
    flush(bed);
}

static void
assert_stamps(size_t at, const char *value, uint64_t expected)
{
    char key[64];
    stamp_key(key, value);
    assert_true(at < n_proposals);
    const udpai_durable_batch *batch = proposals[at].batch;
    assert_int_equal(batch->ops.n, 1);
    assert_int_equal(batch->ops.items[0].kind, UDPAI_DURABLE_PUT);
    assert_int_equal(udpa_resource_generation(batch->ops.items[0].resource), expected);
    assert_int_equal(udpai_resource_value(batch->ops.items[0].resource).len, 0);
    assert_true(udpai_str_eq(udpai_bytes_view(batch->ops.items[0].origin), udpai_str_from(key)));
    assert_false(batch->is_janitors);
}

/* ---- tests ---- */

static void
what_nobody_has_seen_is_stamped_for_all(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, TEST_CDS, "1");
    assert_value(bed, "CDS", "x", "1"); /* it does not wait */
    assert_int_equal(n_proposals, 1);
    assert_stamps(0, "1", generation(bed));
    commit_all(bed);
    uint64_t before = generation(bed);
    read_files(bed, TEST_CDS, "1");
    fed_advance(bed, 3 * UDPAI_STAMPS_AGAIN_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    assert_int_equal(generation(bed), before);
    bed->wall_us += 1000000;
    read_files(bed, TEST_CDS, "2");
    assert_true(generation(bed) > before);
    assert_int_equal(n_proposals, 1);
    assert_stamps(0, "2", generation(bed));
}

static void
an_older_checkout_is_not_newer(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    udpai_durable_batch *batch = new_batch();
    add_stamp(batch, "1", 100);
    add_stamp(batch, "2", 200);
    tell_change(bed, batch, false);
    flush(bed);
    read_files(bed, TEST_CDS, "1");
    assert_int_equal(generation(bed), 100);
    read_files(bed, TEST_CDS, "2");
    assert_int_equal(generation(bed), 200);
    assert_int_equal(n_proposals, 0);
}

/* Who goes back to what was before has something new. */
static void
what_is_taken_back_is_stamped_anew(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    others_stamp(bed, "1", 100);
    others_stamp(bed, "2", 200);
    read_files(bed, TEST_CDS, "2");
    read_files(bed, TEST_CDS, "1");
    uint64_t anew = generation(bed);
    assert_true(anew > 200);
    assert_int_equal(n_proposals, 1);
    assert_stamps(0, "1", anew);
    others_stamp(bed, "1", 100); /* as before: it is on its way still */
    assert_int_equal(generation(bed), anew);
    others_stamp(bed, "1", anew + 5); /* another one has taken it back, too */
    assert_int_equal(generation(bed), anew + 5);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    fed_advance(bed, 3 * UDPAI_STAMPS_AGAIN_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
}

/* Two that read it at once: nobody's goes down. */
static void
the_higher_one_of_two_counts(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, TEST_CDS, "1");
    uint64_t own = generation(bed);
    assert_int_equal(n_proposals, 1);
    others_stamp(bed, "1", own - 5);
    assert_int_equal(generation(bed), own);
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    fed_advance(bed, UDPAI_STAMPS_AGAIN_MS + 1);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_stamps(0, "1", own);
    others_stamp(bed, "1", own + 5);
    assert_int_equal(generation(bed), own + 5);
    assert_value(bed, "CDS", "x", "1");
    end_first(bed, UDPAI_REPLICATED_LOST, NULL);
    fed_advance(bed, 3 * UDPAI_STAMPS_AGAIN_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    others_stamp(bed, "2", own + 10); /* which this one does not have */
    assert_int_equal(generation(bed), own + 5);
}

static void
what_could_not_be_proposed_is_proposed_later(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    read_files(bed, TEST_CDS, "1");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 3 * UDPAI_STAMPS_AGAIN_MS);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    end_first(bed, UDPAI_REPLICATED_NOT_DONE, NULL);
    fed_advance(bed, UDPAI_STAMPS_AGAIN_MS + 1);
    flush(bed);
    assert_int_equal(n_proposals, 1);
    assert_stamps(0, "1", generation(bed));
}

/* Two others, and the first one or not: so few may go at once. */
static void
read_three(fed_bed *bed, bool has_first)
{
    static const char *const names[] = {NAME, "com.acme/y", "com.acme/z"};
    udpa_resource *all[3];
    for (size_t i = 0; i < 3; i++)
        all[i] = RESOURCE(names[i], .type = TEST_CDS, .version = "1", .value = "1");
    const udpai_directory directory = {
        .root = UDPAI_STR("/files"),
        .resources = has_first ? all : all + 1,
        .n_resources = has_first ? 3 : 2,
    };
    udpa_error *why = NULL;
    if (udpai_node_set_files(bed->node, &directory, &why) != UDPA_OK)
        fail_msg("%s", udpa_error_message(why));
    for (size_t i = 0; i < 3; i++)
        udpa_resource_unref(all[i]);
    flush(bed);
}

static void
what_came_back_after_its_removal_is_newer(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_three(bed, true);
    commit_all(bed);
    uint64_t before = generation(bed);
    read_three(bed, false);
    assert_false(is_there(bed, "x"));
    bed->wall_us += 1000000;
    read_three(bed, true);
    assert_value(bed, "CDS", "x", "1");
    assert_true(generation(bed) > before);
    assert_int_equal(n_proposals, 1);
    assert_stamps(0, "1", generation(bed));
}

static void
secrets_are_not_named_by_their_content(void **state)
{
    fed_bed *bed = *state;
    const udpai_str secret = UDPAI_STR(TEST_CDS);
    assert_ok(udpai_secret_types_set(&secret, 1));
    begin(bed);
    read_files(bed, TEST_CDS, "1");
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(n_proposals, 0);
    assert_ok(udpai_secret_types_set(NULL, 0));
}

static void
the_janitor_forgets_old_ones(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    for (unsigned i = 0; i < UDPAI_STAMPS_PER_NAME; i++) {
        const char value[] = {(char)('a' + i), '\0'};
        others_stamp(bed, value, 100 + i);
    }
    assert_int_equal(n_proposals, 0);
    others_stamp(bed, "new", 500);
    assert_int_equal(n_proposals, 1);
    const udpai_durable_batch *batch = proposals[0].batch;
    char key[64];
    stamp_key(key, "a");
    assert_int_equal(batch->ops.n, 1);
    assert_int_equal(batch->ops.items[0].kind, UDPAI_DURABLE_DELETE);
    assert_true(batch->is_janitors);
    assert_true(udpai_str_eq(udpai_bytes_view(batch->ops.items[0].origin), udpai_str_from(key)));
    commit_all(bed);
    others_stamp(bed, "new", 501);
    assert_int_equal(n_proposals, 0);
    tell_members(bed, "aa", 1);
    others_stamp(bed, "newer", 502);
    assert_int_equal(n_proposals, 0);
}

/* Whoever writes to etcd. */
static void
what_is_no_stamp_changes_nothing(void **state)
{
    static const char *const keys[] = {
        "stamp:", "stamp:0123", "stamp:0123456789abcdefg123456789abcdef",
        "stamp:0123456789ABCDEF0123456789abcdef", "stamp:0123456789abcdef0123456789abcdef0"};
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, TEST_CDS, "1");
    commit_all(bed);
    uint64_t before = generation(bed);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++) {
        udpai_durable_batch *batch = new_batch();
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = read_resource(TEST_CDS, "1");
        add_put(batch, keys[i], udpai_removal_of(resource, 5), 0);
        add_delete(batch, keys[i], NAME);
        tell_change(bed, batch, false);
        flush(bed);
    }
    assert_int_equal(generation(bed), before);
    assert_value(bed, "CDS", "x", "1");
}

/* All is read again: what etcd does not have is not known any more. */
static void
what_is_gone_from_etcd_is_forgotten(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    others_stamp(bed, "1", 100);
    others_stamp(bed, "2", 200);
    udpai_durable_batch *batch = new_batch();
    add_stamp(batch, "2", 200);
    tell_change(bed, batch, true);
    flush(bed);
    read_files(bed, TEST_CDS, "1");
    assert_true(generation(bed) > 200);
    assert_int_equal(n_proposals, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(what_nobody_has_seen_is_stamped_for_all),
        replicated_test(an_older_checkout_is_not_newer),
        replicated_test(what_is_taken_back_is_stamped_anew),
        replicated_test(the_higher_one_of_two_counts),
        replicated_test(what_could_not_be_proposed_is_proposed_later),
        replicated_test(what_came_back_after_its_removal_is_newer),
        replicated_test(secrets_are_not_named_by_their_content),
        replicated_test(the_janitor_forgets_old_ones),
        replicated_test(what_is_no_stamp_changes_nothing),
        replicated_test(what_is_gone_from_etcd_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
