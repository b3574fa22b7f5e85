/* SPDX-License-Identifier: Apache-2.0 */
/* What does not become a source, and why; and what there is no memory for. */
#include "federation/node_metrics.h"
#include "tests/unit/federation/delivery_bed.h"

/* ---- what is refused ---- */

static void
refuses(fed_bed *bed, const speech *self, const char *words)
{
    const char *refused = publish(bed, self);
    if (!strstr(refused, words))
        fail_msg("'%s' does not say '%s'", refused, words);
    assert_targets("");
    assert_orders(bed, "");
}

static void
what_is_wrong_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    speech wrong = to_d;
    wrong.name = "a/b";
    refuses(bed, &wrong, "'a/b' is no name of a ConfigSource");
    wrong.name = "a";
    refuses(bed, &wrong, "this node's configuration has a ConfigSource 'a'");
    wrong = to_d;
    wrong.has_tls = true;
    refuses(bed, &wrong, "may name no files");
    wrong = to_d;
    wrong.recovers = true;
    refuses(bed, &wrong, "has recover, standby_for or standby");
    wrong = to_d;
    wrong.is_path = true;
    refuses(bed, &wrong, "must be of kind udpa, xds or rest");
    wrong = to_d;
    char long_address[600];
    memset(long_address, 'a', sizeof(long_address));
    long_address[sizeof(long_address) - 1] = '\0';
    wrong.address = long_address;
    refuses(bed, &wrong, "needs an address");
    wrong = to_d;
    wrong.xds_for = "control";
    wrong.is_per_client = true;
    refuses(bed, &wrong, "has an audience");
    wrong.is_per_client = false;
    wrong.reports_load = true;
    refuses(bed, &wrong, "has load_reporting");
    wrong.reports_load = false;
    wrong = to_d;
    wrong.xds_for = "";
    refuses(bed, &wrong, "needs an authority");
    wrong = to_d;
    wrong.address = "127.0.0.1:3";
    targets.refusal = "that is this node itself";
    refuses(bed, &wrong, "that is this node itself");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
others_may_not_deliver(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    speech other = to_d;
    other.authority = "y";
    refuses(bed, &other, "is of 'y', from which this node takes none");
    other = to_d;
    other.by = "org.other/d";
    refuses(bed, &other, "lies outside dynamic_sources.namespaces");
}

static void
who_may_not_deliver_ends_what_was_delivered(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    speech other = to_d;
    other.authority = "y";
    assert_non_null(strstr(publish(bed, &other), "from which this node takes none"));
    assert_targets("-d ");
    assert_orders(bed, "hangup d");
}

static void
a_name_is_the_firsts_as_long_as_it_is_there(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    speech second = to_d;
    second.by = "com.acme/other";
    second.address = "127.0.0.1:2";
    refuses(bed, &second, "'d' is defined by the resource 'com.acme/d' already");
    (void)withdraw(bed, "com.acme/d");
    assert_targets("-d d=127.0.0.1:2 ");
    assert_orders(bed, "hangup d, dial e"); /* by another link */
    assert_value(bed, "EDS", "x", "of-d");
}

static void
there_are_no_more_than_may_be(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    static const char *const names[] = {"com.acme/1", "com.acme/2", "com.acme/3"};
    speech next = to_d;
    for (int i = 0; i < 2; i++) {
        next.by = names[i];
        next.name = names[i] + 9;
        assert_string_equal(publish(bed, &next), "");
    }
    assert_targets("1=127.0.0.1:1 2=127.0.0.1:1 ");
    next.by = names[2];
    next.name = "3";
    refuses(bed, &next, "2 ConfigSources are defined by resources already");
    (void)withdraw(bed, names[0]);
    assert_targets("-1 3=127.0.0.1:1 "); /* there is room now */
}

static size_t
n_series(const fed_bed *bed)
{
    UDPA_AUTO(udpai_metric_snapshot_free) udpai_metric_snapshot *snapshot = NULL;
    assert_ok(udpai_metric_snapshot_new(&snapshot));
    udpai_metric_snapshot_begin(snapshot, 1);
    udpai_node_put_metrics(bed->node, snapshot);
    return udpai_metric_snapshot_n_series(snapshot);
}

/* Whoever defines them has no say in the number of series. */
static void
many_have_the_series_of_one(void **state)
{
    fed_bed *bed = *state;
    char by[64], address[32];
    size_t n = 0;
    bed->config.delivery.max = 4096;
    start(bed);
    for (unsigned i = 0; i < 4096; i++) {
        snprintf(by, sizeof(by), "com.acme/s%u", i);
        snprintf(address, sizeof(address), "127.0.0.1:%u", 1 + i);
        const speech next = {
            .by = by, .authority = "x", .name = by + 9, .address = address, .credential = ""};
        assert_string_equal(publish(bed, &next), "");
        targets.text[0] = '\0';
        n = i == 0 ? n_series(bed) : n;
    }
    assert_int_equal(n_series(bed), n);
    assert_true(targets.n_held >= 4096); /* they are all there */
}

static void
no_more_are_awaited_than_may_be(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate(bed, "x", "d"), "");
    assert_string_equal(delegate(bed, "y", "e"), "");
    assert_non_null(strstr(delegate(bed, "z", "f"), "that are not there are named already"));
    assert_string_equal(publish(bed, &to_d), "");
    fed_connect(bed, 'd'); /* and what was refused has its place now */
    speech to_f = to_d;
    to_f.by = "com.acme/f";
    to_f.name = "f";
    assert_string_equal(publish(bed, &to_f), "");
    (void)fed_orders(bed);
    fed_want(bed, "EDS", "com.acme/z");
    assert_false(fed_name_settled(bed, "EDS", "com.acme/z"));
}

/* What was delegated to d is not any more. */
static void
what_nothing_speaks_of_makes_room(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_want(bed, "EDS", "com.acme/z");
    assert_orders(bed, "sub a EDS :z");
    (void)fed_publish(bed, 'a', "EDS", "!"); /* for x, and … */
    (void)fed_publish(bed, 'a', "EDS", "!"); /* … for z */
    assert_string_equal(delegate(bed, "x", "d"), "");
    assert_string_equal(delegate(bed, "y", "e"), "");
    (void)fed_publish(bed, 'a', PROVIDER, "-com.acme/x/" CLA);
    fed_advance(bed, 2 * LINGER);
    assert_true(fed_name_settled(bed, "EDS", "com.acme/z"));
    (void)delegate(bed, "z", "f");
    assert_false(fed_name_settled(bed, "EDS", "com.acme/z"));
}

static void
garbage_is_refused(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_true(*fed_put(bed, bed->sessions[0],
                         RESOURCE("com.acme/d", .type = UDPAI_DYNAMIC_SOURCE_TYPE,
                                  .value = "\x0a\x7f", .authority = "x"),
                         false));
    assert_targets("");
}

static void
without_rules_none_are_taken(void **state)
{
    fed_bed *bed = *state;
    bed->config.delivery.n_authorities = 0;
    start(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_targets("");
    assert_non_null(strstr(delegate(bed, "x", "d"), "which this node does not have"));
}

/* ---- without memory ---- */

static void
without_memory_it_is_made_up_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate(bed, "x", "d"), "");
    for (long n = 0; n < 80; n++) {
        fed_short(bed, n, true);
        (void)publish(bed, &to_d);
        fed_advance(bed, 1);
        assert_value(bed, "EDS", "x", "of-a");
        if (strstr(fed_orders(bed), "dial"))
            return;
    }
    fail_msg("it was never taken");
}

/* The word was lost, and its source hung up for that: it says it again. */
static void
say_again_that_it_is_gone(fed_bed *bed)
{
    fed_close(bed, 'a');
    fed_advance(bed, 1000);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, "-com.acme/d !");
}

/* What there is no memory to tell subscribers in the process of, they are not told again. */
#define N_UNTOLD 3

static void
without_memory_its_end_is_made_up_for(void **state)
{
    int n_untold = 0;
    for (long n = 0; n < 30; n++) {
        fed_bed *bed = *state;
        start_with_d(bed);
        fed_short(bed, n, true);
        (void)withdraw(bed, "com.acme/d");
        fed_advance(bed, 1);
        if (strstr(fed_orders(bed), "hangup a"))
            say_again_that_it_is_gone(bed);
        n_untold += !*targets.text;
        if (*targets.text) {
            assert_targets("-d ");
            fed_advance(bed, LINGER);
            assert_value(bed, "EDS", "x", "");
        }
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
    assert_true(n_untold <= N_UNTOLD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        delivery_test(what_is_wrong_changes_nothing),
        delivery_test(others_may_not_deliver),
        delivery_test(who_may_not_deliver_ends_what_was_delivered),
        delivery_test(a_name_is_the_firsts_as_long_as_it_is_there),
        delivery_test(there_are_no_more_than_may_be),
        delivery_test(many_have_the_series_of_one),
        delivery_test(no_more_are_awaited_than_may_be),
        delivery_test(what_nothing_speaks_of_makes_room),
        delivery_test(garbage_is_refused),
        delivery_test(without_rules_none_are_taken),
        delivery_test(without_memory_it_is_made_up_for),
        delivery_test(without_memory_its_end_is_made_up_for),
    };
    return cmocka_run_group_tests_name("delivery_refused", tests, NULL, NULL);
}
