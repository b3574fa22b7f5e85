/* SPDX-License-Identifier: Apache-2.0 */
/* Layers from real directories. What Envoy 1.40 makes of the same files was looked at. */
#include "runtime/directory.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/oom.h"

static char root[64];

static const char *
at(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    return path;
}

static void
write_file(const char *name, const char *contents, size_t len)
{
    int file = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, contents, len), (ssize_t)len);
    (void)close(file);
}

static void
write_text(const char *name, const char *contents)
{
    write_file(name, contents, strlen(contents));
}

static void
make_directory(const char *name)
{
    assert_ok(mkdir(at(name), 0700));
}

static int
set_up(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/udpa-runtime-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int
remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static int
tear_down(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
expect_text(const udpai_runtime_layer *layer, const char *key, const char *text)
{
    const udpai_runtime_entry *entry =
        udpai_map_get(udpai_runtime_layer_entries(layer), udpai_str_from(key));
    if (!entry)
        fail_msg("there is no %s", key);
    assert_str(entry->value.text, text);
}

static udpai_runtime_layer *
read_root(void)
{
    udpai_runtime_layer *layer = NULL;
    udpa_error *error = NULL;
    if (udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), root, &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    return layer;
}

static void
expect_refused(udpa_err expected, const char *words)
{
    udpai_runtime_layer *layer = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), root, &error);
    assert_null(layer);
    if (err != expected || !strstr(udpa_error_message(error), words))
        fail_msg("%s, '%s' instead of %s, '%s'", udpa_err_name(err), udpa_error_message(error),
                 udpa_err_name(expected), words);
    udpa_error_unref(error);
}

static void
test_keys(void **state)
{
    (void)state;
    make_directory("health_check");
    make_directory("a.b");
    make_directory("a.b/c");
    make_directory("empty");
    write_text("health_check/min_interval", "5\n");
    write_text("a.b/c/d.e", "1");
    write_text(".hidden", "2");
    write_text("sp ace", "3");
    assert_ok(symlink("min_interval", at("health_check/same")));
    assert_ok(symlink("health_check", at("linked")));
    udpai_runtime_layer *layer = read_root();
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
        write_text("value", all[i].contents);
        udpai_runtime_layer *layer = read_root();
        expect_text(layer, "value", all[i].value);
        udpai_runtime_layer_unref(layer);
    }
}

static void
test_not_there(void **state)
{
    (void)state;
    udpai_runtime_layer *layer = NULL;
    assert_int_equal(udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), at("nothing"), NULL),
                     UDPA_ERR_NOT_FOUND);
    write_text("file", "1");
    assert_int_equal(udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), at("file"), NULL),
                     UDPA_ERR_IO);
}

static void
test_loops(void **state)
{
    (void)state;
    make_directory("d");
    write_text("d/x", "1");
    assert_ok(symlink("..", at("d/up")));
    expect_refused(UDPA_ERR_LIMIT, "leads back");
    assert_ok(unlink(at("d/up")));
    assert_ok(symlink("self", at("d/self")));
    expect_refused(UDPA_ERR_IO, "self");
    assert_ok(unlink(at("d/self")));
    assert_ok(symlink("nowhere", at("d/broken")));
    expect_refused(UDPA_ERR_ABORTED, "d/broken");
    assert_ok(unlink(at("d/broken")));
    udpai_runtime_layer_unref(read_root());
}

/* Few links that make many directories: each leads to all of the next level. */
static void
test_many_ways(void **state)
{
    (void)state;
    for (int level = 0; level < 14; level++) {
        char name[16];
        snprintf(name, sizeof(name), "l%02d", level);
        make_directory(name);
        for (int i = 0; i < 4 && level < 13; i++) {
            char from[32], to[32];
            snprintf(from, sizeof(from), "l%02d/w%d", level, i);
            snprintf(to, sizeof(to), "../l%02d", level + 1);
            assert_ok(symlink(to, at(from)));
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
        make_directory(name);
        name[2 * i - 1] = '/';
    }
    name[2 * UDPAI_RUNTIME_DEPTH_MAX - 2] = 'd';
    write_text(name, "1");
    udpai_runtime_layer_unref(read_root());
    assert_ok(unlink(at(name)));
    make_directory(name);
    expect_refused(UDPA_ERR_LIMIT, "16 directories deep");
}

static void
test_what_is_no_value(void **state)
{
    (void)state;
    assert_ok(mkfifo(at("pipe"), 0600));
    expect_refused(UDPA_ERR_INVAL, "pipe is neither");
    assert_ok(unlink(at("pipe")));
    write_text("numerator", "5");
    expect_refused(UDPA_ERR_INVAL, "reserved");
    assert_ok(unlink(at("numerator")));
    write_text("bad\xff", "5");
    expect_refused(UDPA_ERR_INVAL, "UTF-8");
    assert_ok(unlink(at("bad\xff")));
    write_text("bad", "\xff");
    expect_refused(UDPA_ERR_INVAL, "/bad");
    write_file("bad", "a\0b", 3);
    expect_refused(UDPA_ERR_INVAL, "UTF-8");
    assert_ok(unlink(at("bad")));
    make_directory("a");
    write_text("a/b", "1");
    write_text("a.b", "2");
    expect_refused(UDPA_ERR_INVAL, "a.b for the second time");
}

static void
test_large(void **state)
{
    (void)state;
    int file = open(at("large"), O_WRONLY | O_CREAT, 0600);
    assert_ok(ftruncate(file, (off_t)1 << 30)); /* with holes for contents */
    (void)close(file);
    expect_refused(UDPA_ERR_LIMIT, "large has more than");
}

static udpa_err
read_once(void *context)
{
    (void)context;
    udpai_runtime_layer *layer = NULL;
    udpa_err err = udpai_runtime_directory_read(&layer, UDPAI_STR("disk"), root, NULL);
    udpai_runtime_layer_unref(layer);
    return err;
}

static void
test_without_memory(void **state)
{
    (void)state;
    make_directory("d");
    write_text("d/x", "1");
    write_text("y", "1");
    oom_torture(read_once, NULL);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_keys),           TEST(test_values), TEST(test_not_there),        TEST(test_loops),
        TEST(test_many_ways),      TEST(test_deep),   TEST(test_what_is_no_value), TEST(test_large),
        TEST(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
