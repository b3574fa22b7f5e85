/* SPDX-License-Identifier: Apache-2.0 */
/* Providers that are others while the node runs: what both have is not asked for again. */
#include "tests/unit/federation/change_bed.h"
#include "tests/unit/federation/notes.h"

#include <stdio.h>

static void
another_type_is_asked_for_alone(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    fed_type(bed, "EDS");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "sub a EDS :*, sub b EDS :*");
    (void)fed_publish(bed, 'a', "EDS", "e=1 !");
    assert_value(bed, "EDS", "e", "1");
    expect_two(bed);
}

static void
a_type_less_goes_after_a_while(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    fed_type(bed, "EDS");
    assert_ok(fed_reconfigure(bed));
    (void)fed_publish(bed, 'a', "EDS", "e=1 !");
    (void)fed_publish(bed, 'b', "EDS", "!");
    (void)fed_orders(bed);
    bed->provider.n_types = 1;
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "");
    (void)fed_publish(bed, 'a', "EDS", "e=2"); /* until then it is followed */
    assert_value(bed, "EDS", "e", "2");
    fed_advance(bed, LINGER + 1);
    assert_orders(bed, "unsub a EDS :*, unsub b EDS :*");
    assert_value(bed, "EDS", "e", "");
    expect_two(bed);
    fed_restart(bed);
    assert_value(bed, "EDS", "e", "");
    assert_value(bed, "CDS", "x", "1");
}

static void
a_source_may_leave_one_type(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, LINGER + 1);
    assert_orders(bed, "unsub a CDS :*, hangup a"); /* nothing is asked of it any more */
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "2");
}

static void
one_that_leaves_may_stay_after_all(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    fed_advance(bed, LINGER / 2);
    FED_PROVIDER(bed, {A}, {B});
    assert_ok(fed_reconfigure(bed));
    fed_advance(bed, 2 * LINGER);
    expect_two(bed);
}

static void
a_narrower_prefix_leaves_what_is_in_it(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    (void)fed_publish(bed, 'a', "CDS", "org.other/o=1");
    assert_value(bed, "CDS", "org.other/o", "1");
    FED_PROVIDER(bed, {'a', "com.acme", UDPAI_CONTINUE, false}, {B});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "sub a CDS com.acme:*+1");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_advance(bed, LINGER + 1);
    assert_value(bed, "CDS", "org.other/o", "");
    assert_value(bed, "CDS", "x", "1");
}

static void
by_demand_it_has_what_is_subscribed_to(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    (void)fed_publish(bed, 'a', "CDS", "w=1");
    fed_want(bed, "CDS", "x");
    fed_advance(bed, 1);
    FED_PROVIDER(bed, {A_ON_DEMAND}, {B});
    (void)fed_orders(bed);
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "unsub a CDS :*, sub a CDS :x+1");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !");
    assert_value(bed, "CDS", "w", "1");
    fed_advance(bed, LINGER + 1);
    assert_value(bed, "CDS", "w", "");
    assert_value(bed, "CDS", "x", "1");
    (void)fed_orders(bed);
    FED_PROVIDER(bed, {A}, {B});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "unsub a CDS :x, sub a CDS :*+1");
    (void)fed_publish(bed, 'a', "CDS", "w=1 x=1 !");
    fed_advance(bed, LINGER + 1);
    assert_value(bed, "CDS", "w", "1");
    assert_value(bed, "CDS", "x", "1");
}

static void
what_is_subscribed_to_is_asked_of_a_new_one(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    fed_want(bed, "CDS", "x");
    fed_want(bed, "EDS", "e");
    fed_advance(bed, 1);
    (void)fed_orders(bed);
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {A_ON_DEMAND}, {B});
    bed->provider.types = &bed->types[1];
    bed->provider.n_types = 1;
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "sub a EDS :e, sub b EDS :*, sub b EDS :e");
}

static void
other_order_other_winner(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    (void)fed_publish(bed, 'b', "CDS", "x=of-b");
    assert_value(bed, "CDS", "x", "1");
    FED_PROVIDER(bed, {B}, {A});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "");
    assert_value(bed, "CDS", "x", "of-b");
}

/* ---- what is active ---- */

#define A_FIRST 'a', "", UDPAI_STOP_ON_SUCCESS, false

/* a was lost, and has just come back from its standby. */
static void
start_returning(fed_bed *bed)
{
    have(bed, "ab");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {A_FIRST}, {B});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !");
    fed_close(bed, 'a');
    fed_advance(bed, 3000);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !");
    assert_value(bed, "CDS", "x", "of-b");
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a !");
    assert_value(bed, "CDS", "x", "of-b");
    fed_type(bed, "EDS");
}

static void
what_comes_back_earns_its_place_as_before(void **state)
{
    fed_bed *bed = *state;
    start_returning(bed);
    assert_ok(fed_reconfigure(bed));
    assert_value(bed, "CDS", "x", "of-b");
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", "x", "of-a");
}

static void
what_stands_in_does_so_by_demand_too(void **state)
{
    fed_bed *bed = *state;
    start_returning(bed);
    fed_want(bed, "CDS", "x");
    FED_PROVIDER(bed, {A_FIRST}, {'b', "", UDPAI_CONTINUE, true});
    assert_ok(fed_reconfigure(bed));
    assert_value(bed, "CDS", "x", "of-b");
}

static void
what_leaves_counts_though_its_source_does_not_any_more(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    FED_PROVIDER(bed, {A_FIRST}, {'b', "com.acme", UDPAI_CONTINUE, false});
    assert_ok(fed_reconfigure(bed));
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "2");
    fed_advance(bed, LINGER + 1);
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "");
}

/* ---- of every other type ---- */

static void
every_type_that_is_asked_for(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    fed_want(bed, "EDS", "*");
    fed_advance(bed, 1);
    assert_orders(bed, "");
    bed->provider.n_types = 0;
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "sub a EDS :*, sub b EDS :*"); /* CDS is asked for as before */
    (void)fed_publish(bed, 'a', "EDS", "e=1 !");
    (void)fed_publish(bed, 'b', "EDS", "!");
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    assert_value(bed, "EDS", "e", "1");
    fed_advance(bed, LINGER + 1);
    assert_value(bed, "EDS", "e", "");
    (void)fed_orders(bed);
    fed_want(bed, "RDS", "*");
    fed_advance(bed, 1);
    assert_orders(bed, "sub b RDS :*");
}

/* ---- groups of clients ---- */

#define HERE "com.acme/clients"
#define ONE HERE "/one"

/* What is asked for groups of clients stays with its providers: what is known of each group is. */
static void
groups_of_clients_go_on(void **state)
{
    fed_bed *bed = *state;
    fed_ask_per_clients(bed, 'a');
    have(bed, "a");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', HERE, UDPAI_CONTINUE, false});
    fed_start(bed);
    bed->links[1] = 2; /* of the group's */
    fed_come(bed, ONE, "n1");
    fed_connect_as(bed, 'b', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", ONE "/x=1 !" ONE);
    assert_true(fed_name_settled(bed, "CDS", ONE "/y"));
    assert_false(fed_name_settled(bed, "CDS", HERE "/two/y"));
    (void)fed_orders(bed);
    bed->sources[2].kind = UDPAI_SOURCE_UDPA;
    have(bed, "ac");
    for (unsigned i = 0; i < 3; i++) {
        assert_ok(fed_reconfigure(bed));
        assert_orders(bed, "");
        assert_true(fed_name_settled(bed, "CDS", ONE "/y"));
        assert_false(fed_name_settled(bed, "CDS", HERE "/two/y"));
    }
    (void)fed_publish(bed, 'b', "CDS", ONE "/x=2");
    assert_value(bed, "CDS", ONE "/x", "2");
}

static fed_bed *moved;

static void *
reach_elsewhere(void *target, udpai_str name_space, const udpai_node_info *client)
{
    fed_note(moved->orders, ", ", "elsewhere %.*s as %.*s", UDPAI_SHOWN(name_space),
             UDPAI_SHOWN(udpai_node_info_parts(client)->id));
    return target;
}

static void
groups_of_clients_move_with_their_source(void **state)
{
    fed_bed *bed = *state;
    fed_ask_per_clients(bed, 'a');
    have(bed, "a");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', HERE, UDPAI_CONTINUE, false});
    fed_start(bed);
    bed->links[1] = 2;
    fed_come(bed, ONE, "n1");
    fed_connect_as(bed, 'b', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", ONE "/x=1 !" ONE);
    (void)fed_orders(bed);
    moved = bed;
    bed->sources[0].target = &moved;
    bed->sources[0].target_for = reach_elsewhere;
    have(bed, "a");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "elsewhere com.acme/clients/one as n1, hangup b");
    fed_close(bed, 'b');
    assert_orders(bed, "dial b");
    assert_value(bed, "CDS", ONE "/x", "1");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "");
}

/* ---- any change, as if the node had begun with it ---- */

static uint64_t random_state = 25;

static unsigned
pick(unsigned n)
{
    return (unsigned)test_random_below(&random_state, n);
}

static void
configure_at_random(fed_bed *bed)
{
    static const char *const prefixes[] = {"", "com.acme", "com"};
    static const char *const types[] = {"CDS", "EDS"};
    char there[4] = "";
    fed_descriptor descriptors[3];
    size_t n = 0;
    for (char source = 'a'; source <= 'c'; source++) {
        if (pick(3) == 0)
            continue;
        there[strlen(there)] = source;
        if (pick(4))
            descriptors[n++] =
                (fed_descriptor){source, prefixes[pick(3)], UDPAI_CONTINUE, pick(3) == 0};
    }
    have(bed, there);
    bed->provider.n_types = 0;
    for (size_t i = 0; i < 2; i++)
        if (pick(3))
            fed_type(bed, types[i]);
    fed_descriptors(bed, descriptors, n);
    bed->config.n_providers = n && bed->provider.n_types;
}

static void
look(fed_bed *bed, char text[400])
{
    static const char *const types[] = {"CDS", "EDS"}, *const names[] = {"a", "b", "c", "all"};
    text[0] = '\0';
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 4; k++)
            snprintf(text + strlen(text), 400 - strlen(text), "%s ",
                     fed_value(bed, types[i], names[k]));
}

/* Of what a and b had brought the same is effective after a restart. */
static void
it_is_as_if_it_had_begun_so(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        fed_bed *bed;
        char changed[400], begun[400];
        assert_int_equal(fed_setup((void **)&bed), 0);
        start_two(bed);
        (void)fed_publish(bed, 'a', "CDS", "a=1 all=a !");
        (void)fed_publish(bed, 'b', "CDS", "b=1 all=b !");
        for (unsigned n = pick(4); n < 5; n++) {
            configure_at_random(bed);
            assert_ok(fed_reconfigure(bed));
            fed_advance(bed, pick(2) ? pick(2000) : LINGER + 1);
        }
        fed_advance(bed, LINGER + 1);
        look(bed, changed);
        fed_restart(bed);
        look(bed, begun);
        assert_string_equal(changed, begun);
        assert_int_equal(fed_teardown((void **)&bed), 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(another_type_is_asked_for_alone),
        fed_test(a_type_less_goes_after_a_while),
        fed_test(a_source_may_leave_one_type),
        fed_test(one_that_leaves_may_stay_after_all),
        fed_test(a_narrower_prefix_leaves_what_is_in_it),
        fed_test(by_demand_it_has_what_is_subscribed_to),
        fed_test(what_is_subscribed_to_is_asked_of_a_new_one),
        fed_test(other_order_other_winner),
        fed_test(what_comes_back_earns_its_place_as_before),
        fed_test(what_stands_in_does_so_by_demand_too),
        fed_test(what_leaves_counts_though_its_source_does_not_any_more),
        fed_test(every_type_that_is_asked_for),
        fed_test(groups_of_clients_go_on),
        fed_test(groups_of_clients_move_with_their_source),
        cmocka_unit_test(it_is_as_if_it_had_begun_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
