/* SPDX-License-Identifier: Apache-2.0 */
/* A directory for a test, which goes when that ends. */
#ifndef UDPAI_TESTS_RUNTIME_TREE_H
#define UDPAI_TESTS_RUNTIME_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/test.h"

static char tree_root[64];

/* The path of something in it; until the next call but three. */
static inline const char *
tree_path(const char *name)
{
    static char paths[4][4096];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", tree_root, name);
    return path;
}

static inline void
tree_write_bytes(const char *name, const char *contents, size_t len)
{
    int file = open(tree_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, contents, len), (ssize_t)len);
    (void)close(file);
}

static inline void
tree_write(const char *name, const char *contents)
{
    tree_write_bytes(name, contents, strlen(contents));
}

static inline void
tree_make(const char *name)
{
    assert_ok(mkdir(tree_path(name), 0700));
}

static inline int
tree_set_up(void **state)
{
    (void)state;
    snprintf(tree_root, sizeof(tree_root), "/tmp/udpa-runtime-XXXXXX");
    return mkdtemp(tree_root) ? 0 : -1;
}

static inline int
tree_remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

static inline int
tree_tear_down(void **state)
{
    (void)state;
    return nftw(tree_root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, tree_set_up, tree_tear_down)

#endif
