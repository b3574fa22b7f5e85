/* SPDX-License-Identifier: Apache-2.0 */
/* Layers with more files than one thread reads: what two read is what one would have read, whatever
 * comes in between. */
#include <errno.h>
#include <pthread.h>

#include "read_root.h"
#include "runtime/walk.h"
#include "tests/harness/oom.h"

#define DIRECTORIES 8
#define FILES (UDPAI_RUNTIME_FEW / 2) /* of each */

static bool has_no_threads;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int
__wrap_pthread_create(pthread_t *ret_thread,
                      const pthread_attr_t *attributes,
                      void *(*run)(void *),
                      void *userdata)
{
    return has_no_threads ? EAGAIN : __real_pthread_create(ret_thread, attributes, run, userdata);
}

/* Numbers that grow, d0/v0 being 0. */
static void
make_files(void)
{
    for (unsigned i = 0; i < DIRECTORIES; i++) {
        char name[32], text[32];
        snprintf(name, sizeof(name), "d%u", i);
        tree_make(name);
        for (unsigned j = 0; j < FILES; j++) {
            snprintf(name, sizeof(name), "d%u/v%u", i, j);
            snprintf(text, sizeof(text), "%u\n", i * FILES + j);
            tree_write(name, text);
        }
    }
}

static void
expect_number(const udpai_runtime_layer *layer, const char *key, unsigned number)
{
    char text[32];
    snprintf(text, sizeof(text), "%u", number);
    assert_str(value_at(layer, key)->text, text);
}

static void
expect_files(const udpai_runtime_layer *layer, const char *directory, unsigned first)
{
    for (unsigned i = 0; i < FILES; i++) {
        char key[32];
        snprintf(key, sizeof(key), "%s.v%u", directory, i);
        expect_number(layer, key, first + i);
    }
}

static void
expect_all(udpai_runtime_layer *layer, size_t n_more)
{
    assert_str(udpai_runtime_layer_name(layer), "disk");
    for (unsigned i = 0; i < DIRECTORIES; i++) {
        char directory[16];
        snprintf(directory, sizeof(directory), "d%u", i);
        expect_files(layer, directory, i * FILES);
    }
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, DIRECTORIES * FILES + n_more);
}

static void
test_all_is_there(void **state)
{
    (void)state;
    make_files();
    assert_ok(symlink("d1", tree_path("linked")));
    assert_ok(symlink("d2/v1", tree_path("first")));
    assert_ok(symlink("d2/v2", tree_path("second")));
    udpai_runtime_layer *layer = read_root(NULL);
    expect_all(layer, FILES + 2);
    expect_files(layer, "linked", FILES);
    expect_number(layer, "first", 2 * FILES + 1);
    expect_number(layer, "second", 2 * FILES + 2);
    udpai_runtime_layer_unref(layer);
}

/* Each once, although both have been there, and one before them that found so many files. */
static void
test_directories_are_listed(void **state)
{
    (void)state;
    udpai_runtime_directories directories = {0};
    make_files();
    assert_true(udpai_runtime_directories_add(&directories, "/"));
    udpai_runtime_layer_unref(read_root(&directories));
    assert_int_equal(directories.n, 1 + 1 + DIRECTORIES);
    for (size_t i = 0; i < directories.n; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(directories.items[i].path, directories.items[j].path);
    udpai_runtime_directories_done(&directories);
}

static void
test_without_threads(void **state)
{
    (void)state;
    make_files();
    has_no_threads = true;
    udpai_runtime_layer *layer = read_root(NULL);
    has_no_threads = false;
    expect_all(layer, 0);
    udpai_runtime_layer_unref(layer);
}

static void
test_second_time(void **state)
{
    (void)state;
    make_files();
    tree_write("d1.v5", "1");
    expect_refused(UDPA_ERR_INVAL, "d1.v5 for the second time");
    assert_ok(unlink(tree_path("d1.v5")));
    assert_ok(symlink("nowhere", tree_path("d1/broken")));
    expect_refused(UDPA_ERR_ABORTED, "d1/broken");
}

/* What is neither a file nor a directory makes the whole layer wrong. */
static void
spoil(const char *name)
{
    assert_ok(unlink(tree_path(name)));
    assert_ok(mkfifo(tree_path(name), 0600));
}

static void
mend(const char *name)
{
    assert_ok(unlink(tree_path(name)));
    tree_write(name, "1");
}

static void
expect_same_error(void)
{
    char first[256] = "";
    for (int i = 0; i < 8; i++) {
        udpai_runtime_layer *layer = NULL;
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        has_no_threads = i % 4 == 3;
        assert_int_equal(
            udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_root, NULL, &error),
            UDPA_ERR_INVAL);
        has_no_threads = false;
        if (i > 0)
            assert_string_equal(udpa_error_message(error), first);
        snprintf(first, sizeof(first), "%s", udpa_error_message(error));
    }
}

/* Else the same mistakes would be news each time. Some are so early that one thread finds them. */
static void
test_one_error_of_many(void **state)
{
    (void)state;
    make_files();
    for (unsigned i = 0; i < FILES; i += 9) {
        char one[32], other[32];
        snprintf(one, sizeof(one), "d%u/v%u", i % DIRECTORIES, i);
        snprintf(other, sizeof(other), "d%u/v%u", (i + 5) % DIRECTORIES, i + 1);
        spoil(one);
        spoil(other);
        expect_same_error();
        mend(one);
        mend(other);
    }
}

/* The errors of one half, and then of the other. */
static void
test_any_file_can_be_wrong(void **state)
{
    (void)state;
    make_files();
    for (unsigned i = 0; i < FILES; i += 9) {
        char name[32];
        snprintf(name, sizeof(name), "d%u/v%u", i % DIRECTORIES, i);
        spoil(name);
        expect_refused(UDPA_ERR_INVAL, name);
        mend(name);
    }
    udpai_runtime_layer_unref(read_root(NULL));
}

/* Whatever the order in which they are found. */
static void
test_values_left_out_are_counted_in_all_parts(void **state)
{
    (void)state;
    make_files();
    for (unsigned i = 0; i < FILES; i += 9) {
        char name[32];
        snprintf(name, sizeof(name), "d%u/v%u", i % DIRECTORIES, i);
        tree_write(name, "\xff");
    }
    for (int i = 0; i < 8; i++) {
        udpai_str key;
        has_no_threads = i % 4 == 3;
        udpai_runtime_layer *layer = read_root(NULL);
        has_no_threads = false;
        assert_int_equal(udpai_runtime_layer_n_ignored(layer, &key), (FILES + 8) / 9);
        assert_true(udpai_str_eq(key, UDPAI_STR("d0.v0")));
        udpai_runtime_layer_unref(layer);
    }
}

static udpa_err
read_once(void *context)
{
    (void)context;
    udpai_runtime_layer *layer = NULL;
    udpa_err err = udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_root, NULL, NULL);
    assert_true(err || udpai_runtime_layer_entries(layer)->n == UDPAI_RUNTIME_FEW + 1);
    udpai_runtime_layer_unref(layer);
    return err;
}

static void
test_large_without_memory(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= UDPAI_RUNTIME_FEW; i++) {
        char name[32];
        snprintf(name, sizeof(name), "v%u", i);
        tree_write(name, "1");
    }
    oom_torture(read_once, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_all_is_there),
        TREE_TEST(test_directories_are_listed),
        TREE_TEST(test_without_threads),
        TREE_TEST(test_second_time),
        TREE_TEST(test_one_error_of_many),
        TREE_TEST(test_any_file_can_be_wrong),
        TREE_TEST(test_values_left_out_are_counted_in_all_parts),
        TREE_TEST(test_large_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
