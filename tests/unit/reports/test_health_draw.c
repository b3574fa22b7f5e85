/* SPDX-License-Identifier: Apache-2.0 */
/* The draw of checkers for an endpoint: near ones first, even shares, and few moves. */
#include <stdio.h>

#include "health_test.h"
#include "reports/health_plan.h"

#define CHECKERS_MAX 40

/* ---- a world of checkers and subjects ---- */

static char ids[CHECKERS_MAX][16];
static udpai_health_checker checkers[CHECKERS_MAX];
static uint64_t hashes[CHECKERS_MAX];
static size_t n_checkers;
static uint64_t chance;

static const udpai_health_place nowhere;
static const char *const regions[] = {"eu", "us", ""}, *const zones[] = {"a", "b", ""};

static udpai_health_place
some_place(void)
{
    return (udpai_health_place){
        udpai_str_from(regions[test_random_below(&chance, 3)]),
        udpai_str_from(zones[test_random_below(&chance, 3)]),
        udpai_str_from(zones[test_random_below(&chance, 3)]),
    };
}

static void
set_checker(size_t index, size_t id, udpai_health_place place, unsigned capability)
{
    snprintf(ids[index], sizeof(ids[index]), "checker-%zu", id);
    checkers[index] = (udpai_health_checker){udpai_str_from(ids[index]), place, capability};
    hashes[index] = udpai_health_checker_hash(checkers[index].id);
}

static void
make_checkers(size_t n)
{
    n_checkers = n;
    for (size_t i = 0; i < n; i++)
        set_checker(i, i, some_place(), (unsigned)test_random_below(&chance, 8));
}

static udpai_health_subject
some_subject(void)
{
    return (udpai_health_subject){
        test_random(&chance),
        some_place(),
        1 + (unsigned)test_random_below(&chance, 7),
    };
}

/* The drawn checkers as bits. */
static uint64_t
draw(const udpai_health_subject *subject, size_t redundancy)
{
    uint32_t drawn[UDPAI_HEALTH_REDUNDANCY_MAX];
    uint64_t bits = 0;
    size_t n = udpai_health_draw(subject, checkers, hashes, n_checkers, redundancy, drawn);
    for (size_t i = 0; i < n; i++) {
        assert_true(drawn[i] < n_checkers);
        assert_false(bits & UINT64_C(1) << drawn[i]);
        bits |= UINT64_C(1) << drawn[i];
    }
    return bits;
}

static bool
is_capable(const udpai_health_subject *subject, size_t checker)
{
    return (checkers[checker].capability & subject->protocols) == subject->protocols;
}

/* ---- as it is defined ---- */

static unsigned
distance(const udpai_health_place *a, const udpai_health_place *b)
{
    bool is_somewhere = a->region.len || a->zone.len || a->sub_zone.len;
    if (!is_somewhere || !udpai_str_eq(a->region, b->region))
        return 3;
    if (!udpai_str_eq(a->zone, b->zone))
        return 2;
    return udpai_str_eq(a->sub_zone, b->sub_zone) ? 0 : 1;
}

/* As many as can be, of those that can, and none that is farther than one who was not drawn. */
static void
check_drawn(const udpai_health_subject *subject, size_t redundancy)
{
    uint64_t drawn = draw(subject, redundancy);
    size_t n_capable = 0;
    unsigned farthest = 0, nearest_left = 4;
    for (size_t i = 0; i < n_checkers; i++) {
        bool is_drawn = drawn >> i & 1;
        if (!is_capable(subject, i)) {
            assert_false(is_drawn);
            continue;
        }
        n_capable++;
        unsigned away = distance(&subject->place, &checkers[i].place);
        if (is_drawn && away > farthest)
            farthest = away;
        if (!is_drawn && away < nearest_left)
            nearest_left = away;
    }
    assert_int_equal(__builtin_popcountll(drawn), n_capable < redundancy ? n_capable : redundancy);
    assert_true(farthest <= nearest_left);
}

static void
each_has_as_many_as_can_be_and_the_nearest(void **state)
{
    (void)state;
    chance = 1;
    for (size_t round = 0; round < 2000; round++) {
        make_checkers(test_random_below(&chance, CHECKERS_MAX));
        for (size_t i = 0; i < 10; i++) {
            udpai_health_subject subject = some_subject();
            check_drawn(&subject, 1 + test_random_below(&chance, UDPAI_HEALTH_REDUNDANCY_MAX));
        }
    }
}

/* The last one goes: who had drawn it draws one other, nobody else draws anew. Read backwards, it
 * comes. */
static void
who_goes_moves_only_what_he_had(void **state)
{
    (void)state;
    chance = 2;
    size_t n_moved = 0;
    for (size_t round = 0; round < 2000; round++) {
        make_checkers(1 + test_random_below(&chance, CHECKERS_MAX - 1));
        size_t redundancy = 1 + test_random_below(&chance, 4);
        for (size_t i = 0; i < 10; i++) {
            udpai_health_subject subject = some_subject();
            uint64_t before = draw(&subject, redundancy), gone = UINT64_C(1) << (n_checkers - 1);
            n_checkers--;
            uint64_t after = draw(&subject, redundancy);
            n_checkers++;
            assert_true((before & ~gone & ~after) == 0);
            if (!(before & gone))
                assert_true(before == after);
            assert_true(__builtin_popcountll(after & ~before) <= 1);
            n_moved += before != after;
        }
    }
    assert_true(n_moved > 100);
}

static void
shares_are_even(void **state)
{
    (void)state;
    size_t n_of[10] = {0};
    chance = 3;
    n_checkers = 10;
    for (size_t i = 0; i < n_checkers; i++)
        set_checker(i, i, nowhere, UDPAI_HEALTH_HTTP);
    for (size_t i = 0; i < 10000; i++) {
        const udpai_health_subject subject = {.hash = test_random(&chance),
                                              .protocols = UDPAI_HEALTH_HTTP};
        uint64_t drawn = draw(&subject, 2);
        for (size_t k = 0; k < n_checkers; k++)
            n_of[k] += drawn >> k & 1;
    }
    for (size_t k = 0; k < n_checkers; k++)
        assert_in_range(n_of[k], 1850, 2150);
}

/* Nor does it matter in which order they are told of. */
static void
the_order_does_not_count(void **state)
{
    (void)state;
    chance = 4;
    for (size_t round = 0; round < 100; round++) {
        const udpai_health_subject subject = {.hash = test_random(&chance),
                                              .protocols = UDPAI_HEALTH_TCP};
        uint32_t forth[UDPAI_HEALTH_REDUNDANCY_MAX], back[UDPAI_HEALTH_REDUNDANCY_MAX];
        n_checkers = 20;
        for (size_t i = 0; i < n_checkers; i++)
            set_checker(i, i, nowhere, UDPAI_HEALTH_TCP);
        assert_int_equal(udpai_health_draw(&subject, checkers, hashes, 20, 3, forth), 3);
        for (size_t i = 0; i < n_checkers; i++)
            set_checker(i, 19 - i, nowhere, UDPAI_HEALTH_TCP);
        assert_int_equal(udpai_health_draw(&subject, checkers, hashes, 20, 3, back), 3);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(forth[i], 19 - back[i]);
    }
}

static void
checkers_are_read(void **state)
{
    (void)state;
    udpai_health_checker found = {0};
    assert_true(udpai_health_checker_read(
        W_JOIN(W_BYTES(1, "\x00\x01"), W_TEXT(2, "eu"), W_TEXT(3, "a"), W_TEXT(4, "x")), &found));
    assert_int_equal(found.capability, UDPAI_HEALTH_HTTP | UDPAI_HEALTH_TCP);
    assert_true(udpai_str_eq(found.place.region, UDPAI_STR("eu")));
    assert_true(udpai_str_eq(found.place.zone, UDPAI_STR("a")));
    assert_true(udpai_str_eq(found.place.sub_zone, UDPAI_STR("x")));
    assert_false(udpai_health_checker_read(W_BYTES(2, "\xff"), &found));
    assert_false(udpai_health_checker_read(W_BYTES(0, "x"), &found));
    wire_free_all();
}

/* Nodes of all versions must draw the same, or they would all be asked, and nobody. */
static void
the_draw_never_changes(void **state)
{
    (void)state;
    uint64_t all = 0;
    n_checkers = 8;
    for (size_t i = 0; i < n_checkers; i++)
        set_checker(i, i, nowhere, 7);
    for (uint64_t hash = 1; hash <= 16; hash++) {
        const udpai_health_subject subject = {hash * UINT64_C(0x0123456789abcdef), nowhere, 1};
        all = all * 31 + draw(&subject, 3);
    }
    assert_true(all == UINT64_C(0xb2f78a4fad99dcdc));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_as_many_as_can_be_and_the_nearest),
        cmocka_unit_test(who_goes_moves_only_what_he_had),
        cmocka_unit_test(shares_are_even),
        cmocka_unit_test(the_order_does_not_count),
        cmocka_unit_test(checkers_are_read),
        cmocka_unit_test(the_draw_never_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
