/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of sources: dialled, dialling, read from a directory; and who they say they are. */
#include "base/proto.h"
#include "federation/node_internal.h"
#include "federation/source_internal.h"
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>
#include <stdlib.h>

#define ACME "com.acme"

static void
configure(fed_bed *bed, udpai_source_kind kind)
{
    bed->sources[0].kind = kind;
    bed->sources[0].peer = UDPAI_STR("core");
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
}

static void
start_with(fed_bed *bed, udpai_source_kind kind)
{
    configure(bed, kind);
    fed_start(bed);
}

/* ---- dialled ---- */

static void
attempts_are_spread(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    (void)fed_orders(bed);
    static const uint64_t waits[] = {125,  250,  500,  1000,
                                     2000, 4000, 7500, 7500}; /* by no chance */
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(waits); i++) {
        fed_close(bed, 'a');
        (void)fed_orders(bed);
        bed->sessions[1] = 0;
        fed_advance(bed, waits[i] - 1);
        assert_null(strstr(fed_orders(bed), "dial a"));
        fed_advance(bed, 1);
        assert_non_null(strstr(fed_orders(bed), "dial a"));
    }
}

/* Peers of worker processes may be there before the node has started, and are looked at. */
static void
what_is_wanted_before_the_start_is_dialled(void **state)
{
    fed_bed *bed = *state;
    configure(bed, UDPAI_SOURCE_UDPA);
    assert_ok(fed_make(bed, NULL));
    bed->links[0] = 1;
    udpai_context_touch(&bed->node->context);
    udpai_node_flush(bed->node);
    udpai_node_start(bed->node);
    fed_advance(bed, 1);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
    fed_connect(bed, 'a');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
}

static void
its_last_contact_is_known(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    const udpai_source *source = udpai_sources_get(bed->node->parts.sources, UDPAI_STR("a"));
    assert_int_equal(udpai_source_last_contact_us(source), 0); /* dialled, and no more */
    fed_connect(bed, 'a');
    fed_advance(bed, 5000);
    int64_t now_us = udpai_context_wall_us(&bed->node->context);
    assert_int_equal(udpai_source_last_contact_us(source), now_us);
    fed_close(bed, 'a');
    bed->sessions[1] = 0;
    fed_advance(bed, 60000); /* dialled again and again */
    assert_int_equal(udpai_source_last_contact_us(source), now_us);
}

static void
times_and_limits_may_change(void **state)
{
    fed_bed *bed = *state;
    udpai_node_timing timing = bed->config.timing;
    udpai_store_options limits = bed->config.store;
    start_with(bed, UDPAI_SOURCE_UDPA);
    (void)fed_orders(bed);
    timing.backoff_base_ms = 2000;
    timing.sync_timeout_ms = 700;
    limits.max_resources_per_namespace = 1;
    udpai_node_set_timing(bed->node, &timing);
    udpai_node_set_store_options(bed->node, &limits);
    fed_close(bed, 'a');
    bed->sessions[1] = 0;
    (void)fed_orders(bed);
    fed_advance(bed, 999);
    assert_null(strstr(fed_orders(bed), "dial a"));
    fed_advance(bed, 1);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
    fed_connect(bed, 'a');
    assert_string_equal(fed_publish(bed, 'a', "CDS", "x=1"), "");
    assert_non_null(strstr(fed_publish(bed, 'a', "CDS", "y=1"), "max_resources_per_namespace"));
    (void)fed_orders(bed);
    fed_advance(bed, 699);
    assert_null(strstr(fed_orders(bed), "dial b"));
    fed_advance(bed, 1);
    assert_non_null(strstr(fed_orders(bed), "dial b"));
}

static void
one_with_our_own_id_is_hung_up(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    (void)fed_orders(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.id = "node"});
    assert_non_null(strstr(fed_orders(bed), "hangup a"));
    const udpa_error *error = udpai_node_source_error(bed->node, UDPAI_STR("a"));
    assert_non_null(strstr(udpa_error_message(error), "this node's own id 'node'"));
    fed_close(bed, 'a');
    assert_false(fed_settled(bed, "CDS", ACME));
    fed_advance(bed, 20000);
    fed_connect(bed, 'a'); /* it has been given another */
    assert_non_null(strstr(fed_orders(bed), "sub a CDS"));
}

static void
who_knows_no_extensions_is_complete_when_silent(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true});
    (void)fed_publish(bed, 'a', "CDS", "x=1");
    fed_advance(bed, 500);
    (void)fed_publish(bed, 'a', "CDS", "y=1");
    fed_advance(bed, 999);
    assert_false(fed_settled(bed, "CDS", ACME));
    fed_advance(bed, 1);
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
who_has_nothing_to_say_is_complete_after_a_while(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true});
    fed_advance(bed, 4999);
    assert_false(fed_settled(bed, "CDS", ACME));
    fed_advance(bed, 1);
    assert_true(fed_settled(bed, "CDS", ACME));
}

static void
find_status(void *userdata, udpai_str name, udpa_bytes *status)
{
    udpa_bytes **found = userdata;
    if (udpai_str_eq(name, UDPAI_STR("a")))
        *found = udpa_bytes_ref(status);
}

static void
its_status_says_what_was_refused_last(void **state)
{
    fed_bed *bed = *state;
    static const char words[] = "'com.acme/x' occurs twice in this message";
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *status = NULL;
    start_with(bed, UDPAI_SOURCE_UDPA);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true});
    assert_string_not_equal(fed_publish(bed, 'a', "CDS", "x=1 x=2"), "");
    assert_ok(udpai_node_visit_sources(bed->node, find_status, &status));
    assert_non_null(status);
    assert_non_null(
        memmem(udpa_bytes_data(status), udpa_bytes_size(status), words, sizeof(words) - 1));
}

static void
expect_fault(fed_bed *bed, const char *words)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *status = NULL;
    udpai_str found = {"", 0};
    assert_ok(udpai_node_visit_sources(bed->node, find_status, &status));
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 7)
            found = field.bytes;
    if (*words ? !memmem(found.data, found.len, words, strlen(words)) : found.len != 0)
        fail_msg("'%.*s' is not '%s'", UDPAI_SHOWN(found), words);
}

static void
what_was_amiss_with_a_resource_holds_until_another_comes(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true});
    (void)fed_publish(bed, 'a', "CDS", "x=1 x=2");
    (void)fed_publish(bed, 'a', "CDS", "y=1 y=2");
    expect_fault(bed, "'com.acme/y' occurs");
    (void)fed_publish(bed, 'a', "CDS", "z=1");
    expect_fault(bed, "'com.acme/y' occurs");
    (void)fed_publish(bed, 'a', "CDS", "y=3");
    expect_fault(bed, "'com.acme/x' occurs");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    expect_fault(bed, "");
    assert_non_null(udpai_node_source_error(bed->node, UDPAI_STR("a"))); /* the last there was */
    (void)fed_publish(bed, 'a', "CDS", "x=1 x=2");
    (void)fed_publish(bed, 'a', "CDS", "y=4 **");
    expect_fault(bed, "");
}

static void
only_so_many_resources_are_told_apart(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    fed_connect_as(bed, 'a', &(fed_peer){.is_plain = true});
    for (int i = 0; i < 40; i++) {
        char words[64];
        snprintf(words, sizeof(words), "n%d=1 n%d=2", i, i);
        (void)fed_publish(bed, 'a', "CDS", words);
    }
    for (int i = 39; i >= 8; i--) {
        char words[64];
        snprintf(words, sizeof(words), "'com.acme/n%d' occurs", i);
        expect_fault(bed, words);
        snprintf(words, sizeof(words), "n%d=1", i);
        (void)fed_publish(bed, 'a', "CDS", words);
    }
    expect_fault(bed, "");
}

static void
what_was_amiss_with_a_connection_holds_until_it_is_back(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    fed_connect(bed, 'a');
    expect_fault(bed, "");
    (void)fed_publish(bed, 'a', "CDS", "x=1 x=2");
    fed_lose(bed, 'a', "the network is gone");
    expect_fault(bed, "the network is gone");
    fed_advance(bed, 1000);
    fed_connect(bed, 'a');
    expect_fault(bed, "");
    fed_refuse(bed, 'a', "CDS", ACME, "");
    expect_fault(bed, "it refuses what it is asked for");
    fed_advance(bed, 2 * UDPAI_ASK_AGAIN_MS);
    expect_fault(bed, "");
}

/* ---- dialling ---- */

static void
one_that_dials_is_known_by_its_certificate(void **state)
{
    fed_bed *bed = *state;
    bed->config.peers_are_anonymous = false;
    start_with(bed, UDPAI_SOURCE_UDPA_LISTEN);
    (void)fed_orders(bed);
    (void)fed_arrive(bed, &(fed_peer){.id = "core"}); /* it only says so */
    assert_null(strstr(fed_orders(bed), "sub "));
    (void)fed_arrive(bed, &(fed_peer){.id = "core", .name = "mallory"});
    assert_null(strstr(fed_orders(bed), "sub "));
    bed->sessions[0] = bed->last_session + 1;
    (void)fed_arrive(bed, &(fed_peer){.id = "whatever", .name = "core"});
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*"));
}

static void
where_nobody_has_one_by_its_node_id(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA_LISTEN);
    (void)fed_orders(bed);
    bed->sessions[0] = bed->last_session + 1;
    (void)fed_arrive(bed, &(fed_peer){.id = "core"});
    assert_non_null(strstr(fed_orders(bed), "sub a CDS com.acme:*"));
}

/* It would be a publisher's, whom nobody corrects: the source speaks on the other stream. */
static void
what_an_earlier_stream_brings_late_is_not_taken(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA_LISTEN);
    uint64_t first = fed_arrive(bed, &(fed_peer){.id = "core"});
    (void)fed_publish_at(bed, first, "CDS", "x=1 !com.acme");
    uint64_t second = fed_arrive(bed, &(fed_peer){.id = "core"});
    assert_string_equal(fed_publish_at(bed, first, "CDS", "y=1"),
                        "'com.acme/y': the peer has begun another stream");
    (void)fed_publish_at(bed, second, "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "1");
    assert_value(bed, "CDS", "y", "");
}

static void
one_that_does_not_come_is_waited_for_a_while(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA_LISTEN);
    fed_advance(bed, 1999);
    assert_orders(bed, "");
    fed_advance(bed, 1);
    assert_orders(bed, "dial b");
}

/* ---- read ---- */

static void
read_files(fed_bed *bed, const char *value, bool is_partial, bool has_errors)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE("com.acme/x", .type = TEST_CDS, .version = value, .value = value);
    const udpai_directory directory = {
        .root = UDPAI_STR("/d"),
        .source = UDPAI_STR("a"),
        .resources = &resource,
        .n_resources = 1,
        .is_partial = is_partial,
        .has_errors = has_errors,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpai_node_flush(bed->node);
}

static void
a_directory_counts_when_it_is_read(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_PATH);
    assert_false(fed_settled(bed, "CDS", ACME));
    read_files(bed, "1", false, false);
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_value(bed, "CDS", "x", "1");
    fed_advance(bed, 60000);
    assert_orders(bed, "");
}

/* A reading has all types, those included that nobody has asked for yet. */
static void
a_type_asked_for_later_was_read_too(void **state)
{
    fed_bed *bed = *state;
    bed->sources[0].kind = UDPAI_SOURCE_PATH;
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    read_files(bed, "1", false, false);
    fed_want(bed, "CDS", "x");
    fed_want(bed, "EDS", "x");
    assert_value(bed, "CDS", "x", "1");
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_true(fed_settled(bed, "EDS", ACME));
}

static void
one_that_is_not_there_is_not_waited_for(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_PATH);
    fed_advance(bed, 2000);
    assert_orders(bed, "dial b");
}

static void
one_with_mistakes_fails_over_to_the_next(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_PATH);
    read_files(bed, "1", true, true); /* some of it was good */
    assert_orders(bed, "dial b");
    assert_value(bed, "CDS", "x", "1");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b !com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    read_files(bed, "2", false, false);
    fed_advance(bed, 5000);
    assert_value(bed, "CDS", "x", "2");
    fed_close(bed, 'b'); /* nobody asks it any more */
    (void)fed_orders(bed);
    read_files(bed, "2", false, true);
    assert_non_null(strstr(fed_orders(bed), "dial b"));
    assert_value(bed, "CDS", "x", "2"); /* until b is complete */
}

/* ---- an xDS server ---- */

/* To be connected is not to be served. */
static void
an_xds_server_counts_when_it_has_said_all(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_XDS);
    (void)fed_orders(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    assert_orders(bed, "sub a CDS com.acme:*"); /* no Node is waited for */
    fed_advance(bed, 2000);
    assert_orders(bed, "dial b");
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "CDS", "x=of-b y=of-b !com.acme");
    assert_value(bed, "CDS", "x", "of-b");
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=of-a");
    fed_advance(bed, 60000);
    assert_value(bed, "CDS", "x", "of-b"); /* it has not said all */
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_value(bed, "CDS", "x", "of-a");
    assert_value(bed, "CDS", "y", "");
    assert_non_null(strstr(fed_orders(bed), "hangup b"));
}

/* Its stream ends in the middle: what it had stays until the next source has said all, and it comes
 * back as one that must say all again. */
static void
an_xds_server_that_comes_back_says_all_again(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_XDS);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    fed_close(bed, 'a');
    assert_value(bed, "CDS", "x", "1");
    fed_connect(bed, 'b');
    assert_value(bed, "CDS", "x", "1");
    (void)fed_publish(bed, 'b', "CDS", "x=2 !com.acme");
    assert_value(bed, "CDS", "x", "2");
    assert_value(bed, "CDS", "y", "");
    fed_advance(bed, 1000);
    (void)fed_orders(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    assert_orders(bed, "sub a CDS com.acme:*+2");
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=3 -y !com.acme");
    assert_value(bed, "CDS", "x", "2"); /* it must last, first */
    fed_advance(bed, 60000);
    assert_value(bed, "CDS", "x", "3");
}

static udpa_err
add_source_with(fed_bed *bed, int number, long n_allocations)
{
    char name[32];
    /* What an attempt has made of the store's, the next one would find. */
    snprintf(name, sizeof(name), "s%d-%ld", number, n_allocations);
    const udpai_source_config config = {.name = udpai_str_from(name)};
    size_t n_links = bed->node->parts.sources->by_link.n,
           n_sources = bed->node->parts.sources->by_name.n;
    udpai_alloc_fail_after(n_allocations);
    udpa_err err = udpai_sources_add(bed->node->parts.sources, &config, true, NULL);
    udpai_alloc_fail_after(-1);
    assert_int_equal(bed->node->parts.sources->by_link.n - n_links, err == UDPA_OK);
    assert_int_equal(bed->node->parts.sources->by_name.n - n_sources, err == UDPA_OK);
    return err;
}

/* One that was not made is nowhere: nobody would ever take it away again. */
static void
without_memory_no_source_is_half_made(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_UDPA);
    for (int i = 0; i < 20; i++) { /* the maps grow on the way */
        udpa_err err = UDPA_ERR_NOMEM;
        for (long n = 0; err == UDPA_ERR_NOMEM; n++)
            err = add_source_with(bed, i, n);
        assert_ok(err);
    }
}

/* Of memory, for what it says: it cannot count as having said all. */
static void
an_xds_server_whose_word_was_lost_is_hung_up(void **state)
{
    fed_bed *bed = *state;
    start_with(bed, UDPAI_SOURCE_XDS);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'a');
    (void)fed_orders(bed);
    bed->is_short = true;
    bed->n_allocations = 0;
    (void)fed_publish(bed, 'a', "CDS", "x=1");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_false(fed_settled(bed, "CDS", ACME));
    assert_non_null(strstr(fed_orders(bed), "hangup a"));
    fed_close(bed, 'a');
    fed_advance(bed, 1000);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
    assert_value(bed, "CDS", "x", "1");
}

static void
expect_kind(fed_bed *bed, udpai_source_kind kind, const char *expected)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *status = NULL;
    udpai_str found = {"", 0};
    start_with(bed, kind);
    assert_ok(udpai_node_visit_sources(bed->node, find_status, &status));
    udpai_proto_reader reader = udpai_proto_read(udpai_bytes_view(status));
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 14)
            found = field.bytes;
    assert_str(found, expected);
}

static void
one_that_is_polled_is_an_xds_server(void **state)
{
    fed_bed *bed = *state;
    expect_kind(bed, UDPAI_SOURCE_REST, "rest");
    (void)fed_orders(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    assert_orders(bed, "sub a CDS com.acme:*"); /* no Node is waited for */
    fed_speak(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_close(bed, 'a');
    fed_advance(bed, 1000);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
    fed_connect_as(bed, 'a', &(fed_peer){.is_xds = true});
    assert_orders(bed, "sub a CDS com.acme:*+1"); /* its session must know what is held */
}

static void
a_directory_says_its_kind(void **state)
{
    expect_kind(*state, UDPAI_SOURCE_PATH, "path");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_is_wanted_before_the_start_is_dialled),
        fed_test(attempts_are_spread),
        fed_test(its_last_contact_is_known),
        fed_test(times_and_limits_may_change),
        fed_test(one_with_our_own_id_is_hung_up),
        fed_test(who_knows_no_extensions_is_complete_when_silent),
        fed_test(who_has_nothing_to_say_is_complete_after_a_while),
        fed_test(its_status_says_what_was_refused_last),
        fed_test(what_was_amiss_with_a_resource_holds_until_another_comes),
        fed_test(only_so_many_resources_are_told_apart),
        fed_test(what_was_amiss_with_a_connection_holds_until_it_is_back),
        fed_test(one_that_dials_is_known_by_its_certificate),
        fed_test(where_nobody_has_one_by_its_node_id),
        fed_test(what_an_earlier_stream_brings_late_is_not_taken),
        fed_test(one_that_does_not_come_is_waited_for_a_while),
        fed_test(a_directory_counts_when_it_is_read),
        fed_test(a_type_asked_for_later_was_read_too),
        fed_test(one_that_is_not_there_is_not_waited_for),
        fed_test(one_with_mistakes_fails_over_to_the_next),
        fed_test(an_xds_server_counts_when_it_has_said_all),
        fed_test(an_xds_server_that_comes_back_says_all_again),
        fed_test(without_memory_no_source_is_half_made),
        fed_test(an_xds_server_whose_word_was_lost_is_hung_up),
        fed_test(one_that_is_polled_is_an_xds_server),
        fed_test(a_directory_says_its_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
