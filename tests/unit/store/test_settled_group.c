/* SPDX-License-Identifier: Apache-2.0 */
/* What sources have said to groups of clients, as a table of which one entry changes at a time. */
#include <stdio.h>

#include "store/settled.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"

#define TYPE UDPAI_STR(TEST_TYPE)
#define NUMBER 7

static udpai_settled_group *
group_of(const char *name_space, const udpai_settled_part *part)
{
    udpai_settled_group *group =
        udpai_settled_group_new(udpai_str_from(name_space), part, part ? 1 : 0);
    assert_non_null(group);
    return group;
}

/* ---- the table ---- */

#define NAMES 300

typedef struct plain {
    udpai_settled_groups *table;
    unsigned value[NAMES]; /* 0: not there */
} plain;

static const char *
name_of(size_t i)
{
    static char room[40];
    snprintf(room, sizeof(room), "a.b/%c/%zu", (int)('p' + i % 7), i);
    return room;
}

static void
put(plain *self, size_t i, unsigned value)
{
    const udpai_settled_part part = {.number = value, .is_whole = true};
    UDPA_AUTO(udpai_settled_group_unref) udpai_settled_group *group = group_of(name_of(i), &part);
    udpai_settled_groups *table = udpai_settled_groups_with(self->table, group);
    assert_non_null(table);
    udpai_settled_groups_unref(self->table);
    self->table = table;
    self->value[i] = value;
}

static void
drop(plain *self, size_t i)
{
    udpai_settled_groups *table = NULL;
    if (!self->value[i])
        return;
    assert_true(udpai_settled_groups_without(self->table, udpai_str_from(name_of(i)), &table));
    udpai_settled_groups_unref(self->table);
    self->table = table;
    self->value[i] = 0;
}

static bool
count(void *userdata, const udpai_settled_group *group)
{
    size_t *n = userdata;
    (void)group;
    return ++*n > 0;
}

static size_t
n_below(const plain *self, const char *prefix)
{
    size_t n = 0;
    assert_true(udpai_settled_groups_visit(self->table, udpai_str_from(prefix), count, &n));
    return n;
}

static void
expect_same(const plain *self)
{
    size_t n = 0, n_of_p = 0;
    for (size_t i = 0; i < NAMES; i++) {
        const udpai_settled_group *group =
            udpai_settled_groups_find(self->table, udpai_str_from(name_of(i)));
        assert_int_equal(group != NULL, self->value[i] != 0);
        if (group)
            assert_non_null(udpai_settled_group_part(group, self->value[i]));
        n += group != NULL;
        n_of_p += group != NULL && i % 7 == 0;
    }
    assert_int_equal(n_below(self, ""), n);
    assert_int_equal(n_below(self, "a.b"), n);
    assert_int_equal(n_below(self, "a.b/p"), n_of_p);
    assert_int_equal(n_below(self, "a.b/p/14"), self->value[14] != 0); /* and not of 140 */
    assert_int_equal(n_below(self, "a.bc"), 0);
}

/* Held against a plain array, and against what it was: a table never changes. */
static void
a_table_is_as_a_plain_one(void **state)
{
    (void)state;
    uint64_t chance = 0x5eed;
    plain self = {0}, before = {0};
    for (unsigned i = 1; i <= 3000; i++) {
        size_t which = test_random_below(&chance, NAMES);
        if (test_random_below(&chance, i < 1500 ? 4 : 2) == 0)
            drop(&self, which);
        else
            put(&self, which, i);
        if (i % 100 == 0) {
            expect_same(&self);
            expect_same(&before);
            udpai_settled_groups_unref(before.table);
            before = self;
            udpai_settled_groups_ref(before.table);
        }
    }
    for (size_t i = 0; i < NAMES; i++)
        drop(&self, i);
    expect_same(&self);
    expect_same(&before);
    udpai_settled_groups_unref(before.table);
    udpai_settled_groups_unref(self.table);
}

typedef struct listed {
    udpai_settled_group *groups[NAMES];
    size_t n;
} listed;

static bool
list(void *userdata, const udpai_settled_group *group)
{
    listed *all = userdata;
    all->groups[all->n++] = (udpai_settled_group *)(uintptr_t)group;
    return true;
}

/* And can be changed like one that grew. */
static void
a_table_is_made_of_all_at_once(void **state)
{
    (void)state;
    uint64_t chance = 0x5eed;
    plain self = {0};
    for (unsigned i = 0; i < NAMES; i++)
        put(&self, i, i + 1);
    for (size_t n = 0; n <= NAMES; n += 1 + n / 2) {
        listed all = {.n = 0};
        udpai_settled_groups *table = NULL;
        udpai_settled_groups_visit(self.table, (udpai_str){"", 0}, list, &all);
        assert_ok(udpai_settled_groups_of(&table, all.groups, n));
        plain made = {.table = table};
        for (size_t i = 0; i < NAMES; i++)
            if (udpai_settled_groups_find(table, udpai_str_from(name_of(i))))
                made.value[i] = self.value[i];
        assert_int_equal(n_below(&made, ""), n);
        for (unsigned i = 0; i < 200; i++)
            put(&made, test_random_below(&chance, NAMES), i + 1);
        for (size_t i = 0; i < 200; i++)
            drop(&made, test_random_below(&chance, NAMES));
        expect_same(&made);
        udpai_settled_groups_unref(made.table);
    }
    udpai_settled_groups_unref(self.table);
}

static void
groups_of_a_table_rise(void **state)
{
    (void)state;
    UDPA_AUTO(udpai_settled_group_unref) udpai_settled_group *a = group_of("a", NULL);
    UDPA_AUTO(udpai_settled_group_unref) udpai_settled_group *b = group_of("b", NULL);
    udpai_settled_group *const falling[] = {b, a}, *const twice[] = {a, a};
    udpai_settled_groups *table = NULL;
    assert_int_equal(udpai_settled_groups_of(&table, falling, 2), UDPA_ERR_INVAL);
    assert_int_equal(udpai_settled_groups_of(&table, twice, 2), UDPA_ERR_INVAL);
    assert_null(table);
}

static udpa_err
make_at_once(void *context)
{
    listed *all = context;
    udpai_settled_groups *table = NULL;
    udpa_err err = udpai_settled_groups_of(&table, all->groups, all->n);
    udpai_settled_groups_unref(table);
    return err;
}

static void
without_memory_none_is_made(void **state)
{
    (void)state;
    plain self = {0};
    listed all = {.n = 0};
    for (unsigned i = 0; i < NAMES; i++)
        put(&self, i, i + 1);
    udpai_settled_groups_visit(self.table, (udpai_str){"", 0}, list, &all);
    unsigned long before = udpai_alloc_live();
    (void)oom_torture(make_at_once, &all);
    assert_int_equal(udpai_alloc_live(), before);
    udpai_settled_groups_unref(self.table);
}

static void
a_group_tells_its_parts(void **state)
{
    (void)state;
    const udpai_settled_part parts[] = {{.number = 5}, {.number = 2, .is_whole = true}};
    UDPA_AUTO(udpai_settled_group_unref)
    udpai_settled_group *group = udpai_settled_group_new(UDPAI_STR("a"), parts, 2);
    size_t n;
    const udpai_settled_part *told = udpai_settled_group_parts(group, &n);
    assert_int_equal(n, 2);
    assert_int_equal(told[0].number, 5);
    assert_true(told[1].is_whole && told[1].number == 2);
}

static udpa_err
make_and_change(void *context)
{
    (void)context;
    udpai_settled_groups *table = NULL, *next = NULL;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < 70 && err == UDPA_OK; i++) {
        UDPA_AUTO(udpai_settled_group_unref)
        udpai_settled_group *group = udpai_settled_group_new(udpai_str_from(name_of(i)), NULL, 0);
        next = group ? udpai_settled_groups_with(table, group) : NULL;
        err = next ? UDPA_OK : UDPA_ERR_NOMEM;
        if (next) {
            udpai_settled_groups_unref(table);
            table = next;
        }
    }
    if (err == UDPA_OK && !udpai_settled_groups_without(table, udpai_str_from(name_of(3)), &next))
        err = UDPA_ERR_NOMEM;
    else if (err == UDPA_OK)
        udpai_settled_groups_unref(next);
    udpai_settled_groups_unref(table);
    return err;
}

static void
without_memory_nothing_is_lost(void **state)
{
    (void)state;
    (void)oom_torture(make_and_change, NULL);
}

static void
what_was_said_is_compared(void **state)
{
    (void)state;
    const udpai_str ab[] = {UDPAI_STR("a"), UDPAI_STR("b")},
                    ba[] = {UDPAI_STR("b"), UDPAI_STR("a")};
    const udpai_settled_part parts[] = {
        {.number = 1, .answered = ab, .n_answered = 2},
        {.number = 1, .answered = ba, .n_answered = 2},
        {.number = 1, .answered = ab, .n_answered = 1},
        {.number = 1, .asked = ab, .n_asked = 2},
        {.number = 2, .answered = ab, .n_answered = 2},
        {.number = 1, .is_whole = true},
    };
    UDPA_AUTO(udpai_settled_group_unref) udpai_settled_group *first = group_of("a/b", &parts[0]);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(parts); i++) {
        UDPA_AUTO(udpai_settled_group_unref)
        udpai_settled_group *other = group_of("a/b", &parts[i]);
        assert_int_equal(udpai_settled_group_equal(first, other), i < 2);
    }
    UDPA_AUTO(udpai_settled_group_unref) udpai_settled_group *elsewhere = group_of("a/c", parts);
    assert_false(udpai_settled_group_equal(first, elsewhere));
}

/* ---- what is settled ---- */

static udpai_settled *
settled_of(const char *prefix, udpai_settled_group *const *groups, size_t n)
{
    udpai_settled_groups *table = NULL;
    for (size_t i = 0; i < n; i++) {
        udpai_settled_groups *next = udpai_settled_groups_with(table, groups[i]);
        udpai_settled_groups_unref(table);
        table = next;
    }
    const udpai_unsettled missing = {
        .type_url = TYPE,
        .prefix = udpai_str_from(prefix),
        .of_groups = NUMBER,
        .on_demand = true,
    };
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = 1, .groups = table};
    udpai_settled *settled = udpai_settled_new(&facts);
    assert_non_null(settled);
    udpai_settled_groups_unref(table);
    return settled;
}

static bool
all_known(const udpai_settled *settled, const char *scope)
{
    return udpai_settled_query(settled, TYPE, udpai_str_from(scope), (udpai_str){0}) ==
           UDPAI_SETTLED;
}

static bool
name_known(const udpai_settled *settled, const char *name)
{
    return udpai_settled_query_name(settled, TYPE, udpai_str_from(name), (udpai_str){0}) ==
           UDPAI_SETTLED;
}

static bool
awaited(const udpai_settled *settled, const char *name)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = RESOURCE(name);
    return udpai_settled_is_awaited(settled, resource);
}

static void
each_group_has_its_own_answer(void **state)
{
    (void)state;
    const udpai_str asked = UDPAI_STR("a.b/x/two"), name = UDPAI_STR("a.b/y/one/n");
    const udpai_settled_part whole = {.number = NUMBER, .is_whole = true},
                             open = {.number = NUMBER, .asked = &asked, .n_asked = 1},
                             named = {.number = NUMBER, .answered = &name, .n_answered = 1};
    udpai_settled_group *groups[] = {group_of("a.b/x/one", &whole), group_of("a.b/x/two", &open),
                                     group_of("a.b/y/one", &named)};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = settled_of("a.b", groups, UDPAI_ARRAY_LEN(groups));
    assert_true(all_known(settled, "a.b/x/one") && name_known(settled, "a.b/x/one/n"));
    assert_false(all_known(settled, "a.b/x/two") || name_known(settled, "a.b/x/two/n"));
    assert_true(awaited(settled, "a.b/x/two/n") && !awaited(settled, "a.b/x/one/n"));
    assert_true(name_known(settled, "a.b/y/one/n"));
    assert_false(name_known(settled, "a.b/y/one/m") || all_known(settled, "a.b/y/one"));
    assert_false(all_known(settled, "a.b/x/none") || name_known(settled, "a.b/x/none/n"));
    assert_true(all_known(settled, "a.c") && name_known(settled, "a.c/n"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(groups); i++)
        udpai_settled_group_unref(groups[i]);
}

/* Who asks for several groups has his answer if those that there are have theirs; of what may be a
 * group that is about to come, nothing is known. */
static void
who_asks_for_several_groups_has_an_answer(void **state)
{
    (void)state;
    const udpai_str asked = UDPAI_STR("a.b/x/two");
    const udpai_settled_part whole = {.number = NUMBER, .is_whole = true},
                             open = {.number = NUMBER, .asked = &asked, .n_asked = 1};
    udpai_settled_group *groups[] = {group_of("a.b/x/one", &whole), group_of("a.b/x/two", &open),
                                     group_of("a.b/y/one", &whole)};
    UDPA_AUTO(udpai_settled_unref)
    udpai_settled *settled = settled_of("a.b", groups, UDPAI_ARRAY_LEN(groups));
    assert_false(all_known(settled, "") || all_known(settled, "a.b") ||
                 all_known(settled, "a.b/x"));
    assert_true(all_known(settled, "a.b/y"));
    assert_false(all_known(settled, "a.b/z"));
    UDPA_AUTO(udpai_settled_unref) udpai_settled *none = settled_of("a.b/x", NULL, 0);
    assert_true(all_known(none, "") && all_known(none, "a.b") && all_known(none, "a.b/x"));
    assert_false(all_known(none, "a.b/x/one"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(groups); i++)
        udpai_settled_group_unref(groups[i]);
}

/* A name that lies in two is known when both have answered. */
static void
a_group_may_lie_in_another(void **state)
{
    (void)state;
    const udpai_str asked = UDPAI_STR("a.b/x");
    const udpai_settled_part whole = {.number = NUMBER, .is_whole = true},
                             open = {.number = NUMBER, .asked = &asked, .n_asked = 1};
    udpai_settled_group *groups[] = {group_of("a.b/x", &open), group_of("a.b/x/one", &whole)};
    UDPA_AUTO(udpai_settled_unref) udpai_settled *settled = settled_of("a.b", groups, 2);
    assert_false(all_known(settled, "a.b/x/one") || name_known(settled, "a.b/x/one/n"));
    assert_true(awaited(settled, "a.b/x/one/n"));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(groups); i++)
        udpai_settled_group_unref(groups[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_as_a_plain_one),
        cmocka_unit_test(a_table_is_made_of_all_at_once),
        cmocka_unit_test(groups_of_a_table_rise),
        cmocka_unit_test(without_memory_none_is_made),
        cmocka_unit_test(a_group_tells_its_parts),
        cmocka_unit_test(without_memory_nothing_is_lost),
        cmocka_unit_test(what_was_said_is_compared),
        cmocka_unit_test(each_group_has_its_own_answer),
        cmocka_unit_test(who_asks_for_several_groups_has_an_answer),
        cmocka_unit_test(a_group_may_lie_in_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
