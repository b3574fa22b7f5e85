/* SPDX-License-Identifier: Apache-2.0 */
/* The costs of values that an application reads from its runtime (udpa/runtime.h): with nothing
 * else going on, while the loop makes 50,000 other snapshots a second, and as many as it can; the
 * time until a swapped tree is effective, and how long that holds up the loop. */

/* Try it:
 *
 *     bench-runtime [--check]
 *
 * Prints nanoseconds of processor for each value, the best of some runs, because others may use the
 * machine; and milliseconds of reloads. With --check it fails where one is 1.5 times worse than it
 * must be. */
#include "tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include <udpa/runtime.h>

#define READS 5000000
#define RUNS 7
#define WRITER_MS 1000  /* at least, of each run beside a writer */
#define EACH_NS 20000.0 /* between two snapshots of a writer that waits */
#define RELOADS 21
#define ASKED 1024 /* keys that are asked for; a power of two */

/* What must be, of processor, but for reloads; and how much worse is more than chance. */
#define GETTER_NS 30
#define BESIDE_WRITER_NS 40
#define RELOAD_MS 50
#define TURN_MS 10
#define SLACK 1.5

struct bench {
    uv_loop_t loop;
    udpa_runtime *runtime;
    char keys[ASKED][BENCH_KEY_MAX];
    uint64_t told; /* the version that counts */
    bool is_check, has_failed;
};

typedef uint64_t (*getter)(const struct bench *bench, size_t index);

static double
used_ns(clockid_t clock)
{
    struct timespec used;
    clock_gettime(clock, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static void
must(struct bench *bench, const char *what, double figure, double most)
{
    if (!bench->is_check || figure <= SLACK * most)
        return;
    fprintf(stderr, "bench-runtime: %s: %.1f, must be at most %.0f\n", what, figure, most);
    bench->has_failed = true;
}

/* ---- values ---- */

static uint64_t
get_integer(const struct bench *bench, size_t index)
{
    return udpa_runtime_uint64(bench->runtime, bench->keys[index], 0);
}

static uint64_t
get_feature(const struct bench *bench, size_t index)
{
    return udpa_runtime_feature_enabled(bench->runtime, bench->keys[index], 50, index);
}

static uint64_t
get_borrowed(const struct bench *bench, size_t index)
{
    return (uint64_t)(uintptr_t)udpa_runtime_peek(bench->runtime) + index;
}

struct reading {
    const struct bench *bench;
    getter get;
    size_t n_reads;
    atomic_bool is_over;
    double each_ns; /* of processor */
    uint64_t sum;   /* so that nothing is left out */
};

static void *
read_values(void *userdata)
{
    struct reading *reading = userdata;
    uint64_t sum = 0; /* the writer looks at what lies beside the other */
    double began_ns = used_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < reading->n_reads; i++)
        sum += reading->get(reading->bench, i & (ASKED - 1));
    reading->each_ns = (used_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / (double)reading->n_reads;
    reading->sum = sum;
    atomic_store(&reading->is_over, true);
    return NULL;
}

static void
fail(const char *what, udpa_error *error)
{
    fprintf(stderr, "bench-runtime: %s: %s\n", what, udpa_error_message(error));
    exit(1);
}

/* One more snapshot. */
static void
write_once(const struct bench *bench, size_t n)
{
    char text[32];
    udpa_error *error = NULL;
    snprintf(text, sizeof(text), "%zu", n);
    const udpa_runtime_setting setting = {"bench.writer", text};
    if (udpa_runtime_modify(bench->runtime, &setting, 1, &error) != UDPA_OK)
        fail("a change", error);
}

enum pace {
    NO_WRITER,
    SOME_SNAPSHOTS,
    NOTHING_BUT_SNAPSHOTS,
};

static void
write_until_over(const struct reading *reading, enum pace pace, double began_ns, size_t *n)
{
    while (!atomic_load(&reading->is_over))
        if (pace == NOTHING_BUT_SNAPSHOTS ||
            used_ns(CLOCK_MONOTONIC) - began_ns >= (double)*n * EACH_NS)
            write_once(reading->bench, (*n)++);
}

/* Returns how many snapshots a second were made meanwhile. */
static double
run(struct reading *reading, enum pace pace)
{
    pthread_t thread;
    size_t n = 0;
    atomic_store(&reading->is_over, false);
    double began_ns = used_ns(CLOCK_MONOTONIC);
    if (pthread_create(&thread, NULL, read_values, reading) != 0)
        exit(1);
    if (pace != NO_WRITER)
        write_until_over(reading, pace, began_ns, &n);
    pthread_join(thread, NULL);
    return (double)n * 1e9 / (used_ns(CLOCK_MONOTONIC) - began_ns);
}

static double
best_run(struct reading *reading, enum pace pace, double *ret_per_s)
{
    double best = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        double per_s = run(reading, pace);
        if (i == 0 || reading->each_ns < best) {
            best = reading->each_ns;
            *ret_per_s = per_s;
        }
    }
    return best;
}

static void
measure_values(struct bench *bench)
{
    static const struct {
        const char *what;
        getter get;
    } all[] = {
        {"an integer", get_integer},
        {"a feature", get_feature},
        {"a snapshot, borrowed", get_borrowed},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        double per_s;
        struct reading reading = {.bench = bench, .get = all[i].get, .n_reads = READS};
        double alone = best_run(&reading, NO_WRITER, &per_s);
        /* Long enough for many swaps, whatever a value costs. */
        reading.n_reads = (size_t)(WRITER_MS * 1e6 / RUNS / (alone + 1));
        double beside = best_run(&reading, SOME_SNAPSHOTS, &per_s);
        printf("%s: %.1f ns; %.1f ns beside a writer that makes %.0f snapshots a second",
               all[i].what, alone, beside, per_s);
        double most = best_run(&reading, NOTHING_BUT_SNAPSHOTS, &per_s);
        printf("; %.1f ns if it makes %.0f\n", most, per_s);
        must(bench, all[i].what, alone, GETTER_NS);
        must(bench, "beside a writer", beside, BESIDE_WRITER_NS);
    }
}

/* ---- reloads ---- */

/* What the loop's thread does between two times that it waits; by the clock, and of processor, for
 * others may use the machine. */
struct turns {
    uv_prepare_t before_waiting;
    uint64_t last_ns, last_idle_ns;
    double last_used_ns, longest_ms, longest_used_ms;
};

static double
larger(double a, double b)
{
    return a > b ? a : b;
}

static void
on_turn(uv_prepare_t *prepare)
{
    struct turns *turns = prepare->data;
    uint64_t now = uv_hrtime(), idle = uv_metrics_idle_time(prepare->loop);
    double used = used_ns(CLOCK_THREAD_CPUTIME_ID);
    double busy_ms = (double)(now - turns->last_ns - (idle - turns->last_idle_ns)) / 1e6;
    if (turns->last_ns) {
        turns->longest_ms = larger(turns->longest_ms, busy_ms);
        turns->longest_used_ms = larger(turns->longest_used_ms, (used - turns->last_used_ns) / 1e6);
    }
    turns->last_ns = now;
    turns->last_idle_ns = idle;
    turns->last_used_ns = used;
}

static void
on_changed(void *userdata, const udpa_runtime_snapshot *now)
{
    struct bench *bench = userdata;
    bench->told = udpa_runtime_snapshot_uint64(now, BENCH_VERSION_KEY, 0);
    uv_stop(&bench->loop);
}

static int
compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Of the clock, and of processor. */
static void
reload(struct bench *bench, unsigned version, double *ret_ms, double *ret_used_ms)
{
    double began_ns = used_ns(CLOCK_MONOTONIC), used = used_ns(CLOCK_PROCESS_CPUTIME_ID);
    bench_tree_swap(version);
    while (bench->told != version)
        (void)uv_run(&bench->loop, UV_RUN_DEFAULT);
    *ret_ms = (used_ns(CLOCK_MONOTONIC) - began_ns) / 1e6;
    *ret_used_ms = (used_ns(CLOCK_PROCESS_CPUTIME_ID) - used) / 1e6;
    bench_tree_settle(&bench->loop);
}

static void
measure_reloads(struct bench *bench)
{
    static struct turns turns; /* the loop has it until it lets go */
    double ms[RELOADS], used_ms[RELOADS];
    uv_prepare_init(&bench->loop, &turns.before_waiting);
    turns.before_waiting.data = &turns;
    uv_prepare_start(&turns.before_waiting, on_turn);
    for (unsigned i = 0; i < RELOADS; i++)
        reload(bench, i % 2 ? 1 : 2, &ms[i], &used_ms[i]);
    uv_close((uv_handle_t *)&turns.before_waiting, NULL);
    qsort(ms, RELOADS, sizeof(ms[0]), compare);
    qsort(used_ms, RELOADS, sizeof(used_ms[0]), compare);
    printf("%d files, swapped: they count after %.1f ms, of %d the fastest after %.1f and the "
           "slowest after %.1f; %.1f ms of processor\n",
           BENCH_FILES, ms[RELOADS / 2], RELOADS, ms[0], ms[RELOADS - 1], used_ms[RELOADS / 2]);
    printf("the longest turn of the loop meanwhile: %.2f ms, %.2f ms of processor\n",
           turns.longest_ms, turns.longest_used_ms);
    must(bench, "a reload, ms", ms[0], RELOAD_MS);
    must(bench, "the longest turn, ms", turns.longest_used_ms, TURN_MS);
}

/* ---- the whole ---- */

static void
begin(struct bench *bench)
{
    udpa_error *error = NULL;
    udpa_runtime_layer layers[2] = {UDPA_RUNTIME_LAYER_INIT, UDPA_RUNTIME_LAYER_INIT};
    udpa_runtime_options options = UDPA_RUNTIME_OPTIONS_INIT;
    for (size_t i = 0; i < ASKED; i++) /* all over the tree */
        bench_tree_key(i * (BENCH_FILES / ASKED), bench->keys[i]);
    uv_loop_init(&bench->loop);
    uv_loop_configure(&bench->loop, UV_METRICS_IDLE_TIME);
    layers[0].name = "disk";
    layers[0].kind = UDPA_RUNTIME_DISK;
    layers[0].symlink_root = bench_tree_root();
    layers[1].name = "admin";
    layers[1].kind = UDPA_RUNTIME_ADMIN;
    options.layers = layers;
    options.n_layers = 2;
    options.changed = on_changed;
    options.userdata = bench;
    if (udpa_runtime_new(&bench->runtime, &bench->loop, &options, &error) != UDPA_OK)
        fail("the runtime", error);
}

int
main(int argc, char **argv)
{
    static struct bench bench;
    bench.is_check = argc == 2 && strcmp(argv[1], "--check") == 0;
    if (argc > 1 && !bench.is_check) {
        fprintf(stderr, "usage: bench-runtime [--check]\n");
        return 2;
    }
    bench_tree_make();
    begin(&bench);
    if (udpa_runtime_uint64(bench.runtime, BENCH_VERSION_KEY, 0) != 1) {
        fprintf(stderr, "bench-runtime: the tree was not read\n");
        return 1;
    }
    bench_tree_settle(&bench.loop);
    measure_reloads(&bench);
    measure_values(&bench);
    udpa_runtime_close(bench.runtime, NULL, NULL);
    (void)uv_run(&bench.loop, UV_RUN_DEFAULT);
    uv_loop_close(&bench.loop);
    bench_tree_remove();
    return bench.has_failed;
}
