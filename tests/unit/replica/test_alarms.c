/* SPDX-License-Identifier: Apache-2.0 */
/* What etcd states of its database and its alarms. */
#include "replica/alarms.h"
#include "replicator_bed.h"

static void
assert_said(int64_t size_bytes, bool has_no_space, bool is_corrupt, const char *expected)
{
    model.status.size_bytes = size_bytes;
    model.status.has_no_space = has_no_space;
    model.status.is_corrupt = is_corrupt;
    (void)reported(&a);
    run_ms(UDPAI_ALARMS_ASK_MS + 100);
    const char *text = reported(&a);
    if (!strstr(text, expected))
        fail_msg("'%s' does not say '%s'", text, expected);
}

static void
before_it_is_full_and_when_it_is(void **state)
{
    (void)state;
    model.status.quota_bytes = 200 << 20;
    assert_said(159 << 20, false, false, "etcd has 166723584 of 209715200");
    assert_null(strstr(reported(&a), "compact"));
    assert_said(160 << 20, false, false,
                "the database of etcd has 160 MiB, 80 % of its quota; when it is full");
    assert_said(200 << 20, true, false,
                "etcd has the alarm NOSPACE: its database is full (200 MiB)");
    assert_said(200 << 20, true, true, "etcd has the alarm CORRUPT");
    assert_said(1 << 20, false, false, "etcd has 1048576 of 209715200");
    model.status.quota_bytes = 0; /* an older etcd does not state it */
    assert_said(1 << 30, false, false, "etcd has 1073741824 of 0");
    assert_null(strstr(reported(&a), "%"));
}

/* What is rejected may be for an alarm: that is not found out half a minute later. */
static void
when_something_was_rejected_it_is_asked_at_once(void **state)
{
    (void)state;
    run_ms(5000);
    (void)reported(&a);
    model.status.size_bytes = 1000;
    model.status.has_no_space = model.is_full = true;
    put(&a, "o", X, "1");
    run_ms(10000);
    assert_non_null(strstr(reported(&a), "NOSPACE"));
    put(&a, "o", X, "2"); /* nor more often than that */
    run_ms(10000);
    assert_non_null(strstr(reported(&a), "NOSPACE"));
}

static void
one_that_does_not_answer_is_asked_again(void **state)
{
    (void)state;
    model.status.size_bytes = 1000;
    etcd_model_away(&model, true);
    run_ms(120000);
    assert_null(strstr(reported(&a), "etcd has"));
    etcd_model_away(&model, false);
    run_ms(2 * UDPAI_ALARMS_ASK_MS);
    assert_non_null(strstr(reported(&a), "etcd has 1000"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(before_it_is_full_and_when_it_is),
        TEST(when_something_was_rejected_it_is_asked_at_once),
        TEST(one_that_does_not_answer_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
