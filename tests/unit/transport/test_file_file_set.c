/* SPDX-License-Identifier: Apache-2.0 */
/* Files that change in every way in which files do. Times are short, so that nobody waits long;
 * none of the cases depends on how short. */
#include "transport/file/file_set.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tests/harness/oom.h"

#define N_GROUPS 2
#define PATIENCE_MS 20000

struct world {
    uv_loop_t loop;
    uv_timer_t patience;
    udpai_file_set *set;
    char directory[64];
    unsigned n_told[N_GROUPS];
    unsigned n_refused; /* how many more of them are of no use */
};

static bool
on_changed(void *userdata, size_t group)
{
    struct world *world = userdata;
    world->n_told[group]++;
    uv_stop(&world->loop);
    if (!world->n_refused)
        return true;
    world->n_refused--;
    return false;
}

static const char *
path_of(const struct world *world, const char *name)
{
    static char rooms[4][128];
    static unsigned at;
    char *room = rooms[at++ % 4];
    snprintf(room, sizeof(rooms[0]), "%s/%s", world->directory, name);
    return room;
}

static void
put(const struct world *world, const char *name, const char *text)
{
    FILE *file = fopen(path_of(world, name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static int
begin(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    *state = world;
    snprintf(world->directory, sizeof(world->directory), "/tmp/udpa-file-set-XXXXXX");
    assert_non_null(mkdtemp(world->directory));
    uv_loop_init(&world->loop);
    uv_timer_init(&world->loop, &world->patience);
    return 0;
}

static int
remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

static int
end(void **state)
{
    struct world *world = *state;
    udpai_file_set_close(world->set);
    uv_close((uv_handle_t *)&world->patience, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    nftw(world->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    udpai_free(world);
    return 0;
}

static void
start(struct world *world, uint64_t look_ms)
{
    const udpai_file_set_options options = {
        .loop = &world->loop,
        .changed = on_changed,
        .userdata = world,
        .quiet_ms = 20,
        .latest_ms = 100,
        .look_ms = look_ms,
    };
    assert_ok(udpai_file_set_new(&world->set, &options, NULL));
    assert_ok(udpai_file_set_add(world->set, path_of(world, "a.crt"), 0));
    assert_ok(udpai_file_set_add(world->set, path_of(world, "a.key"), 0));
    assert_ok(udpai_file_set_add(world->set, path_of(world, "b.crt"), 1));
    assert_ok(udpai_file_set_add(world->set, NULL, 1));
    assert_ok(udpai_file_set_add(world->set, "", 1));
    udpai_file_set_start(world->set);
}

static void
on_patience(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nobody was told");
}

/* Until somebody was told. */
static void
wait_told(struct world *world)
{
    uv_timer_start(&world->patience, on_patience, PATIENCE_MS, 0);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    uv_timer_stop(&world->patience);
}

static void
what_is_added_later_is_followed(void **state)
{
    struct world *world = *state;
    put(world, "late.key", "1");
    start(world, 0);
    assert_int_equal(mkdir(path_of(world, "beside"), 0700), 0);
    put(world, "beside/late.crt", "1");
    for (int i = 0; i < 3; i++) { /* again, it is no other */
        assert_ok(udpai_file_set_add(world->set, path_of(world, "late.key"), 1));
        assert_ok(udpai_file_set_add(world->set, path_of(world, "beside/late.crt"), 1));
    }
    put(world, "late.key", "2");
    wait_told(world);
    assert_true(world->n_told[1] == 1 && world->n_told[0] == 0);
    put(world, "beside/late.crt", "2");
    wait_told(world);
    assert_true(world->n_told[1] == 2 && world->n_told[0] == 0);
}

static void
what_is_written_is_told_to_its_group(void **state)
{
    struct world *world = *state;
    put(world, "a.crt", "1");
    put(world, "b.crt", "1");
    start(world, 0);
    put(world, "a.crt", "2");
    put(world, "a.key", "2"); /* one change with the other */
    wait_told(world);
    assert_int_equal(world->n_told[0], 1);
    assert_int_equal(world->n_told[1], 0);
    put(world, "beside", "of nobody"); /* looked at, and of no interest */
    put(world, "b.crt", "22");
    wait_told(world);
    assert_int_equal(world->n_told[0], 1);
    assert_int_equal(world->n_told[1], 1);
}

static void
what_is_renamed_over_it_is_seen(void **state)
{
    struct world *world = *state;
    put(world, "a.crt", "1");
    start(world, 0);
    put(world, "new", "2");
    assert_int_equal(rename(path_of(world, "new"), path_of(world, "a.crt")), 0);
    wait_told(world);
    assert_int_equal(world->n_told[0], 1);
}

/* As Kubernetes has them: a.crt leads to ..data/a.crt, and ..data elsewhere, all at once. */
static void
a_link_on_the_way_is_seen(void **state)
{
    struct world *world = *state;
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(mkdir(path_of(world, i == 1 ? "1" : "2"), 0700), 0);
        put(world, i == 1 ? "1/a.crt" : "2/a.crt", "same size");
    }
    assert_int_equal(symlink("..data/a.crt", path_of(world, "a.crt")), 0);
    assert_int_equal(symlink("1", path_of(world, "..data")), 0);
    start(world, 0);
    assert_int_equal(symlink("2", path_of(world, "..new")), 0);
    assert_int_equal(rename(path_of(world, "..new"), path_of(world, "..data")), 0);
    wait_told(world);
    assert_int_equal(world->n_told[0], 1);
}

static void
what_comes_and_goes_is_seen(void **state)
{
    struct world *world = *state;
    start(world, 0);
    put(world, "b.crt", "1");
    wait_told(world);
    assert_int_equal(world->n_told[1], 1);
    assert_int_equal(unlink(path_of(world, "b.crt")), 0);
    wait_told(world);
    assert_int_equal(world->n_told[1], 2);
}

/* What is of no use is tried again, though nothing changes: a certificate may not be valid yet. */
static void
what_is_of_no_use_is_told_again(void **state)
{
    struct world *world = *state;
    start(world, 50);
    world->n_refused = 2;
    put(world, "a.crt", "1");
    while (world->n_told[0] < 3) /* a turn of the loop may hold two of them */
        wait_told(world);
    assert_int_equal(world->n_told[0], 3);
    put(world, "b.crt", "1");
    wait_told(world);
    assert_int_equal(world->n_told[0], 3);
    assert_int_equal(world->n_told[1], 1);
}

/* A log that lies in the same directory would tell of its own complaints for ever. */
static void
what_is_written_beside_it_is_no_reason_to_tell_again(void **state)
{
    struct world *world = *state;
    start(world, 0);
    world->n_refused = 1;
    put(world, "a.crt", "1");
    wait_told(world);
    put(world, "a.log", "of no use");
    put(world, "b.crt", "1");
    wait_told(world);
    assert_int_equal(world->n_told[0], 1);
    put(world, "a.crt", "22");
    wait_told(world);
    assert_int_equal(world->n_told[0], 2);
}

/* What lies behind a link is changed in its own directory, which nobody watches. */
static void
what_is_not_watched_is_found_by_looking(void **state)
{
    struct world *world = *state;
    assert_int_equal(mkdir(path_of(world, "far"), 0700), 0);
    put(world, "far/x", "1");
    assert_int_equal(symlink("far/x", path_of(world, "a.crt")), 0);
    start(world, 50);
    put(world, "far/x", "22");
    wait_told(world);
    assert_int_equal(world->n_told[0], 1);
}

static void
what_was_just_read_is_not_told(void **state)
{
    struct world *world = *state;
    start(world, 0);
    put(world, "a.crt", "1");
    udpai_file_set_forget(world->set);
    put(world, "b.crt", "1");
    wait_told(world);
    assert_int_equal(world->n_told[0], 0);
    assert_int_equal(world->n_told[1], 1);
}

static udpa_err
make(void *context)
{
    struct world *world = context;
    udpai_file_set *set = NULL;
    const udpai_file_set_options options = {.loop = &world->loop, .changed = on_changed};
    udpa_err err = udpai_file_set_new(&set, &options, NULL);
    if (err == UDPA_OK)
        err = udpai_file_set_add(set, "/tmp/a", 1);
    if (err == UDPA_OK)
        err = udpai_file_set_add(set, "b", 0);
    udpai_file_set_close(set);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    assert_true(oom_torture(make, *state) >= 6);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_added_later_is_followed),
        CASE(what_is_written_is_told_to_its_group),
        CASE(what_is_renamed_over_it_is_seen),
        CASE(a_link_on_the_way_is_seen),
        CASE(what_comes_and_goes_is_seen),
        CASE(what_is_of_no_use_is_told_again),
        CASE(what_is_written_beside_it_is_no_reason_to_tell_again),
        CASE(what_is_not_watched_is_found_by_looking),
        CASE(what_was_just_read_is_not_told),
        CASE(lack_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests_name("transport file_set", tests, NULL, NULL);
}
