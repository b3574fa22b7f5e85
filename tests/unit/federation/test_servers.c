/* SPDX-License-Identifier: Apache-2.0 */
/* Sources with several servers, which are replicas of one set. */
#include "federation/problems.h"
#include "tests/harness/log_lines.h"
#include "tests/unit/federation/federation_test.h"

#define ACME "com.acme"
#define STEADY_MS 300 /* longer than backoff_base */
#define PAUSE_MS 125  /* the first one, by no chance */
#define GRACE_MS 2000

static void
configure(fed_bed *bed, const char *servers)
{
    bed->sources[0].kind = UDPAI_SOURCE_UDPA;
    bed->sources[0].address = udpai_str_from(servers);
    bed->sources[1].kind = UDPAI_SOURCE_UDPA;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
}

static void
start(fed_bed *bed, const char *servers)
{
    configure(bed, servers);
    fed_start(bed);
    (void)fed_orders(bed);
}

static const fed_peer replica = {.id = "edge", .instance = "set", .epoch = "e", .commit = "7"};

/* Connected, with x of the second version of the store. */
static void
connect(fed_bed *bed)
{
    fed_connect_as(bed, 'a', &replica);
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1 !com.acme"), "");
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, STEADY_MS);
    (void)fed_orders(bed);
}

static void
a_round_is_dialled_without_a_pause(void **state)
{
    fed_bed *bed = *state;
    configure(bed, "x:1, y:1,z:1");
    fed_start(bed);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
    fed_close(bed, 'a');
    assert_orders(bed, "dial a1");
    fed_close(bed, 'a');
    assert_orders(bed, "dial a2");
    fed_close(bed, 'a');
    fed_advance(bed, PAUSE_MS - 1);
    assert_null(strstr(fed_orders(bed), "dial a"));
    fed_advance(bed, 1);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
}

/* The others are waited for as long as a source with one server is, and pauses grow by the round.
 */
static void
later_rounds_take_their_time(void **state)
{
    fed_bed *bed = *state;
    start(bed, "x:1,y:1");
    static const uint64_t waits[] = {125, 250, 500};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(waits); i++) {
        fed_close(bed, 'a');
        assert_orders(bed, i ? "dial a1 long" : "dial a1");
        fed_close(bed, 'a');
        fed_advance(bed, waits[i] - 1);
        assert_null(strstr(fed_orders(bed), "dial a"));
        fed_advance(bed, 1);
        assert_non_null(strstr(fed_orders(bed), "dial a"));
    }
}

static void
one_that_moves_keeps_its_place(void **state)
{
    fed_bed *bed = *state;
    start(bed, "x:1,y:1,z:1");
    connect(bed);
    for (unsigned i = 0; i < 20; i++) {
        static const char *const next[] = {"dial a1", "dial a2", "dial a"};
        fed_lose(bed, 'a', "cut");
        assert_orders(bed, next[i % 3]); /* and not b */
        assert_value(bed, "CDS", "x", "1");
        fed_connect_as(bed, 'a', &replica);
        assert_orders(bed, "sub a CDS com.acme:*+1");
        assert_string_equal(fed_publish(bed, 'a', "CDS", "!com.acme"), "");
        assert_value(bed, "CDS", "x", "1");
        assert_true(fed_settled(bed, "CDS", ACME));
        fed_advance(bed, STEADY_MS);
        assert_orders(bed, "");
    }
}

static void
the_next_source_takes_over_after_a_round(void **state)
{
    fed_bed *bed = *state;
    start(bed, "x:1,y:1");
    connect(bed);
    fed_lose(bed, 'a', "cut");
    assert_orders(bed, "dial a1");
    fed_lose(bed, 'a', "refused");
    assert_orders(bed, "dial b");
}

static void
the_next_source_takes_over_from_one_that_is_slow(void **state)
{
    fed_bed *bed = *state;
    start(bed, "x:1,y:1");
    connect(bed);
    fed_lose(bed, 'a', "cut");
    fed_advance(bed, GRACE_MS - 1);
    assert_orders(bed, "dial a1");
    fed_advance(bed, 1);
    assert_orders(bed, "dial b");
}

/* They would be dialled in turn, without a pause. */
static void
those_that_end_streams_at_once_have_failed(void **state)
{
    fed_bed *bed = *state;
    start(bed, "x:1,y:1");
    fed_connect_as(bed, 'a', &replica);
    fed_advance(bed, 100);
    (void)fed_orders(bed);
    fed_lose(bed, 'a', "go away");
    assert_orders(bed, "dial a1");
    fed_connect_as(bed, 'a', &replica);
    fed_advance(bed, 100);
    (void)fed_orders(bed);
    fed_lose(bed, 'a', "go away");
    assert_null(strstr(fed_orders(bed), "dial a"));
    fed_advance(bed, PAUSE_MS);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
}

static const char *
error_of(const fed_bed *bed)
{
    const udpa_error *error = udpai_node_source_error(bed->node, UDPAI_STR("a"));
    return error ? udpa_error_message(error) : "";
}

static const char *
fault_of(const fed_bed *bed)
{
    const udpa_error *error = udpai_node_source_fault(bed->node, UDPAI_STR("a"));
    return error ? udpa_error_message(error) : "";
}

static void
the_error_has_the_reason_of_each(void **state)
{
    fed_bed *bed = *state;
    start(bed, "x:1,y:1");
    assert_null(udpai_node_source_server(bed->node, UDPAI_STR("a")));
    fed_lose(bed, 'a', "x refused");
    assert_string_equal(error_of(bed), "");
    assert_string_equal(fault_of(bed), "x refused");
    fed_lose(bed, 'a', "y refused");
    assert_string_equal(error_of(bed), "x refused | y refused");
    fed_advance(bed, PAUSE_MS);
    fed_connect_as(bed, 'a', &replica);
    assert_string_equal(fault_of(bed), "x refused | y refused");
    assert_string_equal(udpai_node_source_server(bed->node, UDPAI_STR("a")), "x:1");
    fed_advance(bed, STEADY_MS);
    fed_close(bed, 'a'); /* what was wrong before is over */
    assert_string_equal(fault_of(bed), "x:1 has ended the stream");
    fed_connect_as(bed, 'a', &replica);
    assert_string_equal(udpai_node_source_server(bed->node, UDPAI_STR("a")), "y:1");
}

static void
each_is_reported_when_it_is_left(void **state)
{
    fed_bed *bed = *state;
    static log_lines lines;
    start(bed, "x:1,y:1");
    log_lines_begin(&lines, UDPA_LOG_WARNING, "federation");
    fed_lose(bed, 'a', "x refused");
    fed_lose(bed, 'a', "y refused");
    log_lines_end();
    assert_string_equal(lines.text, "source a: x refused; trying its next server, y:1\n"
                                    "source a: x refused | y refused\n");
}

static void
note_problem(void *userdata, const char *text)
{
    char *all = userdata;
    size_t len = strlen(all);
    snprintf(all + len, 1024 - len, "%s\n", text);
}

static void
servers_of_two_sets_are_a_problem(void **state)
{
    fed_bed *bed = *state;
    static log_lines lines;
    const fed_peer other = {.id = "edge", .instance = "other", .epoch = "f", .commit = "1"};
    char text[1024] = "";
    static const char words[] =
        "source a: y:1 is the node 'edge' of instance other, but x:1 is 'edge' of instance set: "
        "the servers of one source must be replicas of one set; list others as sources of their "
        "own\n";
    start(bed, "x:1,y:1");
    connect(bed);
    udpai_node_visit_problems(bed->node, note_problem, text);
    assert_string_equal(text, "");
    fed_lose(bed, 'a', "cut");
    log_lines_begin(&lines, UDPA_LOG_ERROR, "federation");
    fed_connect_as(bed, 'a', &other);
    log_lines_end();
    assert_string_equal(lines.text, words);
    udpai_node_visit_problems(bed->node, note_problem, text);
    assert_non_null(strstr(text, "of one set; list others as sources"));
    (void)fed_publish(bed, 'a', "CDS", "y=1 -x !com.acme"); /* as of a source with another store */
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
    fed_advance(bed, STEADY_MS);
    fed_lose(bed, 'a', "cut");
    fed_connect_as(bed, 'a', &replica);
    fed_advance(bed, STEADY_MS);
    fed_lose(bed, 'a', "cut");
    fed_connect_as(bed, 'a', &replica); /* y:1 is one of the set now */
    *text = '\0';
    udpai_node_visit_problems(bed->node, note_problem, text);
    assert_null(strstr(text, "of one set"));
}

static void
one_may_start_anywhere(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].starts_anywhere = true;
    bed->chance = 5;
    configure(bed, "x:1,y:1,z:1");
    fed_start(bed);
    assert_non_null(strstr(fed_orders(bed), "dial a2"));
    fed_close(bed, 'a');
    assert_non_null(strstr(fed_orders(bed), "dial a"));
    fed_close(bed, 'a');
    assert_orders(bed, "dial a1");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_round_is_dialled_without_a_pause),
        fed_test(later_rounds_take_their_time),
        fed_test(one_that_moves_keeps_its_place),
        fed_test(the_next_source_takes_over_after_a_round),
        fed_test(the_next_source_takes_over_from_one_that_is_slow),
        fed_test(those_that_end_streams_at_once_have_failed),
        fed_test(the_error_has_the_reason_of_each),
        fed_test(each_is_reported_when_it_is_left),
        fed_test(servers_of_two_sets_are_a_problem),
        fed_test(one_may_start_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
