/* SPDX-License-Identifier: Apache-2.0 */
/* A set of a format that this version does not know: nothing is taken from it, and nothing of this
 * replica is in it. */
#include "replicator_bed.h"

static void
nothing_is_taken_from_a_set_of_another_format(void **state)
{
    (void)state;
    write_set("\x08\x01");
    put(&a, "o", X, "1");
    run_ms(100);
    (void)reported(&a);
    (void)reported(&b);
    write_set("\x08\x02");
    put(&a, "o", X, "2"); /* before it has received that */
    run_ms(100);
    const char *text = reported(&a);
    assert_non_null(strstr(text, "behind"));
    assert_null(strstr(text, "committed"));
    etcd_model_put(&model, PREFIX "c/com.acme/test.Thing/x/o", "something new");
    put(&a, "o", X, "3");
    run_ms(100);
    text = reported(&a);
    assert_true(strncmp(text, "3: not done, ", 13) == 0);
    assert_non_null(strstr(text, "the replica set has format 2, and this udpad has 1: update it"));
    assert_reported(&b, "behind");
    run_ms(10000);
    assert_reported(&b, ""); /* nor is it current again */
}

static size_t
n_places(void)
{
    return etcd_model_count(&model, UDPAI_STR(PREFIX "m/"), model.revision);
}

/* So that one that knows the format is the janitor. */
static void
who_does_not_know_the_format_has_no_place(void **state)
{
    (void)state;
    write_set("\x08\x01");
    run_ms(3000);
    assert_int_equal(n_places(), 2);
    write_set("\x08\x02");
    run_ms(2000);
    assert_int_equal(n_places(), 0);
    open_replica(&c, "c");
    run_ms(5000);
    assert_int_equal(n_places(), 0);
    write_set("\x08\x01");
    run_ms(3000);
    assert_int_equal(n_places(), 3);
}

/* Nor does it write one though it has not received yet what the set is now. */
static void
a_place_is_claimed_in_the_set_that_is_known(void **state)
{
    (void)state;
    model.faults.latency_ms = 40;
    for (int ms = 0; ms < 1200; ms += 9) {
        write_set("\x08\x01");
        run_ms(3000);
        open_replica(&c, "c");
        run_ms((uint64_t)ms);
        write_set("\x08\x02");
        int64_t revision = model.revision;
        run_ms(2000);
        for (size_t i = 0; i < model.history.n; i++) {
            const etcd_model_event *event = &model.history.items[i];
            if (event->revision > revision && !event->is_delete)
                assert_null(strstr(event->key, "/m/"));
        }
        close_replica(&c);
    }
}

static void
a_set_that_is_overwritten_is_left_alone(void **state)
{
    (void)state;
    etcd_model_put(&model, PREFIX "set", "x");
    run_ms(50);
    put(&a, "o", X, "1");
    run_ms(50);
    const char *text = reported(&a);
    assert_non_null(strstr(text, "1: not done, "));
    assert_non_null(strstr(text, "the key 'set' below store.prefix was overwritten"));
    assert_int_equal(n_records(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_taken_from_a_set_of_another_format),
        TEST(who_does_not_know_the_format_has_no_place),
        TEST(a_place_is_claimed_in_the_set_that_is_known),
        TEST(a_set_that_is_overwritten_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
