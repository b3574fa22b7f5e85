/* SPDX-License-Identifier: Apache-2.0 */
/* Freezes of replicas: all have the same, from etcd and over restarts. */
#include "federation/freeze.h"
#include "federation/node_internal.h"
#include "tests/unit/federation/replicated_bed.h"

#define ROOT "/files"

static udpa_err
freeze_it(fed_bed *bed)
{
    const udpai_freeze freeze = {.reason = UDPAI_STR("incident"), .by = UDPAI_STR("ops")};
    udpa_err err = udpai_node_freeze(bed->node, &freeze, NULL);
    udpai_node_flush(bed->node);
    return err;
}

static void
thaw(fed_bed *bed)
{
    assert_ok(udpai_node_thaw(bed->node, UDPAI_STR(""), NULL));
    udpai_node_flush(bed->node);
}

static bool
is_frozen(const fed_bed *bed)
{
    size_t at = 0;
    udpai_freeze freeze;
    return udpai_freezes_next(bed->node->parts.freezes, &at, &freeze);
}

/* One resource, com.acme/x. */
static void
read_files(fed_bed *bed, const char *value)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = value, .value = value);
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT),
        .resources = &resource,
        .n_resources = 1,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    flush(bed);
    commit_all(bed);
}

static bool
note_value(void *userdata, udpa_resource *resource)
{
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    if (udpai_str_eq(udpai_resource_name(resource), UDPAI_STR("com.acme/x")))
        *(char *)userdata = payload[0];
    return true;
}

/* The value of com.acme/x that subscribers have; '-': nothing. */
static char
served(fed_bed *bed)
{
    char value = '-';
    flush(bed);
    udpai_store_visit_reported(bed->node->context.store, UDPAI_STR(TEST_CDS), note_value, &value);
    return value;
}

static void
expect_files(fed_bed *bed)
{
    assert_ok(udpai_node_expect_files(bed->node, UDPAI_STR(ROOT)));
}

static void
begin(fed_bed *bed)
{
    on_made = expect_files;
    (void)arrive(bed, &alice);
}

/* ---- tests ---- */

static void
it_is_frozen_once_that_is_committed(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, "1");
    assert_ok(freeze_it(bed));
    assert_false(is_frozen(bed));
    commit_all(bed);
    assert_true(is_frozen(bed));
    read_files(bed, "2");
    assert_int_equal(served(bed), '1');
    thaw(bed);
    assert_true(is_frozen(bed));
    commit_all(bed);
    assert_false(is_frozen(bed));
    assert_int_equal(served(bed), '2');
}

static void
one_that_is_not_current_freezes_nothing(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    tell_state(bed, UDPAI_REPLICATION_BEHIND);
    assert_int_equal(freeze_it(bed), UDPA_ERR_UNAVAILABLE);
    assert_int_equal(n_proposals, 0);
}

/* As etcd has it; returns the batch that another replica has committed. */
static udpai_durable_batch *
frozen_by_others(fed_bed *bed)
{
    assert_ok(freeze_it(bed));
    return take_first().batch;
}

static udpai_durable_op *
only_op(udpai_durable_batch *batch)
{
    assert_int_equal(batch->ops.n, 1);
    return &batch->ops.items[0];
}

static udpai_durable_batch *
copy_of(udpai_durable_batch *batch)
{
    udpai_durable_batch *copy = new_batch();
    assert_ok(udpai_durable_batch_add(copy, only_op(batch)));
    return copy;
}

static void
what_others_freeze_holds_after_a_restart(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, "1");
    tell_change(bed, frozen_by_others(bed), false);
    flush(bed);
    read_files(bed, "2");
    restart(bed);
    assert_true(is_frozen(bed));
    assert_int_equal(served(bed), '1');
    read_files(bed, "3");
    assert_int_equal(served(bed), '1');
}

/* While it was away it was thawed. */
static void
a_list_without_it_thaws(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, "1");
    tell_change(bed, frozen_by_others(bed), false);
    flush(bed);
    read_files(bed, "2");
    assert_int_equal(served(bed), '1');
    tell_change(bed, new_batch(), true);
    flush(bed);
    assert_false(is_frozen(bed));
    assert_int_equal(served(bed), '2');
    restart(bed);
    assert_false(is_frozen(bed));
}

static void
a_list_with_it_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    read_files(bed, "1");
    udpai_durable_batch *batch = frozen_by_others(bed), *again = copy_of(batch);
    tell_change(bed, batch, false);
    flush(bed);
    read_files(bed, "2");
    tell_change(bed, again, true);
    flush(bed);
    assert_true(is_frozen(bed));
    assert_int_equal(served(bed), '1');
    restart(bed);
    assert_true(is_frozen(bed));
    assert_int_equal(served(bed), '1');
}

/* It has nothing that it could go on serving. */
static void
an_empty_replica_takes_what_there_is(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    udpai_durable_batch *batch = frozen_by_others(bed), *again = copy_of(batch);
    udpai_durable_batch_free(batch);
    fed_disk_done(&bed->kept);
    revision = 10;
    restart(bed);
    tell_change(bed, again, true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    flush(bed);
    assert_true(is_frozen(bed));
    read_files(bed, "1");
    assert_int_equal(served(bed), '1');
    read_files(bed, "2");
    assert_int_equal(served(bed), '1');
}

static void
publications_of_others_are_taken(void **state)
{
    fed_bed *bed = *state;
    begin(bed);
    tell_change(bed, frozen_by_others(bed), false);
    flush(bed);
    others_put(bed, BOB, "com.acme/x", "1", 5);
    assert_int_equal(served(bed), '1');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        replicated_test(it_is_frozen_once_that_is_committed),
        replicated_test(one_that_is_not_current_freezes_nothing),
        replicated_test(what_others_freeze_holds_after_a_restart),
        replicated_test(a_list_without_it_thaws),
        replicated_test(a_list_with_it_changes_nothing),
        replicated_test(an_empty_replica_takes_what_there_is),
        replicated_test(publications_of_others_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
