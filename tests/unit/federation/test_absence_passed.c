/* SPDX-License-Identifier: Apache-2.0 */
/* A source of which another node is told what is missing: what it leaves out is believed here, and
 * whether it may have been lost is told once, when that is known. */
#include "tests/unit/federation/peer_info.h"

#define ACME "com.acme"

static void
start(fed_bed *bed)
{
    bed->sources[0].passes_doubts = true;
    bed->sources[0].max_withdrawal = 100;
    fed_type(bed, "CDS");
    fed_type(bed, "LDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = "first", .commit = "7"});
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 z=1 !com.acme");
    (void)fed_publish(bed, 'a', "LDS", "l=1 !com.acme");
}

static void
come_back(fed_bed *bed, const char *epoch, const char *commit)
{
    fed_come_back_as(bed, 'a', &(fed_peer){.epoch = epoch, .commit = commit});
}

static const char *
doubt(fed_bed *bed)
{
    const char *why = udpai_node_take_doubt(bed->node, UDPAI_STR("a"));
    return why ? why : "";
}

static void
what_another_store_leaves_out_is_believed_and_doubted_once(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(doubt(bed), "");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_value(bed, "CDS", "x", "");
    assert_non_null(strstr(doubt(bed), "not the one that it had before")); /* it may go on */
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
    (void)fed_publish(bed, 'a', "LDS", "-l !com.acme");
    assert_non_null(strstr(doubt(bed), "not the one that it had before"));
    assert_string_equal(doubt(bed), "");
    (void)fed_publish(bed, 'a', "CDS", "-y");
    assert_value(bed, "CDS", "y", "");
    assert_string_equal(doubt(bed), "");
}

/* One type is answered: of the other it is not known yet what is missing. */
static void
it_is_doubted_until_all_is_answered(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    come_back(bed, "first", "6");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_non_null(strstr(doubt(bed), "an older copy"));
    assert_non_null(strstr(doubt(bed), "an older copy"));
    (void)fed_publish(bed, 'a', "LDS", "!com.acme");
    assert_non_null(strstr(doubt(bed), "an older copy"));
    assert_string_equal(doubt(bed), "");
}

static void
a_stream_that_ended_before_it_answered_has_changed_nothing(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    come_back(bed, "second", "0");
    come_back(bed, "first", "7");
    (void)fed_publish(bed, 'a', "CDS", "-x !com.acme");
    (void)fed_publish(bed, 'a', "LDS", "!com.acme");
    assert_value(bed, "CDS", "x", "");
    assert_string_equal(doubt(bed), "");
}

static void
one_that_passes_no_doubts_has_none(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect_as(bed, 'a', &(fed_peer){.epoch = "first", .commit = "7"});
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    come_back(bed, "second", "0");
    (void)fed_publish(bed, 'a', "CDS", "-x");
    assert_value(bed, "CDS", "x", "1");
    assert_string_equal(doubt(bed), "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(what_another_store_leaves_out_is_believed_and_doubted_once),
        fed_test(it_is_doubted_until_all_is_answered),
        fed_test(a_stream_that_ended_before_it_answered_has_changed_nothing),
        fed_test(one_that_passes_no_doubts_has_none),
    };
    return cmocka_run_group_tests_name("federation absence_passed", tests, NULL, NULL);
}
