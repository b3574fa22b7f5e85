/* SPDX-License-Identifier: Apache-2.0 */
/* Frozen names: what was reported stays, also over restarts, and after the thaw it is as if they
 * had never been frozen. */
#include <stdio.h>

#include "store/freeze.h"
#include "tests/unit/store/store_test.h"

#define KEPT_MAX 256

/* What a durable engine has. */
typedef struct engine {
    udpai_durable_op ops[KEPT_MAX]; /* PUTs, with references */
    size_t n;
} engine;

typedef struct freeze_bed {
    store_bed store;
    engine disk;
    const char *frozen; /* a prefix of names; NULL: nothing is */
} freeze_bed;

static bool
is_frozen(void *userdata, udpai_str type_url, udpai_str name)
{
    const freeze_bed *bed = userdata;
    (void)type_url;
    return bed->frozen && udpai_str_starts(name, udpai_str_from(bed->frozen));
}

static int
set_up(void **state)
{
    freeze_bed *bed = calloc(1, sizeof(*bed));
    assert_non_null(bed);
    store_bed_init(&bed->store);
    udpai_store_set_frozen(bed->store.store, is_frozen, bed);
    *state = bed;
    return 0;
}

static void
drop_kept(engine *disk, size_t at)
{
    udpa_bytes_unref(disk->ops[at].origin);
    udpa_resource_unref(disk->ops[at].resource);
    disk->ops[at] = disk->ops[--disk->n];
}

static int
tear_down(void **state)
{
    freeze_bed *bed = *state;
    store_bed_done(&bed->store);
    while (bed->disk.n)
        drop_kept(&bed->disk, 0);
    free(bed);
    return 0;
}

#define freeze_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void
freeze(freeze_bed *bed)
{
    bed->frozen = "com.acme/";
}

static void
thaw(freeze_bed *bed)
{
    bed->frozen = NULL;
    udpai_store_thaw(bed->store.store);
}

static udpai_origin *
origin_of(freeze_bed *bed, const char *key, udpai_origin_class rank)
{
    udpai_origin *origin = store_bed_origin(&bed->store, key, rank, 0);
    udpai_origin_set_durable(origin, true);
    return origin;
}

static udpai_origin *
files_of(freeze_bed *bed)
{
    return origin_of(bed, "files", UDPAI_ORIGIN_FILES);
}

/* ---- the engine ---- */

static udpai_str
op_name(const udpai_durable_op *op)
{
    return op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
}

static bool
is_same_place(const udpai_durable_op *a, const udpai_durable_op *b)
{
    return udpai_str_eq(udpai_bytes_view(a->origin), udpai_bytes_view(b->origin)) &&
           udpai_str_eq(op_name(a), op_name(b));
}

static void
keep(engine *disk, const udpai_durable_op *op)
{
    for (size_t i = disk->n; i > 0; i--)
        if (is_same_place(&disk->ops[i - 1], op))
            drop_kept(disk, i - 1);
    if (op->kind != UDPAI_DURABLE_PUT)
        return;
    assert_true(disk->n < KEPT_MAX);
    disk->ops[disk->n] = *op;
    udpa_bytes_ref(op->origin);
    udpa_resource_ref(op->resource);
    disk->n++;
}

/* As a node does: what waits is decided before all is committed. */
static void
commit(freeze_bed *bed)
{
    udpai_durable_batch *batch = NULL;
    udpai_store_hold_frozen(bed->store.store);
    assert_ok(udpai_store_take_durable(bed->store.store, &batch));
    for (size_t i = 0; batch && i < batch->ops.n; i++)
        keep(&bed->disk, &batch->ops.items[i]);
    udpai_durable_batch_free(batch);
}

static const char *
changes_of(freeze_bed *bed)
{
    commit(bed);
    return store_bed_changes(&bed->store);
}

#define assert_told(bed, expected) assert_string_equal(changes_of(bed), (expected))

static udpai_origin_class
rank_of(udpai_str key)
{
    return key.data[0] == 'f'   ? UDPAI_ORIGIN_FILES
           : key.data[0] == 'p' ? UDPAI_ORIGIN_PUBLISHER
                                : UDPAI_ORIGIN_SOURCE;
}

static void
load(freeze_bed *bed, const udpai_durable_op *op)
{
    char key[32];
    udpai_str of = udpai_bytes_view(op->origin);
    if (udpai_store_is_frozen_key(of)) {
        assert_ok(udpai_store_restore_frozen(bed->store.store, of, op->resource));
        return;
    }
    snprintf(key, sizeof(key), "%.*s", (int)of.len, of.data);
    udpai_origin *origin = origin_of(bed, key, rank_of(of));
    assert_ok(udpai_store_put(bed->store.store, origin, op->resource, 0, NULL));
}

/* What is not committed is lost. */
static void
restart(freeze_bed *bed)
{
    store_bed_done(&bed->store);
    store_bed_init(&bed->store);
    udpai_store_set_frozen(bed->store.store, is_frozen, bed);
    udpai_store_set_loading(bed->store.store, true);
    for (size_t i = 0; i < bed->disk.n; i++)
        load(bed, &bed->disk.ops[i]);
    udpai_store_set_loading(bed->store.store, false);
}

static size_t
n_kept_frozen(const freeze_bed *bed)
{
    size_t n = 0;
    for (size_t i = 0; i < bed->disk.n; i++)
        n += udpai_store_is_frozen_key(udpai_bytes_view(bed->disk.ops[i].origin));
    return n;
}

/* ---- what waits ---- */

static void
test_a_change_waits(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "1");
    PUT(&bed->store, files, "b", .value = "1");
    assert_told(bed, "+a=1 +b=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2");
    PUT(&bed->store, files, "c", .value = "1");
    store_bed_withdraw(&bed->store, files, "com.acme/b");
    assert_told(bed, "");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 3);
    assert_true(udpai_store_waits(bed->store.store, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a")));
    assert_false(udpai_store_has_changes(bed->store.store));
    PUT(&bed->store, files, "a", .value = "3");
    assert_told(bed, "");
    thaw(bed);
    assert_told(bed, "+a=3 -b +c=1");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 0);
    assert_int_equal(n_kept_frozen(bed), 0);
}

static void
test_what_is_not_frozen_goes_on(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    freeze(bed);
    assert_told(bed, "");
    store_bed_put(&bed->store, files, RESOURCE("org.other/a", .value = "1"));
    assert_told(bed, "+org.other/a=1");
}

/* Each is seen, with what is served and what waits. */
static bool
note(void *userdata, const udpai_frozen_change *change)
{
    char *text = userdata;
    size_t len = strlen(text), size;
    const char *served = change->served ? udpa_resource_payload(change->served, &size) : "-";
    int n_served = change->served ? (int)size : 1;
    const char *waiting = change->waiting ? udpa_resource_payload(change->waiting, &size) : "-";
    int n_waiting = change->waiting ? (int)size : 1;
    snprintf(text + len, STORE_TEST_TEXT - len, "%.*s: %.*s to %.*s; ", UDPAI_SHOWN(change->name),
             n_served, served, n_waiting, waiting);
    return true;
}

static void
test_what_waits_is_listed(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    char text[STORE_TEST_TEXT] = "";
    PUT(&bed->store, files, "a", .value = "1");
    assert_told(bed, "+a=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2");
    assert_told(bed, "");
    udpai_store_visit_frozen(bed->store.store, note, text);
    assert_string_equal(text, "com.acme/a: 1 to 2; ");
    PUT(&bed->store, files, "new", .value = "1");
    commit(bed);
    text[0] = '\0';
    udpai_store_visit_frozen(bed->store.store, note, text);
    assert_string_equal(text, "com.acme/a: 1 to 2; com.acme/new: - to 1; ");
}

static void
test_what_comes_back_waits_no_more(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "1");
    assert_told(bed, "+a=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2");
    PUT(&bed->store, files, "new", .value = "1");
    assert_told(bed, "");
    assert_int_equal(n_kept_frozen(bed), 2);
    PUT(&bed->store, files, "a", .value = "1");
    store_bed_withdraw(&bed->store, files, "com.acme/new");
    assert_told(bed, "");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 0);
    commit(bed);
    assert_int_equal(n_kept_frozen(bed), 0);
}

static void
test_a_refresh_passes(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT_UNTIL(&bed->store, files, 5000, "a", .value = "1", .ttl_ms = 4000);
    assert_told(bed, "+a=1@5000");
    freeze(bed);
    PUT_UNTIL(&bed->store, files, 6000, "a", .value = "1", .ttl_ms = 4000);
    assert_told(bed, "~a=1@6000");
}

/* Else it would end where it was sent to. */
static void
test_what_waits_does_not_end(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *source = origin_of(bed, "source", UDPAI_ORIGIN_SOURCE);
    PUT_UNTIL(&bed->store, source, 5000, "a", .value = "1", .ttl_ms = 4000);
    assert_told(bed, "+a=1@5000");
    freeze(bed);
    store_bed_at(&bed->store, 6000);
    assert_told(bed, "+a=1");
    assert_told(bed, "");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 1);
    thaw(bed);
    assert_told(bed, "-a");
}

static void
test_publications_pass(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *publisher = origin_of(bed, "publisher", UDPAI_ORIGIN_PUBLISHER);
    PUT(&bed->store, publisher, "a", .value = "1");
    assert_told(bed, "+a=1");
    freeze(bed);
    PUT(&bed->store, publisher, "a", .value = "2");
    PUT(&bed->store, publisher, "b", .value = "1");
    assert_told(bed, "+a=2 +b=1");
    store_bed_withdraw(&bed->store, publisher, "com.acme/a");
    assert_told(bed, "-a");
}

/* Nobody has published that just now. */
static void
test_what_was_shadowed_waits(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    udpai_origin *publisher = origin_of(bed, "publisher", UDPAI_ORIGIN_PUBLISHER);
    PUT(&bed->store, publisher, "a", .value = "published");
    PUT(&bed->store, files, "a", .value = "1", .authority = "files");
    assert_told(bed, "+a=1");
    freeze(bed);
    store_bed_withdraw(&bed->store, files, "com.acme/a");
    assert_told(bed, "");
    thaw(bed);
    assert_told(bed, "+a=published");
}

static void
test_a_fail_over_to_other_contents_waits(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *first = origin_of(bed, "source-1", UDPAI_ORIGIN_SOURCE);
    udpai_origin *second = store_bed_origin(&bed->store, "source-2", UDPAI_ORIGIN_SOURCE, 1);
    PUT(&bed->store, first, "same", .value = "1");
    PUT(&bed->store, first, "other", .value = "1");
    PUT(&bed->store, second, "same", .value = "1");
    PUT(&bed->store, second, "other", .value = "2");
    assert_told(bed, "+other=1 +same=1");
    freeze(bed);
    store_bed_eligible(&bed->store, first, false);
    assert_told(bed, "");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 1);
    store_bed_eligible(&bed->store, first, true);
    assert_told(bed, "");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 0);
}

/* What is served takes room, whoever has it. */
static void
test_what_is_served_takes_room(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    bed->store.options.max_resources_per_namespace = 2;
    udpai_store_set_options(bed->store.store, &bed->store.options);
    PUT(&bed->store, files, "a", .value = "1");
    PUT(&bed->store, files, "b", .value = "1");
    assert_told(bed, "+a=1 +b=1");
    freeze(bed);
    store_bed_withdraw(&bed->store, files, "com.acme/a");
    assert_told(bed, "");
    PUT(&bed->store, files, "a", .value = "2");
    store_bed_withdraw(&bed->store, files, "com.acme/a");
    assert_int_equal(store_bed_try(&bed->store, files, RESOURCE("com.acme/c", .value = "1"), NULL),
                     UDPA_ERR_LIMIT);
    PUT(&bed->store, files, "b", .value = "2");
    assert_told(bed, "");
    thaw(bed);
    assert_told(bed, "-a +b=2");
    PUT(&bed->store, files, "c", .value = "1");
    assert_told(bed, "+c=1");
}

static bool
note_effective(void *userdata, const udpai_contribution *contribution)
{
    *(bool *)userdata |= contribution->effective;
    return true;
}

static void
test_what_waits_is_not_effective(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    bool is_effective = false;
    PUT(&bed->store, files, "a", .value = "1");
    assert_told(bed, "+a=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2");
    assert_told(bed, "");
    udpai_store_visit_name(bed->store.store, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"),
                           note_effective, &is_effective);
    assert_false(is_effective);
    thaw(bed);
    assert_told(bed, "+a=2");
    udpai_store_visit_name(bed->store.store, UDPAI_STR(TEST_TYPE), UDPAI_STR("com.acme/a"),
                           note_effective, &is_effective);
    assert_true(is_effective);
}

/* ---- restarts ---- */

static void
test_a_restart_serves_what_was_served(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "1");
    PUT(&bed->store, files, "b", .value = "1");
    PUT(&bed->store, files, "same", .value = "1");
    assert_told(bed, "+a=1 +b=1 +same=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2");
    PUT(&bed->store, files, "c", .value = "1");
    store_bed_withdraw(&bed->store, files, "com.acme/b");
    commit(bed); /* and nothing was sent */
    for (int i = 0; i < 2; i++) {
        restart(bed);
        assert_told(bed, "+a=1 +b=1 +same=1");
        assert_told(bed, "");
        assert_int_equal(udpai_store_n_frozen(bed->store.store), 3);
    }
    files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "3");
    PUT(&bed->store, files, "new", .value = "1");
    assert_told(bed, "");
    thaw(bed);
    assert_told(bed, "+a=3 -b +c=1 +new=1");
    restart(bed);
    assert_told(bed, "+a=3 +c=1 +new=1 +same=1");
}

/* Files are read again before anything could be served. */
static void
test_what_changed_while_it_was_down_waits(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "1");
    PUT(&bed->store, files, "b", .value = "1");
    PUT(&bed->store, files, "same", .value = "1");
    assert_told(bed, "+a=1 +b=1 +same=1");
    freeze(bed);
    assert_told(bed, "");
    restart(bed);
    files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "2");
    PUT(&bed->store, files, "new", .value = "1");
    PUT(&bed->store, files, "same", .value = "1");
    store_bed_withdraw(&bed->store, files, "com.acme/b");
    assert_told(bed, "+a=1 +b=1 +same=1");
    assert_told(bed, "");
    assert_int_equal(udpai_store_n_frozen(bed->store.store), 3);
    restart(bed);
    assert_told(bed, "+a=1 +b=1 +same=1");
    thaw(bed);
    assert_told(bed, "+a=2 -b +new=1");
}

/* While it was down the freeze has ended, as among replicas. */
static void
test_a_restart_after_the_thaw_serves_all(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "1");
    assert_told(bed, "+a=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2");
    PUT(&bed->store, files, "new", .value = "1");
    assert_told(bed, "");
    bed->frozen = NULL;
    restart(bed);
    assert_told(bed, "+a=2 +new=1");
    commit(bed);
    assert_int_equal(n_kept_frozen(bed), 0);
}

/* Not what is not kept: nobody knows what it was. */
static void
test_what_is_not_kept_comes_back(void **state)
{
    freeze_bed *bed = *state;
    udpai_origin *files = files_of(bed);
    PUT(&bed->store, files, "a", .value = "1", .do_not_cache = true);
    assert_told(bed, "+a=1");
    freeze(bed);
    PUT(&bed->store, files, "a", .value = "2", .do_not_cache = true);
    assert_told(bed, "");
    restart(bed);
    assert_told(bed, "");
    PUT(&bed->store, files_of(bed), "a", .value = "2", .do_not_cache = true);
    assert_told(bed, "+a=2");
}

/* ---- many ---- */

#define NAMES 4
#define VALUES 3

typedef struct twins {
    freeze_bed *bed;
    store_bed other;                     /* the same, and never frozen */
    char served[NAMES], expected[NAMES]; /* values; 0: nothing */
    bool is_held[NAMES];                 /* it may not change: no publisher has a hand in it */
    uint64_t seed;
} twins;

static const char *const world_keys[] = {"files", "publisher", "source"};

static unsigned
pick(twins *world, unsigned n)
{
    world->seed = world->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(world->seed >> 33) % n;
}

/* "+n0=1 -n1" */
static void
follow(char *served, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '+')
            served[at[2] - '0'] = at[4];
        else if (*at == '-')
            served[at[2] - '0'] = 0;
}

static void
look(twins *world)
{
    char before[NAMES];
    memcpy(before, world->served, NAMES);
    follow(world->served, changes_of(world->bed));
    follow(world->expected, store_bed_changes(&world->other));
    for (int i = 0; i < NAMES; i++)
        if (world->is_held[i] && world->served[i] != before[i])
            fail_msg("seed %llu: n%d has changed from %d to %d", (unsigned long long)world->seed, i,
                     before[i], world->served[i]);
    if (!world->bed->frozen)
        assert_memory_equal(world->served, world->expected, NAMES);
}

static void
contribute(twins *world)
{
    const char *key = world_keys[pick(world, 3)];
    char name[32], value[2] = {(char)('1' + pick(world, VALUES)), '\0'};
    unsigned at = pick(world, NAMES);
    udpai_origin_class rank = rank_of(udpai_str_from(key));
    udpai_origin *origin = origin_of(world->bed, key, rank);
    udpai_origin *other = store_bed_origin(&world->other, key, rank, 0);
    snprintf(name, sizeof(name), "com.acme/n%u", at);
    if (rank == UDPAI_ORIGIN_PUBLISHER)
        world->is_held[at] = false;
    if (pick(world, 4) == 0) {
        store_bed_withdraw(&world->bed->store, origin, name);
        store_bed_withdraw(&world->other, other, name);
        return;
    }
    store_bed_put(&world->bed->store, origin, RESOURCE(name, .value = value, .authority = key));
    store_bed_put(&world->other, other, RESOURCE(name, .value = value, .authority = key));
}

static void
turn_freeze(twins *world)
{
    look(world);
    if (world->bed->frozen)
        thaw(world->bed);
    else
        freeze(world->bed);
    memset(world->is_held, world->bed->frozen != NULL, NAMES);
    if (!world->bed->frozen)
        look(world);
}

/* What was not sent yet is sent with the first changes, which are then all. */
static void
crash(twins *world)
{
    char before[NAMES];
    commit(world->bed);
    memcpy(before, world->served, NAMES);
    restart(world->bed);
    memset(world->served, 0, NAMES);
    follow(world->served, changes_of(world->bed));
    follow(world->served, changes_of(world->bed));
    for (int i = 0; i < NAMES; i++)
        if (world->is_held[i] && world->served[i] != before[i])
            fail_msg("seed %llu: after a restart n%d is %d and not %d",
                     (unsigned long long)world->seed, i, world->served[i], before[i]);
}

static void
test_it_is_as_if_it_had_never_been_frozen(void **state)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        twins world = {.bed = *state, .seed = seed};
        store_bed_init(&world.other);
        for (int i = 0; i < 200; i++) {
            unsigned what = pick(&world, 20);
            if (what == 0)
                crash(&world);
            else if (what == 1)
                turn_freeze(&world);
            else if (what < 6)
                look(&world);
            else
                contribute(&world);
        }
        if (world.bed->frozen)
            turn_freeze(&world);
        look(&world);
        store_bed_done(&world.other);
        assert_int_equal(n_kept_frozen(world.bed), 0);
        tear_down(state);
        set_up(state);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        freeze_test(test_a_change_waits),
        freeze_test(test_what_is_not_frozen_goes_on),
        freeze_test(test_what_waits_is_listed),
        freeze_test(test_what_comes_back_waits_no_more),
        freeze_test(test_a_refresh_passes),
        freeze_test(test_what_waits_does_not_end),
        freeze_test(test_publications_pass),
        freeze_test(test_what_was_shadowed_waits),
        freeze_test(test_a_fail_over_to_other_contents_waits),
        freeze_test(test_what_is_served_takes_room),
        freeze_test(test_what_waits_is_not_effective),
        freeze_test(test_a_restart_serves_what_was_served),
        freeze_test(test_what_changed_while_it_was_down_waits),
        freeze_test(test_a_restart_after_the_thaw_serves_all),
        freeze_test(test_what_is_not_kept_comes_back),
        freeze_test(test_it_is_as_if_it_had_never_been_frozen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
