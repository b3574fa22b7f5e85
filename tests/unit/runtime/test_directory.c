/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from real directories. What Envoy 1.40 makes of the same files was looked at. */
#include "read_root.h"
#include "tests/harness/oom.h"

static void
expect_text(const udpai_runtime_layer *layer, const char *key, const char *text)
{
    assert_str(value_at(layer, key)->text, text);
}

static void
test_keys(void **state)
{
    (void)state;
    tree_make("health_check");
    tree_make("a.b");
    tree_make("a.b/c");
    tree_make("empty");
    tree_write("health_check/min_interval", "5\n");
    tree_write("a.b/c/d.e", "1");
    tree_write(".hidden", "2");
    tree_write("sp ace", "3");
    assert_ok(symlink("min_interval", tree_path("health_check/same")));
    assert_ok(symlink("health_check", tree_path("linked")));
    udpai_runtime_layer *layer = read_root(NULL);
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 7);
    expect_text(layer, "health_check.min_interval", "5");
    expect_text(layer, "health_check.same", "5");
    expect_text(layer, "linked.min_interval", "5");
    expect_text(layer, "linked.same", "5");
    expect_text(layer, "a.b.c.d.e", "1");
    expect_text(layer, ".hidden", "2");
    expect_text(layer, "sp ace", "3");
    assert_str(udpai_runtime_layer_name(layer), "disk");
    udpai_runtime_layer_unref(layer);
}

static void
test_values(void **state)
{
    (void)state;

    static const struct {
        const char *contents, *value;
    } all[] = {
        {"5", "5"},
        {" 5 \n\n", " 5"},
        {"\n\n  7", "  7"},
        {"# c\n5\n", "5"},
        {"5\n# c", "5"},
        {"# hi\n# ho\n", ""},
        {"", ""},
        {"a\n\n# x\nb  \n\n", "a\nb"},
        {"#x\r\n6\r\n", "6"},
        {"  # x\n6", "  # x\n6"},
        {"5 # five", "5 # five"},
        {"a\nb\na\n", "a\nb\na"},
        {"\xc3\xa4\n", "\xc3\xa4"},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        tree_write("value", all[i].contents);
        udpai_runtime_layer *layer = read_root(NULL);
        expect_text(layer, "value", all[i].value);
        udpai_runtime_layer_unref(layer);
    }
}

static void
test_not_there(void **state)
{
    (void)state;
    udpai_runtime_layer *layer = NULL;
    assert_int_equal(
        udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_path("nothing"), NULL, NULL),
        UDPA_ERR_NOT_FOUND);
    tree_write("file", "1");
    assert_int_equal(
        udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_path("file"), NULL, NULL),
        UDPA_ERR_IO);
}

static void
test_loops(void **state)
{
    (void)state;
    tree_make("d");
    tree_write("d/x", "1");
    assert_ok(symlink("..", tree_path("d/up")));
    expect_refused(UDPA_ERR_LIMIT, "leads back");
    assert_ok(unlink(tree_path("d/up")));
    assert_ok(symlink("self", tree_path("d/self")));
    expect_refused(UDPA_ERR_IO, "self");
    assert_ok(unlink(tree_path("d/self")));
    assert_ok(symlink("nowhere", tree_path("d/broken")));
    expect_refused(UDPA_ERR_ABORTED, "d/broken");
    assert_ok(unlink(tree_path("d/broken")));
    udpai_runtime_layer_unref(read_root(NULL));
}

/* Few links that make many directories: each leads to all of the next level. */
static void
test_many_ways(void **state)
{
    (void)state;
    for (int level = 0; level < 14; level++) {
        char name[16];
        snprintf(name, sizeof(name), "l%02d", level);
        tree_make(name);
        for (int i = 0; i < 4 && level < 13; i++) {
            char from[32], to[32];
            snprintf(from, sizeof(from), "l%02d/w%d", level, i);
            snprintf(to, sizeof(to), "../l%02d", level + 1);
            assert_ok(symlink(to, tree_path(from)));
        }
    }
    expect_refused(UDPA_ERR_LIMIT, "20000 directories");
}

static void
test_deep(void **state)
{
    (void)state;
    char name[2 * UDPAI_RUNTIME_DEPTH_MAX];
    memset(name, 0, sizeof(name));
    for (int i = 1; i < UDPAI_RUNTIME_DEPTH_MAX; i++) {
        name[2 * i - 2] = 'd';
        tree_make(name);
        name[2 * i - 1] = '/';
    }
    name[2 * UDPAI_RUNTIME_DEPTH_MAX - 2] = 'd';
    tree_write(name, "1");
    udpai_runtime_layer_unref(read_root(NULL));
    assert_ok(unlink(tree_path(name)));
    tree_make(name);
    expect_refused(UDPA_ERR_LIMIT, "16 directories deep");
}

static void
test_what_is_no_value(void **state)
{
    (void)state;
    assert_ok(mkfifo(tree_path("pipe"), 0600));
    expect_refused(UDPA_ERR_INVAL, "pipe is neither");
    assert_ok(unlink(tree_path("pipe")));
    tree_write("numerator", "5");
    expect_refused(UDPA_ERR_INVAL, "reserved");
    assert_ok(unlink(tree_path("numerator")));
    tree_write("bad\xff", "5");
    expect_refused(UDPA_ERR_INVAL, "UTF-8");
    assert_ok(unlink(tree_path("bad\xff")));
    tree_make("a");
    tree_write("a/b", "1");
    tree_write("a.b", "2");
    expect_refused(UDPA_ERR_INVAL, "a.b for the second time");
}

static void
test_a_value_that_is_no_text_is_left_out_alone(void **state)
{
    (void)state;
    udpai_str key;
    tree_write("good", "1");
    tree_write("bad", "\xff");
    tree_write_bytes("zero", "a\0b", 3);
    udpai_runtime_layer *layer = read_root(NULL);
    assert_int_equal(udpai_runtime_layer_entries(layer)->n, 1);
    assert_string_equal(value_at(layer, "good")->text.data, "1");
    assert_int_equal(udpai_runtime_layer_n_ignored(layer, &key), 2);
    assert_true(udpai_str_eq(key, UDPAI_STR("bad")));
    tree_write("bad", "2");
    udpai_runtime_layer *after = read_root(NULL);
    assert_false(udpai_runtime_layer_eq(layer, after));
    assert_int_equal(udpai_runtime_layer_n_ignored(after, &key), 1);
    assert_true(udpai_str_eq(key, UDPAI_STR("zero")));
    udpai_runtime_layer_unref(layer);
    udpai_runtime_layer_unref(after);
}

static void
test_large(void **state)
{
    (void)state;
    int file = open(tree_path("large"), O_WRONLY | O_CREAT, 0600);
    assert_ok(ftruncate(file, (off_t)1 << 30)); /* with holes for contents */
    (void)close(file);
    expect_refused(UDPA_ERR_LIMIT, "large has more than");
}

static udpa_err
read_once(void *context)
{
    (void)context;
    udpai_runtime_layer *layer = NULL;
    udpai_runtime_directories directories = {0};
    udpa_err err =
        udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), tree_root, &directories, NULL);
    if (err == UDPA_OK && directories.n != 2)
        err = UDPA_ERR_NOMEM; /* for the list alone, which is no failure */
    udpai_runtime_directories_done(&directories);
    udpai_runtime_layer_unref(layer);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    tree_make("d");
    tree_write("d/x", "1");
    tree_write("y", "1");
    oom_torture(read_once, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_keys),
        TREE_TEST(test_values),
        TREE_TEST(test_not_there),
        TREE_TEST(test_loops),
        TREE_TEST(test_many_ways),
        TREE_TEST(test_deep),
        TREE_TEST(test_what_is_no_value),
        TREE_TEST(test_a_value_that_is_no_text_is_left_out_alone),
        TREE_TEST(test_large),
        TREE_TEST(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
