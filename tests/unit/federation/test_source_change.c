/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are added, removed and edited while the node runs. */
#include "tests/unit/federation/change_bed.h"

#include "base/alloc.h"

/* The stream side has it by this link from now on: others are at most as great. */
static void
renumber(fed_bed *bed, char source, uint64_t link)
{
    for (int i = 0; i < FED_LINKS; i++)
        if (bed->links[i] >= link)
            bed->links[i] += FED_LINKS;
    bed->links[source - 'a'] = link;
}

/* ---- coming and going ---- */

static void
the_same_is_no_change(void **state)
{
    start_two(*state);
    assert_ok(fed_reconfigure(*state));
    expect_two(*state);
}

static void
one_that_is_added_is_asked(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    have(bed, "abc");
    FED_PROVIDER(bed, {A}, {B}, {C});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "dial c");
    assert_false(fed_settled(bed, "CDS", ""));
    fed_connect(bed, 'c');
    assert_orders(bed, "sub c CDS :*");
    (void)fed_publish(bed, 'c', "CDS", "w=4 x=5 !");
    assert_value(bed, "CDS", "w", "4");
    assert_value(bed, "CDS", "x", "1");
    assert_true(fed_settled(bed, "CDS", ""));
    expect_two(bed);
}

static void
what_one_has_brought_that_is_removed_goes_after_a_while(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    have(bed, "b");
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a");
    assert_true(fed_settled(bed, "CDS", ""));
    (void)fed_publish(bed, 'a', "CDS", "x=7");
    assert_value(bed, "CDS", "x", "1"); /* what its stream still sends is nobody's */
    fed_close(bed, 'a');
    fed_advance(bed, LINGER - 1000);
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 2000);
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "2");
    assert_orders(bed, "");
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "2");
}

static void
one_that_is_removed_gives_way_to_others_at_once(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    (void)fed_publish(bed, 'b', "CDS", "x=of-b");
    assert_value(bed, "CDS", "x", "1");
    have(bed, "b");
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    assert_value(bed, "CDS", "x", "of-b");
}

static void
one_that_comes_back_in_time_has_what_it_had(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    have(bed, "b");
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    fed_close(bed, 'a');
    have(bed, "ab");
    FED_PROVIDER(bed, {A}, {B});
    (void)fed_orders(bed);
    renumber(bed, 'a', 3);
    assert_ok(fed_reconfigure(bed));
    assert_value(bed, "CDS", "x", "1");
    assert_orders(bed, "dial a");
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a CDS :*+1");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !");
    fed_advance(bed, 2 * LINGER);
    assert_orders(bed, "");
    expect_two(bed);
}

static void
one_that_comes_back_late_begins_anew(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    have(bed, "b");
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    fed_close(bed, 'a');
    fed_advance(bed, LINGER + 1000);
    have(bed, "ab");
    FED_PROVIDER(bed, {A}, {B});
    (void)fed_orders(bed);
    renumber(bed, 'a', 4);
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "dial a");
    assert_false(fed_settled(bed, "CDS", ""));
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a CDS :*");
}

static void
all_may_go(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    have(bed, "");
    bed->config.n_providers = 0;
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a, hangup b");
    fed_advance(bed, LINGER + 1000);
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "");
    have(bed, "ab");
    bed->config.n_providers = 1;
    renumber(bed, 'a', 5);
    renumber(bed, 'b', 6);
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "dial a, dial b");
}

/* ---- editing ---- */

static void
other_bounds_leave_its_stream(void **state)
{
    fed_bed *bed = *state;
    const udpai_str type = udpai_str_from(TEST_CDS);
    start_two(bed);
    bed->sources[0].max_withdrawal = 3;
    bed->sources[1].standby = &type;
    bed->sources[1].n_standby = 1;
    have(bed, "ab");
    assert_ok(fed_reconfigure(bed));
    expect_two(bed);
}

static void
another_address_is_no_failure(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].address = UDPAI_STR("one:1");
    start_two(bed);
    bed->sources[0].address = UDPAI_STR("two:2");
    have(bed, "ab");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a");
    fed_close(bed, 'a');
    assert_orders(bed, "dial a");
    assert_value(bed, "CDS", "x", "1");
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a CDS :*+1");
}

static void
one_may_become_one_that_dials(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    bed->sources[0].kind = UDPAI_SOURCE_UDPA_LISTEN;
    bed->sources[0].peer = UDPAI_STR("caller");
    have(bed, "ab");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a");
    (void)fed_publish(bed, 'a', "CDS", "x=7"); /* is of the former peer */
    fed_close(bed, 'a');
    assert_value(bed, "CDS", "x", "1");
    bed->sessions[0] = bed->last_session + 1;
    (void)fed_arrive(bed, &(fed_peer){.id = "caller"});
    assert_orders(bed, "sub a CDS :*+1");
    (void)fed_publish(bed, 'a', "CDS", "x=8 !");
    assert_value(bed, "CDS", "x", "8");
    bed->sources[0].kind = UDPAI_SOURCE_UDPA;
    bed->sources[0].peer = (udpai_str){0};
    have(bed, "ab");
    renumber(bed, 'a', 4);
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a, dial a");
    assert_value(bed, "CDS", "x", "8");
}

/* As at a start it has a while to come, in which nothing takes its place. */
static void
nothing_takes_over_from_one_that_is_another(void **state)
{
    fed_bed *bed = *state;
    have(bed, "ab");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false}, {B});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !");
    bed->sources[0].kind = UDPAI_SOURCE_XDS;
    have(bed, "ab");
    (void)fed_orders(bed);
    renumber(bed, 'a', 3);
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a, dial a");
    fed_advance(bed, 1000);
    assert_orders(bed, "");
    fed_advance(bed, 2000);
    assert_orders(bed, "dial b");
}

static void
count_source(void *n, udpai_str name, udpa_bytes *status)
{
    (void)name;
    (void)status;
    ++*(unsigned *)n;
}

/* Also while it is not known which sources resources define. */
static void
one_that_is_removed_waits_for_no_resource(void **state)
{
    fed_bed *bed = *state;
    have(bed, "ab");
    fed_type(bed, "CDS");
    fed_type(bed, "type.googleapis.com/udpa.config.v1.ConfigSource");
    FED_PROVIDER(bed, {A}, {B});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !");
    have(bed, "b");
    FED_PROVIDER(bed, {B});
    assert_ok(fed_reconfigure(bed));
    fed_advance(bed, LINGER + 1);
    assert_value(bed, "CDS", "x", "");
    unsigned n = 0;
    assert_ok(udpai_node_visit_sources(bed->node, count_source, &n));
    assert_int_equal(n, 1);
}

static void
one_that_has_come_as_a_publisher_comes_again(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    bed->sessions[2] = fed_arrive(bed, &(fed_peer){.id = "caller"});
    bed->sources[2].kind = UDPAI_SOURCE_UDPA_LISTEN;
    bed->sources[2].peer = UDPAI_STR("caller");
    (void)fed_orders(bed);
    have(bed, "abc");
    FED_PROVIDER(bed, {A}, {B}, {C});
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup c");
    fed_leave(bed, bed->sessions[2], false);
    bed->sessions[2] = bed->last_session + 1;
    (void)fed_arrive(bed, &(fed_peer){.id = "caller"});
    assert_orders(bed, "sub c CDS :*");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "");
}

static void
one_may_become_a_directory(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    bed->sources[0].address = UDPAI_STR("/etc/resources");
    have(bed, "ab");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "hangup a");
    fed_close(bed, 'a');
    assert_value(bed, "CDS", "x", "1");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = "9", .value = "9");
    const udpai_directory directory = {.root = UDPAI_STR("/etc/resources"),
                                       .source = UDPAI_STR("a"),
                                       .resources = &resource,
                                       .n_resources = 1};
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    fed_advance(bed, 1000);
    assert_value(bed, "CDS", "x", "9");
    assert_true(fed_settled(bed, "CDS", ""));
}

static void
one_may_become_a_standby_and_cease_to_be(void **state)
{
    fed_bed *bed = *state;
    have(bed, "ab");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {B});
    fed_start(bed);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "y=2 !");
    assert_true(fed_settled(bed, "CDS", ""));
    bed->sources[0].recover = (udpai_recover_config){.types = bed->types, .n_types = 1};
    have(bed, "ab");
    (void)fed_orders(bed);
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "dial a");
    assert_false(fed_settled(bed, "CDS", ""));
    fed_connect(bed, 'a');
    assert_orders(bed, "sub a CDS :*");
    (void)fed_publish(bed, 'a', "CDS", "!");
    assert_true(fed_settled(bed, "CDS", ""));
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "");
    bed->sources[0].recover = (udpai_recover_config){0};
    have(bed, "ab");
    assert_ok(fed_reconfigure(bed));
    assert_orders(bed, "unsub a CDS :*, hangup a");
    have(bed, "b");
    assert_ok(fed_reconfigure(bed));
    fed_advance(bed, LINGER + 1);
    unsigned n = 0;
    assert_ok(udpai_node_visit_sources(bed->node, count_source, &n));
    assert_int_equal(n, 1);
}

/* ---- what may be amiss ---- */

static void
what_is_left_has_changed_nothing(void **state)
{
    fed_bed *bed = *state;
    udpai_node_next *next = NULL;
    start_two(bed);
    have(bed, "bc");
    FED_PROVIDER(bed, {B}, {C});
    assert_ok(udpai_node_prepare(bed->node, &bed->config, &next, NULL));
    assert_int_equal(udpai_node_next_facts_of(next)->n_added, 1);
    assert_int_equal(udpai_node_next_facts_of(next)->n_removed, 1);
    assert_int_equal(udpai_node_next_facts_of(next)->n_withdrawn, 1);
    udpai_node_leave(next);
    assert_ok(udpai_node_prepare(bed->node, &bed->config, &next, NULL));
    assert_int_equal(udpai_node_next_facts_of(next)->n_added, 1);
    udpai_node_leave(next);
    fed_advance(bed, 2 * LINGER);
    expect_two(bed);
    have(bed, "ab");
    FED_PROVIDER(bed, {A}, {B});
    assert_ok(fed_reconfigure(bed));
    expect_two(bed);
}

static void
what_others_have_is_not_counted(void **state)
{
    fed_bed *bed = *state;
    udpai_node_next *next = NULL;
    start_two(bed);
    (void)fed_publish(bed, 'b', "CDS", "x=1");
    (void)fed_publish(bed, 'a', "CDS", "v=1 w=1");
    have(bed, "b");
    FED_PROVIDER(bed, {B});
    assert_ok(udpai_node_prepare(bed->node, &bed->config, &next, NULL));
    assert_int_equal(udpai_node_next_facts_of(next)->n_withdrawn, 2);
    udpai_node_leave(next);
}

static void
a_provider_of_a_source_that_is_not_there_is_an_error(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    have(bed, "b");
    assert_int_equal(fed_reconfigure(bed), UDPA_ERR_INVAL);
    expect_two(bed);
}

static void
without_memory_nothing_changes(void **state)
{
    fed_bed *bed = *state;
    udpa_err err = UDPA_ERR_NOMEM;
    start_two(bed);
    have(bed, "bc");
    bed->sources[1].standby_for = bed->types;
    bed->sources[1].n_standby_for = 1;
    have(bed, "bc");
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {B}, {C});
    for (long n = 0; err != UDPA_OK; n++) {
        udpai_node_next *next = NULL;
        udpai_alloc_fail_after(n);
        err = udpai_node_prepare(bed->node, &bed->config, &next, NULL);
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        if (err == UDPA_OK)
            udpai_node_leave(next);
        expect_two(bed);
        assert_true(n < 10000);
    }
}

/* Once it is prepared, it is done: what an order has no memory for is done later. */
static void
without_memory_for_what_follows_it_is_taken(void **state)
{
    fed_bed *bed = *state;
    udpai_node_next *next = NULL;
    start_two(bed);
    have(bed, "bc");
    FED_PROVIDER(bed, {B}, {C});
    assert_ok(udpai_node_prepare(bed->node, &bed->config, &next, NULL));
    udpai_alloc_fail_after(0);
    udpai_node_take(next);
    udpai_alloc_fail_after(-1);
    fed_advance(bed, 1000);
    assert_orders(bed, "hangup a, dial c");
    fed_close(bed, 'a');
    fed_advance(bed, LINGER);
    assert_value(bed, "CDS", "x", "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(the_same_is_no_change),
        fed_test(one_that_is_added_is_asked),
        fed_test(what_one_has_brought_that_is_removed_goes_after_a_while),
        fed_test(one_that_is_removed_gives_way_to_others_at_once),
        fed_test(one_that_comes_back_in_time_has_what_it_had),
        fed_test(one_that_comes_back_late_begins_anew),
        fed_test(all_may_go),
        fed_test(other_bounds_leave_its_stream),
        fed_test(another_address_is_no_failure),
        fed_test(one_may_become_one_that_dials),
        fed_test(nothing_takes_over_from_one_that_is_another),
        fed_test(one_that_is_removed_waits_for_no_resource),
        fed_test(one_that_has_come_as_a_publisher_comes_again),
        fed_test(one_may_become_a_directory),
        fed_test(one_may_become_a_standby_and_cease_to_be),
        fed_test(what_is_left_has_changed_nothing),
        fed_test(what_others_have_is_not_counted),
        fed_test(a_provider_of_a_source_that_is_not_there_is_an_error),
        fed_test(without_memory_nothing_changes),
        fed_test(without_memory_for_what_follows_it_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
