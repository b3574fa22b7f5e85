/* SPDX-License-Identifier: Apache-2.0 */
/* The fan-out without memory: a call that fails says so, nothing breaks, and a reader that begins
 * anew when there is memory again is sent everything. */
#include "tests/unit/fanout/fanout_test.h"

#define ROUNDS_MAX 4000

struct life {
    fanout_bed bed;
    fanout_reader reader;
    udpai_subscription *cds, *eds;
};

static udpa_err
get(udpai_subscription **subscription, struct life *life, const char *type)
{
    *subscription =
        udpai_subscriber_get(&life->reader.subscriber, udpai_str_from(type), UDPAI_MODE_DELTA);
    return *subscription ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Everything there is, until it fails. */
static udpa_err
read_all(struct life *life)
{
    for (size_t i = 0; i < 100; i++) {
        udpai_delivery delivery = {0};
        udpa_err err = udpai_subscriber_next(&life->reader.subscriber, &delivery);
        if (err != UDPA_OK)
            return err;
        if (!delivery.body)
            return UDPA_OK;
        fanout_receive(&life->reader, &delivery);
        udpai_body_unref(delivery.body);
    }
    fail_msg("there is no end");
    return UDPA_OK;
}

static udpa_err
settle(struct life *life)
{
    udpai_settled *settled = udpai_settled_new(&(udpai_settled_facts){0});
    if (!settled)
        return UDPA_ERR_NOMEM;
    udpai_fanout_set_settled(life->bed.fanout, settled);
    return UDPA_OK;
}

/* One step; false: there is none. */
static bool
step(struct life *life, unsigned number, udpa_err *ret_err)
{
    static const udpai_str a = {"com.acme/a", 10}, none = {"com.acme/none", 13};
    switch (number) {
    case 0:
        *ret_err = get(&life->cds, life, TEST_CDS);
        break;
    case 1:
        *ret_err = get(&life->eds, life, TEST_EDS);
        break;
    case 2:
        *ret_err = udpai_subscribe_wildcard(life->cds, UDPAI_STR("com.acme"), NULL);
        break;
    case 3:
        *ret_err = udpai_subscribe_name(life->eds, a, NULL);
        break;
    case 4:
        *ret_err = udpai_subscribe_name(life->eds, none, NULL);
        break;
    case 5:
        *ret_err = udpai_subscription_await_complete(life->eds, (udpai_str){0}, &none, 1);
        break;
    case 7:
        *ret_err = settle(life);
        break;
    case 8:
        *ret_err = udpai_subscriber_set_except(&life->reader.subscriber, UDPAI_STR("n1"));
        break;
    case 9:
        *ret_err = udpai_subscribe_wildcard(life->cds, UDPAI_STR("org"), NULL);
        break;
    case 6:
    case 10:
        *ret_err = read_all(life);
        break;
    default:
        return false;
    }
    return true;
}

static void
check(struct life *life)
{
    fanout_reader *reader = &life->reader;
    assert_string_equal(fanout_holds(reader, "CDS", "a"), "2");
    assert_string_equal(fanout_holds(reader, "CDS", "/org/x"), "1");
    assert_string_equal(fanout_holds(reader, "EDS", "a"), "1");
    assert_string_equal(fanout_holds(reader, "CDS", "from1"), "");
    assert_true(udpai_subscriber_in_sync(&reader->subscriber));
}

static udpa_err
read_from_the_beginning(struct life *life)
{
    udpa_err err = UDPA_OK;
    fanout_open(&life->reader, &life->bed);
    for (unsigned number = 0; err == UDPA_OK && step(life, number, &err); number++)
        ;
    return err;
}

/* Lives once with so many allocations before the first failure. True: nothing failed. */
static bool
live(long n)
{
    struct life *life = calloc(1, sizeof(*life));
    assert_non_null(life);
    fanout_bed_init(&life->bed);
    fanout_change(&life->bed, "+CDS/a=1 +CDS/b=1 +CDS/from1=1@n1 +EDS/a=1 +CDS//org/x=1^/org/y");
    fanout_change(&life->bed, "+CDS/a=2 -CDS/b");
    udpai_alloc_fail_after(n);
    udpa_err err = read_from_the_beginning(life);
    udpai_alloc_fail_after(-1);
    bool failed = err != UDPA_OK;
    if (failed) {
        assert_int_equal(err, UDPA_ERR_NOMEM);
        fanout_close(&life->reader);
        assert_ok(read_from_the_beginning(life));
    }
    check(life);
    fanout_close(&life->reader);
    fanout_bed_done(&life->bed);
    free(life);
    assert_int_equal(udpai_alloc_live(), 0);
    return !failed;
}

static void
test_every_allocation_of_a_reader_may_fail(void **state)
{
    (void)state;
    long n = 0;
    while (!live(n))
        assert_true(++n < ROUNDS_MAX);
    assert_true(n > 40);
}

/* The mirror is behind then, and the caller ends all sessions; nothing breaks. */
static bool
apply(long n)
{
    static fanout_bed bed;
    static fanout_reader one, two;
    fanout_bed_init(&bed);
    fanout_settle(&bed);
    fanout_open(&one, &bed);
    fanout_open(&two, &bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&two, "CDS", "a y");
    udpai_alloc_fail_after(n);
    udpa_err err = fanout_try_change(&bed, "+CDS/a=1 +CDS/b=1^y +EDS/c=1^*.x");
    if (err == UDPA_OK)
        err = fanout_try_change(&bed, "+CDS/a=2 -CDS/b +EDS/d=1^*.x");
    udpai_alloc_fail_after(-1);
    assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
    (void)fanout_all(&one);
    (void)fanout_all(&two);
    fanout_close(&one);
    fanout_close(&two);
    fanout_bed_done(&bed);
    assert_int_equal(udpai_alloc_live(), 0);
    return err == UDPA_OK;
}

static void
test_every_allocation_of_a_change_may_fail(void **state)
{
    (void)state;
    long n = 0;
    while (!apply(n))
        assert_true(++n < ROUNDS_MAX);
    assert_true(n > 20);
}

static void
test_a_new_fanout_needs_memory(void **state)
{
    (void)state;
    udpai_wheel wheel;
    udpai_wheel_init(&wheel, 0);
    udpai_fanout *fanout = NULL;
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_fanout_new(&fanout, &wheel, &(udpai_fanout_options){0}), UDPA_ERR_NOMEM);
    assert_null(udpai_body_new());
    udpai_alloc_fail_after(-1);
    assert_null(fanout);
    assert_null(udpai_fanout_free(NULL));
    assert_null(udpai_body_ref(NULL));
    assert_null(udpai_body_unref(NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_of_a_reader_may_fail),
        cmocka_unit_test(test_every_allocation_of_a_change_may_fail),
        cmocka_unit_test(test_a_new_fanout_needs_memory),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
