/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant of a name each is sent, and what is told when that becomes another one. */
#include "tests/unit/fanout/fanout_test.h"

static fanout_reader one, two;
static fanout_renderer selecting;

/* A reader who is sent one variant of a name. */
static void
open_selecting(fanout_reader *reader, fanout_bed *bed)
{
    selecting = bed->renderer;
    selecting.base.selects_variants = true;
    fanout_open_with(reader, bed, &selecting);
}

/* The same, who knows variants by their constraints. */
static void
open_telling(fanout_reader *reader, fanout_bed *bed)
{
    open_selecting(reader, bed);
    assert_ok(udpai_subscription_distinguish_variants(fanout_of(reader, "CDS")));
}

#define PROD "+CDS/a.prod=p^a;env~prod"
#define TEST "+CDS/a.test=t^a;env~test"

static void
test_each_is_sent_what_his_parameters_satisfy(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " " TEST " +CDS/b=1");
    open_selecting(&one, bed);
    fanout_ask(&one, "CDS", "a;env~prod&zone~x");
    assert_all(&one, "CDS[a.prod=p]");
    open_selecting(&two, bed);
    fanout_ask(&two, "CDS", "a;env~test b;env~test a;env~qa");
    assert_all(&two, "CDS[a.test=t b=1] CDS[-a]");
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_a_name_without_parameters_satisfies_what_asks_for_none(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " +CDS/a.old=o^a;!env");
    open_selecting(&one, bed);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a.old=o]");
    fanout_change(bed, "-CDS/a.old");
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
}

static void
test_what_has_no_constraints_is_for_those_whom_no_variant_matches(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " +CDS/a=0");
    open_selecting(&one, bed);
    fanout_ask(&one, "CDS", "a;env~prod a;env~qa");
    assert_all(&one, "CDS[a.prod=p a=0]");
    fanout_change(bed, "-CDS/a.prod");
    assert_all(&one, "CDS[a=0]");
    fanout_change(bed, PROD);
    assert_all(&one, "CDS[a.prod=p]");
    fanout_close(&one);
}

/* The one that names most keys; then the lower name. */
static void
test_of_several_the_same_one_is_chosen_whatever_came_first(void **state)
{
    fanout_bed *bed = *state;
    static const char *const orders[] = {
        "+CDS/1=1^a;env~prod +CDS/2=2^a;env~prod&zone~x +CDS/3=3^a;zone~x&env",
        "+CDS/3=3^a;zone~x&env +CDS/1=1^a;env~prod +CDS/2=2^a;env~prod&zone~x",
        "+CDS/3=3^a;zone~x&env +CDS/2=2^a;env~prod&zone~x +CDS/1=1^a;env~prod",
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(orders); i++) {
        fanout_bed_restart(bed);
        fanout_settle(bed);
        open_selecting(&one, bed);
        fanout_ask(&one, "CDS", "a;env~prod&zone~x");
        fanout_change(bed, orders[i]);
        fanout_all(&one);
        assert_string_equal(fanout_holds(&one, "CDS", "2"), "2");
        fanout_change(bed, "-CDS/2");
        assert_all(&one, "CDS[3=3]");
        fanout_change(bed, "-CDS/3");
        assert_all(&one, "CDS[1=1]");
        fanout_close(&one);
    }
}

static void
test_wildcards_and_own_names_bring_no_variant(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " +CDS/b=1");
    open_selecting(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "a.prod");
    assert_all(&one, "CDS[b=1] CDS[-a.prod]");
    udpai_set_hash before = udpai_subscription_set_hash(fanout_of(&one, "CDS"));
    fanout_change(bed, TEST);
    assert_all(&one, "");
    udpai_set_hash after = udpai_subscription_set_hash(fanout_of(&one, "CDS"));
    assert_true(before.high == after.high && before.low == after.low);
    /* What becomes a variant goes, and comes again when it is none any more. */
    fanout_change(bed, "+CDS/b=2^a;env~b");
    assert_all(&one, "CDS[-b]");
    fanout_change(bed, "+CDS/b=3");
    assert_all(&one, "CDS[b=3]");
    fanout_close(&one);
}

/* ---- by constraints ---- */

static void
test_what_is_replaced_is_told_with_what_replaces_it(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD);
    open_telling(&one, bed);
    fanout_ask(&one, "CDS", "a;env~prod&version~1 a;env~prod");
    assert_all(&one, "CDS[a.prod=p]");
    /* One of the two still has it. */
    fanout_change(bed, "+CDS/a.v1=1^a;env~prod&version~1");
    assert_all(&one, "CDS[a.v1=1]");
    fanout_change(bed, "+CDS/a.rest=r^a;env~prod&!version -CDS/a.prod");
    assert_all(&one, "CDS[a.rest=r -a;env~prod]");
    fanout_change(bed, "-CDS/a.v1");
    assert_all(&one, "CDS[-a;env~prod&version~1]");
    fanout_change(bed, "-CDS/a.rest +CDS/a=0");
    assert_all(&one, "CDS[a=0 -a;env~prod&!version]");
    fanout_change(bed, PROD " -CDS/a");
    assert_all(&one, "CDS[a.prod=p -a;]");
    fanout_close(&one);
}

static void
test_constraints_that_change_make_another_variant(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/v=1^a;env~prod");
    open_telling(&one, bed);
    fanout_ask(&one, "CDS", "a;env~prod");
    assert_all(&one, "CDS[v=1]");
    fanout_change(bed, "+CDS/v=2^a;env~prod");
    assert_all(&one, "CDS[v=2]");
    fanout_change(bed, "+CDS/v=2^a;env");
    assert_all(&one, "CDS[v=2 -a;env~prod]");
    fanout_change(bed, "+CDS/v=2^a;env~test");
    assert_all(&one, "CDS[-a;env]");
    fanout_close(&one);
}

/* What one name loses and the other gets is not lost. */
static void
test_two_that_change_places_lose_nothing(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/1=1^a;x~1 +CDS/2=2^a;x~2");
    open_telling(&one, bed);
    fanout_ask(&one, "CDS", "a;x~1&y~1 a;x~2&y~2");
    assert_all(&one, "CDS[1=1 2=2]");
    fanout_change(bed, "+CDS/1=1^a;x~2 +CDS/2=2^a;x~1");
    assert_all(&one, "CDS[1=1 2=2]");
    fanout_close(&one);
}

static void
test_what_is_missing_is_told_for_whom(void **state)
{
    fanout_bed *bed = *state;
    open_telling(&one, bed);
    fanout_ask(&one, "CDS", "a;env~qa");
    assert_all(&one, ""); /* not certain yet */
    fanout_settle(bed);
    assert_all(&one, "CDS[-a;]");
    fanout_change(bed, PROD);
    fanout_ask(&one, "CDS", "a;env~prod a;env~dev");
    assert_all(&one, "CDS[a.prod=p] CDS[-a;env~dev]");
    fanout_close(&one);
}

static void
test_what_is_gone_is_told_in_responses_of_bounded_size(void **state)
{
    fanout_bed *bed = *state;
    fanout_bed_page(bed, 1);
    fanout_settle(bed);
    fanout_change(bed, "+CDS/p=1^a;x~1 +CDS/q=1^b;x~1 +CDS/r=1^c;x~1");
    open_telling(&one, bed);
    fanout_ask(&one, "CDS", "a;x~1 b;x~1 c;x~1");
    assert_all(&one, "CDS[p=1] CDS[q=1] CDS[r=1]");
    fanout_change(bed, "-CDS/p -CDS/q -CDS/r");
    assert_all(&one, "CDS[-a;x~1] CDS[-b;x~1] CDS[-c;x~1]");
    fanout_close(&one);
}

static void
test_given_back_it_is_followed_no_more(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " " TEST);
    open_telling(&one, bed);
    fanout_ask(&one, "CDS", "a;env~prod a;env~test");
    assert_all(&one, "CDS[a.prod=p a.test=t]");
    assert_string_equal(bed->interest, "+CDS/a");
    fanout_drop_name(&one, "CDS", "a;env~prod");
    fanout_change(bed, "-CDS/a.prod -CDS/a.test");
    assert_all(&one, "CDS[-a;env~test]");
    fanout_drop_name(&one, "CDS", "a;env~test");
    assert_string_equal(bed->interest, "+CDS/a -CDS/a");
    assert_int_equal(one.subscriber.n_names, 0);
    fanout_close(&one);
}

/* Known by the name alone, it goes by that. */
static void
test_who_begins_to_tell_knows_what_was_sent_before(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a.old=o^a;!env");
    open_selecting(&one, bed);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a.old=o]");
    assert_ok(udpai_subscription_distinguish_variants(fanout_of(&one, "CDS")));
    fanout_change(bed, "+CDS/a.new=n^a;!env&!zone");
    assert_all(&one, "CDS[a.new=n -a;]");
    fanout_close(&one);
}

/* ---- others ---- */

static void
test_who_asks_for_the_name_and_passes_it_on_is_sent_all(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " " TEST);
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a");
    assert_all(&one, "CDS[a.prod=p a.test=t] CDS[-a]");
    fanout_change(bed, "+CDS/a.qa=q^a;env~qa +CDS/a.test=u^a;env~test");
    assert_all(&one, "CDS[a.qa=q a.test=u]");
    fanout_change(bed, "-CDS/a.test");
    assert_all(&one, "CDS[-a.test]");
    fanout_change(bed, "+CDS/a=0 -CDS/a.prod");
    assert_all(&one, "CDS[a=0] CDS[-a.prod]");
    fanout_change(bed, "-CDS/a +CDS/a.qa=r^a;env~qa");
    assert_all(&one, "CDS[a.qa=r] CDS[-a]");
    /* What is no variant of it any more has gone; so has what is none at all. */
    fanout_change(bed, "+CDS/a.qa=r^b;env~qa");
    assert_all(&one, "CDS[-a.qa]");
    assert_int_equal(one.n_held, 0);
    fanout_change(bed, TEST " +CDS/a.old=o^a;!env " PROD);
    assert_all(&one, "CDS[a.test=t a.old=o a.prod=p]");
    fanout_change(bed, "+CDS/a.old=1");
    assert_all(&one, "CDS[-a.old]");
    fanout_close(&one);
}

static void
test_who_mirrors_is_sent_all(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " " TEST);
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a.prod=p a.test=t]");
    fanout_change(bed, "-CDS/a.prod");
    assert_all(&one, "CDS[-a.prod]");
    fanout_close(&one);
}

static void
test_a_change_wakes_those_who_ask_for_the_name(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " +CDS/b.prod=b^b;env~prod");
    open_selecting(&one, bed);
    fanout_ask(&one, "CDS", "a;env~prod");
    open_selecting(&two, bed);
    fanout_ask(&two, "CDS", "b;env~prod");
    assert_all(&one, "CDS[a.prod=p]");
    assert_all(&two, "CDS[b.prod=b]");
    size_t before = two.n_wakes;
    fanout_change(bed, "+CDS/a.prod=2^a;env~prod " TEST);
    assert_all(&one, "CDS[a.prod=2]");
    assert_int_equal(two.n_wakes, before);
    fanout_close(&one);
    fanout_close(&two);
}

static void
test_what_is_held_is_not_sent_again(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " " TEST);
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *same = fanout_changes(PROD);
    char version[UDPAI_CONTENT_HASH_HEX];
    udpai_content_hash_hex(udpai_resource_content_hash(udpai_change_set_at(same, 0)->resource),
                           version);
    open_telling(&one, bed);
    selecting.base.shows_content_only = true;
    assert_ok(udpai_subscription_hold_version(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/a"),
                                              (udpai_str){version, sizeof(version)}));
    fanout_ask(&one, "CDS", "a;env~prod a;env~test");
    assert_all(&one, "CDS[a.test=t]");
    fanout_change(bed, "-CDS/a.prod");
    assert_all(&one, "CDS[-a;env~prod]");
    fanout_close(&one);
}

static void
test_a_state_has_every_variant_that_is_asked_for(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, PROD " " TEST);
    open_selecting(&one, bed);
    (void)fanout_in_mode(&one, "CDS", UDPAI_MODE_STATE);
    fanout_ask(&one, "CDS", "a;env~prod a;env~test a;env~qa");
    fanout_all(&one);
    assert_string_equal(fanout_holds(&one, "CDS", "a.prod"), "p");
    assert_string_equal(fanout_holds(&one, "CDS", "a.test"), "t");
    fanout_change(bed, "+CDS/a.qa=q^a;env~qa -CDS/a.test");
    fanout_all(&one);
    assert_null(fanout_find_held(&one, "CDS", "a.test"));
    assert_string_equal(fanout_holds(&one, "CDS", "a.qa"), "q");
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_each_is_sent_what_his_parameters_satisfy),
        fanout_test(test_a_name_without_parameters_satisfies_what_asks_for_none),
        fanout_test(test_what_has_no_constraints_is_for_those_whom_no_variant_matches),
        fanout_test(test_of_several_the_same_one_is_chosen_whatever_came_first),
        fanout_test(test_wildcards_and_own_names_bring_no_variant),
        fanout_test(test_what_is_replaced_is_told_with_what_replaces_it),
        fanout_test(test_constraints_that_change_make_another_variant),
        fanout_test(test_two_that_change_places_lose_nothing),
        fanout_test(test_what_is_missing_is_told_for_whom),
        fanout_test(test_what_is_gone_is_told_in_responses_of_bounded_size),
        fanout_test(test_given_back_it_is_followed_no_more),
        fanout_test(test_who_begins_to_tell_knows_what_was_sent_before),
        fanout_test(test_who_asks_for_the_name_and_passes_it_on_is_sent_all),
        fanout_test(test_who_mirrors_is_sent_all),
        fanout_test(test_a_change_wakes_those_who_ask_for_the_name),
        fanout_test(test_what_is_held_is_not_sent_again),
        fanout_test(test_a_state_has_every_variant_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
