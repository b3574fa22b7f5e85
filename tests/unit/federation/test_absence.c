/* SPDX-License-Identifier: Apache-2.0 */
/* What a source does not name any more is believed, or held until it names it again or somebody
 * accepts that it has gone. */
#include "federation/accept.h"
#include "federation/problems.h"
#include "tests/unit/federation/peer_info.h"

#include <stdio.h>

#define ACME "com.acme"
#define ROOT "/etc/udpa/resources"

static void
start(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
}

static void
connect(fed_bed *bed, const char *epoch, const char *commit)
{
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = epoch, .commit = commit});
}

static void
come_back(fed_bed *bed, const char *epoch, const char *commit)
{
    fed_come_back_as(bed, 'a', &(fed_peer){.epoch = epoch, .commit = commit});
}

/* So many words: n1=1 n2=1, or with '-' as the sign -n1 -n2, from the first to the last. */
static const char *
words(const char *sign, int first, int last, bool is_complete)
{
    static char text[4096];
    size_t at = 0;
    for (int i = first; i <= last; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%sn%d%s", i > first ? " " : "",
                               sign, i, *sign ? "" : "=1");
    if (is_complete)
        snprintf(text + at, sizeof(text) - at, " !com.acme");
    return text;
}

static int
n_there(fed_bed *bed, int last)
{
    int n = 0;
    for (int i = 1; i <= last; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        n += *fed_value(bed, "CDS", name) != '\0';
    }
    return n;
}

static size_t
accept(fed_bed *bed, const char *name)
{
    size_t n = 0;
    assert_true(udpai_node_accept_absences(bed->node, udpai_str_from(name), &n));
    fed_advance(bed, 1);
    return n;
}

static void
a_source_with_another_store_takes_nothing_away(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 z=1 !com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x -y -z new=1");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "z", "1");
    assert_value(bed, "CDS", "new", "1"); /* what it adds flows */
    assert_false(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'a', "CDS", "x=2 y=1"); /* name by name */
    assert_value(bed, "CDS", "x", "2");
    assert_false(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'a', "CDS", "-x"); /* it was there, and goes */
    assert_value(bed, "CDS", "x", "");
    assert_int_equal(accept(bed, "a"), 1);
    assert_value(bed, "CDS", "z", "");
    assert_value(bed, "CDS", "y", "1");
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
a_source_with_the_same_store_is_believed(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", words("", 1, 30, true));
    come_back(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", words("-", 1, 29, true));
    assert_int_equal(n_there(bed, 30), 1);
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* It was copied back, or is that of another moment. */
static void
an_older_copy_is_another_store(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    come_back(bed, "first", "6");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    assert_value(bed, "CDS", "x", "1");
    (void)fed_orders(bed);
    come_back(bed, "first", "9"); /* and what is held stays so */
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*+1"));
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_settled(bed, "CDS", ACME));
}

static void
come_so_far(fed_bed *bed, char source, uint64_t commit)
{
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    publication->commit = commit;
    assert_string_equal(fed_judge(bed, bed->sessions[source - 'a'], publication), "");
}

/* What the stream has seen of a store counts, not what that was when the stream began. */
static void
a_copy_of_a_moment_within_the_stream_is_older(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'a', "CDS", "y=1");
    come_so_far(bed, 'a', 12);
    come_so_far(bed, 'a', 10); /* it never goes back */
    come_back(bed, "first", "11");
    (void)fed_publish(bed, 'a', "CDS", "-y !com.acme");
    assert_value(bed, "CDS", "y", "1");
    assert_false(fed_settled(bed, "CDS", ACME));
    assert_int_equal(accept(bed, "a"), 1);
    fed_restart(bed);
    connect(bed, "first", "11");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme"); /* it was told, and is seen now */
    assert_value(bed, "CDS", "x", "");
}

/* And what was not answered on the stream, it has not seen. */
static void
a_store_that_comes_further_has_been_seen_where_it_has_answered(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    come_back(bed, "first", "5");
    come_so_far(bed, 'a', 9); /* an older copy goes on */
    (void)fed_publish(bed, 'a', "CDS", "-x -y !com.acme");
    assert_value(bed, "CDS", "x", "1");
}

/* Until all that was asked for is answered, nothing has been seen of a store. */
static void
a_store_is_seen_when_all_is_answered(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-y !com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "1");
}

static void
of_a_source_without_an_epoch_some_may_go(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", words("", 1, 31, true));
    come_back(bed, NULL, NULL);
    (void)fed_publish(bed, 'a', "CDS", words("-", 1, 10, true)); /* ten */
    assert_int_equal(n_there(bed, 31), 21);
    come_back(bed, NULL, NULL);
    (void)fed_publish(bed, 'a', "CDS", words("-", 11, 20, false));
    (void)fed_publish(bed, 'a', "CDS", "-n21 !com.acme"); /* and eleven of twenty-one */
    assert_int_equal(n_there(bed, 31), 21);
    assert_false(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'a', "CDS", words("-", 22, 31, false)); /* it was complete */
    assert_int_equal(n_there(bed, 31), 11);
    assert_int_equal(accept(bed, "a"), 11);
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
the_bound_can_be_set(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].max_withdrawal = 100;
    start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", words("", 1, 31, true));
    come_back(bed, NULL, NULL);
    (void)fed_publish(bed, 'a', "CDS", words("-", 1, 31, true));
    assert_int_equal(n_there(bed, 31), 0);
}

/* A stream that ends before it has answered has said nothing. */
static void
half_an_answer_takes_nothing_away(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", words("", 1, 31, true));
    come_back(bed, NULL, NULL);
    (void)fed_publish(bed, 'a', "CDS", words("-", 1, 5, false));
    (void)fed_orders(bed);
    come_back(bed, NULL, NULL);
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*+31"));
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_int_equal(n_there(bed, 31), 31);
}

static void
what_is_held_survives_a_restart(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 z=1 !com.acme");
    fed_restart(bed);
    connect(bed, "second", "0"); /* the epoch was kept */
    (void)fed_publish(bed, 'a', "CDS", "-x -y !com.acme");
    assert_value(bed, "CDS", "x", "1");
    fed_restart(bed);
    assert_false(fed_settled(bed, "CDS", ACME));
    connect(bed, "second", "3");
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*+1"));
    (void)fed_publish(bed, 'a', "CDS", "y=2 !com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(accept(bed, "a"), 1);
    assert_value(bed, "CDS", "x", "");
    fed_restart(bed);
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_value(bed, "CDS", "y", "2");
}

/* An empty primary does not take over from a standby that has everything. */
static void
who_comes_back_empty_does_not_count_again(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 1000);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=2 !com.acme");
    assert_value(bed, "CDS", "x", "2");
    fed_advance(bed, 1000);
    connect(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    fed_advance(bed, 60000);
    assert_value(bed, "CDS", "x", "2");
    (void)fed_publish(bed, 'a', "CDS", "x=3");
    fed_advance(bed, 60000);
    assert_value(bed, "CDS", "x", "3");
}

static void
asked_by_name_it_is_the_same(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "CDS", "com.acme/x");
    fed_want(bed, "CDS", "com.acme/y");
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x -y !com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_name_settled(bed, "CDS", "com.acme/x"));
    (void)fed_publish(bed, 'a', "CDS", "x=2 y=2");
    assert_true(fed_name_settled(bed, "CDS", "com.acme/x"));
}

/* It would be asked for as held, answered with silence, and taken for gone when all is said. */
static void
what_may_have_gone_is_not_said_to_be_held(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, true});
    fed_start(bed);
    fed_want(bed, "CDS", "com.acme/x");
    fed_want(bed, "CDS", "com.acme/y");
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    come_back(bed, NULL, NULL);
    (void)fed_publish(bed, 'a', "CDS", "-x"); /* of y nothing is known yet */
    (void)fed_orders(bed);
    fed_want(bed, "CDS", "*com.acme");
    fed_advance(bed, 1);
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*+1"));
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme"); /* it was there all the same */
    assert_value(bed, "CDS", "x", "1");
}

/* ---- sources of other kinds ---- */

/* A name that a group's source leaves out is held for that group; it is accepted by the name that
 * the source has in the configuration. */
static void
groups_of_clients_are_reached(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].max_withdrawal = 20;
    fed_ask_per_clients(bed, 'a');
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_come(bed, "com.acme/one", "n1");
    fed_connect(bed, 'd');
    char text[2048] = "";
    size_t at = 0;
    for (int i = 1; i <= 40; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "com.acme/one/n%d=1 ", i);
    snprintf(text + at, sizeof(text) - at, "!com.acme/one");
    assert_string_equal(fed_publish(bed, 'd', "CDS", text), "");
    fed_close(bed, 'd');
    fed_advance(bed, 250);
    fed_connect(bed, 'd');
    at = 0;
    for (int i = 1; i <= 11; i++) /* less than half, but more than a fifth */
        at += (size_t)snprintf(text + at, sizeof(text) - at, "-com.acme/one/n%d ", i);
    snprintf(text + at, sizeof(text) - at, "!com.acme/one");
    assert_string_equal(fed_publish(bed, 'd', "CDS", text), "");
    assert_value(bed, "CDS", "com.acme/one/n1", "1");
    assert_false(fed_settled(bed, "CDS", "com.acme/one"));
    assert_int_equal(accept(bed, "a"), 11);
    assert_value(bed, "CDS", "com.acme/one/n1", "");
    assert_true(fed_settled(bed, "CDS", "com.acme/one"));
}

/* At a standby, the primary is a source as any other: what it had is what is served when it is
 * away, so an empty one takes nothing away. */
static void
a_primary_that_comes_back_empty_is_held_at_its_standby(void **state)
{
    fed_bed *bed = *state;
    const udpai_str types[] = {UDPAI_STR(TEST_CDS)};
    bed->sources[0].standby_for = types;
    bed->sources[0].n_standby_for = 1;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_settled(bed, "CDS", ACME));
}

/* What is only read to be adopted never counts, so nothing of it is held; of the source's other
 * types it is. */
static void
what_is_read_to_be_adopted_is_not_held(void **state)
{
    fed_bed *bed = *state;
    const udpai_str types[] = {UDPAI_STR(TEST_EDS)};
    bed->sources[0].recover.types = types;
    bed->sources[0].recover.n_types = 1;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    (void)fed_publish(bed, 'a', "EDS", "y=1 !");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    (void)fed_publish(bed, 'a', "EDS", "-y !");
    assert_value(bed, "CDS", "x", "1");
    assert_int_equal(accept(bed, "a"), 1);
    assert_value(bed, "CDS", "x", "");
}

static void
without_memory_nothing_goes(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", words("", 1, 20, true));
    for (long n = 0; n < 120; n++) {
        char epoch[24];
        snprintf(epoch, sizeof(epoch), "epoch-%ld", n);
        come_back(bed, epoch, "0");
        fed_short(bed, n, false);
        (void)fed_publish(bed, 'a', "CDS", words("-", 1, 20, false));
        fed_short(bed, n / 4, false);
        (void)fed_publish(bed, 'a', "CDS", "!com.acme");
        assert_int_equal(n_there(bed, 20), 20);
    }
    come_back(bed, "epoch-120", "0");
    (void)fed_publish(bed, 'a', "CDS", words("-", 1, 20, true));
    assert_int_equal(n_there(bed, 20), 20);
    assert_int_equal(accept(bed, "a"), 20);
}

/* ---- what is accepted at the source ---- */

static void
connect_whole(fed_bed *bed, const char *epoch, const char *commit)
{
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = epoch, .commit = commit, .is_whole = true});
}

/* The source says it on the stream that is there. */
static void
say_whole(fed_bed *bed, char source, const char *epoch, const char *commit)
{
    static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_EXTENSIONS),
                                         UDPAI_STR(UDPAI_FEATURE_NODE)};
    const char id[] = {source, '\0'};
    udpai_report *report = udpai_report_new(UDPAI_REPORT_NODE);
    assert_non_null(report);
    report->session = bed->sessions[source - 'a'];
    report->link = bed->links[source - 'a'];
    const udpai_node_parts parts = {udpai_str_from(id), .features = features, .n_features = 2};
    report->info =
        fed_make_info(&parts, &(fed_peer){.epoch = epoch, .commit = commit, .is_whole = true});
    report->is_extended = true;
    udpai_node_report(bed->node, report);
    fed_advance(bed, 1);
}

/* Nothing goes before the source was asked for what is held: it may have it after all. */
static void
what_is_accepted_at_the_source_is_asked_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 z=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x -y !com.acme");
    (void)fed_orders(bed);
    say_whole(bed, 'a', "third", "5");
    assert_orders(bed, "hangup a");
    assert_value(bed, "CDS", "x", "1");
    fed_close(bed, 'a');
    assert_orders(bed, "dial a");
    fed_restart(bed); /* it is not forgotten either */
    connect_whole(bed, "third", "5");
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*+3"));
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_value(bed, "CDS", "x", "");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "y", "1"); /* it is there */
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* Who holds nothing need not ask; nor is anything held later. */
static void
what_is_accepted_at_the_source_is_not_held_later(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 z=1 !com.acme");
    (void)fed_orders(bed);
    say_whole(bed, 'a', "second", "8");
    assert_orders(bed, "");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    connect_whole(bed, "third", "2");
    (void)fed_publish(bed, 'a', "CDS", "-x -y !com.acme");
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "z", "1");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* What was accepted, was so of what the epoch began with. */
static void
an_older_copy_of_what_was_accepted_is_another_store(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect_whole(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    connect_whole(bed, "first", "6");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    assert_value(bed, "CDS", "x", "1");
    fed_close(bed, 'a');
    fed_advance(bed, 250);
    (void)fed_orders(bed);
    connect_whole(bed, "first", "9"); /* and it stays held */
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*+1"));
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_settled(bed, "CDS", ACME));
}

/* Of its own store alone, and only as a source. */
static void
nobody_accepts_for_another(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    (void)fed_orders(bed);
    fed_connect_as(bed, 'b', &(fed_peer){.epoch = "third", .commit = "1", .is_whole = true});
    (void)fed_publish(bed, 'b', "CDS", "!com.acme");
    (void)fed_arrive(bed,
                     &(fed_peer){.id = "a", .epoch = "third", .commit = "1", .is_whole = true});
    assert_value(bed, "CDS", "x", "1");
    assert_false(fed_settled(bed, "CDS", ACME));
    assert_null(strstr(fed_orders(bed), "hangup"));
}

/* One that dials us has said who it is before it is asked. */
static void
a_source_that_dials_is_asked_once(void **state)
{
    fed_bed *bed = *state;
    const fed_peer first = {.id = "c", .epoch = "first", .commit = "7"};
    const fed_peer second = {.id = "c", .epoch = "second", .commit = "0"};
    const fed_peer third = {.id = "c", .epoch = "third", .commit = "1", .is_whole = true};
    bed->sources[2].kind = UDPAI_SOURCE_UDPA_LISTEN;
    bed->sources[2].peer = UDPAI_STR("c");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'c', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    uint64_t session = fed_arrive(bed, &first);
    (void)fed_publish_at(bed, session, "CDS", "x=1 y=1 !com.acme");
    fed_leave(bed, session, false);
    session = fed_arrive(bed, &second);
    (void)fed_publish_at(bed, session, "CDS", "-x !com.acme");
    assert_value(bed, "CDS", "x", "1");
    fed_leave(bed, session, false);
    (void)fed_orders(bed);
    session = fed_arrive(bed, &third);
    const char *orders = fed_orders(bed);
    assert_string_equal(orders, "sub ? CDS com.acme:*+2");
    (void)fed_publish_at(bed, session, "CDS", "-x !com.acme");
    assert_value(bed, "CDS", "x", "");
    assert_true(fed_settled(bed, "CDS", ACME));
}

/* ---- directories ---- */

static void
scan(fed_bed *bed, int first, int last)
{
    udpa_resource *resources[64];
    size_t n = 0;
    for (int i = first; i <= last; i++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/n%d", i);
        resources[n++] = RESOURCE(name, .type = TEST_CDS, .version = "1", .value = "1");
    }
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT),
        .authority = UDPAI_STR("com.acme"),
        .resources = resources,
        .n_resources = n,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    fed_advance(bed, 1);
    for (size_t i = 0; i < n; i++)
        udpa_resource_unref(resources[i]);
}

static void
a_directory_that_loses_too_much_keeps_it(void **state)
{
    fed_bed *bed = *state;
    bed->root = ROOT;
    start(bed);
    scan(bed, 1, 30);
    scan(bed, 11, 30); /* ten may go */
    assert_int_equal(n_there(bed, 30), 20);
    scan(bed, 30, 31); /* nineteen may not, what is new comes */
    assert_int_equal(n_there(bed, 31), 21);
    scan(bed, 20, 31); /* some are there again */
    assert_int_equal(n_there(bed, 31), 21);
    assert_int_equal(accept(bed, ROOT), 9);
    assert_int_equal(n_there(bed, 31), 12);
}

static void
add_problem(void *userdata, const char *text)
{
    assert_int_equal(*(char *)userdata, '\0');
    snprintf(userdata, 4096, "%s", text);
}

static void
add_held(void *userdata, const udpai_held_count *held)
{
    char *text = userdata;
    size_t at = strlen(text);
    snprintf(text + at, 4096 - at, "%s%.*s %.*s %zu", at ? ", " : "", UDPAI_SHOWN(held->name),
             UDPAI_SHOWN(held->type_url), held->n);
}

static void
what_is_held_is_shown(void **state)
{
    fed_bed *bed = *state;
    char text[4096] = "";
    bed->root = ROOT;
    start(bed);
    scan(bed, 1, 30);
    scan(bed, 19, 30);
    udpai_node_visit_problems(bed->node, add_problem, text);
    assert_non_null(strstr(text, "directory " ROOT ": held 18 resources of type "));
    assert_non_null(strstr(text, "com.acme/n1, com.acme/n2,"));
    assert_non_null(strstr(text, "and 8 more"));
    connect(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    *text = '\0';
    udpai_node_visit_held(bed->node, add_held, text);
    assert_string_equal(text, "a " TEST_CDS " 1, " ROOT " " TEST_CDS " 18");
    scan(bed, 1, 30);
    assert_int_equal(accept(bed, "a"), 1);
    *text = '\0';
    udpai_node_visit_held(bed->node, add_held, text);
    udpai_node_visit_problems(bed->node, add_problem, text);
    assert_string_equal(text, "");
}

static void
a_source_that_is_not_there_cannot_be_accepted(void **state)
{
    fed_bed *bed = *state;
    size_t n = 0;
    start(bed);
    assert_false(udpai_node_accept_absences(bed->node, UDPAI_STR("nobody"), &n));
    assert_int_equal(accept(bed, "b"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(a_source_with_another_store_takes_nothing_away),
        fed_test(a_source_with_the_same_store_is_believed),
        fed_test(an_older_copy_is_another_store),
        fed_test(a_copy_of_a_moment_within_the_stream_is_older),
        fed_test(a_store_that_comes_further_has_been_seen_where_it_has_answered),
        fed_test(a_store_is_seen_when_all_is_answered),
        fed_test(of_a_source_without_an_epoch_some_may_go),
        fed_test(the_bound_can_be_set),
        fed_test(half_an_answer_takes_nothing_away),
        fed_test(what_is_held_survives_a_restart),
        fed_test(who_comes_back_empty_does_not_count_again),
        fed_test(asked_by_name_it_is_the_same),
        fed_test(what_may_have_gone_is_not_said_to_be_held),
        fed_test(groups_of_clients_are_reached),
        fed_test(a_primary_that_comes_back_empty_is_held_at_its_standby),
        fed_test(what_is_read_to_be_adopted_is_not_held),
        fed_test(without_memory_nothing_goes),
        fed_test(what_is_accepted_at_the_source_is_asked_for),
        fed_test(what_is_accepted_at_the_source_is_not_held_later),
        fed_test(an_older_copy_of_what_was_accepted_is_another_store),
        fed_test(nobody_accepts_for_another),
        fed_test(a_source_that_dials_is_asked_once),
        fed_test(a_directory_that_loses_too_much_keeps_it),
        fed_test(what_is_held_is_shown),
        fed_test(a_source_that_is_not_there_cannot_be_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
