/* SPDX-License-Identifier: Apache-2.0 */
/* Trees on disk as resources, while they change under a loop. */
#include "runtime/tree.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/proto.h"
#include "runtime/encode.h"
#include "tests/harness/oom.h"
#include "tree.h"

#define PATIENCE_MS 20000
#define VERSION_ROOM 64

struct world {
    uv_loop_t loop;
    uv_timer_t patience;
    udpai_runtime_tree *tree;
    unsigned n_tellings, n_problem_tellings;
    size_t n_resources;
    bool is_partial, has_errors;
    bool is_late, is_closed, closes_when_told;
};

static void
on_late(uv_timer_t *timer)
{
    ((struct world *)timer->data)->is_late = true;
}

static void
on_closed(void *userdata)
{
    ((struct world *)userdata)->is_closed = true;
}

static void
on_changed(void *userdata, const udpai_directory *directory)
{
    struct world *world = userdata;
    assert_str(directory->source, "tree");
    assert_str(directory->authority, "com.acme");
    assert_str(directory->root, tree_path("current"));
    world->n_tellings++;
    world->n_resources = directory->n_resources;
    world->is_partial = directory->is_partial;
    world->has_errors = directory->has_errors;
    if (world->closes_when_told)
        udpai_runtime_tree_close(world->tree, on_closed, world);
}

static void
on_problems_changed(void *userdata)
{
    ((struct world *)userdata)->n_problem_tellings++;
}

static udpai_runtime_tree_rules
rules(void)
{
    static char root[128];
    snprintf(root, sizeof(root), "%s", tree_path("current"));
    return (udpai_runtime_tree_rules){
        .root = root,
        .subdirectory = "",
        .default_namespace = UDPAI_STR("local"),
    };
}

static void
start(struct world *world, const udpai_runtime_tree_rules *by)
{
    const udpai_runtime_tree_options options = {
        .loop = &world->loop,
        .rules = *by,
        .source = UDPAI_STR("tree"),
        .authority = UDPAI_STR("com.acme"),
        .quiet_ms = 5,
        .retry_ms = 20,
    };
    const udpai_runtime_tree_ops ops = {on_changed, on_problems_changed, world};
    memset(world, 0, sizeof(*world));
    assert_ok(uv_loop_init(&world->loop));
    assert_ok(uv_timer_init(&world->loop, &world->patience));
    world->patience.data = world;
    assert_ok(uv_timer_start(&world->patience, on_late, PATIENCE_MS, 0));
    assert_ok(udpai_runtime_tree_new(&world->tree, &options, &ops, NULL));
    assert_ok(udpai_runtime_tree_start(world->tree, NULL));
}

static void
end(struct world *world)
{
    uv_close((uv_handle_t *)&world->patience, NULL);
    if (!world->closes_when_told)
        udpai_runtime_tree_close(world->tree, on_closed, world);
    assert_ok(uv_run(&world->loop, UV_RUN_DEFAULT));
    assert_true(world->is_closed);
    assert_ok(uv_loop_close(&world->loop));
}

/* Until what was done before has been read, and what has come by that is watched. */
static void
settle(struct world *world)
{
    do {
        (void)uv_run(&world->loop, UV_RUN_NOWAIT);
    } while (udpai_runtime_tree_is_busy(world->tree) && !world->is_late);
    assert_false(world->is_late);
}

static void
expect_telling(struct world *world, unsigned n)
{
    while (world->n_tellings < n && !world->is_late)
        (void)uv_run(&world->loop, UV_RUN_ONCE);
    settle(world);
    assert_int_equal(world->n_tellings, n);
}

static const udpai_runtime_tree_layer *
layer_at(const struct world *world, const char *name)
{
    const udpai_runtime_tree_reading *now = udpai_runtime_tree_now(world->tree);
    for (size_t i = 0; i < now->layers.n; i++)
        if (strcmp(now->layers.items[i].name, name) == 0)
            return &now->layers.items[i];
    return NULL;
}

/* The version of a layer's resource; until the next call but three. */
static const char *
version_of(const struct world *world, const char *name)
{
    static char rooms[4][VERSION_ROOM];
    static unsigned next;
    char *room = rooms[next++ % 4];
    const udpai_runtime_tree_layer *layer = layer_at(world, name);
    assert_non_null(layer);
    assert_non_null(layer->resource);
    snprintf(room, VERSION_ROOM, "%s", udpa_resource_version(layer->resource));
    return room;
}

static void
expect_integer(const struct world *world, const char *name, const char *key, uint64_t value)
{
    udpai_str bytes = udpai_resource_value(layer_at(world, name)->resource);
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field = {0};
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("x"));
    while (udpai_proto_next(&reader, &field) && field.number != 2)
        ;
    assert_ok(udpai_runtime_layer_put_struct(layer, field.bytes, NULL));
    const udpai_runtime_entry *entry =
        udpai_map_get(udpai_runtime_layer_entries(layer), udpai_str_from(key));
    if (!entry)
        fail_msg("%s has no %s", name, key);
    assert_int_equal(entry->value.integer, value);
}

/* ---- directories ---- */

static void
write_value(const char *version, const char *layer, const char *key, const char *value)
{
    char name[128];
    (void)mkdir(tree_path(version), 0700);
    snprintf(name, sizeof(name), "%s/%s", version, layer);
    (void)mkdir(tree_path(name), 0700);
    snprintf(name, sizeof(name), "%s/%s/%s", version, layer, key);
    tree_write(name, value);
}

static void
make_version(const char *version, const char *value)
{
    write_value(version, "production", "limit", value);
    write_value(version, "staging", "limit", value);
    write_value(version, "fixed", "limit", "1");
}

static void
swap(const char *version)
{
    assert_ok(symlink(version, tree_path("new")));
    assert_ok(rename(tree_path("new"), tree_path("current")));
}

/* ---- tests ---- */

static void
test_each_layer_is_a_resource(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "5");
    tree_write("v1/README", "no layer");
    tree_make("v1/.hidden");
    swap("v1");
    start(&world, &by);
    assert_int_equal(world.n_tellings, 1);
    assert_int_equal(world.n_resources, 3);
    assert_false(world.is_partial);
    assert_false(world.has_errors);
    const udpa_resource *resource = layer_at(&world, "production")->resource;
    assert_string_equal(udpa_resource_name(resource), "local/production");
    assert_str(udpai_resource_type_url(resource), UDPAI_TYPE_RUNTIME);
    assert_str(udpai_resource_authority(resource), "");
    expect_integer(&world, "production", "limit", 5);
    end(&world);
}

static void
test_swap(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    make_version("v2", "2");
    write_value("v2", "more", "limit", "7");
    swap("v1");
    start(&world, &by);
    settle(&world);
    const char *production = version_of(&world, "production");
    const udpa_resource *fixed = layer_at(&world, "fixed")->resource;
    swap("v2");
    expect_telling(&world, 2); /* of all at once */
    assert_int_equal(world.n_resources, 4);
    expect_integer(&world, "production", "limit", 2);
    expect_integer(&world, "staging", "limit", 2);
    expect_integer(&world, "more", "limit", 7);
    assert_ptr_equal(layer_at(&world, "fixed")->resource, fixed);
    assert_string_not_equal(version_of(&world, "production"), production);
    swap("v1");
    expect_telling(&world, 3);
    assert_int_equal(world.n_resources, 3); /* what is gone is not there any more */
    assert_string_equal(version_of(&world, "production"), production);
    swap("v1"); /* nothing is another than before */
    settle(&world);
    udpai_runtime_tree_report_again(world.tree);
    assert_int_equal(world.n_tellings, 4);
    end(&world);
}

static void
test_edits(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    swap("v1");
    start(&world, &by);
    settle(&world);
    tree_write("file", "7");
    assert_ok(rename(tree_path("file"), tree_path("v1/production/limit")));
    expect_telling(&world, 2);
    expect_integer(&world, "production", "limit", 7);
    assert_ok(mkdir(tree_path("whole"), 0700));
    tree_write("whole/limit", "8");
    assert_ok(rename(tree_path("whole"), tree_path("v1/moved")));
    expect_telling(&world, 3);
    expect_integer(&world, "moved", "limit", 8);
    assert_ok(rename(tree_path("v1/moved"), tree_path("elsewhere")));
    expect_telling(&world, 4);
    assert_null(layer_at(&world, "moved"));
    end(&world);
}

static void
test_an_error_and_its_end(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    make_version("v2", "2");
    write_value("v2", "production", "numerator", "5");
    write_value("v2", "other", "numerator", "5");
    swap("v1");
    start(&world, &by);
    settle(&world);
    const char *before = version_of(&world, "production");
    swap("v2");
    expect_telling(&world, 2);
    assert_string_equal(version_of(&world, "production"), before);
    expect_integer(&world, "staging", "limit", 2); /* the others go on */
    assert_null(layer_at(&world, "other")->resource);
    assert_int_equal(world.n_resources, 3);
    assert_true(world.has_errors);
    assert_false(world.is_partial); /* all was good once */
    assert_int_equal(world.n_problem_tellings, 1);
    const char *text = udpa_error_message(udpai_runtime_tree_problem(world.tree, 0));
    assert_non_null(strstr(text, "layer other is ignored"));
    text = udpa_error_message(udpai_runtime_tree_problem(world.tree, 1));
    assert_non_null(strstr(text, "current: layer production stays as it was"));
    assert_non_null(strstr(text, "reserved"));
    assert_null(udpai_runtime_tree_problem(world.tree, 2));
    assert_ok(unlink(tree_path("v2/production/numerator")));
    expect_telling(&world, 3);
    expect_integer(&world, "production", "limit", 2);
    assert_true(world.has_errors);
    assert_ok(unlink(tree_path("v2/other/numerator")));
    expect_telling(&world, 4);
    assert_false(world.has_errors);
    assert_null(udpai_runtime_tree_problem(world.tree, 0));
    assert_int_equal(world.n_problem_tellings, 3);
    end(&world);
}

static void
test_an_error_at_the_start(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    write_value("v1", "staging", "denominator", "5");
    assert_ok(symlink("nowhere", tree_path("v1/production/link")));
    swap("v1");
    start(&world, &by);
    assert_int_equal(world.n_resources, 1);
    assert_true(world.is_partial);
    assert_ok(unlink(tree_path("v1/production/link")));
    expect_telling(&world, 2);
    assert_true(world.is_partial);
    assert_ok(unlink(tree_path("v1/staging/denominator")));
    expect_telling(&world, 3);
    assert_false(world.is_partial);
    assert_int_equal(world.n_resources, 3);
    end(&world);
}

/* What another process reads has the same versions. */
static void
test_restart(void **state)
{
    (void)state;
    char versions[2][VERSION_ROOM];
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    swap("v1");
    for (size_t i = 0; i < 2; i++) {
        struct world world;
        start(&world, &by);
        snprintf(versions[i], VERSION_ROOM, "%s", version_of(&world, "production"));
        end(&world);
    }
    assert_string_equal(versions[0], versions[1]);
}

static void
test_the_root_goes_and_comes(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    start(&world, &by);
    assert_int_equal(world.n_tellings, 0);
    assert_non_null(
        strstr(udpa_error_message(udpai_runtime_tree_problem(world.tree, 0)), "cannot read"));
    make_version("v1", "1");
    swap("v1");
    expect_telling(&world, 1);
    assert_int_equal(world.n_resources, 3);
    assert_ok(unlink(tree_path("current")));
    expect_telling(&world, 2);
    assert_true(world.has_errors);
    assert_int_equal(world.n_resources, 3); /* all stays */
    swap("v1");
    expect_telling(&world, 3);
    assert_false(world.has_errors);
    end(&world);
}

static void
test_subdirectory_that_comes(void **state)
{
    (void)state;
    struct world world;
    udpai_runtime_tree_rules by = rules();
    by.subdirectory = "a/b";
    tree_make("v1");
    swap("v1");
    start(&world, &by);
    assert_int_equal(world.n_tellings, 0);
    settle(&world);
    tree_make("v1/a");
    settle(&world);
    tree_make("ready");
    tree_make("ready/production");
    assert_ok(rename(tree_path("ready"), tree_path("v1/a/b")));
    expect_telling(&world, 1);
    assert_int_equal(world.n_resources, 1);
    end(&world);
}

static void
test_names(void **state)
{
    (void)state;
    static const udpai_xdstp_authority listed[] = {{{"corp", 4}, {"com.corp", 8}}};

    static const struct {
        const char *prefix, *name;
    } cases[] = {
        {"", "local/production"},
        {"shop-", "local/shop-production"},
        {"shop/", "local/shop/production"},
        {"com.acme.runtime/", "com.acme.runtime/production"},
        {"local/", "local/production"},
        {"xdstp://com.acme/envoy.service.runtime.v3.Runtime/", "com.acme/production"},
        {"xdstp://corp/envoy.service.runtime.v3.Runtime/eu/", "com.corp/eu/production"},
        {"xdstp:///envoy.service.runtime.v3.Runtime/", "local/production"},
        {"xdstp://com.acme/envoy.config.cluster.v3.Cluster/", NULL},
        {"xdstp://Nobody/envoy.service.runtime.v3.Runtime/", NULL},
        {"xdstp://", NULL},
    };

    make_version("v1", "1");
    swap("v1");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        struct world world;
        udpai_runtime_tree_rules by = rules();
        char asked[128];
        snprintf(asked, sizeof(asked), "%sproduction", cases[i].prefix);
        by.prefix = udpai_str_from(cases[i].prefix);
        by.authorities = (udpai_xdstp_authorities){listed, 1};
        start(&world, &by);
        const udpa_resource *resource = layer_at(&world, "production")->resource;
        if (cases[i].name) {
            assert_string_equal(udpa_resource_name(resource), cases[i].name);
            udpai_proto_reader reader = udpai_proto_read(udpai_resource_value(resource));
            udpai_proto_field field;
            assert_true(udpai_proto_next(&reader, &field)); /* which is what Envoy compares */
            assert_str(field.bytes, asked);
        } else {
            assert_null(resource);
        }
        end(&world);
    }
}

static udpa_err
refuse_staging(const void *userdata, const udpa_resource *resource, udpa_error **ret_error)
{
    return strstr(udpa_resource_name(resource), userdata)
               ? udpai_fail(ret_error, UDPA_ERR_DENIED, "not this one")
               : UDPA_OK;
}

static void
test_namespaces_and_checks(void **state)
{
    (void)state;
    struct world world;
    udpai_runtime_tree_rules by = rules();
    const udpai_str allowed[] = {UDPAI_STR("com.acme"), UDPAI_STR("local/production"),
                                 UDPAI_STR("local/staging")};
    make_version("v1", "1");
    swap("v1");
    by.namespaces = allowed;
    by.n_namespaces = 3;
    by.check = refuse_staging;
    by.check_userdata = "staging";
    start(&world, &by);
    assert_int_equal(world.n_resources, 1);
    assert_non_null(
        strstr(udpa_error_message(layer_at(&world, "fixed")->error), "none of the namespaces"));
    assert_non_null(strstr(udpa_error_message(layer_at(&world, "staging")->error), "not this one"));
    end(&world);
}

static void
test_closed_by_what_it_tells(void **state)
{
    (void)state;
    struct world world;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    make_version("v2", "2");
    swap("v1");
    start(&world, &by);
    world.closes_when_told = true;
    swap("v2");
    while (world.n_tellings < 2 && !world.is_late)
        (void)uv_run(&world.loop, UV_RUN_ONCE);
    assert_int_equal(world.n_tellings, 2);
    end(&world);
}

/* ---- while links are swapped, and what they led to before is removed ---- */

#define N_KEYS 20

static void
make_large_version(unsigned number)
{
    char version[32], key[32], value[32];
    snprintf(version, sizeof(version), "v%u", number);
    snprintf(value, sizeof(value), "%u", 10 + number % 80);
    for (unsigned i = 0; i < N_KEYS; i++) {
        snprintf(key, sizeof(key), "key%u", i);
        write_value(version, "production", key, value);
        write_value(version, "staging", key, value);
    }
    swap(version);
    snprintf(version, sizeof(version), "v%u", number - 1);
    if (number)
        assert_ok(nftw(tree_path(version), tree_remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static void *
swap_all_the_time(void *userdata)
{
    for (unsigned i = 1; !atomic_load((atomic_bool *)userdata); i++)
        make_large_version(i);
    return NULL;
}

/* All values of the layer are the same, and all are there: which. */
static uint64_t
only_value(const udpai_runtime_tree_layer *layer)
{
    udpai_proto_reader reader = udpai_proto_read(udpai_resource_value(layer->resource));
    udpai_proto_field field = {0};
    UDPA_AUTO(udpai_runtime_layer_unref)
    udpai_runtime_layer *values = udpai_runtime_layer_new(UDPAI_STR("x"));
    while (udpai_proto_next(&reader, &field) && field.number != 2)
        ;
    assert_ok(udpai_runtime_layer_put_struct(values, field.bytes, NULL));
    const udpai_map *entries = udpai_runtime_layer_entries(values);
    assert_int_equal(entries->n, N_KEYS);
    size_t at = 0;
    const udpai_runtime_entry *entry, *first = udpai_map_next(entries, &at);
    while ((entry = udpai_map_next(entries, &at)))
        assert_int_equal(entry->value.integer, first->value.integer);
    return first->value.integer;
}

static void
test_one_version(void **state)
{
    (void)state;
    pthread_t thread;
    atomic_bool is_over = false;
    const udpai_runtime_tree_rules by = rules();
    unsigned n_good = 0;
    make_large_version(0);
    assert_ok(pthread_create(&thread, NULL, swap_all_the_time, &is_over));
    for (unsigned i = 0; i < 200; i++) {
        udpai_runtime_directories directories = {0};
        udpai_runtime_tree_reading *reading = udpai_runtime_tree_read(&by, NULL, &directories);
        const udpai_runtime_tree_layer *layers = reading->layers.items;
        if (!reading->error) {
            assert_int_equal(reading->layers.n, 2);
            assert_true(only_value(&layers[0]) == only_value(&layers[1]));
            n_good++;
        } else {
            assert_int_equal(udpa_error_code(reading->error), UDPA_ERR_ABORTED);
        }
        udpai_runtime_directories_done(&directories);
        udpai_runtime_tree_reading_free(reading);
    }
    atomic_store(&is_over, true);
    assert_ok(pthread_join(thread, NULL));
    assert_true(n_good > 0);
}

static udpa_err
read_twice(void *userdata)
{
    const udpai_runtime_tree_rules *by = userdata;
    udpai_runtime_directories directories = {0};
    UDPA_AUTO(udpai_runtime_tree_reading_free)
    udpai_runtime_tree_reading *first = udpai_runtime_tree_read(by, NULL, &directories);
    UDPA_AUTO(udpai_runtime_tree_reading_free)
    udpai_runtime_tree_reading *second =
        first ? udpai_runtime_tree_read(by, first, &directories) : NULL;
    udpai_runtime_directories_done(&directories);
    return second ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
test_reading_without_memory(void **state)
{
    (void)state;
    udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    write_value("v1", "staging", "numerator", "1");
    swap("v1");
    oom_torture(read_twice, &by);
    by.subdirectory = "not/there";
    oom_torture(read_twice, &by);
}

static udpa_err
make_and_close(void *userdata)
{
    uv_loop_t loop;
    udpai_runtime_tree *tree = NULL;
    struct world world = {0};
    const udpai_runtime_tree_options options = {
        .loop = &loop,
        .rules = *(const udpai_runtime_tree_rules *)userdata,
        .source = UDPAI_STR("tree"),
        .authority = UDPAI_STR("com.acme"),
    };
    const udpai_runtime_tree_ops ops = {on_changed, NULL, &world};
    assert_ok(uv_loop_init(&loop));
    udpa_err err = udpai_runtime_tree_new(&tree, &options, &ops, NULL);
    if (err == UDPA_OK)
        err = udpai_runtime_tree_start(tree, NULL);
    if (err == UDPA_OK && world.n_tellings == 0)
        err = UDPA_ERR_NOMEM;
    udpai_runtime_tree_close(tree, NULL, NULL);
    assert_ok(uv_run(&loop, UV_RUN_DEFAULT));
    assert_ok(uv_loop_close(&loop));
    return err;
}

static void
test_making_without_memory(void **state)
{
    (void)state;
    const udpai_runtime_tree_rules by = rules();
    make_version("v1", "1");
    swap("v1");
    oom_torture(make_and_close, (void *)(uintptr_t)&by);
}

static void
test_what_may_not_be(void **state)
{
    (void)state;
    uv_loop_t loop;
    udpai_runtime_tree *tree;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_runtime_tree_options options = {.loop = &loop, .rules.root = ""};
    const udpai_runtime_tree_ops ops = {on_changed, NULL, NULL};
    assert_int_equal(udpai_runtime_tree_new(&tree, &options, &ops, &error), UDPA_ERR_INVAL);
    assert_non_null(strstr(udpa_error_message(error), "symlink_root"));
}

static void
test_too_many_layers(void **state)
{
    (void)state;
    const udpai_runtime_tree_rules by = rules();
    udpai_runtime_directories directories = {0};
    tree_make("v1");
    swap("v1");
    for (unsigned i = 0; i <= UDPAI_RUNTIME_TREE_LAYERS_MAX; i++) {
        char name[32];
        snprintf(name, sizeof(name), "v1/layer%u", i);
        tree_make(name);
    }
    udpai_runtime_tree_reading *reading = udpai_runtime_tree_read(&by, NULL, &directories);
    assert_int_equal(udpa_error_code(reading->error), UDPA_ERR_LIMIT);
    assert_int_equal(reading->layers.n, 0);
    udpai_runtime_tree_reading_free(reading);
    udpai_runtime_directories_done(&directories);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_each_layer_is_a_resource),
        TREE_TEST(test_swap),
        TREE_TEST(test_edits),
        TREE_TEST(test_an_error_and_its_end),
        TREE_TEST(test_an_error_at_the_start),
        TREE_TEST(test_restart),
        TREE_TEST(test_the_root_goes_and_comes),
        TREE_TEST(test_subdirectory_that_comes),
        TREE_TEST(test_names),
        TREE_TEST(test_namespaces_and_checks),
        TREE_TEST(test_closed_by_what_it_tells),
        TREE_TEST(test_one_version),
        TREE_TEST(test_reading_without_memory),
        TREE_TEST(test_making_without_memory),
        TREE_TEST(test_what_may_not_be),
        TREE_TEST(test_too_many_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
