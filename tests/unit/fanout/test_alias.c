/* SPDX-License-Identifier: Apache-2.0 */
/* Names that lead to resources of other names. */
#include "base/alloc.h"
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one, two;

static void
ask(fanout_bed *bed, const char *names)
{
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", names);
}

static void
test_an_alias_leads_to_its_resource(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^other +CDS/b=1");
    ask(bed, "other");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=2^other");
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-other]");
    fanout_change(bed, "+CDS/b=2^other");
    assert_all(&one, "CDS[b=2]");
    fanout_close(&one);
}

static void
assert_same_state(fanout_reader *a, fanout_reader *b)
{
    udpai_set_hash x = udpai_subscription_set_hash(fanout_of(a, "CDS")),
                   y = udpai_subscription_set_hash(fanout_of(b, "CDS"));
    assert_true(x.high == y.high && x.low == y.low);
}

/* Whichever name it was asked for by. */
static void
test_the_state_has_what_aliases_lead_to(void **state)
{
    static const char *const changes[] = {"+CDS/a=2^other", "+CDS/a=3^other", "-CDS/a",
                                          "+CDS/a=4^other", "+CDS/a=4"};
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^other");
    ask(bed, "other");
    fanout_open(&two, bed);
    fanout_ask(&two, "CDS", "a");
    assert_same_state(&one, &two);
    for (size_t i = 0; i + 1 < UDPAI_ARRAY_LEN(changes); i++) {
        fanout_change(bed, changes[i]);
        assert_same_state(&one, &two);
    }
    fanout_change(bed, changes[UDPAI_ARRAY_LEN(changes) - 1]);
    udpai_set_hash none = udpai_subscription_set_hash(fanout_of(&one, "CDS"));
    assert_true(none.high == 0 && none.low == 0);
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_a_missing_alias_is_answered_as_it_was_asked(void **state)
{
    fanout_bed *bed = *state;
    ask(bed, "other");
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS[-other]");
    fanout_change(bed, "+CDS/a=1^other");
    assert_all(&one, "CDS[a=1]");
    fanout_close(&one);
}

static void
test_an_alias_comes_and_goes_by_an_update(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    ask(bed, "other");
    assert_all(&one, "CDS[-other]");
    fanout_change(bed, "+CDS/a=1^other");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=1");
    assert_all(&one, "CDS[-other]");
    /* From one resource to another in one change set: no gap. */
    fanout_change(bed, "+CDS/a=1^other");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/b=1^other +CDS/a=2");
    assert_all(&one, "CDS[b=1]");
    fanout_close(&one);
}

static void
test_its_own_name_comes_first(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^b");
    ask(bed, "b");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/b=own");
    assert_all(&one, "CDS[b=own]");
    fanout_change(bed, "+CDS/a=2^b");
    assert_all(&one, "");
    fanout_change(bed, "-CDS/b");
    assert_all(&one, "CDS[a=2]");
    fanout_close(&one);
}

/* The same on every replica, in whatever order they came. */
static void
test_of_several_the_lowest_name(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/m=1^x +CDS/z=1^x");
    ask(bed, "x");
    assert_all(&one, "CDS[m=1]");
    fanout_change(bed, "+CDS/b=1^x");
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "-CDS/m");
    assert_all(&one, "");
    fanout_change(bed, "-CDS/b");
    assert_all(&one, "CDS[z=1]");
    fanout_close(&one);
}

static void
test_patterns(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/p=1^*.bar.com");
    ask(bed, "www.bar.com a.b.bar.com .bar.com x/www.bar.com www.bar.com/x");
    assert_all(&one, "CDS[p=1] CDS[-.bar.com -x/www.bar.com -www.bar.com/x]");
    /* The most specific one, then an exact one. */
    fanout_change(bed, "+CDS/q=1^*w.bar.com");
    assert_all(&one, "CDS[q=1]");
    fanout_change(bed, "+CDS/e=1^www.bar.com");
    assert_all(&one, "CDS[e=1]");
    fanout_change(bed, "-CDS/e");
    assert_all(&one, "CDS[q=1]");
    fanout_change(bed, "-CDS/q");
    assert_all(&one, "CDS[p=1]");
    fanout_change(bed, "-CDS/p");
    (void)fanout_all(&one);
    assert_int_equal(udpai_fanout_n_resources(bed->fanout), 0);
    fanout_close(&one);
}

/* The '*' stands for at least one byte, and for the rest of one segment. */
static void
test_patterns_that_end_in_a_star(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/p=1^*");
    ask(bed, "w /com.acme/ x/y");
    assert_all(&one, "CDS[p=1] CDS[- -x/y]");
    fanout_change(bed, "+CDS/q=1^x/*");
    assert_all(&one, "CDS[q=1]");
    fanout_change(bed, "-CDS/p -CDS/q");
    assert_all(&one, "CDS[-w -x/y]");
    fanout_close(&one);
}

static void
test_patterns_deeper_in_the_name(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/p=1^route/*-abc.xyz");
    ask(bed, "route/1-abc.xyz route/-abc.xyz 1-abc.xyz");
    assert_all(&one, "CDS[p=1] CDS[-route/-abc.xyz -1-abc.xyz]");
    fanout_change(bed, "+CDS/p=1");
    assert_all(&one, "CDS[-route/1-abc.xyz]");
    fanout_close(&one);
}

/* Two names that lead to one resource bring it once. */
static void
test_one_resource_by_two_names(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^x^y");
    ask(bed, "a x y");
    assert_all(&one, "CDS[a=1]");
    fanout_change(bed, "+CDS/a=2^x");
    assert_all(&one, "CDS[a=2] CDS[-y]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-x -a]");
    fanout_close(&one);
}

/* What one may not be shown does not stand in the way of what he may. */
static void
test_a_hidden_one_is_passed_over(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^x@n1 +CDS/b=1^x");
    fanout_open(&two, bed);
    assert_ok(udpai_subscriber_set_except(&two.subscriber, UDPAI_STR("n1")));
    fanout_ask(&two, "CDS", "x");
    ask(bed, "x");
    assert_all(&one, "CDS[a=1]");
    assert_all(&two, "CDS[b=1]");
    assert_ok(udpai_subscriber_set_except(&two.subscriber, UDPAI_STR("n2")));
    assert_all(&two, "CDS[a=1]");
    fanout_close(&one);
    fanout_close(&two);
}

/* To be led elsewhere takes memory. Without it nothing is said of the name until there is some. */
static void
test_an_alias_waits_for_memory(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1@n1 +CDS/b=1^a");
    ask(bed, "a");
    assert_all(&one, "CDS[a=1]");
    udpai_alloc_fail_after(1); /* the node's name */
    assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
    assert_all(&one, "");
    fanout_bed_at(bed, 1000);
    assert_all(&one, "");
    udpai_alloc_fail_after(-1);
    fanout_bed_at(bed, 2000);
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "-CDS/b");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

/* A change finds that memory before it is made. */
static void
test_a_change_that_leads_elsewhere_has_its_memory(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1^a");
    ask(bed, "a c");
    assert_all(&one, "CDS[a=1] CDS[-c]");
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *changes = fanout_changes("-CDS/a");
    size_t place = 0;
    udpai_alloc_fail_after(0);
    assert_int_equal(udpai_fanout_apply(bed->fanout, changes, &place), UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_all(&one, "");
    assert_ok(udpai_fanout_apply(bed->fanout, changes, &place));
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "+CDS/d=1^c");
    assert_all(&one, "CDS[d=1]");
    fanout_close(&one);
}

static void
test_an_alias_under_a_wildcard(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^x +CDS/b=1^y$");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1]");
    fanout_ask(&one, "CDS", "x y");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_change(bed, "+CDS/a=2^x");
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "+CDS/b=2^y$");
    assert_all(&one, "CDS[b=2]");
    fanout_close(&one);
}

/* By its name, then also by another one, then by that alone. */
static void
test_who_gives_the_name_back_keeps_the_alias(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1^x$ +CDS/b=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a");
    (void)fanout_all(&one);
    fanout_ask(&one, "CDS", "x");
    assert_all(&one, "CDS[a=1]");
    fanout_drop_name(&one, "CDS", "a");
    assert_all(&one, "");
    fanout_change(bed, "+CDS/a=2^x$");
    assert_all(&one, "CDS[a=2]");
    fanout_change(bed, "-CDS/a");
    assert_all(&one, "CDS[-x]");
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_an_alias_leads_to_its_resource),
        fanout_test(test_the_state_has_what_aliases_lead_to),
        fanout_test(test_a_missing_alias_is_answered_as_it_was_asked),
        fanout_test(test_an_alias_comes_and_goes_by_an_update),
        fanout_test(test_its_own_name_comes_first),
        fanout_test(test_of_several_the_lowest_name),
        fanout_test(test_patterns),
        fanout_test(test_patterns_that_end_in_a_star),
        fanout_test(test_patterns_deeper_in_the_name),
        fanout_test(test_one_resource_by_two_names),
        fanout_test(test_a_hidden_one_is_passed_over),
        fanout_test(test_an_alias_waits_for_memory),
        fanout_test(test_a_change_that_leads_elsewhere_has_its_memory),
        fanout_test(test_an_alias_under_a_wildcard),
        fanout_test(test_who_gives_the_name_back_keeps_the_alias),
    };
    return cmocka_run_group_tests_name("alias", tests, NULL, NULL);
}
