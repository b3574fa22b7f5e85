/* SPDX-License-Identifier: Apache-2.0 */
/* Names whose sources are others than those of their type: what is asked, what is accepted, whose
 * word counts while they come, change and go. */
#include "federation/named.h"
#include "federation/node_internal.h"

#include <stdio.h>

#include "tests/unit/federation/federation_test.h"

#define ACME "com.acme"
#define X UDPAI_STR("com.acme/x")
#define EDS UDPAI_STR(TEST_EDS)

/* a has all of EDS in com.acme. */
static void
start(fed_bed *bed)
{
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "com.acme/x");
    (void)fed_orders(bed);
}

/* x comes from these, words like "b" or "bc": each is standby for the one before it. */
static udpai_named_config
named_config(const fed_bed *bed, const char *sources, udpai_descriptor_config room[3])
{
    udpai_named_config config = {.type_url = EDS, .name = X, .descriptors = room};
    for (const char *source = sources; *source; source++)
        room[config.n_descriptors++] = (udpai_descriptor_config){
            .source = bed->sources[*source - 'a'].name,
            .on_demand = true,
        };
    return config;
}

static void
name(fed_bed *bed, const char *sources)
{
    udpai_descriptor_config room[3];
    const udpai_named_config config = named_config(bed, sources, room);
    assert_ok(udpai_named_set(bed->node->parts.providers, &config, NULL));
    fed_advance(bed, 1);
}

static void
end(fed_bed *bed)
{
    udpai_named_end(bed->node->parts.providers, EDS, X);
    fed_advance(bed, 1);
}

/* ---- what is asked and accepted ---- */

static void
its_source_is_asked_for_the_name_alone(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    assert_orders(bed, "dial b");
    fed_connect(bed, 'b');
    assert_orders(bed, "sub b EDS :x");
}

static void
nothing_else_is_accepted_from_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    const char *refused = fed_publish(bed, 'b', "EDS", "x=of-b y=of-b com.acme/x/y=of-b !");
    assert_non_null(strstr(refused, "'com.acme/y' lies outside"));
    assert_non_null(strstr(refused, "'com.acme/x/y' lies outside"));
    assert_null(strstr(refused, "'com.acme/x' lies"));
    assert_non_null(strstr(fed_publish(bed, 'b', "CDS", "x=of-b"), "lies outside"));
    assert_value(bed, "EDS", "x", "of-b");
    assert_value(bed, "EDS", "y", "");
}

static void
what_it_refreshes_besides_is_not_asked_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'b', "EDS", "~y=1");
    assert_orders(bed, "");
    (void)fed_publish(bed, 'b', "EDS", "~x=1");
    assert_orders(bed, "sub b EDS :x");
}

static void
a_name_that_nobody_wants_is_not_asked_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_want_no_more(bed, "EDS", "com.acme/x");
    name(bed, "b");
    assert_orders(bed, "");
    fed_want(bed, "EDS", "*com");
    assert_orders(bed, "dial b");
    fed_connect(bed, 'b');
    assert_orders(bed, "sub b EDS :x");
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    fed_want_no_more(bed, "EDS", "*com");
    fed_advance(bed, 1);
    assert_orders(bed, "");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a EDS com.acme:x, unsub b EDS :x, hangup b");
    assert_value(bed, "EDS", "x", "");
}

static void
a_mirror_of_a_name_is_always_asked(void **state)
{
    fed_bed *bed = *state;
    udpai_descriptor_config room[3];
    start(bed);
    fed_want_no_more(bed, "EDS", "com.acme/x");
    const udpai_named_config config = named_config(bed, "b", room);
    room[0].on_demand = false;
    assert_ok(udpai_named_set(bed->node->parts.providers, &config, NULL));
    fed_advance(bed, 1);
    assert_orders(bed, "dial b");
    fed_connect(bed, 'b');
    assert_orders(bed, "sub b EDS :x");
}

/* Two providers share what b is asked for; the end of one is not that of the other. */
static void
sources_are_shared(void **state)
{
    fed_bed *bed = *state;
    udpai_descriptor_config room[3];
    start(bed);
    fed_want(bed, "EDS", "com.acme/y");
    assert_orders(bed, "sub a EDS com.acme:y"); /* as of any mirror */
    udpai_named_config other = named_config(bed, "b", room);
    other.name = UDPAI_STR("com.acme/y");
    assert_ok(udpai_named_set(bed->node->parts.providers, &other, NULL));
    name(bed, "b");
    fed_connect(bed, 'b');
    const char *orders = fed_orders(bed);
    if (strcmp(orders, "dial b, sub b EDS :x y") != 0)
        assert_string_equal(orders, "dial b, sub b EDS :y x");
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    (void)fed_publish(bed, 'b', "EDS", "x=1 y=1 !");
    end(bed);
    assert_non_null(strstr(fed_publish(bed, 'b', "EDS", "x=2"), "lies outside"));
    assert_string_equal(fed_publish(bed, 'b', "EDS", "y=2"), "");
    assert_value(bed, "EDS", "y", "2");
}

/* ---- make before break ---- */

static void
its_source_counts_and_those_of_the_type_do_not(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    (void)fed_publish(bed, 'a', "EDS", "x=of-a y=of-a !com.acme");
    assert_value(bed, "EDS", "x", "of-b");
    assert_value(bed, "EDS", "y", "of-a");
    (void)fed_publish(bed, 'b', "EDS", "-x");
    assert_value(bed, "EDS", "x", "");
}

static void
what_is_there_stays_until_its_source_has_spoken(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !com.acme");
    name(bed, "b");
    fed_connect(bed, 'b');
    assert_value(bed, "EDS", "x", "of-a");
    (void)fed_publish(bed, 'b', "EDS", "x=of-b");
    assert_value(bed, "EDS", "x", "of-b");
}

static void
that_it_has_nothing_is_a_word_too(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !com.acme");
    name(bed, "b");
    fed_connect(bed, 'b');
    assert_value(bed, "EDS", "x", "of-a");
    (void)fed_publish(bed, 'b', "EDS", "-x !");
    assert_value(bed, "EDS", "x", "");
}

static void
where_nothing_was_told_those_of_the_type_never_count(void **state)
{
    fed_bed *bed = *state;
    udpai_descriptor_config room[3];
    udpai_named_config config = named_config(bed, "b", room);
    config.at_once = true;
    bed->config.named = &config;
    bed->config.n_named = 1;
    start(bed);
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !com.acme");
    assert_value(bed, "EDS", "x", "");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    fed_restart(bed); /* what was kept counts as before */
    assert_value(bed, "EDS", "x", "of-b");
}

static void
at_its_end_those_of_the_type_count_again(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !com.acme");
    (void)fed_orders(bed);
    end(bed);
    assert_value(bed, "EDS", "x", "of-a");
    assert_orders(bed, "unsub b EDS :x, hangup b");
}

static void
at_its_end_it_goes_if_nobody_else_has_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    end(bed);
    assert_value(bed, "EDS", "x", "");
}

/* They may have it: it stays until they have said so, but not for ever. */
static void
at_its_end_those_of_the_type_are_waited_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    end(bed);
    assert_value(bed, "EDS", "x", "of-b");
    assert_false(fed_name_settled(bed, "EDS", "com.acme/x"));
    (void)fed_publish(bed, 'a', "EDS", "x=of-a");
    assert_value(bed, "EDS", "x", "of-a");
}

static void
the_wait_at_its_end_is_bounded(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    fed_close(bed, 'a');
    end(bed);
    fed_advance(bed, 29900);
    assert_value(bed, "EDS", "x", "of-b");
    fed_advance(bed, 200);
    assert_value(bed, "EDS", "x", "");
}

static void
it_may_come_back_while_it_ends(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    end(bed);
    (void)fed_orders(bed);
    name(bed, "b");
    assert_orders(bed, "");
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !com.acme");
    fed_advance(bed, 60000);
    assert_value(bed, "EDS", "x", "of-b");
    assert_string_equal(fed_publish(bed, 'b', "EDS", "x=of-b-again"), "");
    assert_value(bed, "EDS", "x", "of-b-again");
}

static void
another_source_takes_its_place_when_it_has_spoken(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    (void)fed_orders(bed);
    name(bed, "c");
    assert_orders(bed, "dial c");
    fed_connect(bed, 'c');
    assert_value(bed, "EDS", "x", "of-b");
    (void)fed_publish(bed, 'c', "EDS", "x=of-c !");
    assert_value(bed, "EDS", "x", "of-c");
    assert_orders(bed, "sub c EDS :x, unsub b EDS :x, hangup b");
}

/* Whatever was said before it began to leave. */
static void
each_that_leaves_has_its_own_time(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    name(bed, "b");
    fed_advance(bed, 29000);
    name(bed, "c");
    fed_advance(bed, 29000);
    assert_value(bed, "EDS", "x", "of-b");
    fed_advance(bed, 2000);
    assert_value(bed, "EDS", "x", "");
}

static void
one_of_its_sources_is_standby_for_another(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "bc");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_orders(bed, "dial b, sub b EDS :x");
    fed_close(bed, 'b');
    assert_orders(bed, "dial c");
    fed_connect(bed, 'c');
    assert_orders(bed, "sub c EDS :x");
    assert_value(bed, "EDS", "x", "of-b");
    (void)fed_publish(bed, 'c', "EDS", "x=of-c !");
    assert_value(bed, "EDS", "x", "of-c");
    fed_advance(bed, 1000);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=back !");
    assert_value(bed, "EDS", "x", "of-c");
    fed_advance(bed, 5000);
    assert_value(bed, "EDS", "x", "back");
}

/* ---- what is settled ---- */

static void
the_name_is_settled_by_its_own_sources(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_false(fed_name_settled(bed, "EDS", "com.acme/x"));
    assert_false(fed_settled(bed, "EDS", ACME));
    fed_want(bed, "EDS",
             "com.acme/y"); /* of others, those of the type say whether they are there */
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "EDS", "!com.acme"); /* of x, which it was asked for before */
    (void)fed_publish(bed, 'a', "EDS", "!com.acme");
    assert_true(fed_name_settled(bed, "EDS", "com.acme/y"));
    (void)fed_publish(bed, 'b', "EDS", "!");
    assert_true(fed_name_settled(bed, "EDS", "com.acme/x"));
    assert_true(fed_settled(bed, "EDS", ACME));
}

static void
what_is_missing_of_the_type_is_nothing_to_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "!");
    assert_true(fed_name_settled(bed, "EDS", "com.acme/x"));
    assert_false(fed_name_settled(bed, "EDS", "com.acme/y"));
}

/* ---- a type that nobody provides ---- */

static void
a_type_without_a_provider_may_have_names_with_one(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_want(bed, "EDS", "com.acme/x");
    name(bed, "b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    end(bed);
    assert_value(bed, "EDS", "x", "");
}

/* ---- mistakes ---- */

static void
refuses(fed_bed *bed, const udpai_named_config *config, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_named_set(bed->node->parts.providers, config, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    assert_null(udpai_named_find(udpai_sources_named_table(bed->node->parts.sources), EDS, X));
}

static void
mistakes_are_refused(void **state)
{
    fed_bed *bed = *state;
    udpai_descriptor_config room[3];
    start(bed);
    udpai_named_config config = named_config(bed, "b", room);
    room[0].source = UDPAI_STR("z");
    refuses(bed, &config, UDPA_ERR_INVAL, "names the ConfigSource 'z', which this node does not");
    config = named_config(bed, "b", room);
    room[0].prefix = UDPAI_STR("com.other");
    refuses(bed, &config, UDPA_ERR_INVAL, "the namespace 'com.other', which the name does not");
    config = named_config(bed, "bb", room);
    refuses(bed, &config, UDPA_ERR_INVAL, "names the ConfigSource 'b' twice");
    config = named_config(bed, "", room);
    refuses(bed, &config, UDPA_ERR_INVAL, "has no config_descriptors");
    config = named_config(bed, "b", room);
    config.name = UDPAI_STR("x");
    refuses(bed, &config, UDPA_ERR_INVAL, "'x'");
    udpai_named_end(bed->node->parts.providers, EDS, X); /* what is not there may end */
}

static void
there_is_a_limit(void **state)
{
    fed_bed *bed = *state;
    udpai_descriptor_config room[3];
    char text[64];
    start(bed);
    udpai_named_config config = named_config(bed, "b", room);
    for (int i = 0; i < 4096; i++) {
        int len = snprintf(text, sizeof(text), "com.acme/other-%d", i);
        config.name = (udpai_str){text, (size_t)len};
        assert_ok(udpai_named_set(bed->node->parts.providers, &config, NULL));
    }
    assert_ok(udpai_named_set(bed->node->parts.providers, &config, NULL)); /* the last one again */
    config.name = X;
    refuses(bed, &config, UDPA_ERR_LIMIT, "4096 names");
}

/* ---- without memory ---- */

static void
without_memory_nothing_has_changed_or_it_is_made_up_for(void **state)
{
    fed_bed *bed = *state;
    udpai_descriptor_config room[3];
    start(bed);
    const udpai_named_config config = named_config(bed, "bc", room);
    udpa_err err = UDPA_ERR_NOMEM;
    for (long n = 0; err != UDPA_OK; n++) {
        udpai_alloc_fail_after(n);
        err = udpai_named_set(bed->node->parts.providers, &config, NULL);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        udpai_node_flush(bed->node);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        assert_int_equal(
            udpai_named_find(udpai_sources_named_table(bed->node->parts.sources), EDS, X) != NULL,
            err == UDPA_OK);
    }
    fed_advance(bed, 1);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    for (long n = 0; n < 40; n++) {
        udpai_alloc_fail_after(n);
        udpai_named_end(bed->node->parts.providers, EDS, X);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        udpai_node_flush(bed->node);
        fed_advance(bed, 30001);
        assert_null(udpai_named_find(udpai_sources_named_table(bed->node->parts.sources), EDS, X));
        assert_value(bed, "EDS", "x", "");
        name(bed, "b");
        fed_connect(bed, 'b');
        (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(its_source_is_asked_for_the_name_alone),
        fed_test(nothing_else_is_accepted_from_it),
        fed_test(what_it_refreshes_besides_is_not_asked_for),
        fed_test(a_name_that_nobody_wants_is_not_asked_for),
        fed_test(a_mirror_of_a_name_is_always_asked),
        fed_test(sources_are_shared),
        fed_test(its_source_counts_and_those_of_the_type_do_not),
        fed_test(what_is_there_stays_until_its_source_has_spoken),
        fed_test(that_it_has_nothing_is_a_word_too),
        fed_test(where_nothing_was_told_those_of_the_type_never_count),
        fed_test(at_its_end_those_of_the_type_count_again),
        fed_test(at_its_end_it_goes_if_nobody_else_has_it),
        fed_test(at_its_end_those_of_the_type_are_waited_for),
        fed_test(the_wait_at_its_end_is_bounded),
        fed_test(it_may_come_back_while_it_ends),
        fed_test(another_source_takes_its_place_when_it_has_spoken),
        fed_test(each_that_leaves_has_its_own_time),
        fed_test(one_of_its_sources_is_standby_for_another),
        fed_test(the_name_is_settled_by_its_own_sources),
        fed_test(what_is_missing_of_the_type_is_nothing_to_it),
        fed_test(a_type_without_a_provider_may_have_names_with_one),
        fed_test(mistakes_are_refused),
        fed_test(there_is_a_limit),
        fed_test(without_memory_nothing_has_changed_or_it_is_made_up_for),
    };
    return cmocka_run_group_tests_name("named", tests, NULL, NULL);
}
