/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a mirror asks for, because its wildcard brings nothing that is lazy. */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#include "base/alloc.h"

#define ACME "com.acme"

static void
start_mirror(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

/* One that has said all that comes by its wildcard. */
static void
start_complete(fed_bed *bed)
{
    start_mirror(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "eager=1 !com.acme");
    assert_orders(bed, "dial a, sub a CDS com.acme:*");
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
put_lazy(fed_bed *bed, const char *name, const char *value)
{
    char full[100];
    snprintf(full, sizeof(full), "com.acme/%s", name);
    (void)fed_put(bed, bed->sessions[0],
                  RESOURCE(full, .type = TEST_CDS, .value = value, .version = value, .lazy = true),
                  false);
}

static void
a_name_is_asked_for_before_it_is_said_not_to_be_there(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    assert_false(fed_name_settled(bed, "CDS", "x"));
    fed_want(bed, "CDS", "x");
    assert_orders(bed, "sub a CDS com.acme:x");
    assert_false(fed_name_settled(bed, "CDS", "x"));
    assert_true(fed_settled(bed, "CDS", ACME)); /* a wildcard waits for none of them */
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_name_settled(bed, "CDS", "x"));
    assert_false(fed_name_settled(bed, "CDS", "y"));
}

static void
what_is_lazy_comes_and_goes_with_who_asks(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "x");
    (void)fed_orders(bed);
    put_lazy(bed, "x", "1");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "1");
    fed_want_no_more(bed, "CDS", "x");
    fed_advance(bed, 29999);
    assert_orders(bed, "");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 1);
    assert_orders(bed, "unsub a CDS com.acme:x");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "eager", "1");
}

static void
what_the_wildcard_brings_is_not_asked_for(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "eager");
    fed_want(bed, "CDS", "*com.acme");
    fed_want(bed, "CDS", "org/elsewhere");
    fed_want(bed, "CDS", "udpa.node/x");
    assert_orders(bed, "");
}

/* It may be lazy from now on. */
static void
what_the_wildcard_takes_away_is_asked_for(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "eager");
    (void)fed_publish(bed, 'a', "CDS", "-eager");
    assert_orders(bed, "sub a CDS com.acme:eager");
    assert_false(fed_name_settled(bed, "CDS", "eager"));
    put_lazy(bed, "eager", "2");
    assert_value(bed, "CDS", "eager", "2");
}

static void
a_no_is_remembered_for_a_while(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "x");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_want_no_more(bed, "CDS", "x");
    fed_advance(bed, 10000);
    fed_want(bed, "CDS", "x");
    assert_orders(bed, "");
    assert_true(fed_name_settled(bed, "CDS", "x"));
    fed_want_no_more(bed, "CDS", "x");
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a CDS com.acme:x");
    assert_false(fed_name_settled(bed, "CDS", "x"));
}

static void
a_source_without_the_extensions_is_asked_for_no_names(void **state)
{
    fed_bed *bed = *state;
    start_mirror(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true});
    (void)fed_publish(bed, 'a', "CDS", "eager=1");
    fed_advance(bed, 20000);
    (void)fed_orders(bed);
    fed_want(bed, "CDS", "x");
    assert_orders(bed, "");
    assert_true(fed_name_settled(bed, "CDS", "x"));
}

static void
a_source_that_does_not_answer_is_waited_for(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "x");
    (void)fed_orders(bed);
    fed_advance(bed, 300000);
    assert_orders(bed, "");
    assert_false(fed_name_settled(bed, "CDS", "x"));
    assert_true(fed_settled(bed, "CDS", ACME));
    put_lazy(bed, "x", "1");
    assert_value(bed, "CDS", "x", "1");
}

static void
without_its_source_nothing_is_said_of_a_name(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "old");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_close(bed, 'a');
    fed_want(bed, "CDS", "x");
    fed_advance(bed, 10000);
    assert_false(fed_name_settled(bed, "CDS", "x"));
    assert_true(fed_name_settled(bed, "CDS", "old"));
    fed_advance(bed, 20000); /* so long it is remembered */
    assert_false(fed_name_settled(bed, "CDS", "old"));
    (void)fed_orders(bed);
    fed_connect(bed,
                'a'); /* the wildcard goes first: its answer does not wait for those to names */
    assert_non_null(strstr(bed->orders, "sub a CDS com.acme:*"));
    assert_true(strstr(bed->orders, "com.acme:*") < strrchr(bed->orders, ':'));
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_name_settled(bed, "CDS", "x"));
}

static void
names_do_not_delay_the_mirror(void **state)
{
    fed_bed *bed = *state;
    start_mirror(bed);
    fed_want(bed, "CDS", "x");
    fed_connect(bed, 'a');
    assert_orders(bed, "dial a, sub a CDS com.acme:*, sub a CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_false(fed_name_settled(bed, "CDS", "x"));
}

/* It is asked for again in the time of what was refused; until then that is the answer. */
static void
a_name_that_is_denied_stays_answered(void **state)
{
    fed_bed *bed = *state;
    bed->config.timing.interest_linger_ms = 4000;
    start_complete(bed);
    fed_want(bed, "CDS", "x");
    (void)fed_orders(bed);
    fed_deny(bed, 'a', "CDS", ACME, "x");
    for (uint64_t ms = 1000; ms < 30000; ms += 1000) {
        fed_advance(bed, 1000);
        assert_orders(bed, "");
        assert_true(fed_name_settled(bed, "CDS", "x"));
    }
    fed_advance(bed, 1000);
    assert_orders(bed, "sub a CDS com.acme:x");
}

static void
a_name_that_is_refused_leaves_the_mirror(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    fed_want(bed, "CDS", "x");
    (void)fed_orders(bed);
    fed_refuse(bed, 'a', "CDS", ACME, NULL); /* all of that Subscribe */
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_false(fed_name_settled(bed, "CDS", "x"));
    fed_advance(bed, 30000);
    assert_orders(bed, "sub a CDS com.acme:x");
}

/* ---- nodes below ---- */

static udpai_report *
new_interest(udpai_report_kind kind, const char *name, bool wanted)
{
    udpai_str text = udpai_str_from(name);
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(TEST_CDS), .names = &text, .n_names = 1, .distance = 1};
    udpai_report *report = udpai_report_new(kind);
    report->subscription = udpai_subscription_message_copy(&message);
    report->subscribed = wanted;
    return report;
}

static void
tell_nodes(fed_bed *bed, udpai_report_kind kind, const char *name, bool wanted)
{
    udpai_node_report(bed->node, new_interest(kind, name, wanted));
}

/* Else nodes in a ring would ask for ever, each because the next one does. */
static void
a_no_for_nodes_below_ends_unless_they_ask_again(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/x", true);
    assert_orders(bed, "sub a CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 29999);
    tell_nodes(bed, UDPAI_REPORT_PASSED_ON, "com.acme/x", true);
    assert_orders(bed, ""); /* it is remembered */
    fed_advance(bed, 1);
    tell_nodes(bed, UDPAI_REPORT_PASSED_ON, "com.acme/x", true);
    assert_orders(bed, "sub a CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 89000);
    assert_orders(bed, "");
    fed_advance(bed, 16000);
    assert_orders(bed, "unsub a CDS com.acme:x");
    tell_nodes(bed, UDPAI_REPORT_PASSED_ON, "com.acme/x", true);
    assert_orders(bed, "sub a CDS com.acme:x");
}

static void
what_a_node_below_has_stays(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/x", true);
    put_lazy(bed, "x", "1");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_orders(bed);
    fed_advance(bed, 100000);
    assert_orders(bed, "");
    assert_value(bed, "CDS", "x", "1");
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/x", false);
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a CDS com.acme:x");
    assert_value(bed, "CDS", "x", "");
}

/* So nodes between here and its owner go on asking. */
static void
a_no_for_clients_is_asked_for_again(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/x", true);
    fed_want(bed, "CDS", "x");
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    for (int i = 0; i < 4; i++) {
        fed_advance(bed, 30000); /* not more often than interest_linger, by however many */
        tell_nodes(bed, UDPAI_REPORT_PASSED_ON, "com.acme/y", true);
        assert_orders(bed, "");
        fed_advance(bed, 15000);
        assert_orders(bed, "sub a CDS com.acme:x");
        assert_true(fed_name_settled(bed, "CDS", "x")); /* what was known stays so */
        (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    }
    fed_want_no_more(bed, "CDS", "x");
    fed_advance(bed, 105000);
    assert_orders(bed, "unsub a CDS com.acme:x");
}

static void
however_many_ask_the_source_is_asked_once(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    for (int i = 0; i < 1000; i++)
        fed_want(bed, "CDS", "x");
    assert_orders(bed, "sub a CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    for (int i = 0; i < 1000; i++) {
        fed_want_no_more(bed, "CDS", "x");
        fed_want(bed, "CDS", "x");
        fed_advance(bed, 29);
    }
    assert_orders(bed, "");
    fed_advance(bed, 16000);
    assert_orders(bed, "sub a CDS com.acme:x"); /* again, since somebody waits: once */
}

/* A name that an alias leads from is wanted as long as what has the alias is there. */
static void
what_an_alias_brings_stays(void **state)
{
    fed_bed *bed = *state;
    start_complete(bed);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/also", true);
    assert_orders(bed, "sub a CDS com.acme:also");
    (void)fed_put(bed, bed->sessions[0],
                  RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1",
                           .lazy = true, .aliases = {"com.acme/also"}),
                  false);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 300000);
    assert_orders(bed, "");
    assert_value(bed, "CDS", "x", "1");
    (void)fed_publish(bed, 'a', "CDS", "-also"); /* it leads nowhere */
    assert_value(bed, "CDS", "x", "");
    fed_advance(bed, 75000);
    assert_orders(bed, ""); /* only now there is nothing */
    fed_advance(bed, 30000);
    assert_orders(bed, "unsub a CDS com.acme:also");
}

/* The name is that of many: each of them ends by itself, if it does. */
static void
a_variant_stays_when_its_alias_leads_nowhere(void **state)
{
    fed_bed *bed = *state;
    const udpai_str constraints = UDPAI_STR("\x0a\x03"
                                            "\x0a\x01"
                                            "k"); /* "k" is there, whatever its value */
    start_complete(bed);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/also", true);
    assert_orders(bed, "sub a CDS com.acme:also");
    for (int is_variant = 0; is_variant < 2; is_variant++)
        (void)fed_put(bed, bed->sessions[0],
                      RESOURCE(is_variant ? "com.acme/v" : "com.acme/x", .type = TEST_CDS,
                               .lazy = true, .value = "1", .version = "1",
                               .aliases = {"com.acme/also"},
                               .constraints = is_variant ? constraints : (udpai_str){0}),
                      false);
    (void)fed_publish(bed, 'a', "CDS", "-also");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "v", "1");
    (void)fed_publish(bed, 'a', "CDS", "-v");
    assert_value(bed, "CDS", "v", "");
}

static void
start_two(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', ACME, UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_publish(bed, 'b', "CDS", "eager=1 !com.acme");
    (void)fed_orders(bed);
}

/* Nodes below that want a name have been told that the source has none, and have what a publisher
 * here has by that name. */
static void
lose_alias(fed_bed *bed, udpa_resource *with_alias, bool is_removed)
{
    start_complete(bed);
    uint64_t publisher = fed_arrive(bed, &(fed_peer){.id = "publisher"});
    (void)fed_put(bed, publisher, with_alias, false);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/also", true);
    assert_orders(bed, "sub a CDS com.acme:also");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 105000);
    assert_orders(bed, "unsub a CDS com.acme:also");
    assert_false(fed_name_settled(bed, "CDS", "also"));
    if (is_removed)
        (void)fed_publish_at(bed, publisher, "CDS", "-x");
    else
        (void)fed_publish_at(bed, publisher, "CDS", "x=1");
    assert_orders(bed, "sub a CDS com.acme:also");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_name_settled(bed, "CDS", "also"));
}

static udpa_resource *
make_with_alias(const char *alias)
{
    return RESOURCE("com.acme/x", .type = TEST_CDS, .value = "1", .version = "1",
                    .aliases = {alias});
}

static void
a_name_that_led_to_what_has_gone_is_asked_for(void **state)
{
    lose_alias(*state, make_with_alias("com.acme/also"), true);
}

static void
so_is_one_that_leads_there_no_more(void **state)
{
    lose_alias(*state, make_with_alias("com.acme/also"), false);
}

static void
so_is_one_by_a_pattern(void **state)
{
    lose_alias(*state, make_with_alias("com.acme/*so"), true);
}

/* Else what counts would follow from who asked first. */
static void
an_earlier_source_is_asked_for_what_a_later_one_brings(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    fed_want(bed, "CDS", "eager");
    assert_orders(bed, "sub a CDS com.acme:eager");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_want_no_more(bed, "CDS", "eager");
    fed_advance(bed, 30000);
    (void)fed_orders(bed);
    (void)fed_publish(bed, 'a', "CDS", "both=1");
    (void)fed_publish(bed, 'b', "CDS", "both=2");
    fed_want(bed, "CDS", "both");
    assert_orders(bed, "");
    (void)fed_publish(bed, 'a', "CDS", "-both");
    assert_orders(bed, "sub a CDS com.acme:both");
}

static void
nothing_is_said_before_all_sources_have_answered(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    fed_want(bed, "CDS", "x");
    assert_orders(bed, "sub a CDS com.acme:x, sub b CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_false(fed_name_settled(bed, "CDS", "x"));
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_true(fed_name_settled(bed, "CDS", "x"));
}

/* Whoever waits has not heard of it yet. */
static void
a_no_is_kept_until_all_sources_have_answered(void **state)
{
    fed_bed *bed = *state;
    start_two(bed);
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/x", true);
    assert_orders(bed, "sub a CDS com.acme:x, sub b CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 300000);
    assert_orders(bed, "");
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    assert_true(fed_name_settled(bed, "CDS", "x"));
}

/* Who is asked on demand does not forget; those above him might. */
static void
a_no_on_demand_is_asked_for_again(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, true});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "CDS", "x");
    assert_orders(bed, "dial a, sub a CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 37000);
    assert_orders(bed, "");
    fed_advance(bed, 15000);
    assert_orders(bed, "sub a CDS com.acme:x");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    tell_nodes(bed, UDPAI_REPORT_INTEREST, "com.acme/y", true);
    assert_orders(bed, "sub a CDS com.acme:y");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    fed_advance(bed, 30000);
    (void)fed_orders(bed);
    tell_nodes(bed, UDPAI_REPORT_PASSED_ON, "com.acme/y", true);
    assert_orders(bed, "sub a CDS com.acme:y");
}

/* ---- without memory ---- */

static void
without_memory_nothing_is_said_of_a_name(void **state)
{
    fed_bed *bed = *state;
    char name[32];
    start_complete(bed);
    for (int n = 0; n < 40; n++) {
        snprintf(name, sizeof(name), "com.acme/n%d", n);
        udpai_report *report = new_interest(UDPAI_REPORT_INTEREST, name, true);
        udpai_alloc_fail_after(n);
        udpai_node_report(bed->node, report);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        udpai_node_flush(bed->node);
        assert_false(fed_name_settled(bed, "CDS", name));
        tell_nodes(bed, UDPAI_REPORT_INTEREST, name, false);
        fed_advance(bed, 40000);
        assert_value(bed, "CDS", "eager", "1");
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_name_is_asked_for_before_it_is_said_not_to_be_there),
        fed_test(what_is_lazy_comes_and_goes_with_who_asks),
        fed_test(what_the_wildcard_brings_is_not_asked_for),
        fed_test(what_the_wildcard_takes_away_is_asked_for),
        fed_test(a_no_is_remembered_for_a_while),
        fed_test(a_source_without_the_extensions_is_asked_for_no_names),
        fed_test(a_source_that_does_not_answer_is_waited_for),
        fed_test(without_its_source_nothing_is_said_of_a_name),
        fed_test(names_do_not_delay_the_mirror),
        fed_test(a_name_that_is_refused_leaves_the_mirror),
        fed_test(a_no_for_nodes_below_ends_unless_they_ask_again),
        fed_test(what_a_node_below_has_stays),
        fed_test(a_no_for_clients_is_asked_for_again),
        fed_test(however_many_ask_the_source_is_asked_once),
        fed_test(what_an_alias_brings_stays),
        fed_test(a_name_that_led_to_what_has_gone_is_asked_for),
        fed_test(so_is_one_that_leads_there_no_more),
        fed_test(so_is_one_by_a_pattern),
        fed_test(a_variant_stays_when_its_alias_leads_nowhere),
        fed_test(an_earlier_source_is_asked_for_what_a_later_one_brings),
        fed_test(nothing_is_said_before_all_sources_have_answered),
        fed_test(a_name_that_is_denied_stays_answered),
        fed_test(a_no_is_kept_until_all_sources_have_answered),
        fed_test(a_no_on_demand_is_asked_for_again),
        fed_test(without_memory_nothing_is_said_of_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
