/* SPDX-License-Identifier: Apache-2.0 */
/* Composed once, sent to many: which bodies are shared, for how long, and how many are kept. */
#include "fanout/fanout_internal.h"
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

#define MANY 1000

static fanout_reader one, two, three;

/* ---- many ---- */

struct plain_reader {
    udpai_subscriber subscriber;
    size_t n_wakes;
};

static void
on_wake(udpai_subscriber *subscriber)
{
    UDPAI_CONTAINER_OF(subscriber, struct plain_reader, subscriber)->n_wakes++;
}

static const udpai_subscriber_ops plain_ops = {.wake = on_wake};

/* How many deliveries all of them get. */
static size_t
drain(struct plain_reader *readers)
{
    size_t n = 0;
    for (size_t i = 0; i < MANY; i++) {
        udpai_delivery delivery = {0};
        do {
            assert_ok(udpai_subscriber_next(&readers[i].subscriber, &delivery));
            n += delivery.body != NULL;
            udpai_body_unref(delivery.body);
        } while (delivery.body);
    }
    return n;
}

static void
test_a_thousand_share_one_body(void **state)
{
    fanout_bed *bed = *state;
    struct plain_reader *readers = calloc(MANY, sizeof(*readers));
    assert_non_null(readers);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    for (size_t i = 0; i < MANY; i++) {
        udpai_subscriber_init(&readers[i].subscriber, bed->fanout, &plain_ops, &bed->renderer.base);
        udpai_subscription *subscription =
            udpai_subscriber_get(&readers[i].subscriber, UDPAI_STR(TEST_CDS), UDPAI_MODE_DELTA);
        assert_non_null(subscription);
        assert_ok(udpai_subscribe_wildcard(subscription, UDPAI_STR("com.acme"), NULL));
    }
    assert_int_equal(drain(readers), MANY);
    assert_int_equal(bed->n_composed, 1);
    fanout_change(bed, "+CDS/a=2 -CDS/b");
    assert_int_equal(readers[MANY - 1].n_wakes, 2);
    assert_int_equal(drain(readers), 2 * MANY);
    assert_int_equal(bed->n_composed, 3);
    fanout_change(bed, "~CDS/a=2:7");
    assert_int_equal(drain(readers), MANY);
    assert_int_equal(bed->n_composed, 4);
    for (size_t i = 0; i < MANY; i++)
        udpai_subscriber_done(&readers[i].subscriber);
    free(readers);
}

static void
test_pages_are_shared(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    assert_next(&one, "CDS[a=1 b=1]");
    assert_next(&two, "CDS[a=1 b=1]");
    assert_int_equal(bed->n_composed, 1);
    (void)fanout_all(&one);
    (void)fanout_all(&two);
    assert_int_equal(one.n_held, 4);
    assert_int_equal(two.n_held, 4);
    assert_int_equal(bed->n_composed, 2);
    fanout_close(&one);
    fanout_close(&two);
}

/* Or else a view of 100,000 resources would fill the cache for nobody. */
static void
test_pages_for_one_alone_are_not_kept(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    assert_next(&one, "CDS[a=1 b=1]");
    assert_int_equal(bed->fanout->body_bytes, 0);
    assert_next(&one, "CDS[e=1 d=1]"); /* the newest end */
    assert_int_equal(bed->fanout->body_bytes, 0);
    assert_next(&one, "CDS[c=1]"); /* the last one: who comes now may have a use for such */
    assert_true(bed->fanout->body_bytes > 0);
    fanout_change(bed, "+CDS/f=1 +CDS/g=1 +CDS/h=1 +CDS/i=1");
    size_t of_last = bed->fanout->body_bytes;
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    assert_next(&one, "CDS[f=1 g=1]");
    assert_true(bed->fanout->body_bytes > of_last);
    fanout_close(&one);
    fanout_close(&two);
}

/* The newest go between the oldest, and whoever has come as far, by the same way, is sent the same.
 */
static void
test_pages_of_both_ends_are_shared(void **state)
{
    fanout_bed *bed = *state;
    static const char *const pages[] = {"CDS[a=1 b=1]", "CDS[k=1 j=1]", "CDS[c=1 d=1]",
                                        "CDS[m=1 l=1]", "CDS[e=1 f=1]"};
    fanout_bed_page(bed, 2);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1 +CDS/f=1 +CDS/g=1 +CDS/h=1 "
                       "+CDS/i=1 +CDS/j=1 +CDS/k=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(pages); i++) {
        if (i == 2)
            fanout_change(bed, "+CDS/l=1 +CDS/m=1");
        assert_next(&one, pages[i]);
        assert_next(&two, pages[i]);
        assert_int_equal(bed->n_composed, i + 1);
    }
    /* Who has come another way is not sent what would leave something out. */
    fanout_open(&three, bed);
    fanout_wildcard(&three, "CDS", "");
    (void)fanout_all(&three);
    (void)fanout_all(&one);
    (void)fanout_all(&two);
    assert_int_equal(one.n_held, 13);
    assert_int_equal(two.n_held, 13);
    assert_int_equal(three.n_held, 13);
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

static void
test_states_are_shared(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    (void)fanout_in_mode(&one, "CDS", UDPAI_MODE_STATE);
    (void)fanout_in_mode(&two, "CDS", UDPAI_MODE_STATE);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    assert_all(&one, "CDS*[a=1 b=1]");
    assert_all(&two, "CDS*[a=1 b=1]");
    assert_int_equal(bed->n_composed, 1);
    fanout_change(bed, "+CDS/a=2");
    assert_all(&one, "CDS*[b=1 a=2]");
    assert_all(&two, "CDS*[b=1 a=2]");
    assert_int_equal(bed->n_composed, 2);
    fanout_close(&one);
    fanout_close(&two);
}

/* ---- what is not shared ---- */

/* Two that lack the same oldest, of whom each was sent another newest end. */
static void
test_another_path_is_another_page(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 3);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1 +CDS/d=1 +CDS/e=1 +CDS/f=1 +CDS/g=1 +CDS/h=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    assert_next(&one, "CDS[a=1 b=1 c=1]");
    assert_next(&two, "CDS[a=1 b=1 c=1]");
    assert_next(&one, "CDS[h=1 g=1 f=1]");
    fanout_change(bed, "+CDS/i=1");
    assert_next(&one, "CDS[d=1 e=1 i=1]");
    assert_next(&two, "CDS[i=1 h=1 g=1]");
    assert_next(&two, "CDS[d=1 e=1 f=1]");
    assert_all(&one, "");
    assert_all(&two, "");
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_a_ttl_is_of_its_moment(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1%5000");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_open(&three, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    fanout_wildcard(&three, "CDS", "");
    assert_all(&one, "CDS[a=1%4000]");
    assert_all(&two, "CDS[a=1%4000]");
    assert_int_equal(bed->n_composed, 1);
    fanout_bed_at(bed, 1001);
    assert_all(&three, "CDS[a=1%3999]");
    assert_int_equal(bed->n_composed, 2);
    fanout_close(&one);
    fanout_close(&two);
    fanout_close(&three);
}

static void
test_another_renderer_composes_for_itself(void **state)
{
    fanout_bed *bed = *state;
    const fanout_renderer other = bed->renderer;
    fanout_change(bed, "+CDS/a=1");
    fanout_open(&one, bed);
    fanout_open_with(&two, bed, &other);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&two, "CDS", "");
    assert_all(&one, "CDS[a=1]");
    assert_all(&two, "CDS[a=1]");
    assert_int_equal(bed->n_composed, 2);
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_so_does_one_that_lies_where_another_lay(void **state)
{
    fanout_bed *bed = *state;
    fanout_renderer other = bed->renderer;
    fanout_change(bed, "+CDS/a=1");
    for (int i = 0; i < 3; i++) {
        other.base.serial = (uint64_t)(i + 1) / 2; /* 0, 1, 1 */
        fanout_open_with(&one, bed, &other);
        fanout_wildcard(&one, "CDS", "");
        assert_all(&one, "CDS[a=1]");
        fanout_close(&one);
    }
    assert_int_equal(bed->n_composed, 2);
}

static void
test_who_resumes_is_composed_for_alone(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    assert_ok(udpai_subscription_hold_version(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"),
                                              UDPAI_STR("another")));
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1 b=1]");
    assert_all(&two, "CDS[a=1 b=1]");
    assert_int_equal(bed->n_composed, 2);
    fanout_close(&one);
    fanout_close(&two);
}

/* A name among its subscriptions keeps what the shared removal would take away. */
static void
test_who_keeps_it_by_name_gets_his_own_removals(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "com.acme");
    fanout_ask(&two, "CDS", "a");
    (void)fanout_all(&one);
    (void)fanout_all(&two);
    fanout_change(bed, "+CDS/a=2$ -CDS/b");
    assert_all(&one, "CDS[-a -b]");
    assert_all(&two, "CDS[a=2] CDS[-b]");
    fanout_close(&one);
    fanout_close(&two);
}

/* ---- stale ones ---- */

/* One composes what lies between two numbers; later the same lies there no more. */
static void
test_what_has_changed_since_is_not_found(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+EDS/x=1 +EDS/z=1 +CDS/c=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    fanout_wildcard(&one, "EDS", "");
    assert_next(&one, "CDS[c=1]");
    fanout_change(bed, "+CDS/c=2");
    assert_next(&one, "EDS[x=1 z=1]"); /* from the beginning to before the new c */
    (void)fanout_all(&one);
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    fanout_wildcard(&two, "EDS", "");
    (void)fanout_all(&two);
    fanout_change(bed, "-EDS/x +EDS/y=1 +LDS/l=1");
    assert_next(&two, "EDS[y=1]");
    assert_next(&two, "EDS[-x]");
    fanout_change(bed, "+EDS/y=2");
    assert_next(&two, "EDS[y=2]");
    /* Asked for again now, it begins with EDS, up to before the c of then. */
    fanout_wildcard(&two, "CDS", "");
    fanout_wildcard(&two, "EDS", "");
    (void)fanout_all(&two);
    assert_string_equal(fanout_holds(&two, "EDS", "x"), "");
    assert_string_equal(fanout_holds(&two, "EDS", "y"), "2");
    fanout_close(&one);
    fanout_close(&two);
}

/* ---- how many are kept ---- */

static void
test_so_many_bytes_are_kept(void **state)
{
    fanout_bed *bed = *state;
    bed->options.body_cache_bytes = 100;
    fanout_bed_restart(bed);
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    char change[32];
    for (unsigned i = 0; i < 50; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/n%u=value", i);
        fanout_change(bed, change);
        (void)fanout_all(&one);
        assert_true(bed->fanout->body_bytes <= 100);
    }
    assert_true(bed->fanout->body_bytes > 0);
    /* One larger than all of it is not kept, but sent. */
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    (void)fanout_all(&two);
    assert_int_equal(two.n_held, 50);
    assert_true(bed->fanout->body_bytes <= 100);
    fanout_close(&one);
    fanout_close(&two);
    fanout_bed_at(bed, 3000);
    assert_int_equal(bed->fanout->body_bytes, 0);
}

static void
test_a_view_keeps_so_many(void **state)
{
    fanout_bed *bed = *state;
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    char change[32];
    for (unsigned i = 0; i < 200; i++) {
        (void)snprintf(change, sizeof(change), "+CDS/a=%u", i);
        fanout_change(bed, change);
        (void)fanout_all(&one);
    }
    size_t n = 0;
    UDPAI_LIST_FOREACH (node, &bed->fanout->recent_bodies)
        n++;
    assert_true(n > 1 && n <= 64);
    fanout_close(&one);
}

/* The one that was used last stays longest. */
static void
test_the_one_not_used_goes_first(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1 +EDS/a=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    (void)fanout_all(&one);
    size_t of_one = bed->fanout->body_bytes;
    bed->options.body_cache_bytes = 2 * of_one;
    fanout_close(&one);
    fanout_bed_restart(bed);
    fanout_change(bed, "+CDS/a=1 +EDS/a=1 +LDS/a=1");
    fanout_reader *readers[] = {&one, &two, &three};
    for (size_t i = 0; i < 3; i++)
        fanout_open(readers[i], bed);
    bed->n_composed = 0;
    fanout_wildcard(&one, "CDS", "");
    (void)fanout_all(&one);
    fanout_wildcard(&one, "EDS", "");
    (void)fanout_all(&one);
    fanout_wildcard(&two, "CDS", ""); /* uses that of CDS */
    (void)fanout_all(&two);
    assert_int_equal(bed->n_composed, 2);
    fanout_wildcard(&one, "LDS", ""); /* so that of EDS goes */
    (void)fanout_all(&one);
    fanout_wildcard(&three, "CDS", "");
    (void)fanout_all(&three);
    assert_int_equal(bed->n_composed, 3);
    fanout_wildcard(&three, "EDS", "");
    (void)fanout_all(&three);
    assert_int_equal(bed->n_composed, 4);
    for (size_t i = 0; i < 3; i++)
        fanout_close(readers[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_a_thousand_share_one_body),
        fanout_test(test_pages_are_shared),
        fanout_test(test_pages_for_one_alone_are_not_kept),
        fanout_test(test_pages_of_both_ends_are_shared),
        fanout_test(test_states_are_shared),
        fanout_test(test_another_path_is_another_page),
        fanout_test(test_a_ttl_is_of_its_moment),
        fanout_test(test_another_renderer_composes_for_itself),
        fanout_test(test_so_does_one_that_lies_where_another_lay),
        fanout_test(test_who_resumes_is_composed_for_alone),
        fanout_test(test_who_keeps_it_by_name_gets_his_own_removals),
        fanout_test(test_what_has_changed_since_is_not_found),
        fanout_test(test_so_many_bytes_are_kept),
        fanout_test(test_a_view_keeps_so_many),
        fanout_test(test_the_one_not_used_goes_first),
    };
    return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
