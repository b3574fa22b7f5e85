/* SPDX-License-Identifier: Apache-2.0 */
/* The file of what servers of LRS were told: it goes on where it was, and what cannot be written
 * leaves nothing that would have them told twice. */
#include "daemon/reported_load.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/test.h"
#include "xds/lrs_upstream_internal.h"

static char directory[32], path[64];
static const char *owner = "this one";
static udpai_reported_load_server servers[2];

static udpai_lrs_upstream *
make_upstream(udpai_str source)
{
    const udpai_lrs_upstream_options of = {
        .source = source, .name_space = UDPAI_STR("com.acme"), .node = UDPAI_STR("n")};
    udpai_lrs_upstream *made = NULL;
    assert_ok(udpai_lrs_upstream_new(&made, &of));
    return made;
}

static void
make_servers(void)
{
    static const udpai_str names[] = {{"one", 3}, {"two", 3}};
    for (size_t i = 0; i < 2; i++)
        servers[i] = (udpai_reported_load_server){names[i], make_upstream(names[i])};
}

static void
drop_servers(void)
{
    for (size_t i = 0; i < 2; i++)
        udpai_lrs_upstream_drop(servers[i].upstream);
}

static int
begin(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/udpa-told-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/load-told", directory);
    make_servers();
    return 0;
}

static int
end(void **state)
{
    (void)state;
    drop_servers();
    unlink(path);
    return rmdir(directory); /* nothing else is left there */
}

static udpai_reported_load *
open_file(void)
{
    udpai_reported_load *told = NULL;
    assert_ok(udpai_reported_load_open(&told, path, udpai_str_from(owner), servers, 2));
    assert_non_null(told);
    return told;
}

/* As a process that ends and begins. */
static udpai_reported_load *
open_again(udpai_reported_load *told)
{
    udpai_reported_load_close(told);
    drop_servers();
    make_servers();
    return open_file();
}

static void
ask_for(size_t server, const char *cluster)
{
    udpai_lrs_account *account = NULL;
    assert_ok(
        udpai_lrs_account_make(servers[server].upstream, udpai_str_from(cluster), &account, NULL));
    const udpai_lrs_kept kept = udpai_lrs_kept_of(account);
    udpai_lrs_keep(servers[server].upstream, &kept, 1);
}

static bool
knows(size_t server, const char *cluster)
{
    return udpai_map_get(&servers[server].upstream->accounts, udpai_str_from(cluster)) != NULL;
}

static void
each_server_goes_on(void **state)
{
    (void)state;
    udpai_reported_load *told = open_file();
    ask_for(0, "com.acme/a");
    ask_for(1, "com.acme/b");
    told = open_again(told);
    assert_true(knows(0, "com.acme/a") && knows(1, "com.acme/b"));
    assert_false(knows(1, "com.acme/a") || knows(0, "com.acme/b"));
    struct stat found;
    assert_int_equal(stat(path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    udpai_reported_load_close(told);
}

/* The state directory of another node was copied: that goes on by itself. */
static void
what_another_was_told_is_nothing(void **state)
{
    (void)state;
    udpai_reported_load *told = open_file();
    ask_for(0, "com.acme/a");
    owner = "a copy";
    told = open_again(told);
    assert_false(knows(0, "com.acme/a"));
    ask_for(0, "com.acme/b");
    told = open_again(told);
    assert_true(knows(0, "com.acme/b"));
    udpai_reported_load_close(told);
    owner = "this one";
}

static void
a_long_file_is_written_anew(void **state)
{
    struct stat found;
    (void)state;
    udpai_reported_load *told = open_file();
    for (int i = 0; i < 60000; i++) {
        const udpai_lrs_kept kept = {.cluster = UDPAI_STR("com.acme/one-that-comes-and-goes-"
                                                          "again-and-again-for-a-very-long-time")};
        udpai_lrs_keep(servers[0].upstream, &kept, 1);
    }
    ask_for(0, "com.acme/a");
    assert_int_equal(stat(path, &found), 0);
    assert_in_range(found.st_size, 1, (8 << 20));
    told = open_again(told);
    assert_true(knows(0, "com.acme/a"));
    udpai_reported_load_close(told);
}

/* No file may be as large as what is written then: as when a disk is full. */
static void
what_cannot_be_written_is_not_there_later(void **state)
{
    (void)state;
    struct rlimit before, none = {.rlim_cur = 0};
    udpai_reported_load *told = open_file();
    ask_for(0, "com.acme/a");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    ask_for(0, "com.acme/b");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    udpai_lrs_upstream *upstream = servers[0].upstream;
    servers[0].upstream = make_upstream(UDPAI_STR("one"));
    udpai_reported_load *other = open_file(); /* what the next process would find */
    assert_int_equal(servers[0].upstream->accounts.n, 0);
    udpai_reported_load_close(other);
    udpai_lrs_upstream_drop(servers[0].upstream);
    servers[0].upstream = upstream;
    ask_for(0, "com.acme/c"); /* there is room again: all of it is written */
    told = open_again(told);
    assert_true(knows(0, "com.acme/a") && knows(0, "com.acme/b") && knows(0, "com.acme/c"));
    udpai_reported_load_close(told);
}

static void
a_file_that_cannot_be_had_is_none(void **state)
{
    (void)state;
    udpai_reported_load *told = NULL;
    assert_ok(udpai_reported_load_open(&told, "/proc/none/load-told", UDPAI_STR("x"), servers, 2));
    assert_null(told);
    udpai_reported_load_close(told);
    ask_for(0, "com.acme/a"); /* nobody keeps it */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_server_goes_on),
        TEST(what_another_was_told_is_nothing),
        TEST(a_long_file_is_written_anew),
        TEST(what_cannot_be_written_is_not_there_later),
        TEST(a_file_that_cannot_be_had_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
