/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the audit in etcd: there with the change, or not at all; read by all; never in the way
 * of what they are about; and not for ever. */
#include "replica/audit.h"
#include "store/audit.h"
#include "tests/unit/replica/replicator_bed.h"

#define DAY_US ((uint64_t)86400 * 1000000)

static void
add_record(udpai_durable_batch *batch, uint64_t at_us, const char *reason)
{
    const udpai_audit_record record = {
        .action = UDPAI_STR("publish"),
        .reason = udpai_str_from(reason),
    };
    assert_ok(udpai_audit_add(batch, &record, (int64_t)at_us));
}

static size_t
n_in_etcd(void)
{
    return etcd_model_count(&model, UDPAI_STR(PREFIX "a/"), model.revision);
}

static void
all_replicas_receive_it_with_the_change(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    add_put(batch, "o", X, "1");
    add_record(batch, 11, "one");
    add_record(batch, 12, "two");
    propose(&a, batch);
    run_ms(100);
    assert_reported(&a, ": +o/x=1, audit 11, audit 12; 1: committed");
    assert_reported(&b, ": +o/x=1, audit 11, audit 12");
    assert_int_equal(n_in_etcd(), 1);
}

static void
what_loses_leaves_no_record(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    put(&b, "o", X, "b");
    add_put(batch, "o", X, "a");
    add_record(batch, 11, "lost");
    while (!strstr(b.text, "committed"))
        run_ms(1);
    propose(&a, batch);
    run_ms(100);
    assert_reported(&a, ": +o/x=b; 2: lost");
    assert_int_equal(n_in_etcd(), 0);
}

/* What was to be removed is gone already. */
static void
what_changes_nothing_leaves_no_record(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    add_delete(batch, "o", X);
    add_record(batch, 11, "nothing");
    propose(&a, batch);
    run_ms(200);
    assert_reported(&a, "1: lost");
    assert_int_equal(n_in_etcd(), 0);
}

static void
a_record_may_be_alone(void **state)
{
    (void)state;
    udpai_durable_batch *batch = new_batch(&a);
    add_record(batch, 11, "reload");
    propose(&a, batch);
    run_ms(100);
    assert_reported(&a, ": audit 11; 1: committed");
    assert_reported(&b, ": audit 11");
}

/* Beyond one transaction, and one key. */
static void
a_large_one_has_all_its_records(void **state)
{
    (void)state;
    char name[64], wanted[32];
    udpai_durable_batch *batch = new_batch(&a);
    for (unsigned i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "com.acme/r%u", i);
        add_put(batch, "o", name, "1");
    }
    for (unsigned i = 0; i < 300; i++) {
        char reason[600];
        memset(reason, 'r', sizeof(reason) - 1);
        reason[sizeof(reason) - 1] = '\0';
        add_record(batch, 1000 + i, reason);
    }
    propose(&a, batch);
    run_ms(2000);
    const char *text = reported(&b);
    for (unsigned i = 0; i < 300; i++) {
        snprintf(wanted, sizeof(wanted), "audit %u", 1000 + i);
        assert_non_null(strstr(text, wanted));
    }
    assert_non_null(strstr(a.text, "1: committed"));
    assert_in_range(n_in_etcd(), 3, 6);
}

static void
one_that_was_away_receives_them_later(void **state)
{
    (void)state;
    close_replica(&b);
    udpai_durable_batch *batch = new_batch(&a);
    add_put(batch, "o", X, "1");
    add_record(batch, 11, "one");
    propose(&a, batch);
    run_ms(100);
    open_replica(&b, "b");
    run_ms(100);
    assert_non_null(strstr(b.text, "audit 11"));
}

/* ---- what is read ---- */

static size_t
read_text(const char *value)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    udpa_err err = udpai_replica_audit_read(UDPAI_STR("a/key"), udpai_str_from(value), batch);
    size_t n = batch->ops.n;
    assert_int_equal(err, n ? UDPA_OK : UDPA_ERR_MALFORMED);
    udpai_durable_batch_free(batch);
    return n;
}

static void
what_is_no_record_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(read_text("5 {\"a\":1}\n"), 1);
    assert_int_equal(read_text("5 {\"a\":1}\nx {}\n6 {\"a\":2}\n"), 2);
    assert_int_equal(read_text(""), 0);
    assert_int_equal(read_text("5 {\"a\":1}"), 0); /* no end of line: it is cut off */
    assert_int_equal(read_text("{\"a\":1}\n"), 0);
    assert_int_equal(read_text("5 nothing\n"), 0);
    assert_int_equal(read_text("5 {\x1b[2J}\n"), 0);
    assert_int_equal(read_text("99999999999999999999 {}\n"), 0);
    assert_int_equal(read_text("-5 {}\n"), 0);
}

static void
each_has_a_place_of_its_own(void **state)
{
    (void)state;
    udpai_durable_batch *batch = udpai_durable_batch_new();
    assert_ok(udpai_replica_audit_read(UDPAI_STR("a/key"), UDPAI_STR("5 {}\n6 {}\n"), batch));
    assert_true(udpai_str_eq(udpai_bytes_view(batch->ops.items[0].origin), UDPAI_STR("key.0")));
    assert_true(udpai_str_eq(udpai_bytes_view(batch->ops.items[1].origin), UDPAI_STR("key.1")));
    assert_int_equal(batch->ops.items[1].number, 6);
    udpai_durable_batch_free(batch);
}

/* ---- the room that they take ---- */

static void
put_record(uint64_t at_us)
{
    udpai_durable_batch *batch = new_batch(&a);
    add_record(batch, at_us, "r");
    propose(&a, batch);
    run_ms(100);
}

static void
old_ones_go_from_etcd(void **state)
{
    (void)state;
    put_record(1 * DAY_US);
    put_record(3 * DAY_US);
    assert_int_equal(n_in_etcd(), 2);
    run_ms(70000);
    put_record(9 * DAY_US); /* with it one is older than a week, which is seen … */
    run_ms(70000);
    put_record(9 * DAY_US + 1); /* … with the next */
    run_ms(1000);
    assert_int_equal(n_in_etcd(), 3);
}

static void
keys_tell_how_much_there_is(void **state)
{
    (void)state;
    udpai_durable_batch *batch = udpai_durable_batch_new();
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = NULL, *value = NULL;
    size_t at = 0;
    add_record(batch, 0x10, "r");
    assert_ok(udpai_replica_audit_next(batch, &at, 0xab, &key, &value));
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "a/0000000000000010.%08zx.00000000000000ab",
             udpa_bytes_size(value));
    assert_true(udpai_str_eq(udpai_bytes_view(key), udpai_str_from(wanted)));
    udpa_bytes *no_key, *no_value;
    assert_ok(udpai_replica_audit_next(batch, &at, 0xac, &no_key, &no_value));
    assert_null(no_key);
    udpai_durable_batch_free(batch);
}

#define audit_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        audit_test(all_replicas_receive_it_with_the_change),
        audit_test(what_loses_leaves_no_record),
        audit_test(what_changes_nothing_leaves_no_record),
        audit_test(a_record_may_be_alone),
        audit_test(a_large_one_has_all_its_records),
        audit_test(one_that_was_away_receives_them_later),
        cmocka_unit_test(what_is_no_record_is_left_out),
        cmocka_unit_test(each_has_a_place_of_its_own),
        audit_test(old_ones_go_from_etcd),
        cmocka_unit_test(keys_tell_how_much_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
