/* SPDX-License-Identifier: Apache-2.0 */
/* What is not here may be elsewhere: that it does not exist is not sent, and nothing else waits. */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

static fanout_reader one;

static void
begin(fanout_bed *bed)
{
    fanout_open(&one, bed);
    one.checks_refreshes = false;
}

/* Another content than there is. */
static void
hold(const char *name)
{
    char full[32];
    (void)snprintf(full, sizeof(full), "com.acme/%s", name);
    assert_ok(udpai_subscription_hold_digest(fanout_of(&one, "CDS"), udpai_str_from(full), 1));
}

/* What was published elsewhere is not known; what was here, and was removed here, is gone. */
static void
test_of_a_name_that_may_be_elsewhere_nothing_is_sent(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/gone=1");
    fanout_change(bed, "-CDS/gone:7");
    fanout_settle_except(bed, &(udpai_unsettled){.only_absence = true});
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "a b gone none");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_change(bed, "-CDS/a:8");
    assert_all(&one, "CDS[-a]");
    fanout_change(bed, "-CDS/b");
    assert_all(&one, "CDS[-b]");
    fanout_ask(&one, "CDS", "a"); /* it may have been published again since */
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS[-gone -none -a]");
    fanout_close(&one);
}

/* At another replica, of which this one does not know what it has. */
static void
test_what_may_be_elsewhere_has_not_vanished(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    fanout_change(bed, "+CDS/a=1 +CDS/b=1 +CDS/c=1");
    fanout_change(bed, "-CDS/c:7");
    fanout_settle_except(bed, &(udpai_unsettled){.only_absence = true});
    begin(bed);
    hold("a");
    hold("c");
    hold("d");
    fanout_wildcard(&one, "CDS", "com.acme");
    assert_all(&one, "CDS[a=1 b=1]");
    fanout_change(bed, "-CDS/b"); /* which was sent here */
    assert_all(&one, "CDS[-b]");
    fanout_settle_except(bed, &(udpai_unsettled){.prefix = UDPAI_STR("com.acme/d")});
    assert_all(&one, "CDS[-c]");
    fanout_settle(bed);
    assert_all(&one, "CDS[-d]");
    fanout_close(&one);
}

/* It has from elsewhere what was removed here before anything was sent to it: another replica may
 * have it again. */
static void
test_what_goes_before_it_was_sent_may_be_elsewhere(void **state)
{
    fanout_bed *bed = *state;
    fanout_reader other;
    fanout_settle_except(bed, &(udpai_unsettled){.only_absence = true});
    fanout_change(bed, "+CDS/a=1 +CDS/b=1");
    fanout_open(&other, bed); /* which has nothing from elsewhere */
    fanout_wildcard(&other, "CDS", "com.acme");
    assert_all(&other, "CDS[a=1 b=1]");
    begin(bed);
    hold("a");
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_change(bed, "-CDS/a:7");
    assert_all(&other, "CDS[-a]");
    assert_all(&one, "CDS[b=1]");
    fanout_change(bed, "-CDS/b:8");
    assert_all(&one, "CDS[-b]");
    assert_all(&other, "CDS[-b]");
    fanout_settle(bed);
    assert_all(&one, "CDS[-a]");
    fanout_close(&one);
    fanout_close(&other);
}

/* A node is sent what was removed before it came, but for what may be there again elsewhere. */
static void
test_what_was_removed_is_sent_to_nodes_when_it_is_certain(void **state)
{
    fanout_bed *bed = *state;
    fanout_change(bed, "+CDS/a=1");
    fanout_change(bed, "-CDS/a:7");
    for (int i = 0; i < 2; i++) {
        fanout_settle_except(
            bed, &(udpai_unsettled){.only_absence = i == 1, .prefix = UDPAI_STR("com.acme")});
        begin(bed);
        assert_ok(udpai_subscriber_set_except(&one.subscriber, UDPAI_STR("n1")));
        fanout_wildcard(&one, "CDS", "com.acme");
        assert_all(&one, i == 1 ? "" : "CDS[-a]");
        fanout_settle(bed);
        assert_all(&one, i == 1 ? "CDS[-a]" : "");
        fanout_close(&one);
    }
}

/* A name is given back, and the wildcard covers it: it may be held from elsewhere. */
static void
test_a_name_given_back_that_may_be_elsewhere_is_held(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle_except(bed, &(udpai_unsettled){.only_absence = true});
    begin(bed);
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_ask(&one, "CDS", "x");
    assert_all(&one, "");
    udpai_unsubscribe_name(fanout_of(&one, "CDS"), UDPAI_STR("com.acme/x"), true);
    assert_all(&one, "");
    fanout_settle(bed);
    assert_all(&one, "CDS[-x]");
    fanout_close(&one);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(test_of_a_name_that_may_be_elsewhere_nothing_is_sent),
        fanout_test(test_what_may_be_elsewhere_has_not_vanished),
        fanout_test(test_what_goes_before_it_was_sent_may_be_elsewhere),
        fanout_test(test_what_was_removed_is_sent_to_nodes_when_it_is_certain),
        fanout_test(test_a_name_given_back_that_may_be_elsewhere_is_held),
    };
    return cmocka_run_group_tests_name("absence", tests, NULL, NULL);
}
