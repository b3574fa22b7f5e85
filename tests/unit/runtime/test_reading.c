/* SPDX-License-Identifier: Apache-2.0 */
/* All layers below a link are read of one version, whenever that is swapped for another. */
#include "runtime/reading.h"

#include "tests/harness/oom.h"
#include "tree.h"
#include "value_at.h"

#define LAYERS 2

static struct {
    int n;                    /* layers that were read */
    void (*after_one)(int n); /* what somebody else does then */
} happened;

udpa_err __real_udpai_runtime_directory_read_whole(
    udpai_runtime_layer **, udpai_str, const char *, udpai_runtime_directories *, udpa_error **);
udpa_err __wrap_udpai_runtime_directory_read_whole(
    udpai_runtime_layer **, udpai_str, const char *, udpai_runtime_directories *, udpa_error **);

udpa_err
__wrap_udpai_runtime_directory_read_whole(udpai_runtime_layer **ret_layer,
                                          udpai_str name,
                                          const char *path,
                                          udpai_runtime_directories *directories,
                                          udpa_error **ret_error)
{
    udpa_err err =
        __real_udpai_runtime_directory_read_whole(ret_layer, name, path, directories, ret_error);
    happened.n++;
    if (happened.after_one)
        happened.after_one(happened.n);
    return err;
}

/* ---- the tree ---- */

static void
make_version(const char *version)
{
    char name[16];
    tree_make(version);
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof(name), "%s/l%d", version, i);
        tree_make(name);
        snprintf(name, sizeof(name), "%s/l%d/x", version, i);
        tree_write(name, version);
    }
}

static void
swap_to(const char *version)
{
    assert_ok(symlink(version, tree_path("new")));
    assert_ok(rename(tree_path("new"), tree_path("current")));
}

static void
swap_after_first(int n)
{
    if (n == 1)
        swap_to("v2");
}

static void
swap_and_tidy_up(int n)
{
    if (n != 1)
        return;
    swap_to("v2");
    assert_ok(nftw(tree_path("v1"), tree_remove_one, 16, FTW_DEPTH | FTW_PHYS));
}

static void
swap_always(int n)
{
    swap_to(n % 2 ? "v2" : "v1");
}

static void
swap_for_each_reading(int n)
{
    if (n % LAYERS == 1)
        swap_to(n / LAYERS % 2 ? "v1" : "v2");
}

/* ---- what is read ---- */

static void
read_below(const char *root, udpai_runtime_reading *reading)
{
    udpai_runtime_place all[LAYERS] = {
        {0, UDPAI_STR("first"), NULL, false},
        {1, UDPAI_STR("second"), NULL, true},
    };
    const udpai_runtime_places places = {.items = all, .n = LAYERS};
    char root_path[128], paths[LAYERS][160];
    snprintf(root_path, sizeof(root_path), "%s", tree_path(root));
    for (int i = 0; i < LAYERS; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/l%d", root_path, i);
        all[i].path = paths[i];
    }
    udpai_runtime_read(reading, root_path, &places);
}

static void
expect_version(const udpai_runtime_reading *reading, const char *version)
{
    assert_true(reading->has_memory);
    assert_int_equal(reading->n, LAYERS);
    for (size_t i = 0; i < LAYERS; i++) {
        assert_int_equal(reading->loads[i].index, i);
        assert_null(reading->loads[i].error);
        assert_non_null(reading->loads[i].layer);
        assert_str(value_at(reading->loads[i].layer, "x")->text, version);
    }
    assert_int_equal(reading->n_overrides_there, 1);
    assert_int_equal(reading->n_overrides_missing, 0);
}

static void
read_while(void (*after_one)(int n), const char *expected_version, int expected_n)
{
    udpai_runtime_reading reading;
    make_version("v1");
    make_version("v2");
    swap_to("v1");
    happened.after_one = after_one;
    happened.n = 0;
    read_below("current", &reading);
    happened.after_one = NULL;
    expect_version(&reading, expected_version);
    assert_int_equal(happened.n, expected_n);
    udpai_runtime_reading_done(&reading);
}

static void
test_quiet(void **state)
{
    (void)state;
    read_while(NULL, "v1", LAYERS);
}

static void
test_swapped_meanwhile(void **state)
{
    (void)state;
    read_while(swap_after_first, "v2", 2 * LAYERS);
}

static void
test_tidied_up_meanwhile(void **state)
{
    (void)state;
    read_while(swap_and_tidy_up, "v2", 2 * LAYERS);
}

/* It is there again in the end, and was never read but as it was found. */
static void
test_swapped_there_and_back(void **state)
{
    (void)state;
    read_while(swap_always, "v1", LAYERS);
}

/* The last reading is of one version, too; the next will tell. */
static void
test_swapped_again_and_again(void **state)
{
    (void)state;
    read_while(swap_for_each_reading, UDPAI_RUNTIME_TRIES % 2 ? "v1" : "v2",
               UDPAI_RUNTIME_TRIES * LAYERS);
}

static void
test_no_link(void **state)
{
    (void)state;
    udpai_runtime_reading reading;
    make_version("v1");
    read_below("v1", &reading);
    expect_version(&reading, "v1");
    udpai_runtime_reading_done(&reading);
}

/* Which is no mistake; and what is above is told, so that it is seen when it comes. */
static void
test_nothing_there(void **state)
{
    (void)state;
    udpai_runtime_reading reading;
    read_below("current", &reading);
    assert_true(reading.has_memory);
    for (size_t i = 0; i < LAYERS; i++) {
        assert_null(reading.loads[i].layer);
        assert_null(reading.loads[i].error);
    }
    assert_int_equal(reading.n_overrides_there, 0);
    assert_int_equal(reading.n_overrides_missing, 1);
    udpai_runtime_reading_done(&reading);
}

static udpa_err
read_once(void *context)
{
    (void)context;
    udpai_runtime_reading reading;
    read_below("current", &reading);
    udpa_err err = reading.has_memory ? UDPA_OK : UDPA_ERR_NOMEM;
    udpai_runtime_reading_done(&reading);
    return err;
}

static void
test_reading_without_memory(void **state)
{
    (void)state;
    make_version("v1");
    swap_to("v1");
    oom_torture(read_once, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_quiet),
        TREE_TEST(test_swapped_meanwhile),
        TREE_TEST(test_tidied_up_meanwhile),
        TREE_TEST(test_swapped_there_and_back),
        TREE_TEST(test_swapped_again_and_again),
        TREE_TEST(test_no_link),
        TREE_TEST(test_nothing_there),
        TREE_TEST(test_reading_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
