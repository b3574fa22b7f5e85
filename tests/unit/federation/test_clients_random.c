/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of clients that come, change and go as chance has it, with streams that end, a control
 * plane that is out for a while, and restarts, at any moment between two orders. Nothing is ever
 * settled that was not answered; and when all is quiet, each group has what its control plane has
 * for who it is now, and of those that have gone nothing is left. */
#include "tests/unit/federation/clients_world.h"

#define GROUPS 6
#define TYPES 3
#define ON_DEMAND (TYPES - 1)

static void
expect_honest(const cw_world *world)
{
    for (size_t i = 0; i < GROUPS; i++)
        for (size_t type = 0; type < TYPES; type++)
            if (cw_is_settled(world, i, type))
                assert_true(world->groups[i].has_answered[type]);
}

/* Longer than anything lingers, or is waited for. */
static void
become_quiet(cw_world *world)
{
    world->is_out = false;
    for (int i = 0; i < 400; i++) {
        cw_settle(world);
        cw_advance(world, 1000);
        expect_honest(world);
    }
    cw_settle(world);
}

static size_t
count_streams(const cw_world *world, size_t group)
{
    size_t n = 0;
    for (size_t i = 0; i < world->streams.n; i++)
        n += world->streams.items[i].group == group;
    return n;
}

static void
expect_all(cw_world *world)
{
    for (size_t i = 0; i < GROUPS; i++) {
        const cw_group *group = &world->groups[i];
        assert_int_equal(count_streams(world, i), group->is_there);
        if (!group->is_there)
            assert_int_equal(cw_n_kept(world, i), 0);
        for (size_t type = 0; type < TYPES; type++) {
            bool has = group->is_there && (type != ON_DEMAND || group->is_wanted[type]);
            cw_value value = cw_value_of(world, i, type);
            if (group->is_there && !has)
                continue; /* what was kept is there until somebody asks */
            assert_int_equal(value.content, has ? group->content : 0);
            assert_int_equal(value.node, has ? group->node : 0);
            assert_int_equal(cw_is_settled(world, i, type), has);
        }
    }
}

static void
do_something(cw_world *world, uint64_t *chance)
{
    size_t group = test_random_below(chance, GROUPS);
    switch (test_random_below(chance, 12)) {
    case 0:
    case 1:
        world->groups[group].node += test_random_below(chance, 2) ? 1 : 0;
        cw_come(world, group);
        break;
    case 2:
        if (world->groups[group].is_there)
            cw_go(world, group);
        break;
    case 3:
        cw_publish(world, group);
        break;
    case 4:
        if (world->streams.n)
            cw_close(world, test_random_below(chance, world->streams.n));
        break;
    case 5:
        cw_want(world, group, ON_DEMAND, test_random_below(chance, 2));
        break;
    case 6:
        world->is_out = test_random_below(chance, 3) == 0;
        break;
    case 7:
        if (test_random_below(chance, 8) == 0)
            cw_restart(world);
        break;
    case 8:
        cw_advance(world, test_random_below(chance, 40000));
        break;
    case 9:
        cw_advance(world, test_random_below(chance, 1500));
        break;
    default:
        for (size_t n = test_random_below(chance, 12); n > 0 && cw_step(world); n--)
            continue;
        break;
    }
}

static void
run(uint64_t seed)
{
    uint64_t chance = seed * 0x9e3779b97f4a7c15u;
    cw_world world;
    cw_init(&world, GROUPS, TYPES);
    cw_start(&world);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 150; i++) {
            do_something(&world, &chance);
            expect_honest(&world);
        }
        become_quiet(&world);
        expect_all(&world);
    }
    cw_done(&world);
}

static void
whatever_happens_it_ends_well(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        run(seed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_it_ends_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
