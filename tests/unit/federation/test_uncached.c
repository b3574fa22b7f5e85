/* SPDX-License-Identifier: Apache-2.0 */
/* What may not be cached is not kept over a restart, so a mirror that has it is not known whole
 * then. */
#include "tests/unit/federation/federation_test.h"

#include <stdio.h>

#define ACME "com.acme"

static void
put_uncached(fed_bed *bed, const char *value)
{
    (void)fed_put(bed, bed->sessions[0],
                  RESOURCE("com.acme/x", .type = TEST_CDS, .value = value, .version = value,
                           .do_not_cache = true),
                  false);
}

static void
start_mirror(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_CONTINUE, false}, {'b', "org", UDPAI_CONTINUE, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
}

/* It was not kept, so what is there is not all; of what another source has, it is. */
static void
after_a_restart_what_may_not_be_cached_is_not_said_to_have_gone(void **state)
{
    fed_bed *bed = *state;
    start_mirror(bed);
    (void)fed_publish(bed, 'a', "CDS", "y=1");
    put_uncached(bed, "1");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    (void)fed_publish(bed, 'b', "CDS", "!org");
    assert_true(fed_settled(bed, "CDS", ACME));
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "");
    assert_value(bed, "CDS", "y", "1");
    assert_false(fed_settled(bed, "CDS", ACME));
    assert_true(fed_settled(bed, "CDS", "org"));
    fed_connect(bed, 'a');
    put_uncached(bed, "1");
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    assert_true(fed_settled(bed, "CDS", ACME));
    fed_restart(bed);
    assert_false(fed_settled(bed, "CDS", ACME));
}

static void
what_may_be_cached_no_more_is_not_known_after_a_restart(void **state)
{
    fed_bed *bed = *state;
    start_mirror(bed);
    (void)fed_publish(bed, 'a', "CDS", "x=1 !com.acme");
    fed_restart(bed);
    assert_true(fed_settled(bed, "CDS", ACME)); /* as it was kept */
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    put_uncached(bed, "2");
    assert_true(fed_settled(bed, "CDS", ACME));
    fed_restart(bed);
    assert_value(bed, "CDS", "x", "");
    assert_false(fed_settled(bed, "CDS", ACME));
}

/* With the next one that comes. */
static void
without_memory_what_may_not_be_cached_is_noted_later(void **state)
{
    fed_bed *bed = *state;
    char value[16];
    start_mirror(bed);
    (void)fed_publish(bed, 'a', "CDS", "!com.acme");
    for (int n = 0; n < 30; n++) {
        snprintf(value, sizeof(value), "%d", n);
        fed_short(bed, n, false);
        put_uncached(bed, value);
    }
    put_uncached(bed, "last");
    fed_restart(bed);
    assert_false(fed_settled(bed, "CDS", ACME));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(after_a_restart_what_may_not_be_cached_is_not_said_to_have_gone),
        fed_test(what_may_be_cached_no_more_is_not_known_after_a_restart),
        fed_test(without_memory_what_may_not_be_cached_is_noted_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
