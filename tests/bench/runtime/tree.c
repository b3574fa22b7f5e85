/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SETTLE_MS 400

static char root[64], link_path[96];

static void
expect(int result, const char *what)
{
    if (result >= 0)
        return;
    perror(what);
    exit(1);
}

static void
write_number(const char *path, unsigned long number)
{
    char text[32];
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    expect(file, path);
    int len = snprintf(text, sizeof(text), "%lu\n", number);
    expect((int)write(file, text, (size_t)len), path);
    close(file);
}

static void
make_version(unsigned version)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%u", root, version);
    expect(mkdir(path, 0700), path);
    snprintf(path, sizeof(path), "%s/%u/" BENCH_VERSION_KEY, root, version);
    write_number(path, version);
    for (unsigned i = 0; i < BENCH_FILES; i++) {
        unsigned directory = i / BENCH_FILES_OF_DIRECTORY;
        if (i % BENCH_FILES_OF_DIRECTORY == 0) {
            snprintf(path, sizeof(path), "%s/%u/service_%u", root, version, directory);
            expect(mkdir(path, 0700), path);
        }
        snprintf(path, sizeof(path), "%s/%u/service_%u/value_%u", root, version, directory, i);
        write_number(path, i + version);
    }
}

void
bench_tree_make(void)
{
    snprintf(root, sizeof(root), "/tmp/udpa-bench-runtime-XXXXXX");
    expect(mkdtemp(root) ? 0 : -1, root);
    snprintf(link_path, sizeof(link_path), "%s/current", root);
    make_version(1);
    make_version(2);
    bench_tree_swap(1);
}

static int
remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void
bench_tree_remove(void)
{
    expect(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), root);
}

const char *
bench_tree_root(void)
{
    return link_path;
}

void
bench_tree_key(size_t index, char key[BENCH_KEY_MAX])
{
    snprintf(key, BENCH_KEY_MAX, "service_%zu.value_%zu", index / BENCH_FILES_OF_DIRECTORY, index);
}

void
bench_tree_swap(unsigned version)
{
    char target[16], new_path[128];
    snprintf(target, sizeof(target), "%u", version);
    snprintf(new_path, sizeof(new_path), "%s/new", root);
    expect(symlink(target, new_path), new_path);
    expect(rename(new_path, link_path), link_path);
}

static void
on_settled(uv_timer_t *timer)
{
    *(int *)timer->data = 1;
    uv_stop(timer->loop);
}

void
bench_tree_settle(uv_loop_t *loop)
{
    uv_timer_t timer;
    int is_settled = 0;
    uv_timer_init(loop, &timer);
    timer.data = &is_settled;
    uv_timer_start(&timer, on_settled, SETTLE_MS, 0);
    while (!is_settled)
        (void)uv_run(loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(loop, UV_RUN_NOWAIT);
}
