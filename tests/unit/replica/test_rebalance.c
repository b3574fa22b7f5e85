/* SPDX-License-Identifier: Apache-2.0 */
/* All replicas are asked to rebalance, each once. */
#include "replicator_bed.h"

#define KEY PREFIX "rebalance"

static void
each_is_asked_once(void **state)
{
    (void)state;
    udpai_replicator_rebalance(a.replicator, 20000);
    run_ms(100);
    assert_reported(&a, "rebalance in 20000 ms");
    assert_reported(&b, "rebalance in 20000 ms");
    run_ms(30000);
    assert_reported(&a, "");
    udpai_replicator_rebalance(b.replicator, 7000);
    run_ms(100);
    assert_reported(&a, "rebalance in 7000 ms");
    assert_reported(&b, "rebalance in 7000 ms");
    assert_int_equal(etcd_model_count(&model, UDPAI_STR(KEY), model.revision), 1);
}

static void
one_that_begins_later_is_not_asked(void **state)
{
    (void)state;
    udpai_replicator_rebalance(a.replicator, 20000);
    run_ms(100);
    open_replica(&c, "c");
    run_ms(100);
    assert_reported(&c, "all:; current");
    udpai_replicator_rebalance(a.replicator, 1000);
    run_ms(100);
    assert_reported(&c, "rebalance in 1000 ms");
}

/* Whatever the watch sends again, or is listed again. */
static void
what_is_read_again_is_not_done_again(void **state)
{
    (void)state;
    udpai_replicator_rebalance(a.replicator, 20000);
    run_ms(100);
    assert_reported(&b, "rebalance in 20000 ms");
    model.faults.cut_watches = 300;
    for (int i = 0; i < 50; i++) {
        etcd_model_put(&model, PREFIX "tick/x", "x");
        run_ms(100);
    }
    assert_null(strstr(reported(&b), "rebalance"));
    model.faults = (etcd_faults){0};
    run_ms(5000);
    (void)reported(&b);
    udpai_replicator_list_again(b.replicator);
    run_ms(5000);
    const char *again = reported(&b);
    assert_non_null(strstr(again, "all:"));
    assert_null(strstr(again, "rebalance"));
}

static void
it_is_asked_for_though_etcd_is_away_for_a_while(void **state)
{
    (void)state;
    etcd_model_away(&model, true);
    udpai_replicator_rebalance(a.replicator, 20000);
    run_ms(2000);
    etcd_model_away(&model, false);
    run_ms(4000);
    assert_non_null(strstr(reported(&b), "rebalance in 20000 ms"));
    assert_non_null(strstr(reported(&a), "rebalance in 20000 ms"));
}

static void
it_is_given_up_when_etcd_is_away_for_long(void **state)
{
    (void)state;
    etcd_model_away(&model, true);
    udpai_replicator_rebalance(a.replicator, 20000);
    run_ms(20000);
    etcd_model_away(&model, false);
    run_ms(10000);
    assert_null(strstr(reported(&b), "rebalance"));
    udpai_replicator_rebalance(a.replicator, 30000); /* but another one may be asked for */
    run_ms(1000);
    assert_non_null(strstr(reported(&b), "rebalance in 30000 ms"));
}

static void
what_is_malformed_is_ignored_and_times_are_bounded(void **state)
{
    (void)state;
    etcd_model_put(&model, KEY, "\x08");
    etcd_model_put(&model, KEY, "");
    etcd_model_put(&model, KEY, "\x10\x05"); /* without an id */
    run_ms(100);
    assert_reported(&a, "");
    etcd_model_put(&model, KEY, "\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    run_ms(100);
    assert_reported(&a, "rebalance in 3600000 ms");
    etcd_model_put(&model, KEY, "\x08\x02");
    run_ms(100);
    assert_reported(&a, "rebalance in 1 ms");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_is_asked_once),
        TEST(one_that_begins_later_is_not_asked),
        TEST(what_is_read_again_is_not_done_again),
        TEST(it_is_asked_for_though_etcd_is_away_for_a_while),
        TEST(it_is_given_up_when_etcd_is_away_for_long),
        TEST(what_is_malformed_is_ignored_and_times_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
