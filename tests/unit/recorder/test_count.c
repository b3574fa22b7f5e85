/* SPDX-License-Identifier: Apache-2.0 */
/* Counting by many threads at once: not one is lost, nothing goes back, no figure contradicts
 * another. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "recording.h"

#define THREADS 4
#define REQUESTS 300000 /* of each thread: long enough for all to run at once */
#define ENDPOINTS 3
#define READINGS 200000

struct crowd {
    udpa_load_target *targets[ENDPOINTS];
    udpa_load_category *category;
    udpa_load_metric *metric;
    /* A request that one thread has begun and another one may end: its endpoint, and one. */
    _Atomic unsigned handed_over;
    atomic_bool has_ended;
    pthread_barrier_t start;
};

struct worker {
    struct crowd *crowd;
    uint64_t seed;
    uint64_t n_started[ENDPOINTS], n_failed, n_dropped, n_measured;
};

static void
finish(struct worker *worker, unsigned endpoint)
{
    udpa_load_target *target = worker->crowd->targets[endpoint];
    if (test_random_below(&worker->seed, 10) == 0) {
        udpa_load_request_failed(target);
        worker->n_failed++;
    } else {
        udpa_load_request_succeeded(target);
    }
}

static void
count_one(struct worker *worker)
{
    struct crowd *crowd = worker->crowd;
    unsigned endpoint = (unsigned)test_random_below(&worker->seed, ENDPOINTS);
    udpa_load_request_started(crowd->targets[endpoint]);
    worker->n_started[endpoint]++;
    if (test_random_below(&worker->seed, 3) == 0) { /* somebody else's, if there is one */
        unsigned other = atomic_exchange(&crowd->handed_over, endpoint + 1);
        if (other == 0)
            return;
        endpoint = other - 1;
    }
    finish(worker, endpoint);
    if (test_random_below(&worker->seed, 5) == 0) {
        udpa_load_request_dropped(crowd->category);
        worker->n_dropped++;
    }
    if (test_random_below(&worker->seed, 7) == 0) {
        udpa_load_measured(crowd->metric, 0.5);
        worker->n_measured++;
    }
}

static void *
work(void *userdata)
{
    struct worker *worker = userdata;
    pthread_barrier_wait(&worker->crowd->start);
    for (unsigned i = 0; i < REQUESTS; i++)
        count_one(worker);
    return NULL;
}

static bool
may_follow(const udpa_load_figures *before, const udpa_load_figures *now)
{
    uint64_t n_ended = now->n_requests_succeeded + now->n_requests_failed;
    return now->n_requests_started >= before->n_requests_started &&
           now->n_requests_succeeded >= before->n_requests_succeeded &&
           now->n_requests_failed >= before->n_requests_failed &&
           n_ended <= now->n_requests_started &&
           now->n_requests_in_flight == now->n_requests_started - n_ended;
}

/* Reads while they count; returns what is wrong, if anything is. */
static void *
watch(void *userdata)
{
    struct crowd *crowd = userdata;
    static udpa_load_figures before[ENDPOINTS];
    pthread_barrier_wait(&crowd->start);
    while (!atomic_load(&crowd->has_ended))
        for (size_t i = 0; i < ENDPOINTS; i++) {
            udpa_load_figures now = UDPA_LOAD_FIGURES_INIT;
            udpa_load_target_read(crowd->targets[i], &now);
            if (!may_follow(&before[i], &now))
                return &before[i];
            before[i] = now;
        }
    return NULL;
}

static bool
want_all(void *userdata, udpai_str cluster)
{
    (void)userdata;
    (void)cluster;
    return true;
}

static bool
keep(void *userdata, udpai_str cluster, udpa_bytes *load)
{
    (void)cluster;
    assert_non_null(load);
    *(udpa_bytes **)userdata = udpa_bytes_ref(load);
    return true;
}

static udpa_bytes *
read_load(udpa_load_recorder *recorder)
{
    udpa_bytes *load = NULL;
    const udpai_load_reading reading = {
        .max_bytes = SIZE_MAX, .selects = want_all, .take = keep, .userdata = &load};
    udpai_load_recorder_read(recorder, &reading);
    return load;
}

/* What the workers know they have counted, and what was read. */
static void
check_sums(udpa_load_recorder *recorder, const struct crowd *crowd, const struct worker *workers)
{
    struct worker all = {0};
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t j = 0; j < ENDPOINTS; j++)
            all.n_started[j] += workers[i].n_started[j];
        all.n_failed += workers[i].n_failed;
        all.n_dropped += workers[i].n_dropped;
        all.n_measured += workers[i].n_measured;
    }
    uint64_t n_failed = 0, n_in_flight = 0;
    for (size_t i = 0; i < ENDPOINTS; i++) {
        udpa_load_figures figures = UDPA_LOAD_FIGURES_INIT;
        udpa_load_target_read(crowd->targets[i], &figures);
        assert_int_equal(figures.n_requests_started, all.n_started[i]);
        n_failed += figures.n_requests_failed;
        n_in_flight += figures.n_requests_in_flight;
    }
    assert_int_equal(n_failed, all.n_failed);
    assert_int_equal(n_in_flight, atomic_load(&crowd->handed_over) ? 1 : 0);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *load = read_load(recorder);
    udpai_str message = udpai_bytes_view(load);
    assert_int_equal(number_at(message, "5.5.3"), THREADS * REQUESTS);
    assert_int_equal(number_at(message, "5.5.2"), all.n_failed);
    assert_int_equal(number_at(message, "5.5.4"), n_in_flight);
    assert_int_equal(number_at(message, "5.7.2"), all.n_measured);
    assert_true(double_at(message, "5.7.3") == (double)all.n_measured * 0.5);
    assert_int_equal(number_at(message, "7"), all.n_dropped);
}

static void
test_not_one_is_lost(void **state)
{
    (void)state;
    static const char *const addresses[ENDPOINTS] = {"192.0.2.1", "192.0.2.2", "2001:db8::3"};
    struct crowd crowd = {0};
    struct worker workers[THREADS] = {0};
    pthread_t threads[THREADS], watcher;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    for (size_t i = 0; i < ENDPOINTS; i++)
        crowd.targets[i] = get_target(recorder, "com.acme/a", addresses[i]);
    assert_ok(udpa_load_category_get(&crowd.category, recorder, "com.acme/a", "throttle", NULL));
    assert_ok(udpa_load_metric_get(&crowd.metric, crowd.targets[1], "cost", NULL));
    assert_ok(pthread_barrier_init(&crowd.start, NULL, THREADS + 1));
    assert_ok(pthread_create(&watcher, NULL, watch, &crowd));
    for (size_t i = 0; i < THREADS; i++) {
        workers[i].crowd = &crowd;
        workers[i].seed = 100 + i;
        assert_ok(pthread_create(&threads[i], NULL, work, &workers[i]));
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_join(threads[i], NULL));
    atomic_store(&crowd.has_ended, true);
    void *wrong = NULL;
    assert_ok(pthread_join(watcher, &wrong));
    assert_null(wrong);
    pthread_barrier_destroy(&crowd.start);
    check_sums(recorder, &crowd, workers);
    for (size_t i = 0; i < ENDPOINTS; i++)
        udpa_load_target_unref(crowd.targets[i]);
    udpa_load_category_unref(crowd.category);
    udpa_load_recorder_unref(recorder);
}

/* Begins and ends requests at once, so that hardly any is in flight. */
static void *
count_until_the_end(void *userdata)
{
    struct crowd *crowd = userdata;
    pthread_barrier_wait(&crowd->start);
    while (!atomic_load_explicit(&crowd->has_ended, memory_order_relaxed))
        count_requests(crowd->targets[0], 1, 0);
    return NULL;
}

static void
test_no_figure_contradicts_another(void **state)
{
    (void)state;
    struct crowd crowd = {0};
    pthread_t threads[THREADS];
    udpa_load_figures before = UDPA_LOAD_FIGURES_INIT;
    bool is_good = true;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    crowd.targets[0] = get_target(recorder, "com.acme/a", "192.0.2.1");
    assert_ok(pthread_barrier_init(&crowd.start, NULL, THREADS + 1));
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_create(&threads[i], NULL, count_until_the_end, &crowd));
    pthread_barrier_wait(&crowd.start);
    for (unsigned i = 0; i < READINGS && is_good; i++) {
        udpa_load_figures now = UDPA_LOAD_FIGURES_INIT;
        udpa_load_target_read(crowd.targets[0], &now);
        is_good = may_follow(&before, &now);
        before = now;
    }
    atomic_store(&crowd.has_ended, true);
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_join(threads[i], NULL));
    pthread_barrier_destroy(&crowd.start);
    assert_true(is_good);
    udpa_load_target_unref(crowd.targets[0]);
    udpa_load_recorder_unref(recorder);
}

/* ---- coming and going ---- */

#define ROUNDS 2000

/* Gets a target of few, counts on it and gives it back: with room for fewer than there are. */
static void *
come_and_go(void *userdata)
{
    udpa_load_recorder *recorder = userdata;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char address[16] = "192.0.2.x";
        udpa_load_target *target = NULL;
        address[8] = (char)('0' + i % 8);
        const udpa_load_place place = place_of("com.acme/a", address);
        if (udpa_load_target_get(&target, recorder, &place, NULL) != UDPA_OK)
            target = get_target(recorder, "com.acme/a", NULL); /* that of the locality is there */
        count_requests(target, 1, 0);
        udpa_load_target_unref(target);
    }
    return NULL;
}

static void
test_targets_come_and_go(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    udpa_load_recorder *recorder = new_recorder(1, 5); /* with the locality and its target */
    udpa_load_target *zone = get_target(recorder, "com.acme/a", NULL);
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_create(&threads[i], NULL, come_and_go, recorder));
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(pthread_join(threads[i], NULL));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *load = read_load(recorder);
    udpai_str message = udpai_bytes_view(load);
    assert_int_equal(number_at(message, "5.5.3"), THREADS * ROUNDS);
    assert_int_equal(number_at(message, "5.5.1"), THREADS * ROUNDS);
    assert_int_equal(number_at(message, "5.5.4"), 0);
    udpa_load_target_unref(zone);
    udpa_load_recorder_unref(recorder);
}

/* ---- one thread ---- */

static void
test_each_figure(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_figures figures = UDPA_LOAD_FIGURES_INIT;
    for (unsigned i = 0; i < 10; i++)
        udpa_load_request_started(target);
    for (unsigned i = 0; i < 3; i++)
        udpa_load_request_succeeded(target);
    udpa_load_request_failed(target);
    for (unsigned i = 0; i < 4; i++)
        udpa_load_connection_opened(target);
    udpa_load_connection_closed(target);
    udpa_load_connection_failed(target);
    udpa_load_connection_failed(target);
    udpa_load_target_read(target, &figures);
    assert_int_equal(figures.n_requests_started, 10);
    assert_int_equal(figures.n_requests_succeeded, 3);
    assert_int_equal(figures.n_requests_failed, 1);
    assert_int_equal(figures.n_requests_in_flight, 6);
    assert_int_equal(figures.n_connections_opened, 4);
    assert_int_equal(figures.n_connections_failed, 2);
    assert_int_equal(figures.n_connections_open, 3);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

/* A caller who knows fewer figures gets these. */
static void
test_an_older_caller(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_figures figures = UDPA_LOAD_FIGURES_INIT;
    figures.struct_size = offsetof(udpa_load_figures, n_requests_in_flight);
    figures.n_requests_in_flight = 77;
    count_requests(target, 2, 0);
    udpa_load_target_read(target, &figures);
    assert_int_equal(figures.n_requests_succeeded, 2);
    assert_int_equal(figures.n_requests_in_flight, 77);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

static void
test_what_is_no_number_is_not_counted(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_metric *metric = NULL;
    assert_ok(udpa_load_metric_get(&metric, target, "cost", NULL));
    udpa_load_measured(metric, (double)NAN);
    udpa_load_measured(metric, (double)INFINITY);
    udpa_load_measured(metric, 1.25);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *load = read_load(recorder);
    assert_int_equal(number_at(udpai_bytes_view(load), "5.7.2"), 1);
    assert_true(double_at(udpai_bytes_view(load), "5.7.3") == 1.25);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

/* Ends that have no begin are nobody's gauge. */
static void
test_ends_without_a_begin(void **state)
{
    (void)state;
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    udpa_load_figures figures = UDPA_LOAD_FIGURES_INIT;
    udpa_load_request_succeeded(target);
    udpa_load_connection_closed(target);
    udpa_load_target_read(target, &figures);
    assert_int_equal(figures.n_requests_in_flight, 0);
    assert_int_equal(figures.n_connections_open, 0);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_one_is_lost),
        cmocka_unit_test(test_no_figure_contradicts_another),
        cmocka_unit_test(test_targets_come_and_go),
        cmocka_unit_test(test_each_figure),
        cmocka_unit_test(test_an_older_caller),
        cmocka_unit_test(test_what_is_no_number_is_not_counted),
        cmocka_unit_test(test_ends_without_a_begin),
    };
    return cmocka_run_group_tests_name("recorder count", tests, NULL, NULL);
}
