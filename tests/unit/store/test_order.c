/* SPDX-License-Identifier: Apache-2.0 */
/* Chance against the store: whatever the order in which contributions come, the one that the rules
 * name is effective; and who has applied every change set holds just what is effective. */
#include "tests/unit/store/store_test.h"

#include <stdio.h>

#define ORIGINS 6
#define NAMES 4
#define VALUE_TEXT 16

/* ---- the rules, once more, on plain numbers ---- */

struct word {
    bool is_there;
    char value[VALUE_TEXT];
    unsigned authority; /* 'a' and so on */
    uint64_t generation;
    unsigned stamp; /* 0: this node's own; 1, 2: nodes that read it from somewhere; 3: first hand */
    unsigned n_hops; /* besides that of the stamp */
    bool is_signed;
};

struct standing {
    udpai_origin *origin;
    unsigned rank, order;
    bool eligible;
};

struct table {
    struct standing origins[ORIGINS];
    struct word words[ORIGINS];
};

/* Words with one number compare. */
static unsigned
class_of(const struct word *word)
{
    bool everywhere = word->is_signed || word->stamp == 3;
    return word->authority * 8 + (everywhere ? 4 : word->stamp);
}

static bool
counts(const struct table *table, size_t i)
{
    return table->words[i].is_there && table->origins[i].eligible;
}

/* Keys of origins are their numbers, so the lower number stands first. */
static unsigned
place_of(const struct table *table, size_t i)
{
    return (table->origins[i].rank * 16 + table->origins[i].order) * 16 + (unsigned)i;
}

static unsigned
best_place(const struct table *table, unsigned authority, int class)
{
    unsigned best = UINT32_MAX;
    for (size_t i = 0; i < ORIGINS; i++) {
        const struct word *word = &table->words[i];
        if (counts(table, i) && word->authority == authority &&
            (class < 0 || class_of(word) == (unsigned)class) && place_of(table, i) < best)
            best = place_of(table, i);
    }
    return best;
}

static bool
is_only_class(const struct table *table, unsigned class)
{
    for (size_t i = 0; i < ORIGINS; i++)
        if (counts(table, i) && class_of(&table->words[i]) != class)
            return false;
    return true;
}

static bool
is_before(const struct table *table, size_t a, size_t b)
{
    const struct word *x = &table->words[a], *y = &table->words[b];
    unsigned x_place = best_place(table, x->authority, -1) / 16,
             y_place = best_place(table, y->authority, -1) / 16;
    if (x->authority != y->authority)
        return x_place != y_place ? x_place < y_place : x->authority < y->authority;
    if (class_of(x) != class_of(y))
        return best_place(table, x->authority, (int)class_of(x)) <
               best_place(table, y->authority, (int)class_of(y));
    if (x->generation != y->generation)
        return x->generation > y->generation;
    unsigned x_hops = x->n_hops + (x->stamp != 0), y_hops = y->n_hops + (y->stamp != 0);
    if (x_hops != y_hops && is_only_class(table, class_of(x)))
        return x_hops < y_hops;
    return place_of(table, a) < place_of(table, b);
}

/* The one that must be effective; NULL: none. */
static const char *
expected(const struct table *table)
{
    size_t best = ORIGINS;
    for (size_t i = 0; i < ORIGINS; i++)
        if (counts(table, i) && (best == ORIGINS || is_before(table, i, best)))
            best = i;
    return best < ORIGINS ? table->words[best].value : "";
}

/* ---- chance ---- */

static udpa_resource *
resource_of(const struct word *word, const char *name)
{
    static const char *const stamps[][2] = {{NULL, NULL}, {"n1", "s"}, {"n2", "t"}, {"n3", NULL}};
    char authority[2] = {(char)word->authority, '\0'};
    test_resource spec = {
        .name = name,
        .value = word->value,
        .authority = authority,
        .generation = word->generation,
        .is_signed = word->is_signed,
    };
    if (word->stamp) {
        spec.hops[0].node_id = stamps[word->stamp][0];
        spec.hops[0].authority = word->stamp == 3 ? authority : stamps[word->stamp][1];
        for (unsigned i = 1; i <= word->n_hops; i++) {
            spec.hops[i].node_id = "hop";
            spec.hops[i].authority = "n";
        }
    }
    udpa_resource *resource = test_resource_make(&spec);
    assert_non_null(resource);
    return resource;
}

static struct word
random_word(uint64_t *random, unsigned number)
{
    struct word word = {
        .is_there = true,
        .authority = 'a' + (unsigned)test_random_below(random, 2),
        .generation = 1 + test_random_below(random, 4),
        .stamp = (unsigned)test_random_below(random, 4),
        .is_signed = test_random_below(random, 5) == 0,
    };
    word.n_hops = word.stamp ? (unsigned)test_random_below(random, 3) : 0;
    (void)snprintf(word.value, sizeof(word.value), "%u", number);
    return word;
}

static void
random_standings(store_bed *bed, struct table *table, uint64_t *random)
{
    for (size_t i = 0; i < ORIGINS; i++) {
        char key[2] = {(char)('0' + i), '\0'};
        struct standing *standing = &table->origins[i];
        standing->rank = (unsigned)test_random_below(random, 4);
        standing->order = (unsigned)test_random_below(random, 3);
        standing->eligible = test_random_below(random, 4) != 0;
        standing->origin =
            store_bed_origin(bed, key, (udpai_origin_class)standing->rank, standing->order);
        store_bed_eligible(bed, standing->origin, standing->eligible);
    }
}

static void
shuffle(size_t *order, size_t n, uint64_t *random)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t other = test_random_below(random, i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void
test_the_order_of_arrival_does_not_matter(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (unsigned round = 0; round < 600; round++) {
        store_bed bed;
        struct table table = {0};
        store_bed_init(&bed);
        random_standings(&bed, &table, &random);
        for (unsigned i = 0; i < ORIGINS; i++)
            if (test_random_below(&random, 5))
                table.words[i] = random_word(&random, i);
        for (unsigned turn = 0; turn < 6; turn++) {
            size_t order[ORIGINS];
            char name[32];
            (void)snprintf(name, sizeof(name), "com.acme/%u", turn);
            shuffle(order, ORIGINS, &random);
            for (size_t i = 0; i < ORIGINS; i++) {
                if (table.words[order[i]].is_there)
                    store_bed_put(&bed, table.origins[order[i]].origin,
                                  resource_of(&table.words[order[i]], name));
                if (turn % 2)
                    (void)store_bed_changes(&bed);
            }
            assert_string_equal(store_bed_effective(&bed, name), expected(&table));
        }
        store_bed_done(&bed);
    }
}

/* ---- a long life, followed by change sets alone ---- */

struct follower {
    udpa_resource *held[NAMES];
    unsigned n_effective;
};

static size_t
index_of(const udpa_resource *resource)
{
    udpai_str name = udpai_resource_name(resource);
    return (size_t)(name.data[name.len - 1] - '0');
}

static void
follow_change(struct follower *follower, const udpai_change *change)
{
    udpa_resource **held = &follower->held[index_of(change->resource)];
    switch (change->kind) {
    case UDPAI_CHANGE_REMOVE:
        assert_non_null(*held);
        *held = udpa_resource_unref(*held);
        return;
    case UDPAI_CHANGE_REFRESH:
        assert_non_null(*held);
        assert_true(udpai_resource_same_payload(*held, change->resource));
        break;
    case UDPAI_CHANGE_SET:
        break;
    }
    udpa_resource_unref(*held);
    *held = udpa_resource_ref(change->resource);
}

static void
follow(struct follower *follower, store_bed *bed)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = NULL;
    assert_ok(udpai_store_take_changes(bed->store, &set));
    assert_false(udpai_store_has_changes(bed->store));
    for (size_t i = 0; set && i < udpai_change_set_size(set); i++) {
        const udpai_change *change = udpai_change_set_at(set, i);
        for (size_t k = 0; k < i; k++)
            assert_false(udpai_str_eq(udpai_resource_name(udpai_change_set_at(set, k)->resource),
                                      udpai_resource_name(change->resource)));
        follow_change(follower, change);
    }
}

static bool
compare_held(void *userdata, const udpai_contribution *contribution)
{
    struct follower *follower = userdata;
    const udpa_resource *held = follower->held[index_of(contribution->resource)];
    assert_true(contribution->effective);
    assert_non_null(held);
    assert_true(udpai_resource_same_payload(held, contribution->resource));
    assert_true(udpai_resource_same_origin_info(held, contribution->resource));
    follower->n_effective++;
    return true;
}

static void
check_follower(struct follower *follower, const store_bed *bed)
{
    unsigned n_held = 0;
    for (size_t i = 0; i < NAMES; i++)
        n_held += follower->held[i] != NULL;
    follower->n_effective = 0;
    udpai_store_visit_effective(bed->store, UDPAI_STR(TEST_TYPE), (udpai_str){0}, compare_held,
                                follower);
    assert_int_equal(follower->n_effective, n_held);
}

static void
random_step(store_bed *bed, struct table *table, unsigned number, uint64_t *random)
{
    static const char *const names[NAMES] = {"com.acme/0", "com.acme/1", "com.acme/2",
                                             "com.acme/3"};
    const char *name = names[test_random_below(random, NAMES)];
    udpai_origin *origin = table->origins[test_random_below(random, ORIGINS)].origin;
    switch (test_random_below(random, 8)) {
    case 0:
        store_bed_withdraw(bed, origin, name);
        break;
    case 1:
        store_bed_eligible(bed, origin, test_random_below(random, 3) != 0);
        break;
    case 2:
        udpai_origin_set_rank(bed->store, origin, (udpai_origin_class)test_random_below(random, 4),
                              (unsigned)test_random_below(random, 3));
        break;
    case 3:
        store_bed_at(bed, bed->wheel.now_ms + test_random_below(random, 400));
        break;
    case 4:
        if (test_random_below(random, 10) == 0)
            udpai_store_withdraw_all(bed->store, origin, (udpai_str){0}, (udpai_str){0}, NULL,
                                     NULL);
        break;
    default: {
        struct word word = random_word(random, number % 100);
        word.generation += number / 50;
        uint64_t ttl = test_random_below(random, 3) ? 0 : 1 + test_random_below(random, 900);
        store_bed_put_until(bed, origin, resource_of(&word, name),
                            ttl ? bed->wheel.now_ms + ttl : 0);
        break;
    }
    }
}

static bool
certain_by_chance(void *userdata, const udpa_resource *last)
{
    (void)last;
    return test_random_below(userdata, 2) == 0;
}

static bool
never_mind(void *userdata, const udpa_resource *last)
{
    (void)userdata;
    (void)last;
    return true;
}

static void
live(uint64_t seed, bool in_doubt)
{
    uint64_t random = seed, doubts = seed;
    store_bed bed;
    struct table table = {0};
    struct follower follower = {0};
    store_bed_init(&bed);
    bed.options.remember_ms = 500;
    bed.options.remember_max = 5;
    udpai_store_set_options(bed.store, &bed.options);
    random_standings(&bed, &table, &random);
    if (in_doubt)
        udpai_store_set_certain(bed.store, certain_by_chance, &doubts);
    for (unsigned i = 0; i < 1500; i++) {
        random_step(&bed, &table, i, &random);
        if (test_random_below(&random, 4) == 0)
            follow(&follower, &bed);
        if (!in_doubt && test_random_below(&random, 16) == 0) {
            follow(&follower, &bed);
            check_follower(&follower, &bed);
        }
    }
    udpai_store_set_certain(bed.store, never_mind, NULL);
    udpai_store_recheck_removals(bed.store);
    follow(&follower, &bed);
    check_follower(&follower, &bed);
    for (size_t i = 0; i < NAMES; i++)
        udpa_resource_unref(follower.held[i]);
    store_bed_done(&bed);
    assert_int_equal(udpai_alloc_live(), 0);
}

static void
test_change_sets_tell_everything(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        live(seed, false);
}

static void
test_change_sets_tell_everything_in_the_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        live(seed, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_order_of_arrival_does_not_matter),
        cmocka_unit_test(test_change_sets_tell_everything),
        cmocka_unit_test(test_change_sets_tell_everything_in_the_end),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
