/* SPDX-License-Identifier: Apache-2.0 */
/* Making runtimes: layers that may not be, what counts of those that may, changing them, and what
 * is told of it. */
#include <udpa/runtime.h>

#include "pair.h"
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"
#include "tests/unit/runtime/tree.h"

#define LAYERS_MAX 66

struct world {
    test_pair pair; /* for its loop */
    udpa_runtime *runtime;
    udpa_runtime_layer layers[LAYERS_MAX];
    udpa_runtime_options options;
    unsigned n_changed;
    uint64_t told; /* of "n" in the newest snapshot */
    bool closes;   /* when it is told */
};

static void
on_changed(void *userdata, const udpa_runtime_snapshot *now)
{
    struct world *world = userdata;
    world->n_changed++;
    world->told = udpa_runtime_snapshot_uint64(now, "n", 0);
    if (world->closes)
        udpa_runtime_close(world->runtime, pair_count_closed, &world->pair);
}

static void
begin(struct world *world)
{
    static const udpa_runtime_layer none = UDPA_RUNTIME_LAYER_INIT;
    memset(world, 0, sizeof(*world));
    pair_begin(&world->pair);
    for (size_t i = 0; i < LAYERS_MAX; i++)
        world->layers[i] = none;
    world->options = (udpa_runtime_options)UDPA_RUNTIME_OPTIONS_INIT;
    world->options.changed = on_changed;
    world->options.userdata = world;
}

static udpa_runtime_layer *
add(struct world *world, const char *name, udpa_runtime_layer_kind kind)
{
    udpa_runtime_layer *added = &world->layers[world->options.n_layers++];
    world->options.layers = world->layers;
    added->name = name;
    added->kind = kind;
    return added;
}

static void
add_static(struct world *world, const udpa_runtime_setting *settings, size_t n)
{
    udpa_runtime_layer *added = add(world, "static", UDPA_RUNTIME_STATIC);
    added->settings = settings;
    added->n_settings = n;
}

static void
make(struct world *world)
{
    udpa_error *error = NULL;
    if (udpa_runtime_new(&world->runtime, &world->pair.loop, &world->options, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
}

static void
end(struct world *world)
{
    unsigned n = world->pair.n_closed;
    if (world->runtime) {
        udpa_runtime_close(world->runtime, pair_count_closed, &world->pair);
        assert_int_equal(world->pair.n_closed, n);
        pair_run_until(&world->pair, &world->pair.n_closed, n + 1);
    }
    pair_end(&world->pair);
    wire_free_all();
}

static udpa_err
set_one(struct world *world, const char *key, const char *value, udpa_error **ret_error)
{
    const udpa_runtime_setting setting = {key, value};
    return udpa_runtime_modify(world->runtime, &setting, 1, ret_error);
}

static udpa_runtime_layer_state
look(const struct world *world, size_t index)
{
    udpa_runtime_layer_state state = UDPA_RUNTIME_LAYER_STATE_INIT;
    assert_true(udpa_runtime_layer_read(world->runtime, index, &state));
    return state;
}

static udpa_runtime_statistics
count(const struct world *world)
{
    udpa_runtime_statistics statistics = UDPA_RUNTIME_STATISTICS_INIT;
    udpa_runtime_statistics_read(world->runtime, &statistics);
    return statistics;
}

static void
expect_refused(struct world *world, udpa_err code, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpa_runtime_new(&world->runtime, &world->pair.loop, &world->options, &error),
                     code);
    assert_null(world->runtime);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    assert_int_equal(udpa_runtime_new(&world->runtime, &world->pair.loop, &world->options, NULL),
                     code);
    world->options.n_layers = 0;
}

/* ---- making ---- */

static void
layers_that_may_not_be(void **state)
{
    (void)state;
    struct world world;
    static const udpa_runtime_setting reserved = {"a.numerator", "1"}, nameless = {NULL, "1"},
                                      no_text = {"a", "\xff"};
    begin(&world);
    add(&world, NULL, UDPA_RUNTIME_STATIC);
    expect_refused(&world, UDPA_ERR_INVAL, "layer 1 of the runtime has no name");
    add(&world, "a", UDPA_RUNTIME_STATIC);
    add(&world, "a", UDPA_RUNTIME_ADMIN);
    expect_refused(&world, UDPA_ERR_INVAL, "two layers of the runtime are called a");
    add(&world, "a", UDPA_RUNTIME_ADMIN);
    add(&world, "b", UDPA_RUNTIME_ADMIN);
    expect_refused(&world, UDPA_ERR_INVAL, "at most one");
    add(&world, "a", (udpa_runtime_layer_kind)9);
    expect_refused(&world, UDPA_ERR_INVAL, "layer a of the runtime: there is no kind 9");
    add(&world, "a", UDPA_RUNTIME_DISK);
    expect_refused(&world, UDPA_ERR_INVAL, "layer a of the runtime: symlink_root is missing");
    add(&world, "a", UDPA_RUNTIME_RTDS);
    expect_refused(&world, UDPA_ERR_INVAL, "layer a of the runtime: by RTDS it needs an endpoint");
    add_static(&world, &reserved, 1);
    expect_refused(&world, UDPA_ERR_INVAL, "layer static of the runtime: the key a.numerator");
    add_static(&world, &nameless, 1);
    expect_refused(&world, UDPA_ERR_INVAL, "is empty");
    add_static(&world, &no_text, 1);
    expect_refused(&world, UDPA_ERR_INVAL, "is not UTF-8");
    add_static(&world, NULL, 1);
    expect_refused(&world, UDPA_ERR_INVAL, "which are NULL");
    end(&world);
}

static void
options_that_may_not_be(void **state)
{
    (void)state;
    struct world world;
    char names[LAYERS_MAX][8];
    begin(&world);
    for (unsigned i = 0; i < 65; i++) {
        snprintf(names[i], sizeof(names[i]), "%u", i);
        add(&world, names[i], UDPA_RUNTIME_STATIC);
    }
    expect_refused(&world, UDPA_ERR_LIMIT, "65 layers; at most 64");
    world.options.layers = NULL;
    world.options.n_layers = 1;
    expect_refused(&world, UDPA_ERR_INVAL, "the array is NULL");
    add(&world, "a", UDPA_RUNTIME_STATIC)->struct_size--;
    expect_refused(&world, UDPA_ERR_INVAL, "UDPA_RUNTIME_LAYER_INIT");
    world.options.struct_size--;
    expect_refused(&world, UDPA_ERR_INVAL, "UDPA_RUNTIME_OPTIONS_INIT");
    end(&world);
}

static void
without_layers_there_is_that_of_the_administrator(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make(&world);
    assert_string_equal(look(&world, 0).name, "admin");
    assert_int_equal(look(&world, 0).kind, UDPA_RUNTIME_ADMIN);
    udpa_runtime_layer_state none = UDPA_RUNTIME_LAYER_STATE_INIT;
    assert_false(udpa_runtime_layer_read(world.runtime, 1, &none));
    assert_null(none.name);
    assert_ok(set_one(&world, "n", "7", NULL));
    assert_int_equal(udpa_runtime_uint64(world.runtime, "n", 0), 7);
    end(&world);
}

static void
later_layers_count(void **state)
{
    (void)state;
    struct world world;
    static const udpa_runtime_setting settings[] = {{"a", "1"}, {"b", "1"}, {"b", "2"}};
    udpai_str fields = W_JOIN(W_MESSAGE(1, W_TEXT(1, "a"), W_MESSAGE(2, W_TEXT(3, "from fields"))),
                              W_MESSAGE(1, W_TEXT(1, "c.d"), W_MESSAGE(2, W_VARINT(4, 1))));
    begin(&world);
    add_static(&world, settings, 3);
    world.layers[0].fields = fields.data;
    world.layers[0].fields_size = fields.len;
    add(&world, "mine", UDPA_RUNTIME_ADMIN);
    make(&world);
    assert_int_equal(udpa_runtime_uint64(world.runtime, "a", 0), 1); /* settings come last */
    assert_int_equal(udpa_runtime_uint64(world.runtime, "b", 0), 2);
    assert_true(udpa_runtime_bool(world.runtime, "c.d", false));
    assert_ok(set_one(&world, "a", "5", NULL));
    assert_int_equal(udpa_runtime_uint64(world.runtime, "a", 0), 5);
    assert_ok(set_one(&world, "a", NULL, NULL));
    assert_int_equal(udpa_runtime_uint64(world.runtime, "a", 0), 1);
    assert_int_equal(look(&world, 0).n_keys, 3);
    assert_true(look(&world, 1).is_there);
    assert_int_equal(look(&world, 1).n_keys, 0);
    end(&world);
}

static void
fields_that_are_none(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    add(&world, "a", UDPA_RUNTIME_STATIC)->fields = "\xff";
    world.layers[0].fields_size = 1;
    expect_refused(&world, UDPA_ERR_MALFORMED, "it is no google.protobuf.Struct");
    end(&world);
}

/* ---- changing ---- */

static void
all_of_a_change_or_nothing(void **state)
{
    (void)state;
    struct world world;
    static const udpa_runtime_setting half[] = {{"n", "8"}, {"denominator", "9"}};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    begin(&world);
    make(&world);
    assert_ok(set_one(&world, "n", "7", NULL));
    assert_int_equal(udpa_runtime_modify(world.runtime, half, 2, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "reserved"));
    assert_int_equal(udpa_runtime_modify(world.runtime, NULL, 2, NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpa_runtime_uint64(world.runtime, "n", 0), 7);
    udpai_alloc_fail_after(3);
    udpa_err err = set_one(&world, "n", "9", NULL);
    udpai_alloc_fail_after(-1);
    assert_int_equal(err, UDPA_ERR_NOMEM);
    assert_int_equal(udpa_runtime_uint64(world.runtime, "n", 0), 7);
    end(&world);
}

static void
without_its_layer_the_administrator_is_refused(void **state)
{
    (void)state;
    struct world world;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    begin(&world);
    add_static(&world, NULL, 0);
    make(&world);
    assert_int_equal(set_one(&world, "a", "1", &error), UDPA_ERR_UNAVAILABLE);
    assert_non_null(strstr(udpa_error_message(error), "no layer for the administrator"));
    end(&world);
}

static void
changes_are_told_later_and_together(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make(&world);
    assert_ok(set_one(&world, "n", "1", NULL));
    assert_ok(set_one(&world, "n", "2", NULL));
    assert_int_equal(world.n_changed, 0);
    pair_run_until(&world.pair, &world.n_changed, 1);
    assert_int_equal(world.told, 2);
    assert_ok(set_one(&world, "n", "3", NULL));
    pair_run_until(&world.pair, &world.n_changed, 2);
    assert_int_equal(world.told, 3);
    assert_ok(set_one(&world, "n", "4", NULL)); /* is not told: it is closed first */
    end(&world);
    assert_int_equal(world.n_changed, 2);
}

static void
closed_when_it_is_told(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make(&world);
    world.closes = true;
    assert_ok(set_one(&world, "n", "1", NULL));
    pair_run_until(&world.pair, &world.pair.n_closed, 1);
    assert_int_equal(world.n_changed, 1);
    world.runtime = NULL;
    end(&world);
}

static void
nobody_need_be_told(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    world.options.changed = NULL;
    make(&world);
    assert_ok(set_one(&world, "n", "1", NULL));
    assert_int_equal(uv_run(&world.pair.loop, UV_RUN_NOWAIT), 1); /* it keeps the loop running */
    udpa_runtime_close(world.runtime, NULL, NULL);
    assert_int_equal(uv_run(&world.pair.loop, UV_RUN_DEFAULT), 0);
    world.runtime = NULL;
    end(&world);
}

/* ---- directories ---- */

static void
make_version(const char *version, const char *n)
{
    char name[64];
    tree_make(version);
    snprintf(name, sizeof(name), "%s/base", version);
    tree_make(name);
    snprintf(name, sizeof(name), "%s/base/n", version);
    tree_write(name, n);
}

static void
swap(const char *version)
{
    assert_ok(symlink(version, tree_path("new")));
    assert_ok(rename(tree_path("new"), tree_path("current")));
}

static void
add_disks(struct world *world)
{
    static char root[4096];
    snprintf(root, sizeof(root), "%s", tree_path("current"));
    udpa_runtime_layer *disk = add(world, "disk", UDPA_RUNTIME_DISK);
    disk->symlink_root = root;
    disk->subdirectory = "base";
    disk = add(world, "override", UDPA_RUNTIME_DISK);
    disk->symlink_root = root;
    disk->append_service_cluster = true;
    world->options.service_cluster = "mine";
}

static void
run_until_told(struct world *world, uint64_t n)
{
    while (world->told != n)
        pair_run_until(&world->pair, &world->n_changed, world->n_changed + 1);
}

static void
a_tree_is_swapped(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    make_version("v2", "2");
    tree_make("v2/mine");
    tree_write("v2/mine/n", "# overridden\n 3\n");
    swap("v1");
    add_disks(&world);
    make(&world);
    assert_int_equal(udpa_runtime_uint64(world.runtime, "n", 0), 1);
    assert_false(look(&world, 1).is_there);
    assert_null(look(&world, 1).error);
    assert_int_equal(world.n_changed, 0);
    swap("v2");
    run_until_told(&world, 3);
    assert_true(look(&world, 1).is_there);
    assert_int_equal(count(&world).num_layers, 2);
    assert_int_equal(count(&world).num_keys, 1);
    assert_int_equal(count(&world).override_dir_not_exists, 1);
    assert_int_equal(count(&world).override_dir_exists, 1);
    assert_int_equal(count(&world).load_success, 2);
    end(&world);
}

static void
a_layer_in_error_is_listed(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    make_version("v2", "2");
    tree_write("v2/base/numerator", "5");
    swap("v2");
    add_disks(&world);
    make(&world);
    udpa_runtime_layer_state wrong = look(&world, 0);
    assert_false(wrong.is_there);
    assert_int_equal(wrong.kind, UDPA_RUNTIME_DISK);
    assert_non_null(strstr(udpa_error_message(wrong.error), "reserved"));
    assert_int_equal(count(&world).load_error, 1);
    swap("v1");
    run_until_told(&world, 1);
    assert_null(look(&world, 0).error);
    end(&world);
}

static void
the_administrator_is_counted(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make(&world);
    assert_int_equal(count(&world).admin_overrides_active, 0);
    assert_ok(set_one(&world, "a", "1", NULL));
    assert_int_equal(count(&world).admin_overrides_active, 1);
    assert_int_equal(count(&world).deprecated_feature_use, 0);
    assert_int_equal(count(&world).deprecated_feature_seen_since_process_start, 0);
    udpa_runtime_statistics older = {.struct_size = offsetof(udpa_runtime_statistics, load_error)};
    older.load_error = 77; /* a field that the application does not know of */
    udpa_runtime_statistics_read(world.runtime, &older);
    assert_int_equal(older.admin_overrides_active, 1);
    assert_int_equal(older.load_error, 77);
    end(&world);
}

/* ---- without memory ---- */

static udpa_err
make_and_close(void *context)
{
    struct world *world = context;
    udpa_err err = udpa_runtime_new(&world->runtime, &world->pair.loop, &world->options, NULL);
    if (!err)
        err = set_one(world, "n", "1", NULL);
    if (world->runtime)
        udpa_runtime_close(world->runtime, NULL, NULL);
    world->runtime = NULL;
    (void)uv_run(&world->pair.loop, UV_RUN_DEFAULT);
    return err;
}

static void
without_memory_nothing_is_left(void **state)
{
    (void)state;
    struct world world;
    static const udpa_runtime_setting settings[] = {{"a", "1"}, {"b", "1"}};
    begin(&world);
    add_static(&world, settings, 2);
    add(&world, "admin", UDPA_RUNTIME_ADMIN);
    make_version("v1", "1");
    swap("v1");
    add_disks(&world);
    (void)oom_torture(make_and_close, &world);
    end(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_that_may_not_be),
        cmocka_unit_test(options_that_may_not_be),
        cmocka_unit_test(without_layers_there_is_that_of_the_administrator),
        cmocka_unit_test(later_layers_count),
        cmocka_unit_test(fields_that_are_none),
        cmocka_unit_test(all_of_a_change_or_nothing),
        cmocka_unit_test(without_its_layer_the_administrator_is_refused),
        cmocka_unit_test(changes_are_told_later_and_together),
        cmocka_unit_test(closed_when_it_is_told),
        cmocka_unit_test(nobody_need_be_told),
        TREE_TEST(a_tree_is_swapped),
        TREE_TEST(a_layer_in_error_is_listed),
        cmocka_unit_test(the_administrator_is_counted),
        TREE_TEST(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests_name("endpoint runtime", tests, NULL, NULL);
}
