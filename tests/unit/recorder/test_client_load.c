/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of what was counted: udpa.load.v1.ClientLoad, and its epochs. */
#include <float.h>
#include <stdio.h>

#include "base/alloc.h"
#include "loop/clock.h"
#include "recording.h"
#include "reports/load_stats.h"

/* What is read, and whether it could be said. */
struct reader {
    const char *wanted; /* NULL: all */
    bool fails;
    udpa_bytes *load;        /* the last one */
    udpai_load_stats *heard; /* the last one that did not fail, by those who add up */
    unsigned n, n_impossible;
    udpai_load_audience audience;
    bool knows_no_audience;
};

/* Those who add up must be able to take each one in, after those before it. */
static void
hear(struct reader *reader, udpai_str load)
{
    udpai_arena arena;
    udpai_load_stats *stats = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_arena_init(&arena);
    udpa_err err =
        udpai_load_stats_decode(&arena, load, &udpai_load_stats_client_limits, &stats, &error);
    if (err == UDPA_OK && reader->heard && reader->heard->epoch == stats->epoch &&
        udpai_str_eq(reader->heard->cluster, stats->cluster))
        err = udpai_load_stats_check_growth(reader->heard, stats, &error);
    if (err != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    udpai_load_stats_free(reader->heard);
    reader->heard = stats;
    udpai_arena_done(&arena);
}

static bool
wants(void *userdata, udpai_str cluster)
{
    const struct reader *reader = userdata;
    return !reader->wanted || udpai_str_eq(cluster, udpai_str_from(reader->wanted));
}

static bool
take(void *userdata, udpai_str cluster, udpa_bytes *load)
{
    struct reader *reader = userdata;
    udpai_alloc_fail_after(-1); /* what is done with it here has memory */
    reader->n++;
    if (!load) {
        reader->n_impossible++;
        return false;
    }
    assert_true(udpai_str_eq(text_at(udpai_bytes_view(load), "1"), cluster));
    udpa_bytes_unref(reader->load);
    reader->load = udpa_bytes_ref(load);
    if (!reader->fails)
        hear(reader, udpai_bytes_view(load));
    return !reader->fails;
}

static bool
audience_of(void *userdata, udpai_str cluster, udpai_load_audience *ret_audience)
{
    const struct reader *reader = userdata;
    assert_true(cluster.len > 0);
    *ret_audience = reader->audience;
    return !reader->knows_no_audience;
}

static udpai_str
read_again(struct reader *reader, udpa_load_recorder *recorder, bool per_endpoint)
{
    const udpai_load_reading reading = {
        .now_ms = udpai_monotonic_ms(),
        .max_bytes = 1 << 20,
        .per_endpoint = per_endpoint,
        .audience = audience_of,
        .selects = wants,
        .take = take,
        .userdata = reader,
    };
    udpai_load_recorder_read(recorder, &reading);
    assert_non_null(reader->load);
    return udpai_bytes_view(reader->load);
}

static void
reader_done(struct reader *reader)
{
    udpa_bytes_unref(reader->load);
    udpai_load_stats_free(reader->heard);
}

static void
test_every_field(void **state)
{
    (void)state;
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_place place = UDPA_LOAD_PLACE_INIT;
    udpa_load_target *target;
    udpa_load_metric *cost;
    udpa_load_category *category;
    place.cluster = "com.acme.foo/service-a";
    place.service_name = "service-a-endpoints";
    place.region = "north";
    place.zone = "n1";
    place.sub_zone = "rack-7";
    place.priority = 2;
    place.address = "192.0.2.1";
    place.port = 8080;
    int64_t before_us = udpai_wall_us();
    assert_ok(udpa_load_target_get(&target, recorder, &place, NULL));
    assert_ok(udpa_load_metric_get(&cost, target, "cost", NULL));
    assert_ok(
        udpa_load_category_get(&category, recorder, "com.acme.foo/service-a", "throttle", NULL));
    count_requests(target, 5, 2);
    udpa_load_request_started(target);
    udpa_load_connection_opened(target);
    udpa_load_connection_opened(target);
    udpa_load_connection_closed(target);
    udpa_load_connection_failed(target);
    udpa_load_measured(cost, 0.25);
    udpa_load_measured(cost, 0.5);
    udpa_load_request_dropped(category);
    udpai_str load = read_again(&reader, recorder, true);
    assert_str(text_at(load, "1"), "com.acme.foo/service-a");
    assert_str(text_at(load, "2"), "service-a-endpoints");
    assert_true(number_at(load, "3") >= (uint64_t)before_us);
    assert_true(number_at(load, "3") <= (uint64_t)udpai_wall_us());
    assert_true(number_at(load, "4.1") < 60);
    assert_str(text_at(load, "5.1"), "north");
    assert_str(text_at(load, "5.2"), "n1");
    assert_str(text_at(load, "5.3"), "rack-7");
    assert_int_equal(number_at(load, "5.4"), 2);
    assert_str(text_at(load, "5.8.1"), "192.0.2.1");
    assert_int_equal(number_at(load, "5.8.2"), 8080);
    static const char *const of_both[][2] = {{"5", "5.8.3"}, {"6", "5.8.4"}, {"7", "5.8.5"}};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(of_both); i++) { /* the one endpoint is the locality */
        char of_locality[8];
        snprintf(of_locality, sizeof(of_locality), "5.%s", of_both[i][0]);
        udpai_str one = text_at(load, of_locality), same = text_at(load, of_both[i][1]);
        assert_true(one.len > 0 && udpai_str_eq(one, same));
    }
    assert_int_equal(number_at(load, "5.5.1"), 5);
    assert_int_equal(number_at(load, "5.5.2"), 2);
    assert_int_equal(number_at(load, "5.5.3"), 8);
    assert_int_equal(number_at(load, "5.5.4"), 1);
    assert_int_equal(number_at(load, "5.6.1"), 2);
    assert_int_equal(number_at(load, "5.6.2"), 1);
    assert_int_equal(number_at(load, "5.6.3"), 1);
    assert_str(text_at(load, "5.7.1"), "cost");
    assert_int_equal(number_at(load, "5.7.2"), 2);
    assert_true(double_at(load, "5.7.3") == 0.75);
    assert_str(text_at(load, "6.1"), "throttle");
    assert_int_equal(number_at(load, "6.2"), 1);
    assert_int_equal(number_at(load, "7"), 1);
    udpa_load_category_unref(category);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

static void
test_localities_are_sums(void **state)
{
    (void)state;
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *targets[4] = {get_target(recorder, "com.acme/a", NULL),
                                    get_target(recorder, "com.acme/a", "192.0.2.1"),
                                    get_target(recorder, "com.acme/a", "192.0.2.2"),
                                    get_target(recorder, "com.acme/a", "192.0.2.3")};
    for (unsigned i = 0; i < 3; i++) { /* on the last one nothing */
        udpa_load_metric *metric;
        assert_ok(udpa_load_metric_get(&metric, targets[i], i == 1 ? "size" : "cost", NULL));
        count_requests(targets[i], 1 << i, 0);
        udpa_load_measured(metric, i + 1);
    }
    udpai_str load = read_again(&reader, recorder, false);
    assert_int_equal(number_at(load, "5.5.1"), 7);
    assert_int_equal(text_at(load, "5.8").len, 0);
    assert_str(text_at(load, "5.7[0].1"), "cost");
    assert_int_equal(number_at(load, "5.7[0].2"), 2);
    assert_true(double_at(load, "5.7[0].3") == 4);
    assert_str(text_at(load, "5.7[1].1"), "size");
    assert_true(double_at(load, "5.7[1].3") == 2);
    load = read_again(&reader, recorder, true);
    assert_int_equal(number_at(load, "5.5.1"), 7);
    assert_int_equal(number_at(load, "5.8[0].3.1"), 2);
    assert_int_equal(number_at(load, "5.8[1].3.1"), 4);
    assert_int_equal(text_at(load, "5.8[2]").len, 0); /* nothing to say of it */
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(targets); i++)
        udpa_load_target_unref(targets[i]);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

static void
test_only_what_is_wanted(void **state)
{
    (void)state;
    struct reader reader = {.wanted = "com.acme/b"};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *a = get_target(recorder, "com.acme/a", NULL),
                     *b = get_target(recorder, "com.acme/b", NULL);
    assert_str(text_at(read_again(&reader, recorder, false), "1"), "com.acme/b");
    assert_int_equal(reader.n, 1);
    udpa_load_target_unref(a);
    udpa_load_target_unref(b);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* ---- epochs ---- */

/* Adds up what messages say, as those who take them in do. */
struct total {
    uint64_t epoch, last, last_measured;
    uint64_t all, all_measured;
    unsigned n_epochs;
};

static void
add_up(struct total *total, udpai_str load)
{
    uint64_t epoch = number_at(load, "3");
    uint64_t now = number_at(load, "5.5.1"), measured = number_at(load, "5.7.2");
    if (epoch != total->epoch) {
        assert_true(epoch > total->epoch);
        total->n_epochs++;
        total->last = total->last_measured = 0;
    }
    assert_true(now >= total->last && measured >= total->last_measured);
    total->all += now - total->last;
    total->all_measured += measured - total->last_measured;
    total->epoch = epoch;
    total->last = now;
    total->last_measured = measured;
}

static void
test_one_epoch_while_nobody_goes(void **state)
{
    (void)state;
    struct reader reader = {0};
    struct total total = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    for (unsigned i = 0; i < 10; i++) {
        count_requests(target, i, 0);
        add_up(&total, read_again(&reader, recorder, true));
    }
    assert_int_equal(total.n_epochs, 1);
    assert_int_equal(total.all, 45);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* Endpoints come and go, in less room than they need, and of a third of the reports nobody hears.
 */
static void
come_and_go(bool per_endpoint, struct total *total)
{
    enum {
        ROUNDS = 300
    };
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 8);
    udpa_load_target *zone = get_target(recorder, "com.acme/a", NULL);
    udpa_load_metric *metric;
    uint64_t seed = 7, n = 0;
    assert_ok(udpa_load_metric_get(&metric, zone, "cost", NULL));
    for (unsigned i = 0; i < ROUNDS; i++) {
        char address[32];
        snprintf(address, sizeof(address), "host-%zu", test_random_below(&seed, 20));
        udpa_load_target *target = get_target(recorder, "com.acme/a", address);
        unsigned more = (unsigned)test_random_below(&seed, 5);
        assert_ok(udpa_load_metric_get(&metric, target, "cost", NULL));
        udpa_load_measured(metric, 2);
        count_requests(target, more, 0);
        n += more;
        udpa_load_target_unref(target);
        reader.fails = test_random_below(&seed, 3) == 0;
        udpai_str load = read_again(&reader, recorder, per_endpoint);
        if (!reader.fails)
            add_up(total, load);
        assert_true(double_at(load, "5.7.3") == 2 * (double)number_at(load, "5.7.2"));
    }
    reader.fails = false;
    add_up(total, read_again(&reader, recorder, per_endpoint));
    assert_int_equal(total->all, n);
    assert_int_equal(total->all_measured, ROUNDS);
    udpa_load_target_unref(zone);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

static void
test_nothing_is_lost_between_epochs(void **state)
{
    (void)state;
    struct total total = {0};
    come_and_go(true, &total);
    assert_true(total.n_epochs > 10);
}

/* Of localities alone nothing begins again. */
static void
test_no_epoch_without_endpoints(void **state)
{
    (void)state;
    struct total total = {0};
    come_and_go(false, &total);
    assert_int_equal(total.n_epochs, 1);
}

/* What is in flight is of no epoch. */
static void
test_gauges_outlive_epochs(void **state)
{
    (void)state;
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    for (unsigned i = 0; i < 5; i++)
        udpa_load_request_started(target);
    udpai_str load = read_again(&reader, recorder, true);
    uint64_t epoch = number_at(load, "3");
    assert_int_equal(number_at(load, "5.5.3"), 5);
    load = read_again(&reader, recorder, false); /* without endpoints another one begins */
    assert_true(number_at(load, "3") > epoch);
    assert_int_equal(number_at(load, "5.5.3"), 0);
    assert_int_equal(number_at(load, "5.5.4"), 5);
    udpa_load_request_succeeded(target);
    load = read_again(&reader, recorder, false);
    assert_int_equal(number_at(load, "5.5.1"), 1);
    assert_int_equal(number_at(load, "5.5.4"), 4);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* What was counted before the first word is nobody's; what is in flight is. */
static void
test_from_now(void **state)
{
    (void)state;
    struct reader reader = {0};
    const udpai_load_reading reading = {.max_bytes = 1 << 20,
                                        .from_now = true,
                                        .selects = wants,
                                        .take = take,
                                        .userdata = &reader};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    count_requests(target, 3, 0);
    udpa_load_request_started(target);
    udpai_load_recorder_read(recorder, &reading);
    assert_int_equal(number_at(udpai_bytes_view(reader.load), "5.5.3"), 0);
    assert_int_equal(number_at(udpai_bytes_view(reader.load), "5.5.4"), 1);
    uint64_t epoch = number_at(udpai_bytes_view(reader.load), "3");
    count_requests(target, 2, 0);
    udpai_load_recorder_read(recorder, &reading);
    assert_int_equal(number_at(udpai_bytes_view(reader.load), "5.5.3"), 2);
    assert_int_equal(number_at(udpai_bytes_view(reader.load), "3"), epoch);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

static void
test_a_forgotten_cluster_has_another_epoch(void **state)
{
    (void)state;
    struct reader reader = {.wanted = "com.acme/a"};
    udpa_load_recorder *recorder = new_recorder(1, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL);
    count_requests(target, 3, 0);
    uint64_t epoch = number_at(read_again(&reader, recorder, false), "3");
    udpa_load_target_unref(target);
    udpa_load_target_unref(get_target(recorder, "com.acme/b", NULL));
    target = get_target(recorder, "com.acme/a", NULL);
    udpai_str load = read_again(&reader, recorder, false);
    assert_true(number_at(load, "3") > epoch);
    assert_int_equal(number_at(load, "5.5.1"), 0);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* ---- for whom ---- */

/* Of one that was said before. */
static udpa_load_target *
begin_with(struct reader *reader, udpa_load_recorder *recorder, uint64_t n)
{
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL);
    count_requests(target, (unsigned)n, 0);
    assert_int_equal(number_at(read_again(reader, recorder, false), "5.5.1"), n);
    return target;
}

/* Each has his own: what was told to nobody is in the later one. */
static void
test_others_are_told_what_nobody_was(void **state)
{
    (void)state;
    struct reader reader = {.audience = {.id = 1}};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = begin_with(&reader, recorder, 5);
    uint64_t epoch = number_at(udpai_bytes_view(reader.load), "3");
    count_requests(target, 3, 0);
    udpa_load_request_started(target);
    reader.audience.id = 2;
    udpai_str load = read_again(&reader, recorder, false);
    assert_true(number_at(load, "3") > epoch);
    epoch = number_at(load, "3");
    assert_int_equal(number_at(load, "5.5.1"), 3);
    assert_int_equal(number_at(load, "5.5.4"), 1); /* they are now, whoever is told */
    count_requests(target, 2, 0);
    load = read_again(&reader, recorder, false);
    assert_int_equal(number_at(load, "3"), epoch);
    assert_int_equal(number_at(load, "5.5.1"), 5);
    reader.audience.id = 1;
    load = read_again(&reader, recorder, false);
    assert_true(number_at(load, "3") > epoch);
    assert_int_equal(number_at(load, "5.5.1"), 0);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

static void
test_what_could_not_be_said_is_carried_on(void **state)
{
    (void)state;
    struct reader reader = {.audience = {.id = 1}};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = begin_with(&reader, recorder, 5);
    count_requests(target, 3, 0);
    reader.audience.id = 2;
    reader.fails = true;
    (void)read_again(&reader, recorder, false);
    count_requests(target, 1, 0);
    reader.audience.id = 3;
    reader.fails = false;
    assert_int_equal(number_at(read_again(&reader, recorder, false), "5.5.1"), 4);
    reader.knows_no_audience = true;
    unsigned n = reader.n;
    (void)read_again(&reader, recorder, false);
    assert_int_equal(reader.n, n);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* Each has its own audience, and takes no epoch from the other. */
static void
test_two_readers_of_one_recorder(void **state)
{
    (void)state;
    struct reader one = {.audience = {.id = 1}}, other = {.audience = {.id = 2}};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = begin_with(&one, recorder, 5);
    uint64_t epoch = number_at(udpai_bytes_view(one.load), "3");
    assert_int_equal(number_at(read_again(&other, recorder, false), "3"), epoch);
    assert_int_equal(number_at(read_again(&one, recorder, false), "3"), epoch);
    udpai_load_recorder_leave(recorder, &other);
    assert_int_equal(number_at(read_again(&one, recorder, false), "3"), epoch);
    udpai_load_recorder_leave(recorder, &one);
    count_requests(target, 2, 0);
    udpai_str load = read_again(&other, recorder, false);
    assert_true(number_at(load, "3") > epoch);
    assert_int_equal(number_at(load, "5.5.1"), 2);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&one);
    reader_done(&other);
}

static void
test_it_says_that_it_is_shared(void **state)
{
    (void)state;
    struct reader reader = {.audience = {.id = 1, .is_shared = true, .lasts_ms = 40500}};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = begin_with(&reader, recorder, 5);
    assert_true(reader.heard->is_shared);
    assert_int_equal(reader.heard->lasts_ns, 40500000000);
    reader.audience = (udpai_load_audience){.id = 2};
    (void)read_again(&reader, recorder, false);
    assert_false(reader.heard->is_shared);
    assert_int_equal(reader.heard->lasts_ns, 0);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* ---- too much ---- */

static void
test_more_endpoints_than_are_taken_in(void **state)
{
    (void)state;

    enum {
        MANY = 4097
    };
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    static udpa_load_target *targets[MANY];
    for (size_t i = 0; i < MANY; i++) {
        char address[32];
        snprintf(address, sizeof(address), "host-%zu", i);
        targets[i] = get_target(recorder, "com.acme/a", address);
        if (i < MANY - 1)
            count_requests(targets[i], 1, 0);
    }
    udpai_str load = read_again(&reader, recorder, true);
    uint64_t epoch = number_at(load, "3");
    assert_int_equal(number_at(load, "5.8[4095].3.1"), 1);
    count_requests(targets[MANY - 1], 1, 0);
    load = read_again(&reader, recorder, true);
    assert_int_equal(text_at(load, "5.8").len, 0);
    assert_true(number_at(load, "3") > epoch);
    assert_int_equal(number_at(load, "5.5.1"), 1); /* since the epoch began */
    for (size_t i = 0; i < MANY; i++)
        udpa_load_target_unref(targets[i]);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* As much of everything as a cluster may have, with names as long as they may be. */
static void
test_as_much_as_there_may_be(void **state)
{
    (void)state;
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    char text[257];
    memset(text, 'x', 256);
    text[256] = '\0';
    for (unsigned i = 0; i < 128; i++) {
        udpa_load_place place = place_of("com.acme/a", NULL);
        udpa_load_target *target = NULL;
        udpa_load_category *category = NULL;
        place.region = place.zone = place.sub_zone = text;
        place.priority = i;
        assert_ok(udpa_load_target_get(&target, recorder, &place, NULL));
        count_requests(target, 1, 0);
        snprintf(text, 8, "%07u", i); /* begins each name */
        text[7] = 'x';
        if (udpa_load_category_get(&category, recorder, "com.acme/a", text, NULL) == UDPA_OK)
            udpa_load_request_dropped(category);
        for (unsigned j = 0; j < 32; j++) {
            udpa_load_metric *metric = NULL;
            snprintf(text, 8, "%07u", j);
            text[7] = 'x';
            assert_ok(udpa_load_metric_get(&metric, target, text, NULL));
            udpa_load_measured(metric, 1);
        }
        udpa_load_category_unref(category);
        udpa_load_target_unref(target);
    }
    const udpai_load_reading reading = {.max_bytes = (size_t)3 << 20,
                                        .per_endpoint = true,
                                        .selects = wants,
                                        .take = take,
                                        .userdata = &reader};
    udpai_load_recorder_read(recorder, &reading);
    assert_int_equal(reader.n_impossible, 0);
    assert_int_equal(reader.heard->n_metrics, 128 * 32);
    assert_int_equal(reader.heard->drops.n, 64);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

static void
test_a_message_that_is_too_large(void **state)
{
    (void)state;
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL);
    const udpai_load_reading reading = {
        .max_bytes = 10, .selects = wants, .take = take, .userdata = &reader};
    udpai_load_recorder_read(recorder, &reading);
    assert_int_equal(reader.n_impossible, 1);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* ---- what cannot be said ---- */

/* Whatever there is no memory for comes with the next report, of whatever epoch. */
static void
test_no_memory_loses_nothing(void **state)
{
    (void)state;
    struct reader reader = {.audience.id = 1};
    struct total total = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", "192.0.2.1");
    uint64_t n = 0;
    udpa_load_metric *metric;
    assert_ok(udpa_load_metric_get(&metric, target, "cost", NULL));
    for (long allocations = 0; reader.n == reader.n_impossible; allocations++) {
        const udpai_load_reading reading = {
            .now_ms = udpai_monotonic_ms(),
            .max_bytes = 1 << 20,
            .per_endpoint = true,
            .audience = audience_of,
            .selects = wants,
            .take = take,
            .userdata = &reader,
        };
        count_requests(target, 1, 0);
        udpa_load_measured(metric, 1);
        n++;
        udpai_alloc_fail_after(allocations);
        udpai_load_recorder_read(recorder, &reading);
        assert_true(allocations < 1000);
    }
    assert_true(reader.n_impossible > 5);
    add_up(&total, udpai_bytes_view(reader.load));
    reader.audience.id = 2;
    add_up(&total, read_again(&reader, recorder, true));
    assert_int_equal(total.n_epochs, 2);
    assert_int_equal(total.all, n);
    assert_int_equal(total.all_measured, n);
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

/* How often it was measured is known even so. */
static void
test_a_sum_beyond_all_numbers_is_left_out(void **state)
{
    (void)state;
    struct reader reader = {0};
    udpa_load_recorder *recorder = new_recorder(0, 0);
    udpa_load_target *target = get_target(recorder, "com.acme/a", NULL);
    udpa_load_metric *metric;
    udpai_proto_field field;
    assert_ok(udpa_load_metric_get(&metric, target, "cost", NULL));
    udpa_load_measured(metric, DBL_MAX);
    assert_true(double_at(read_again(&reader, recorder, false), "5.7.3") == DBL_MAX);
    udpa_load_measured(metric, DBL_MAX);
    udpai_str load = read_again(&reader, recorder, false);
    assert_int_equal(number_at(load, "5.7.2"), 2);
    assert_false(find_field(load, "5.7.3", &field));
    udpa_load_target_unref(target);
    udpa_load_recorder_unref(recorder);
    reader_done(&reader);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_localities_are_sums),
        cmocka_unit_test(test_only_what_is_wanted),
        cmocka_unit_test(test_one_epoch_while_nobody_goes),
        cmocka_unit_test(test_nothing_is_lost_between_epochs),
        cmocka_unit_test(test_no_epoch_without_endpoints),
        cmocka_unit_test(test_gauges_outlive_epochs),
        cmocka_unit_test(test_from_now),
        cmocka_unit_test(test_a_forgotten_cluster_has_another_epoch),
        cmocka_unit_test(test_others_are_told_what_nobody_was),
        cmocka_unit_test(test_what_could_not_be_said_is_carried_on),
        cmocka_unit_test(test_two_readers_of_one_recorder),
        cmocka_unit_test(test_it_says_that_it_is_shared),
        cmocka_unit_test(test_more_endpoints_than_are_taken_in),
        cmocka_unit_test(test_as_much_as_there_may_be),
        cmocka_unit_test(test_a_message_that_is_too_large),
        cmocka_unit_test(test_no_memory_loses_nothing),
        cmocka_unit_test(test_a_sum_beyond_all_numbers_is_left_out),
    };
    return cmocka_run_group_tests_name("recorder client_load", tests, NULL, NULL);
}
