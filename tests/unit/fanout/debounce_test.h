/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a fan-out with rules of what waits, for the tests of that. */
#ifndef UDPAI_TESTS_DEBOUNCE_TEST_H
#define UDPAI_TESTS_DEBOUNCE_TEST_H

#include "tests/harness/metered.h"
#include "tests/unit/fanout/fanout_test.h"

#define QUIET_MS 100
#define MAX_MS 1000
#define BEGIN_MS 1000 /* of the bed */

static fanout_reader client;
static udpai_meters *meters;

static inline int
set_up(void **state)
{
    (void)fanout_bed_setup(state);
    fanout_bed *bed = *state;
    assert_int_equal(udpai_meters_new(&meters), UDPA_OK);
    udpai_fanout_set_meters(bed->fanout, meters);
    fanout_settle(bed);
    return 0;
}

static inline int
tear_down(void **state)
{
    (void)fanout_bed_teardown(state);
    meters = udpai_meters_free(meters);
    return 0;
}

static inline void
open_client(fanout_reader *reader, fanout_bed *bed)
{
    fanout_open(reader, bed);
    reader->subscriber.is_debounced = true;
}

static inline void
set_rules(fanout_bed *bed, const udpai_debounce_rule *rules, size_t n)
{
    UDPA_AUTO(udpai_debounce_rules_unref) udpai_debounce_rules *value = NULL;
    assert_ok(udpai_debounce_rules_new(&value, rules, n));
    udpai_fanout_set_debounce(bed->fanout, value);
}

/* What it had at first has been sent. */
static inline void
begin_with(fanout_bed *bed, const udpai_debounce_rule *rules, size_t n, const char *first)
{
    set_rules(bed, rules, n);
    fanout_change(bed, "+CDS/c=0 +EDS/e=0 +LDS/l=0 +RDS/r=0");
    fanout_bed_at(bed, BEGIN_MS);
    open_client(&client, bed);
    fanout_wildcard(&client, "CDS", "");
    fanout_wildcard(&client, "EDS", "");
    fanout_wildcard(&client, "LDS", "");
    fanout_wildcard(&client, "RDS", "");
    assert_all(&client, first);
    fanout_bed_at(bed, BEGIN_MS + MAX_MS); /* what was there before waits no more */
    client.n_wakes = 0;
}

static inline void
begin(fanout_bed *bed, const udpai_debounce_rule *rules, size_t n)
{
    begin_with(bed, rules, n, "CDS[c=0] EDS[e=0] LDS[l=0] RDS[r=0]");
}

#define START_MS (BEGIN_MS + MAX_MS)

static inline void
at(fanout_bed *bed, uint64_t ms)
{
    fanout_bed_at(bed, START_MS + ms);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
