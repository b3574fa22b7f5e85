/* SPDX-License-Identifier: Apache-2.0 */
/* What the fan-out counts as its memory: it grows with what there is, and is what it was when all
 * of that has gone. */
#include "tests/unit/fanout/fanout_test.h"

#include <stdio.h>

#include "fanout/fanout_internal.h"
#include "fanout/kept_removals.h"
#include "model/xdstp.h"

#define N 90

static fanout_reader one, two;

static uint64_t
memory(const fanout_bed *bed)
{
    return udpai_fanout_memory_of(bed->fanout).all;
}

/* The same change of each name, whose number is in the place of "#". */
static void
change_all(fanout_bed *bed, const char *form)
{
    int len = (int)strcspn(form, "#");
    for (int i = 0; i < N; i++) {
        char text[256];
        (void)snprintf(text, sizeof(text), "%.*s%d%s", len, form, i, form + len + 1);
        fanout_change(bed, text);
    }
}

/* What is remembered of removals goes with the next change after its time. */
static void
forget_removals(fanout_bed *bed)
{
    fanout_bed_at(bed, bed->wheel.now_ms + UDPAI_KEPT_REMOVALS_MS + 2000);
    fanout_change(bed, "+LDS/last=1");
    fanout_change(bed, "-LDS/last");
}

static void
ask_all(fanout_reader *reader)
{
    for (int i = 0; i < N; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%d", i);
        fanout_ask(reader, "CDS", name);
    }
}

static void
resources_take_memory_and_give_it_back(void **state)
{
    fanout_bed *bed = *state;
    uint64_t before = memory(bed);
    change_all(bed, "+CDS/n#=1");
    uint64_t one_each = memory(bed) - before;
    assert_true(one_each >= N * sizeof(udpai_item));
    change_all(bed,
               "+CDS/n#=2%90000"); /* what changes has a former content, and what expires more */
    assert_true(memory(bed) - before > one_each + N * sizeof(udpai_former));
    change_all(bed, "-CDS/n#");
    assert_int_equal(memory(bed), before);
}

/* The store has them, if it is in the process. */
static void
resources_count_where_nobody_else_has_them(void **state)
{
    fanout_bed *bed = *state;
    change_all(bed, "+CDS/n#=1");
    uint64_t shared = memory(bed);
    fanout_bed_restart(bed);
    udpai_fanout_own_resources(bed->fanout);
    uint64_t before = memory(bed);
    change_all(bed, "+CDS/n#=1");
    uint64_t owned = memory(bed);
    assert_true(owned - before >= shared + N * sizeof("com.acme/n1"));
    change_all(bed, "+CDS/n#=2");
    change_all(bed, "+CDS/n#=1");
    assert_true(memory(bed) >= owned);
    change_all(bed, "-CDS/n#");
    assert_int_equal(memory(bed), before);
}

static void
names_take_memory_and_give_it_back(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    uint64_t empty = memory(bed);
    fanout_change(bed, "+CDS/stays=1");
    fanout_open(&one, bed);
    fanout_ask(&one, "CDS", "stays");
    uint64_t before = memory(bed);
    ask_all(&one);
    uint64_t of_names = memory(bed) - before;
    assert_true(of_names >= N * sizeof(udpai_name_sub));
    fanout_open(&two, bed);
    ask_all(&two); /* the items are there: only the names are more */
    assert_in_range(memory(bed) - before - of_names, N * sizeof(udpai_name_sub), of_names);
    (void)fanout_all(&one);
    fanout_close(&two);
    assert_int_equal(memory(bed) - before, of_names);
    for (int i = 0; i < N; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "n%d", i);
        fanout_drop_name(&one, "CDS", name);
    }
    fanout_close(&one);
    fanout_change(bed, "-CDS/stays"); /* and with it the topic, and its numbers for items */
    assert_int_equal(memory(bed), empty);
}

/* Views, filters, parts, aliases, what is held of an earlier stream, what is pending. */
static void
live(fanout_bed *bed)
{
    udpai_subscription *part;
    const udpai_part glob = {
        .type_url = udpai_str_from(TEST_CDS),
        .label = UDPAI_STR("com.acme/foo/*"),
        .glob = UDPAI_STR("com.acme/foo/*"),
    };
    fanout_open(&one, bed);
    fanout_open(&two, bed);
    assert_int_equal(udpai_subscriber_set_owner(&one.subscriber, UDPAI_STR("peer")), UDPA_OK);
    assert_int_equal(udpai_subscriber_set_except(&two.subscriber, UDPAI_STR("edge")), UDPA_OK);
    for (int i = 0; i < N; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "com.acme/n%d", i);
        (void)udpai_subscription_hold_version(fanout_of(&two, "CDS"), udpai_str_from(name),
                                              UDPAI_STR("another"));
    }
    fanout_wildcard(&one, "CDS", "com.acme");
    fanout_wildcard(&two, "CDS", "");
    fanout_ask(&one, "CDS", "n1 other none");
    part = udpai_subscriber_add_part(&one.subscriber, &glob, UDPAI_MODE_DELTA);
    assert_non_null(part);
    assert_int_equal(udpai_subscribe_wildcard(part, udpai_glob_prefix(glob.glob), NULL), UDPA_OK);
    change_all(bed, "+CDS/n#=1@edge^other");
    change_all(bed, "+CDS/foo/n#=1");
    change_all(bed, "+EDS/n#=1");
    (void)fanout_all(&one);
    (void)fanout_all(&two);
    change_all(bed, "~CDS/n#=1@core^other");
    change_all(bed, "+CDS/n#=2@edge^other");
    (void)fanout_all(&two);
    change_all(bed, "-CDS/n#");
    change_all(bed, "-CDS/foo/n#");
    change_all(bed, "-EDS/n#");
    fanout_close(&one);
    (void)fanout_all(&two);
    fanout_close(&two);
}

static void
all_that_ever_was_gives_it_back(void **state)
{
    fanout_bed *bed = *state;
    fanout_settle(bed);
    uint64_t before = memory(bed);
    for (int i = 0; i < 3; i++) {
        live(bed);
        forget_removals(bed);
        assert_int_equal(memory(bed), before);
        assert_int_equal(udpai_fanout_memory_of(bed->fanout).responses, 0);
    }
}

static void
responses_count_as_long_as_somebody_has_them(void **state)
{
    fanout_bed *bed = *state;
    udpai_delivery first, second;
    change_all(bed, "+CDS/n#=1");
    fanout_open(&one, bed);
    fanout_wildcard(&one, "CDS", "");
    uint64_t memory_before = memory(bed);
    assert_int_equal(udpai_fanout_memory_of(bed->fanout).responses, 0);
    assert_ok(udpai_subscriber_next(&one.subscriber, &first));
    uint64_t of_one = udpai_fanout_memory_of(bed->fanout).responses;
    assert_true(of_one >= first.body->size_bytes + N * sizeof(udpa_resource *));
    udpai_listing *listing = udpai_body_list(first.body);
    uint64_t with_listing = udpai_fanout_memory_of(bed->fanout).responses;
    assert_true(with_listing > of_one + N * sizeof("com.acme/n1"));
    fanout_open(&two, bed);
    fanout_wildcard(&two, "CDS", "");
    assert_ok(udpai_subscriber_next(&two.subscriber, &second));
    assert_ptr_equal(second.body, first.body); /* it is shared, and counted once */
    assert_int_equal(udpai_fanout_memory_of(bed->fanout).responses, with_listing);
    udpai_body_unref(first.body);
    udpai_body_unref(second.body);
    fanout_close(&one);
    fanout_close(&two);
    fanout_bed_at(bed, 5000); /* the view goes, and what was composed for it */
    assert_int_equal(udpai_fanout_memory_of(bed->fanout).responses, with_listing - of_one);
    udpai_listing_unref(listing);
    assert_int_equal(udpai_fanout_memory_of(bed->fanout).responses, 0);
    assert_true(memory(bed) < memory_before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fanout_test(resources_take_memory_and_give_it_back),
        fanout_test(resources_count_where_nobody_else_has_them),
        fanout_test(names_take_memory_and_give_it_back),
        fanout_test(all_that_ever_was_gives_it_back),
        fanout_test(responses_count_as_long_as_somebody_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
