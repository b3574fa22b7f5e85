/* SPDX-License-Identifier: Apache-2.0 */
/* What a source is asked for, and which of it an answer answers. */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#include "base/alloc.h"

#define ACME "com.acme"
#define NAMES 20000

static void
start_on_demand(fed_bed *bed)
{
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_connect(bed, 'a');
    assert_orders(bed, "dial a");
}

/* ---- mirrors ---- */

static void
after_a_reconnect_it_is_said_what_is_held(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    (void)fed_orders(bed);
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a CDS com.acme:*+2");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* However much that is, each message can be taken in by its receiver. */
static void
what_is_held_goes_in_pieces(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    bed->config.is_durable = false; /* the bed's disk is slow */
    fed_start(bed);
    fed_connect(bed, 'a');
    for (int i = 0; i < NAMES; i++) {
        char word[64];
        snprintf(word, sizeof(word), "n%d=1", i);
        (void)fed_publish(bed, 'a', "CDS", word);
    }
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    (void)fed_orders(bed);
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a CDS com.acme:+8000, sub a CDS com.acme:+8000, "
                       "sub a CDS com.acme:*+4000");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
an_answer_belongs_to_the_oldest_question_of_its_namespace(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_CONTINUE, true}, {'a', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_want(bed, "CDS", "org/x");
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    assert_false(fed_name_settled(bed, "CDS", "org/x"));
    (void)fed_publish(bed, 'a', "CDS", "!");
    assert_true(fed_name_settled(bed, "CDS", "org/x"));
}

/* ---- on demand ---- */

static void
names_that_are_wanted_together_are_asked_for_together(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    fed_want(bed, "EDS", "y");
    fed_want(bed, "EDS", "z");
    fed_want(bed, "EDS", "org/elsewhere");
    udpai_node_flush(bed->node);
    assert_non_null(strstr(bed->orders, "sub a EDS com.acme:"));
    assert_null(strchr(bed->orders, ',')); /* one message */
    assert_non_null(strchr(bed->orders, 'x'));
    assert_non_null(strchr(bed->orders, 'z'));
    assert_null(strstr(bed->orders, "elsewhere"));
}

static void
thousands_of_names_take_few_messages(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    char name[32];
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        fed_want(bed, "EDS", name);
    }
    assert_orders(bed, "sub a EDS com.acme:8000 names, sub a EDS com.acme:8000 names, "
                       "sub a EDS com.acme:4000 names");
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        fed_want_no_more(bed, "EDS", name);
    }
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:8000 names, unsub a EDS com.acme:8000 names, "
                       "unsub a EDS com.acme:4000 names");
}

static void
a_name_is_certain_when_it_was_answered(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    assert_false(fed_name_settled(bed, "EDS", "x"));
    fed_want(bed, "EDS", "y"); /* asked for behind it */
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "x"));
    assert_false(fed_name_settled(bed, "EDS", "y"));
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "y"));
    assert_false(fed_name_settled(bed, "EDS", "z"));
}

/* The peer says for whom it waits before it answers the Subscribe behind so many. */
static void
say_waits(fed_bed *bed, uint32_t behind, udpai_str waits)
{
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_EDS)));
    assert_ok(udpai_publication_set(&publication->name_space, UDPAI_STR(ACME)));
    assert_ok(udpai_publication_set(&publication->waits, waits));
    publication->waits_behind = behind;
    (void)fed_judge(bed, bed->sessions[0], publication);
}

/* Of the only source. */
static const udpai_unsettled *
first_missing(fed_bed *bed)
{
    udpai_node_flush(bed->node);
    const udpai_settled_facts *facts = udpai_settled_facts_of(udpai_node_settled(bed->node));
    assert_int_equal(facts->n_missing, 1);
    return &facts->missing[0];
}

static void
for_whom_it_waits_is_said_of_each_question(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    udpai_node_flush(bed->node);
    fed_want(bed, "EDS", "y");
    fed_want(bed, "EDS", "z");
    udpai_node_flush(bed->node);
    say_waits(bed, 1, UDPAI_STR("second"));
    say_waits(bed, 2, UDPAI_STR("nobody's"));
    const udpai_unsettled *missing = first_missing(bed);
    assert_int_equal(missing->n_waiting, 1);
    assert_str(missing->waiting[0].waits, "second");
    assert_int_equal(missing->waiting[0].n_asked, 2);
    assert_str(missing->waiting[0].asked[0], "com.acme/y");
    say_waits(bed, 0, UDPAI_STR("first"));
    say_waits(bed, 1, UDPAI_STR("second, again"));
    missing = first_missing(bed);
    assert_int_equal(missing->n_waiting, 2);
    assert_str(missing->waiting[0].waits, "first");
    assert_str(missing->waiting[0].asked[0], "com.acme/x");
    assert_str(missing->waiting[1].waits, "second, again");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    missing = first_missing(bed);
    assert_int_equal(missing->n_waiting, 1);
    assert_str(missing->waiting[0].waits, "second, again");
    fed_close(bed, 'a');
    assert_int_equal(first_missing(bed)->n_waiting, 0); /* it is asked anew */
}

/* An answer to something else does not answer it, and it is asked for when there is memory again.
 */
static void
what_was_not_asked_without_memory_is_not_answered(void **state)
{
    fed_bed *bed = *state;
    char name[16];
    start_on_demand(bed);
    for (int n = 0; n < 60; n++) {
        snprintf(name, sizeof(name), "y%d", n);
        fed_want(bed, "EDS", "x");
        udpai_node_flush(bed->node);
        fed_want(bed, "EDS", name);
        udpai_alloc_fail_after(n);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        (void)fed_publish(bed, 'a', "EDS", "!com.acme");
        assert_false(fed_name_settled(bed, "EDS", name));
        (void)fed_publish(bed, 'a', "EDS", "!com.acme");
        assert_true(fed_name_settled(bed, "EDS", name));
        fed_want_no_more(bed, "EDS", "x");
        fed_want_no_more(bed, "EDS", name);
        fed_advance(bed, 30000);
    }
}

static void
a_mirror_is_asked_for_when_there_is_memory(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    for (int n = 0; n < 40; n++) {
        fed_refuse(bed, 'a', "CDS", ACME, "");
        fed_advance(bed, 29999);
        (void)fed_orders(bed);
        udpai_alloc_fail_after(n);
        fed_advance(bed, 1);
        udpai_alloc_fail_after(-1);
        assert_orders(bed, "sub a CDS com.acme:*+1");
        (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    }
}

static void
what_nobody_wants_is_given_back_after_a_while(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    fed_want(bed, "EDS", "y");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=1 y=1 !com.acme");
    fed_want_no_more(bed, "EDS", "x");
    fed_advance(bed, 29999);
    assert_orders(bed, "");
    assert_value(bed, "EDS", "x", "1");
    fed_advance(bed, 1);
    assert_orders(bed, "unsub a EDS com.acme:x");
    assert_value(bed, "EDS", "x", "");
    assert_value(bed, "EDS", "y", "1");
}

static void
what_is_wanted_again_in_time_is_kept(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    fed_want_no_more(bed, "EDS", "x");
    fed_advance(bed, 20000);
    fed_want(bed, "EDS", "x");
    fed_advance(bed, 60000);
    assert_orders(bed, "");
    assert_value(bed, "EDS", "x", "1");
}

static void
what_a_wildcard_brings_stays_when_a_name_goes(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    fed_want(bed, "EDS", "*com.acme");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    fed_want_no_more(bed, "EDS", "x");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:x");
    assert_value(bed, "EDS", "x", "1");
}

/* One source may be asked for all of a part, and for single names of the rest. */
static void
what_is_mirrored_stays_when_a_name_goes(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, true},
                 {'a', "com.acme.core", UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=1 com.acme.core/y=1 !com.acme");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme.core");
    fed_want_no_more(bed, "EDS", "x");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:x");
    assert_value(bed, "EDS", "x", "");
    assert_value(bed, "EDS", "com.acme.core/y", "1");
}

/* Its refresh was on the way when it was given back. */
static void
what_is_refreshed_when_nobody_wants_it_is_given_back_again(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    fed_want_no_more(bed, "EDS", "x");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:x");
    (void)fed_publish(bed, 'a', "EDS", "~x=1");
    assert_orders(bed, "sub a EDS com.acme:x");
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:x");
    assert_value(bed, "EDS", "x", "");
}

/* A source may refresh what it never sends. */
static void
a_mirror_asks_for_what_is_refreshed_once_and_for_a_while(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_orders(bed);
    for (int i = 0; i < 100; i++)
        (void)fed_publish(bed, 'a', "CDS", "~x=1 ~y=1");
    assert_orders(bed, "sub a CDS com.acme:x y");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'a', "CDS", "~y=1"); /* what it said not to be there, it has again */
    assert_orders(bed, "sub a CDS com.acme:y");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a CDS com.acme:x y");
    assert_value(bed, "CDS", "x", "1"); /* the wildcard brings it */
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* It has come, though not yet that this is all: the source takes us to hold it. */
static void
what_came_by_a_loop_is_asked_for_when_another_way_brings_it(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    assert_orders(bed, "sub a EDS com.acme:x");
    for (int i = 0; i < 3; i++) {
        (void)fed_put(bed, bed->sessions[0],
                      RESOURCE("com.acme/x", .type = TEST_EDS, .value = "1", .version = "1",
                               .hops = {{"node", "far"}, {"far", "n"}}),
                      false);
        assert_value(bed, "EDS", "x", "");
        (void)fed_publish(bed, 'a', "EDS", "~x=1");
        (void)fed_publish(bed, 'a', "EDS", "~x=1"); /* once is enough */
        assert_orders(bed, "sub a EDS com.acme:x");
    }
    (void)fed_publish(bed, 'a', "EDS", "x=1");
    assert_value(bed, "EDS", "x", "1");
    (void)fed_publish(bed, 'a', "EDS", "~x=1");
    assert_orders(bed, "");
}

/* A refresh without a type is asked for in every type that there is. */
static void
refreshes_of_everything_are_not_all_asked_for(void **state)
{
    fed_bed *bed = *state;
    char name[32];
    fed_type(bed, "CDS");
    fed_type(bed, "EDS");
    fed_type(bed, "LDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_orders(bed);
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    for (int i = 0; i < 40000; i++) {
        snprintf(name, sizeof(name), "com.acme/%d", i);
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE(name, .type = "", .value = "", .ttl_ms = 1);
        assert_ok(udpai_publication_add(publication, resource, true));
    }
    fed_judge(bed, bed->sessions[0], publication);
    const char *orders = fed_orders(bed);
    size_t n = 0;
    while ((orders = strstr(orders, "8000 names")))
        n++, orders++;
    assert_int_equal(n, 12); /* and half of one; the rest is left out */
    fed_advance(bed, 30000);
    assert_non_null(strstr(fed_orders(bed), "unsub "));
}

/* A wildcard that is wider than what the source is asked for is cut to that. */
static void
wildcards_that_are_one_there_end_with_the_last(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "*");
    fed_want(bed, "EDS", "*com.acme");
    assert_orders(bed, "sub a EDS com.acme:*");
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    fed_want_no_more(bed, "EDS", "*com.acme");
    fed_advance(bed, 60000);
    assert_orders(bed, "");
    assert_value(bed, "EDS", "x", "1");
    fed_want_no_more(bed, "EDS", "*");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:*");
    assert_value(bed, "EDS", "x", "");
}

static void
after_a_reconnect_it_is_all_asked_for_again(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    (void)fed_orders(bed);
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a EDS com.acme:x+1");
}

/* ---- refusals ---- */

static void
a_refused_name_is_not_known_to_be_missing(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    fed_want(bed, "EDS", "y");
    (void)fed_orders(bed);
    fed_refuse(bed, 'a', "EDS", ACME, "x");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_false(fed_name_settled(bed, "EDS", "x"));
    assert_true(fed_name_settled(bed, "EDS", "y"));
    fed_advance(bed, 29999);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "sub a EDS com.acme:x");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "x"));
}

/* Other rules hold since the stream was lost: what it may not see any more is as if it were gone.
 */
static void
a_denied_name_takes_away_what_came_by_it(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "x");
    fed_want(bed, "EDS", "y");
    (void)fed_publish(bed, 'a', "EDS", "x=1 y=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    fed_connect(bed, 'a');
    assert_value(bed, "EDS", "x", "1");
    (void)fed_orders(bed);
    fed_deny(bed, 'a', "EDS", ACME, "x");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_value(bed, "EDS", "x", "");
    assert_value(bed, "EDS", "y", "1");
    assert_true(fed_name_settled(bed, "EDS", "x"));
    fed_advance(bed, 30000);
    assert_orders(bed, "sub a EDS com.acme:x");
    (void)fed_publish(bed, 'a', "EDS", "x=2 !com.acme");
    assert_value(bed, "EDS", "x", "2");
}

static void
a_denied_name_stays_if_a_wildcard_brings_it(void **state)
{
    fed_bed *bed = *state;
    start_on_demand(bed);
    fed_want(bed, "EDS", "*com.acme");
    fed_want(bed, "EDS", "x");
    (void)fed_publish(bed, 'a', "EDS", "x=1 !com.acme !com.acme");
    fed_deny(bed, 'a', "EDS", ACME, "x");
    assert_value(bed, "EDS", "x", "1");
}

/* Nothing of it may come any more; what it brought before is not waited for in vain. */
static void
a_denied_mirror_has_nothing_for_us(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'b', "CDS", "y=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    fed_connect(bed, 'a');
    assert_value(bed, "CDS", "x", "1");
    fed_deny(bed, 'a', "CDS", ACME, "");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "1");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* Nor does it stand in for one that is not there, whose word is not known. */
static void
a_denied_mirror_rules_nobody_out(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_advance(bed, 2000);
    fed_connect(bed, 'b');
    fed_deny(bed, 'b', "CDS", ACME, "");
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_false(fed_settled(bed, "CDS", ACME));
}

static void
a_refused_mirror_is_not_known_and_does_not_hang(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_orders(bed);
    fed_refuse(bed, 'a', "CDS", ACME, ""); /* the wildcard; the rest is answered */
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_false(fed_settled(bed, "CDS", ACME));
    fed_advance(bed, 29999);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "sub a CDS com.acme:*");
    fed_refuse(bed, 'a', "CDS", ACME, NULL); /* all of it: no other answer comes */
    fed_advance(bed, 30000);
    assert_orders(bed, "sub a CDS com.acme:*");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* ---- answers that nobody waits for any more ---- */

static void
what_was_asked_before_its_node_is_answered_by_itself(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.is_late = true});
    assert_orders(bed, "sub a EDS com.acme:x, sub a EDS com.acme:x");
    fed_want(bed, "EDS", "y");
    assert_orders(bed, "sub a EDS com.acme:y");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "x"));
    assert_false(fed_name_settled(bed, "EDS", "y"));
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "y"));
}

static void
what_a_type_asked_before_it_was_given_up_is_answered_by_itself(void **state)
{
    fed_bed *bed = *state;
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "CDS", "z"); /* keeps the stream */
    (void)fed_orders(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "x");
    (void)fed_orders(bed);
    fed_want_no_more(bed, "EDS", "x");
    fed_advance(bed, 60000);
    (void)fed_orders(bed);
    fed_want(bed, "EDS", "y");
    assert_orders(bed, "sub a EDS com.acme:y");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme"); /* of x */
    assert_false(fed_name_settled(bed, "EDS", "y"));
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "y"));
}

/* ---- types that somebody asks for ---- */

static void
a_type_that_nobody_wants_any_more_is_given_up(void **state)
{
    fed_bed *bed = *state;
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_want(bed, "CDS", "*com.acme");
    fed_want(bed, "EDS", "*com.acme");
    (void)fed_orders(bed);
    fed_connect(bed, 'a');
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    fed_want_no_more(bed, "CDS", "*com.acme");
    fed_want_no_more(bed, "EDS", "*com.acme");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:*"); /* of the other there is something */
    assert_false(fed_settled(bed, "EDS", ACME));
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_value(bed, "CDS", "x", "1");
    fed_restart(bed);
    assert_false(fed_settled(bed, "EDS", ACME));
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
there_are_so_many_types(void **state)
{
    fed_bed *bed = *state;
    char type[32];
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    for (int i = 0; i < 1000; i++) {
        snprintf(type, sizeof(type), "t/%d", i);
        fed_want(bed, type, "*com.acme");
    }
    (void)fed_orders(bed);
    fed_want(bed, "CDS", "*com.acme");
    assert_orders(bed, "");
    assert_false(fed_settled(bed, "CDS", ACME)); /* nothing is said of it */
    fed_want_no_more(bed, "t/7", "*com.acme");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a t/7 com.acme:*, sub a CDS com.acme:*"); /* there is its place */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(after_a_reconnect_it_is_said_what_is_held),
        fed_test(what_is_held_goes_in_pieces),
        fed_test(an_answer_belongs_to_the_oldest_question_of_its_namespace),
        fed_test(names_that_are_wanted_together_are_asked_for_together),
        fed_test(thousands_of_names_take_few_messages),
        fed_test(a_name_is_certain_when_it_was_answered),
        fed_test(for_whom_it_waits_is_said_of_each_question),
        fed_test(what_was_not_asked_without_memory_is_not_answered),
        fed_test(a_mirror_is_asked_for_when_there_is_memory),
        fed_test(what_nobody_wants_is_given_back_after_a_while),
        fed_test(what_is_wanted_again_in_time_is_kept),
        fed_test(what_a_wildcard_brings_stays_when_a_name_goes),
        fed_test(what_is_mirrored_stays_when_a_name_goes),
        fed_test(what_is_refreshed_when_nobody_wants_it_is_given_back_again),
        fed_test(a_mirror_asks_for_what_is_refreshed_once_and_for_a_while),
        fed_test(what_came_by_a_loop_is_asked_for_when_another_way_brings_it),
        fed_test(refreshes_of_everything_are_not_all_asked_for),
        fed_test(wildcards_that_are_one_there_end_with_the_last),
        fed_test(after_a_reconnect_it_is_all_asked_for_again),
        fed_test(a_refused_name_is_not_known_to_be_missing),
        fed_test(a_denied_name_takes_away_what_came_by_it),
        fed_test(a_denied_name_stays_if_a_wildcard_brings_it),
        fed_test(a_denied_mirror_has_nothing_for_us),
        fed_test(a_denied_mirror_rules_nobody_out),
        fed_test(a_refused_mirror_is_not_known_and_does_not_hang),
        fed_test(what_was_asked_before_its_node_is_answered_by_itself),
        fed_test(what_a_type_asked_before_it_was_given_up_is_answered_by_itself),
        fed_test(a_type_that_nobody_wants_any_more_is_given_up),
        fed_test(there_are_so_many_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
