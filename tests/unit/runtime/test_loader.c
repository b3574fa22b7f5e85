/* SPDX-License-Identifier: Apache-2.0 */
/* Layers on disk that change under a loop. */
#include "runtime/loader.h"

#include <pthread.h>

#include "tests/harness/oom.h"
#include "tree.h"

#define PATIENCE_MS 20000

static const udpai_runtime_layer_options layers[] = {
    {{"disk", 4}, UDPAI_RUNTIME_DISK},
    {{"override", 8}, UDPAI_RUNTIME_DISK},
};

struct world {
    uv_loop_t loop;
    uv_timer_t patience;
    udpai_runtime runtime;
    udpai_runtime_loader *loader;
    bool is_late, is_closed;
};

static void
on_late(uv_timer_t *timer)
{
    ((struct world *)timer->data)->is_late = true;
}

static void
on_changed(void *userdata)
{
    uv_stop(&((struct world *)userdata)->loop);
}

static udpa_err
start(struct world *world, const char *cluster, udpa_error **ret_error)
{
    const char *current = tree_path("current");
    const udpai_runtime_disk disks[] = {{0, current, "base", false}, {1, current, "over", true}};
    const udpai_runtime_loader_options options = {
        .loop = &world->loop,
        .runtime = &world->runtime,
        .disks = disks,
        .n_disks = 2,
        .service_cluster = cluster,
        .quiet_ms = 5,
    };
    return udpai_runtime_loader_new(&world->loader, &options, ret_error);
}

static void
begin(struct world *world)
{
    memset(world, 0, sizeof(*world));
    assert_ok(uv_loop_init(&world->loop));
    assert_ok(uv_timer_init(&world->loop, &world->patience));
    world->patience.data = world;
    assert_ok(uv_timer_start(&world->patience, on_late, PATIENCE_MS, 0));
    assert_ok(udpai_runtime_init(&world->runtime, layers, 2, NULL));
    world->runtime.changed = on_changed;
    world->runtime.userdata = world;
}

static void
on_closed(void *userdata)
{
    ((struct world *)userdata)->is_closed = true;
}

static void
end(struct world *world)
{
    uv_close((uv_handle_t *)&world->patience, NULL);
    udpai_runtime_loader_close(world->loader, on_closed, world);
    assert_ok(uv_run(&world->loop, UV_RUN_DEFAULT));
    assert_true(world->is_closed);
    assert_ok(uv_loop_close(&world->loop));
    udpai_runtime_done(&world->runtime);
}

static uint64_t
integer(struct world *world, const char *key)
{
    return udpai_runtime_integer(udpai_runtime_current_peek(&world->runtime.current),
                                 udpai_str_from(key), 0);
}

static void
expect_soon(struct world *world, const char *key, uint64_t value)
{
    while (integer(world, key) != value && !world->is_late)
        (void)uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(integer(world, key), value);
}

/* Until what was done before has been read, and what has come by that is watched. */
static void
settle(struct world *world)
{
    do {
        (void)uv_run(&world->loop, UV_RUN_NOWAIT);
    } while (udpai_runtime_loader_is_busy(world->loader) && !world->is_late);
    assert_false(world->is_late);
}

static void
make_version(const char *version, const char *value)
{
    char name[64];
    tree_make(version);
    snprintf(name, sizeof(name), "%s/base", version);
    tree_make(name);
    snprintf(name, sizeof(name), "%s/base/health_check", version);
    tree_make(name);
    snprintf(name, sizeof(name), "%s/base/health_check/min_interval", version);
    tree_write(name, value);
}

/* As the document of the layered runtime says: ln -s VERSION new && mv -Tf new current */
static void
swap(const char *version)
{
    assert_ok(symlink(version, tree_path("new")));
    assert_ok(rename(tree_path("new"), tree_path("current")));
}

static void
test_swap(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    make_version("v2", "2");
    swap("v1");
    assert_ok(start(&world, "mine", NULL));
    assert_int_equal(integer(&world, "health_check.min_interval"), 1);
    assert_int_equal(world.runtime.statistics.load_success, 1);
    settle(&world); /* what has begun may see the swap, which is read once more then */
    swap("v2");
    expect_soon(&world, "health_check.min_interval", 2);
    settle(&world);
    assert_int_equal(world.runtime.statistics.load_success, 2); /* one for both layers */
    assert_int_equal(world.runtime.statistics.override_dir_not_exists, 2);
    swap("v1");
    expect_soon(&world, "health_check.min_interval", 1);
    end(&world);
}

static void
test_what_is_moved_and_written(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    swap("v1");
    assert_ok(start(&world, "mine", NULL));
    settle(&world);
    tree_write("file", "7");
    assert_ok(rename(tree_path("file"), tree_path("v1/base/health_check/min_interval")));
    expect_soon(&world, "health_check.min_interval", 7);
    tree_write("v1/base/health_check/min_interval", "8");
    expect_soon(&world, "health_check.min_interval", 8);
    tree_make("v1/base/more");
    tree_write("v1/base/more/than_before", "9");
    expect_soon(&world, "more.than_before", 9);
    settle(&world); /* that directory is watched, too */
    tree_write("v1/base/more/than_before", "10");
    expect_soon(&world, "more.than_before", 10);
    assert_ok(unlink(tree_path("v1/base/more/than_before")));
    expect_soon(&world, "more.than_before", 0);
    end(&world);
}

static void
test_overrides(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    swap("v1");
    assert_ok(start(&world, "mine", NULL));
    assert_int_equal(world.runtime.statistics.num_layers, 1);
    assert_int_equal(world.runtime.statistics.override_dir_not_exists, 1);
    settle(&world);
    tree_make("v1/over");
    tree_make("v1/over/mine");
    tree_make("v1/over/mine/health_check");
    tree_write("v1/over/mine/health_check/min_interval", "3");
    expect_soon(&world, "health_check.min_interval", 3);
    assert_int_equal(world.runtime.statistics.num_layers, 2);
    assert_true(world.runtime.statistics.override_dir_exists > 0);
    end(&world);
}

static void
test_an_error_and_its_end(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    make_version("v2", "2");
    tree_write("v2/base/numerator", "5");
    swap("v1");
    assert_ok(start(&world, "mine", NULL));
    swap("v2");
    expect_soon(&world, "health_check.min_interval", 0);
    const udpa_error *error = udpai_runtime_layer_error(&world.runtime, 0);
    assert_non_null(strstr(udpa_error_message(error), "reserved"));
    assert_int_equal(world.runtime.statistics.load_error, 1);
    assert_int_equal(world.runtime.statistics.num_layers, 0);
    settle(&world);
    assert_ok(unlink(tree_path("v2/base/numerator")));
    expect_soon(&world, "health_check.min_interval", 2);
    assert_null(udpai_runtime_layer_error(&world.runtime, 0));
    end(&world);
}

/* Nothing is there at first, not even the root. */
static void
test_a_root_that_comes(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    assert_ok(start(&world, "mine", NULL));
    assert_int_equal(world.runtime.statistics.num_layers, 0);
    assert_int_equal(world.runtime.statistics.load_success, 1);
    make_version("v1", "1");
    swap("v1");
    expect_soon(&world, "health_check.min_interval", 1);
    end(&world);
}

static void
test_closed_while_it_reads(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    make_version("v1", "1");
    swap("v1");
    assert_ok(start(&world, "mine", NULL));
    udpai_runtime_loader_look(world.loader);
    while (integer(&world, "health_check.min_interval") == 1 && !world.is_late) {
        swap("v1");
        (void)uv_run(&world.loop, UV_RUN_ONCE);
        if (world.runtime.statistics.load_success > 3)
            break;
    }
    swap("v1");
    end(&world);
}

static void
test_what_may_not_be(void **state)
{
    (void)state;
    struct world world;
    static const char *const clusters[] = {"", "..", "a/b"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clusters); i++) {
        udpa_error *error = NULL;
        begin(&world);
        assert_int_equal(start(&world, clusters[i], &error), UDPA_ERR_INVAL);
        assert_non_null(strstr(udpa_error_message(error), "layer override of the runtime"));
        udpa_error_unref(error);
        world.is_closed = true;
        end(&world);
    }
}

/* Who reads all the time sees one version or the other, and never both or neither. */
struct reader {
    udpai_runtime *runtime;
    atomic_bool is_over;
    atomic_uint n_wrong;
};

static void *
read_all_the_time(void *context)
{
    struct reader *self = context;
    while (!atomic_load(&self->is_over)) {
        const udpai_runtime_snapshot *now = udpai_runtime_current_peek(&self->runtime->current);
        uint64_t a = udpai_runtime_integer(now, UDPAI_STR("health_check.min_interval"), 0);
        uint64_t b = udpai_runtime_integer(now, UDPAI_STR("other"), 0);
        if (a != b || a == 0)
            atomic_fetch_add(&self->n_wrong, 1);
    }
    return NULL;
}

static void
test_readers_see_one_version(void **state)
{
    (void)state;
    struct world world;
    pthread_t thread;
    begin(&world);
    make_version("v1", "1");
    make_version("v2", "2");
    tree_write("v1/base/other", "1");
    tree_write("v2/base/other", "2");
    swap("v1");
    assert_ok(start(&world, "mine", NULL));
    struct reader reader = {.runtime = &world.runtime};
    assert_ok(pthread_create(&thread, NULL, read_all_the_time, &reader));
    for (unsigned i = 0; i < 50; i++) {
        swap(i % 2 ? "v1" : "v2");
        expect_soon(&world, "other", i % 2 ? 1 : 2);
    }
    atomic_store(&reader.is_over, true);
    assert_ok(pthread_join(thread, NULL));
    assert_int_equal(atomic_load(&reader.n_wrong), 0);
    end(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_swap),
        TREE_TEST(test_what_is_moved_and_written),
        TREE_TEST(test_overrides),
        TREE_TEST(test_an_error_and_its_end),
        TREE_TEST(test_a_root_that_comes),
        TREE_TEST(test_closed_while_it_reads),
        TREE_TEST(test_what_may_not_be),
        TREE_TEST(test_readers_see_one_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
