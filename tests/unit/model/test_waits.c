/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that wait for each other: when it is certain that nobody else is waited for. */
#include "model/waits.h"

#include <stdio.h>

#include "tests/harness/test.h"

#define NODES 70

typedef struct node {
    char id[16];
    uint8_t said[UDPAI_WAITS_BYTES_MAX];
    size_t len;
} node;

static node nodes[NODES];

static udpai_str
id_of(int i)
{
    return udpai_str_from(nodes[i].id);
}

static void
begin(int n)
{
    for (int i = 0; i < n; i++) {
        snprintf(nodes[i].id, sizeof(nodes[i].id), "n%d", i);
        nodes[i].len = 0;
    }
}

/* i waits for those, and has heard what they said last; it says so. True: it waits no more. */
static bool
turn(int i, const int *from, int n, bool stranger)
{
    udpai_waits waits;
    udpai_waits_begin(&waits, id_of(i));
    for (int k = 0; k < n; k++)
        udpai_waits_for(&waits, id_of(from[k]),
                        (udpai_str){(const char *)nodes[from[k]].said, nodes[from[k]].len});
    if (stranger)
        udpai_waits_for_unknown(&waits);
    udpai_proto_writer writer = {.at = nodes[i].said};
    udpai_waits_put(&waits, &writer);
    assert_true(writer.size <= sizeof(nodes[i].said));
    nodes[i].len = writer.size;
    return udpai_waits_are_closed(&waits);
}

/* A ring of n plays so many rounds; how many turns it took until the last one was done, 0: never.
 */
static int
ring(int n, int stranger, int n_rounds)
{
    int n_done = 0;
    bool done[NODES] = {false};
    begin(n);
    for (int t = 0; t < n * n_rounds && n_done < n; t++) {
        int i = t % n, before = (i + n - 1) % n;
        bool is_done = turn(i, &before, 1, i == stranger);
        n_done += is_done && !done[i];
        done[i] |= is_done;
        if (n_done == n)
            return t + 1;
    }
    return 0;
}

static void
a_ring_is_done(void **state)
{
    (void)state;
    for (int n = 2; n <= UDPAI_WAITS_MAX; n++)
        if (ring(n, -1, 4) == 0)
            fail_msg("a ring of %d is not done", n);
}

static void
one_that_waits_for_a_stranger_keeps_all_open(void **state)
{
    (void)state;
    assert_int_equal(ring(5, 3, 50), 0);
}

static void
too_many_are_never_done(void **state)
{
    (void)state;
    assert_int_equal(ring(UDPAI_WAITS_MAX + 1, -1, 4), 0);
}

/* Two hear of each other before one has passed on what the third has told him alone. */
static void
what_was_not_passed_on_is_waited_for(void **state)
{
    (void)state;
    static const int of_0[] = {1, 2}, of_1[] = {0, 2}, of_2[] = {0, 1};
    begin(3);
    assert_false(turn(0, of_0, 2, false));
    assert_false(turn(1, of_1, 2, false));
    assert_false(turn(2, of_2, 2, false)); /* all know whom all wait for … */
    assert_false(turn(0, of_0, 2, false)); /* … and have not said so since */
    bool done = false;
    for (int round = 0; round < 4; round++)
        done = 3 == turn(1, of_1, 2, false) + turn(2, of_2, 2, false) + turn(0, of_0, 2, false);
    assert_true(done);
}

/* What is said no more is not kept alive by those who have heard it from each other. */
static void
what_is_taken_back_does_not_go_round(void **state)
{
    (void)state;
    static const int of_0[] = {1}, of_1[] = {0, 2}, of_2[] = {0, 1};
    begin(3);
    for (int round = 0; round < 9; round++) {
        assert_false(turn(0, of_0, 1, true));
        assert_false(turn(1, of_1, 2, false));
        assert_false(turn(2, of_2, 2, false));
    }
    bool done = false;
    for (int round = 0; round < 6; round++)
        done = 3 == turn(0, of_0, 1, false) + turn(1, of_1, 2, false) + turn(2, of_2, 2, false);
    assert_true(done);
}

/* However far it was told. */
static void
what_has_passed_too_many_is_nothing(void **state)
{
    (void)state;
    for (uint8_t distance = 60; distance < 70; distance++) {
        const uint8_t said[] = {0x6a, 8, 0x0a, 1, 'b', 0x12, 1, 'c', 0x18, 60, /* b for c … */
                                0x6a, 8, 0x0a, 1, 'c', 0x12, 1, 'a', 0x20, distance};
        udpai_waits waits;
        udpai_waits_begin(&waits, UDPAI_STR("a"));
        udpai_waits_for(&waits, UDPAI_STR("b"), (udpai_str){(const char *)said, sizeof(said)});
        assert_int_equal(udpai_waits_are_closed(&waits), distance < UDPAI_WAITS_MAX);
    }
}

static void
who_has_said_nothing_is_waited_for(void **state)
{
    (void)state;
    static const int of_0[] = {1, 2}, of_1[] = {0};
    begin(3);
    for (int round = 0; round < 9; round++) {
        assert_false(turn(0, of_0, 2, false));
        assert_false(turn(1, of_1, 1, false));
    }
}

/* What comes from a peer may be anything. */
static void
what_is_malformed_says_nothing(void **state)
{
    (void)state;
    static const int of_0[] = {1}, of_1[] = {0};
    begin(2);
    for (int round = 0; round < 4; round++) {
        (void)turn(0, of_0, 1, false);
        (void)turn(1, of_1, 1, false);
    }
    assert_true(turn(0, of_0, 1, false));
    size_t len = nodes[1].len;
    for (size_t i = 1; i < len; i++) {
        udpai_waits waits;
        udpai_waits_begin(&waits, id_of(0));
        udpai_waits_for(&waits, id_of(1), (udpai_str){(const char *)nodes[1].said, i});
        if (i < 4)
            assert_false(udpai_waits_are_closed(&waits));
    }
    udpai_waits waits;
    udpai_waits_begin(&waits, id_of(0));
    udpai_waits_for(&waits, UDPAI_STR("another"),
                    (udpai_str){(const char *)nodes[1].said, nodes[1].len});
    assert_false(udpai_waits_are_closed(&waits));
    udpai_waits_begin(&waits, id_of(0));
    udpai_waits_for(&waits, UDPAI_STR(""), (udpai_str){0});
    assert_false(udpai_waits_are_closed(&waits));
}

/* b says it twice, over equally many nodes: c waits for a, and for d, who has not said anything. */
static void
of_what_came_equally_far_all_counts(void **state)
{
    (void)state;
    static const uint8_t said[] = {
        0x6a, 8, 0x0a, 1, 'b', 0x12, 1, 'c', 0x18, 60, /* b for c … */
        0x6a, 6, 0x0a, 1, 'c', 0x12, 1, 'a',           /* c for a … */
        0x6a, 6, 0x0a, 1, 'c', 0x12, 1, 'd',           /* … and c for d */
    };
    for (size_t left_out = 0; left_out <= 8; left_out += 8) {
        udpai_waits waits;
        udpai_waits_begin(&waits, UDPAI_STR("a"));
        udpai_waits_for(&waits, UDPAI_STR("b"),
                        (udpai_str){(const char *)said, sizeof(said) - left_out});
        assert_int_equal(udpai_waits_are_closed(&waits), left_out != 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_is_done),
        cmocka_unit_test(one_that_waits_for_a_stranger_keeps_all_open),
        cmocka_unit_test(too_many_are_never_done),
        cmocka_unit_test(what_was_not_passed_on_is_waited_for),
        cmocka_unit_test(what_is_taken_back_does_not_go_round),
        cmocka_unit_test(what_has_passed_too_many_is_nothing),
        cmocka_unit_test(who_has_said_nothing_is_waited_for),
        cmocka_unit_test(what_is_malformed_says_nothing),
        cmocka_unit_test(of_what_came_equally_far_all_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
