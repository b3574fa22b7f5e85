/* SPDX-License-Identifier: Apache-2.0 */
/* What counting a request costs (udpa/load.h): one that is started and one that has succeeded, on
 * one of many endpoints, with one thread and with two at once.
 *
 *     bench-recorder [REQUESTS [ENDPOINTS]]
 *
 * Prints nanoseconds of processor for each request of a thread, the best of some runs, because
 * others may use the machine; and of reading it all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <udpa/load.h>

#include "loop/clock.h"
#include "recorder/recorder.h"

#define THREADS_MAX 2
#define RUNS 7

struct bench {
    udpa_load_target **targets;
    size_t n_targets; /* a power of two */
    size_t n_requests;
};

/* One of the threads that count, and what it has used. */
struct counting {
    const struct bench *bench;
    pthread_t thread;
    double used_ns;
};

static double
used_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
}

static void *
count(void *userdata)
{
    struct counting *counting = userdata;
    const struct bench *bench = counting->bench;
    double began_ns = used_ns();
    for (size_t i = 0; i < bench->n_requests; i++) {
        udpa_load_target *target = bench->targets[i & (bench->n_targets - 1)];
        udpa_load_request_started(target);
        udpa_load_request_succeeded(target);
    }
    counting->used_ns = used_ns() - began_ns;
    return NULL;
}

/* For each request of each thread. */
static double
run(const struct bench *bench, size_t n_threads)
{
    struct counting all[THREADS_MAX];
    double sum_ns = 0;
    for (size_t i = 0; i < n_threads; i++) {
        all[i].bench = bench;
        if (pthread_create(&all[i].thread, NULL, count, &all[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < n_threads; i++) {
        pthread_join(all[i].thread, NULL);
        sum_ns += all[i].used_ns;
    }
    return sum_ns / (double)n_threads / (double)bench->n_requests;
}

static double
best_run(const struct bench *bench, size_t n_threads)
{
    double best = run(bench, n_threads);
    for (unsigned i = 1; i < RUNS; i++) {
        double next = run(bench, n_threads);
        best = next < best ? next : best;
    }
    return best;
}

static bool
want(void *userdata, udpai_str cluster)
{
    (void)userdata;
    (void)cluster;
    return true;
}

static bool
take(void *userdata, udpai_str cluster, udpa_bytes *load)
{
    (void)cluster;
    *(size_t *)userdata = load ? udpa_bytes_size(load) : 0;
    return true;
}

static void
read_all(udpa_load_recorder *recorder, const struct bench *bench)
{
    size_t size = 0;
    const udpai_load_reading reading = {.max_bytes = SIZE_MAX,
                                        .per_endpoint = true,
                                        .selects = want,
                                        .take = take,
                                        .userdata = &size};
    uint64_t began_ns = udpai_monotonic_ns();
    udpai_load_recorder_read(recorder, &reading);
    printf("reading %zu endpoints: %.0f ns each, %zu bytes in all\n", bench->n_targets,
           (double)(udpai_monotonic_ns() - began_ns) / (double)bench->n_targets, size);
}

static int
get_targets(struct bench *bench, udpa_load_recorder *recorder)
{
    udpa_error *error = NULL;
    udpa_load_place place = UDPA_LOAD_PLACE_INIT;
    char address[32];
    place.cluster = "com.acme/service";
    place.address = address;
    for (size_t i = 0; i < bench->n_targets; i++) {
        snprintf(address, sizeof(address), "host-%zu", i);
        if (udpa_load_target_get(&bench->targets[i], recorder, &place, &error) == UDPA_OK)
            continue;
        fprintf(stderr, "bench-recorder: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct bench bench = {.n_requests = 5000000, .n_targets = 64};
    udpa_load_recorder *recorder = NULL;
    if (argc > 1)
        bench.n_requests = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        bench.n_targets = strtoul(argv[2], NULL, 10);
    if (!bench.n_requests || !bench.n_targets || (bench.n_targets & (bench.n_targets - 1))) {
        fprintf(stderr, "usage: bench-recorder [REQUESTS [ENDPOINTS]], of which the latter is a "
                        "power of two\n");
        return 2;
    }
    bench.targets = calloc(bench.n_targets, sizeof(*bench.targets));
    if (!bench.targets || udpa_load_recorder_new(&recorder, NULL, NULL) != UDPA_OK ||
        get_targets(&bench, recorder) != 0)
        return 1;
    for (size_t n_threads = 1; n_threads <= THREADS_MAX; n_threads++)
        printf("%zu thread%s: %.2f ns for each request\n", n_threads, n_threads > 1 ? "s" : "",
               best_run(&bench, n_threads));
    read_all(recorder, &bench);
    for (size_t i = 0; i < bench.n_targets; i++)
        udpa_load_target_unref(bench.targets[i]);
    udpa_load_recorder_unref(recorder);
    free(bench.targets);
    return 0;
}
