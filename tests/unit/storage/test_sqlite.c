/* SPDX-License-Identifier: Apache-2.0 */
/* The engine as its caller sees it: tickets, joint commits, failures that cost nothing but
 * themselves, and what a kill leaves. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/harness/oom.h"
#include "tests/unit/storage/sql_test.h"

static void
tickets_are_reported_in_order(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    for (int i = 0; i < 200; i++)
        commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    wait_for(fixture, 200);
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(fixture->reports.tickets[i], i + 1);
        assert_int_equal(fixture->reports.results[i], UDPA_OK);
    }
    close_engine(fixture);
    assert_int_equal(fixture->reports.n, 200);
}

/* Holds the writer in the report of a first ticket, so that what follows is queued together. */
static void
hold_writer(struct fixture *fixture)
{
    set_hold(fixture, true);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/first", "payload");
    wait_for(fixture, 1);
}

static void
what_is_queued_is_committed_together(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    hold_writer(fixture);
    for (int i = 0; i < 50; i++)
        commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_queued, 50);
    set_hold(fixture, false);
    assert_last_report(fixture, UDPA_OK);
    udpai_sqlite_stats stats = udpai_sqlite_stats_of(fixture->engine);
    assert_int_equal(stats.n_transactions, 2);
    assert_int_equal(stats.n_committed, 51);
    assert_int_equal(stats.n_queued, 0);
}

static void
a_joint_commit_has_a_limit(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.max_ops_per_commit = 10;
    open_engine(fixture);
    hold_writer(fixture);
    for (int i = 0; i < 25; i++)
        commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    set_hold(fixture, false);
    assert_last_report(fixture, UDPA_OK);
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_transactions, 1 + 3);
}

static void
a_batch_above_the_limit_is_still_whole(void **state)
{
    struct fixture *fixture = *state;
    fixture->options.max_ops_per_commit = 2;
    open_engine(fixture);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, "com.acme/a", "x", 1);
    udpai_durable_batch *batch = new_batch();
    for (int i = 0; i < 9; i++)
        add_put(batch, "origin", resource, 0);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_transactions, 1);
}

static void
close_commits_what_was_begun(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    for (int i = 0; i < 20; i++)
        commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    commit(fixture, new_batch()); /* nothing at all is a batch too */
    close_engine(fixture);
    assert_int_equal(fixture->reports.n, 21);
    assert_last_report(fixture, UDPA_OK);
    char path[128];
    assert_int_equal(access(path_in(fixture, "udpa.db-wal", path), F_OK), -1);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 1);
    loaded_done(&loaded);
}

/* ---- no room ---- */

static off_t
size_of(const struct fixture *fixture, const char *file)
{
    char path[128];
    struct stat info;
    return stat(path_in(fixture, file, path), &info) == 0 ? info.st_size : 0;
}

/* No file may grow beyond what is there and a little. */
static void
fill_disk(const struct fixture *fixture, off_t room)
{
    off_t log = size_of(fixture, "udpa.db-wal"), data = size_of(fixture, "udpa.db");
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = (rlim_t)((log > data ? log : data) + room);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
make_room(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
commit_large(struct fixture *fixture, const char *name)
{
    size_t size = 1 << 20;
    char *payload = calloc(1, size);
    assert_non_null(payload);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, name, payload, size);
    free(payload);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", resource, 0);
    commit(fixture, batch);
}

static void
a_full_disk_loses_nothing_that_was_committed(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/before", "payload");
    assert_last_report(fixture, UDPA_OK);
    fill_disk(fixture, 0);
    for (int i = 0; i < 30; i++) {
        commit_large(fixture, "com.acme/during");
        assert_last_report(fixture, UDPA_ERR_IO);
    }
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_failed, 30);
    make_room();
    commit_put(fixture, TYPE_CLUSTER, "com.acme/after", "payload");
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_int_equal(loaded.ops->ops.n, 2);
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/before"));
    assert_non_null(find_loaded(&loaded, UDPAI_DURABLE_PUT, "com.acme/after"));
    loaded_done(&loaded);
}

static void
a_batch_that_fails_costs_no_other(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    hold_writer(fixture);
    fill_disk(fixture, 100000);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    commit_large(fixture, "com.acme/large");
    commit_put(fixture, TYPE_CLUSTER, "com.acme/b", "payload");
    set_hold(fixture, false);
    wait_for(fixture, 4);
    make_room();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fixture->reports.tickets[i], i + 1);
        assert_int_equal(fixture->reports.results[i], i == 2 ? UDPA_ERR_IO : UDPA_OK);
    }
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 3);
}

/* While somebody else writes, nothing can be committed; nor is each batch waited for by itself. */
static void
another_writer_costs_what_was_queued_meanwhile(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    sqlite3 *other = NULL;
    fixture->options.busy_ms = 1;
    open_engine(fixture);
    hold_writer(fixture);
    assert_int_equal(sqlite3_open(path_in(fixture, "udpa.db", path), &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    for (int i = 0; i < 20; i++)
        commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    set_hold(fixture, false);
    assert_last_report(fixture, UDPA_ERR_IO);
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_failed, 20);
    assert_int_equal(udpai_sqlite_stats_of(fixture->engine).n_transactions, 1);
    sqlite3_close(other);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_last_report(fixture, UDPA_OK);
}

/* ---- no memory ---- */

static void
a_batch_waits_its_turn_without_memory(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    hold_writer(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, "com.acme/b", "x", 1);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", resource, 0);
    udpai_alloc_fail_after(0);
    commit(fixture, batch);
    udpai_alloc_fail_after(-1);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/c", "payload");
    set_hold(fixture, false);
    assert_last_report(fixture, UDPA_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(fixture->reports.tickets[i], i + 1);
        assert_int_equal(fixture->reports.results[i], UDPA_OK);
    }
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 4);
}

static void
without_memory_to_encode_a_batch_fails(void **state)
{
    struct fixture *fixture = *state;
    open_engine(fixture);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, "com.acme/b", "x", 1);
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", resource, 0);
    udpai_alloc_fail_after(0);
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_ERR_NOMEM);
    udpai_alloc_fail_after(-1);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 0);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    assert_last_report(fixture, UDPA_OK);
    assert_int_equal(run_sql(fixture, "SELECT count(*) FROM contribution"), 1);
}

static udpa_err
ignore_op(void *userdata, const udpai_durable_op *op)
{
    (void)userdata;
    (void)op;
    return UDPA_OK;
}

static udpa_err
open_load_close(void *context)
{
    struct fixture *fixture = context;
    udpai_durable_engine *engine = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_sqlite_open(&engine, &fixture->options, &error);
    if (err != UDPA_OK)
        return err;
    err = engine->ops->load(engine, ignore_op, NULL, &error);
    engine->ops->close(engine);
    return err;
}

static void
opening_and_loading_survive_lack_of_memory(void **state)
{
    static const uint8_t key[UDPAI_SECRET_KEY_SIZE] = "0123456789abcdef0123456789abcde";
    static const char *const types[] = {"a.b.C"};
    struct fixture *fixture = *state;
    use_key(fixture, key);
    fixture->options.secret_types = types;
    fixture->options.n_secret_types = 1;
    open_engine(fixture);
    commit_put(fixture, TYPE_CLUSTER, "com.acme/a", "payload");
    commit_put(fixture, TYPE_SECRET, "com.acme/b", "payload");
    udpai_durable_batch *batch = new_batch();
    add_other(batch, UDPAI_DURABLE_MARK, "origin", TYPE_CLUSTER, "com.acme");
    commit(fixture, batch);
    assert_last_report(fixture, UDPA_OK);
    close_engine(fixture);
    assert_true(oom_torture(open_load_close, fixture) > 5);
}

/* ---- kill ---- */

#define KILLS 20

/* Commits until it is killed; says on the pipe what is safe. */
struct child {
    int pipe;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t n_safe;
};

static void
tell_safe(void *userdata, udpai_durable_batch *batch)
{
    struct child *child = userdata;
    uint64_t ticket = batch->ticket;
    udpa_err result = batch->result;
    udpai_durable_batch_free(batch);
    if (result != UDPA_OK || write(child->pipe, &ticket, sizeof(ticket)) != sizeof(ticket))
        _exit(1);
    pthread_mutex_lock(&child->mutex);
    child->n_safe++;
    pthread_cond_signal(&child->changed);
    pthread_mutex_unlock(&child->mutex);
}

static void
name_of_ticket(uint64_t ticket, char name[64])
{
    snprintf(name, 64, "com.acme/ticket-%llu", (unsigned long long)ticket);
}

/* Two contributions each, so that a batch torn apart would show. */
static udpai_durable_batch *
batch_of_ticket(uint64_t ticket)
{
    char name[64];
    name_of_ticket(ticket, name);
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = make_resource(TYPE_CLUSTER, name, name, strlen(name));
    udpai_durable_batch *batch = new_batch();
    add_put(batch, "origin", resource, 0);
    add_put(batch, "twin", resource, 0);
    return batch;
}

static void
commit_until_killed(const struct fixture *fixture, int to_parent, uint64_t first_ticket)
{
    struct child child = {.pipe = to_parent};
    pthread_mutex_init(&child.mutex, NULL);
    pthread_cond_init(&child.changed, NULL);
    udpai_sqlite_options options = fixture->options;
    options.done = tell_safe;
    options.userdata = &child;
    udpai_durable_engine *engine;
    if (udpai_sqlite_open(&engine, &options, NULL) != UDPA_OK)
        _exit(1);
    for (uint64_t n = 0;; n++) {
        pthread_mutex_lock(&child.mutex);
        while (n >= child.n_safe + 8)
            pthread_cond_wait(&child.changed, &child.mutex);
        pthread_mutex_unlock(&child.mutex);
        engine->ops->commit(engine, batch_of_ticket(first_ticket + n), first_ticket + n);
    }
}

/* Reads tickets until the child has said so many, then kills it and reads what is left. Returns the
 * last ticket that is safe. */
static uint64_t
kill_after(pid_t child, int from_child, unsigned n_tickets, uint64_t last)
{
    uint64_t ticket;
    ssize_t n;
    unsigned n_seen = 0;
    while ((n = read(from_child, &ticket, sizeof(ticket))) == sizeof(ticket)) {
        assert_int_equal(ticket, last + 1);
        last = ticket;
        if (++n_seen == n_tickets)
            assert_int_equal(kill(child, SIGKILL), 0);
    }
    assert_int_equal(n, 0); /* tickets are written whole */
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(n_seen >= n_tickets);
    return last;
}

static void
assert_all_kept(struct fixture *fixture, uint64_t last)
{
    open_engine(fixture);
    struct loaded loaded = load_all(fixture);
    assert_true(loaded.ops->ops.n >= 2 * last);
    assert_int_equal(loaded.ops->ops.n % 2, 0); /* no batch is there by half */
    UDPAI_VECTOR(bool) seen = {0};
    for (uint64_t i = 0; i <= last; i++)
        assert_true(udpai_vector_push(&seen, false));
    for (size_t i = 0; i < loaded.ops->ops.n; i++) {
        const udpa_resource *resource = loaded.ops->ops.items[i].resource;
        uint64_t ticket = strtoull(strrchr(udpa_resource_name(resource), '-') + 1, NULL, 10);
        assert_str(udpai_resource_value(resource), udpa_resource_name(resource));
        if (ticket <= last)
            seen.items[ticket] = true;
    }
    for (uint64_t i = 1; i <= last; i++)
        if (!seen.items[i])
            fail_msg("ticket %llu was called safe, and is lost", (unsigned long long)i);
    udpai_vector_done(&seen);
    loaded_done(&loaded);
    close_engine(fixture);
}

static void
what_was_called_safe_survives_a_kill(void **state)
{
    struct fixture *fixture = *state;
    uint64_t last = 0;
    for (unsigned round = 0; round < KILLS; round++) {
        int ends[2];
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(ends[0]);
            commit_until_killed(fixture, ends[1], last + 1);
        }
        close(ends[1]);
        last = kill_after(child, ends[0], 1 + round * 7 % 31, last);
        close(ends[0]);
        assert_all_kept(fixture, last);
    }
}

int
main(void)
{
#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_STORE(tickets_are_reported_in_order),
        WITH_STORE(what_is_queued_is_committed_together),
        WITH_STORE(a_joint_commit_has_a_limit),
        WITH_STORE(a_batch_above_the_limit_is_still_whole),
        WITH_STORE(close_commits_what_was_begun),
        WITH_STORE(a_full_disk_loses_nothing_that_was_committed),
        WITH_STORE(a_batch_that_fails_costs_no_other),
        WITH_STORE(another_writer_costs_what_was_queued_meanwhile),
        WITH_STORE(a_batch_waits_its_turn_without_memory),
        WITH_STORE(without_memory_to_encode_a_batch_fails),
        WITH_STORE(opening_and_loading_survive_lack_of_memory),
        WITH_STORE(what_was_called_safe_survives_a_kill),
    };
    return cmocka_run_group_tests_name("storage sqlite", tests, NULL, NULL);
}
