/* SPDX-License-Identifier: Apache-2.0 */
/* What a server is told has the rate of the requests that are sent, in each single report: whatever
 * the interval of the server, and of the clients, which report at moments of their own. */
#include "reports/load_stats_cover.h"

#include <stdio.h>

#include "load_stats_test.h"
#include "reports/load_stats_split.h"

#define CLIENTS_MAX 5
#define MS UINT64_C(1000000) /* in ns */
#define DELAY_MS 1000        /* a sum is said so long after the first that is new in it */

typedef struct client {
    char id[2];
    double rate; /* requests for each second */
    uint64_t interval_ms, began_ms, before_ms;
    bool is_away;
    uint64_t n_reports;
} client;

typedef struct node {
    udpai_load_stats_split *sum;
    char id[4];
    uint64_t due_ms; /* 0: there is nothing new in it */
} node;

typedef struct world {
    client clients[CLIENTS_MAX];
    size_t n;
    uint64_t now_ms;
    node edges[2], top;
    bool has_top;
    /* The server's account. */
    udpai_load_stats *said, *told;
    uint64_t n_told, n_requests, covered_ns;
    double worst; /* how far a rate was off */
} world;

static world *it;

static int
begin(void **state)
{
    (void)state;
    it = udpai_alloc(sizeof(*it));
    return 0;
}

static void
clear(void)
{
    udpai_load_stats_split_free(it->edges[0].sum);
    udpai_load_stats_split_free(it->edges[1].sum);
    udpai_load_stats_split_free(it->top.sum);
    udpai_load_stats_free(it->said);
    udpai_load_stats_free(it->told);
    *it = (world){0};
}

static int
end(void **state)
{
    (void)state;
    clear();
    udpai_free(it);
    return 0;
}

/* ---- what goes on ---- */

static void
take(node *self,
     udpai_load_stats_kind kind,
     const char *who,
     udpai_load_stats *stats,
     uint64_t now_ms)
{
    if (!self->sum) {
        const udpai_load_aggregate_options options = {
            .cluster = UDPAI_STR("com.acme/a"), .node_id = udpai_str_from(self->id), .epoch = 1};
        assert_ok(udpai_load_stats_split_new(&self->sum, &options));
    }
    stats->at_ns = now_ms * MS;
    assert_ok(udpai_load_stats_split_take(self->sum, kind, udpai_str_from(who), stats, NULL));
    if (!self->due_ms)
        self->due_ms = now_ms + DELAY_MS;
}

/* Whole requests, as they are counted until then. */
static uint64_t
count_at(const client *from, uint64_t ms)
{
    return (uint64_t)((double)(ms - from->began_ms + from->before_ms) * from->rate / 1000);
}

static void
report(client *from, size_t i, uint64_t now_ms)
{
    udpai_load_stats *stats = stats_new(1);
    from->n_reports++;
    stats_figures(stats, "eu")->counts[UDPAI_LOAD_STATS_ISSUED] = count_at(from, now_ms);
    stats->elapsed_ns = (now_ms - from->began_ms) * MS;
    stats->covered_ns = stats->elapsed_ns + from->before_ms * MS;
    take(&it->edges[it->has_top ? i % 2 : 0], UDPAI_LOAD_STATS_OF_CLIENT, from->id, stats, now_ms);
}

static udpai_load_stats *
say(node *self, uint64_t now_ms)
{
    const udpai_load_stats *total = udpai_load_stats_split_total(self->sum, now_ms * MS);
    assert_non_null(total);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(total);
    udpai_load_stats *copy = NULL;
    udpai_arena arena;
    udpai_arena_init(&arena);
    assert_ok(udpai_load_stats_decode(&arena, udpai_bytes_view(bytes), &udpai_load_aggregate_limits,
                                      &copy, NULL));
    udpai_arena_done(&arena);
    self->due_ms = 0;
    return copy;
}

static void
pass_on(uint64_t now_ms)
{
    for (size_t i = 0; i < 2; i++)
        if (it->has_top && it->edges[i].due_ms == now_ms)
            take(&it->top, UDPAI_LOAD_STATS_OF_NODE, it->edges[i].id, say(&it->edges[i], now_ms),
                 now_ms);
    node *last = it->has_top ? &it->top : &it->edges[0];
    if (last->due_ms == now_ms) {
        udpai_load_stats_free(it->said);
        it->said = say(last, now_ms);
    }
}

static double
rate_of_all(void)
{
    double rate = 0;
    for (size_t i = 0; i < it->n; i++)
        rate += it->clients[i].is_away ? 0 : it->clients[i].rate;
    return rate;
}

static void
tell(void)
{
    udpai_load_stats *told = NULL;
    if (!it->said || !udpai_load_stats_covers_all(it->said, it->told))
        return;
    assert_ok(udpai_load_stats_difference(it->said, it->told, &told, NULL));
    uint64_t n = stats_count(told, "eu", UDPAI_LOAD_STATS_ISSUED);
    double off = (double)n / ((double)told->elapsed_ns / 1e9) / rate_of_all() - 1;
    it->worst = off > it->worst ? off : -off > it->worst ? -off : it->worst;
    it->n_told++;
    it->n_requests += n;
    it->covered_ns += told->elapsed_ns;
    udpai_load_stats_free(told);
    udpai_load_stats_free(it->told);
    it->told = UDPAI_TAKE(it->said);
}

/* From where it was. */
static void
run(uint64_t server_ms, uint64_t for_ms)
{
    snprintf(it->edges[0].id, sizeof(it->edges[0].id), "e0");
    snprintf(it->edges[1].id, sizeof(it->edges[1].id), "e1");
    snprintf(it->top.id, sizeof(it->top.id), "top");
    for (uint64_t end_ms = it->now_ms + for_ms; it->now_ms < end_ms;) {
        uint64_t ms = it->now_ms += 10;
        for (size_t i = 0; i < it->n; i++) {
            client *one = &it->clients[i];
            if (ms > one->began_ms && (ms - one->began_ms) % one->interval_ms == 0 &&
                (!one->is_away || one->n_reports == 0))
                report(one, i, ms);
        }
        pass_on(ms);
        if (ms % server_ms == 0)
            tell();
    }
}

static client *
add_client(double rate, uint64_t interval_ms, uint64_t began_ms)
{
    client *made = &it->clients[it->n++];
    *made = (client){.rate = rate, .interval_ms = interval_ms, .began_ms = began_ms};
    snprintf(made->id, sizeof(made->id), "%zu", it->n);
    return made;
}

/* ---- what is expected ---- */

static const uint64_t intervals_ms[] = {1000, 2000, 3000, 5000, 10000, 30000};

static void
expect_right(const char *what, uint64_t server_ms, uint64_t client_ms)
{
    if (it->n_told < 3 || it->worst > 0.05)
        fail_msg(
            "%s: server each %llu ms, clients each %llu: %llu reports, the worst off by %.1f%%",
            what, (unsigned long long)server_ms, (unsigned long long)client_ms,
            (unsigned long long)it->n_told, it->worst * 100);
    clear();
}

#define EACH_PAIR(server_ms, client_ms)                                                            \
    for (size_t s_ = 0; s_ < UDPAI_ARRAY_LEN(intervals_ms); s_++)                                  \
        for (size_t c_ = 0; c_ < UDPAI_ARRAY_LEN(intervals_ms); c_++)                              \
            for (uint64_t server_ms = intervals_ms[s_], client_ms = intervals_ms[c_]; server_ms;   \
                 server_ms = 0)

static void
one_client_is_told_with_its_rate(void **state)
{
    (void)state;
    EACH_PAIR(server_ms, client_ms)
    {
        add_client(100, client_ms, 0);
        run(server_ms, 10 * (server_ms + client_ms));
        expect_right("one", server_ms, client_ms);
    }
}

/* Asked at once, but with rates of their own; they report when the network lets them. */
static void
clients_that_begin_together_are(void **state)
{
    (void)state;
    EACH_PAIR(server_ms, client_ms)
    {
        add_client(100, client_ms, 0);
        add_client(10, client_ms, 10);
        add_client(300, client_ms, 40);
        run(server_ms, 10 * (server_ms + client_ms));
        expect_right("together", server_ms, client_ms);
    }
}

/* From when all of them are there: before that the rate is another. */
static void
clients_with_moments_of_their_own_are(void **state)
{
    (void)state;
    for (int has_top = 0; has_top < 2; has_top++)
        EACH_PAIR(server_ms, client_ms)
        {
            it->has_top = has_top;
            for (size_t i = 0; i < CLIENTS_MAX; i++)
                add_client(i == 2 ? 500 : 20, client_ms, i * client_ms / CLIENTS_MAX / 10 * 10);
            run(server_ms, 3 * (server_ms + client_ms) + 5000);
            it->worst = 0;
            it->n_told = 0;
            run(server_ms, 10 * (server_ms + client_ms));
            expect_right(has_top ? "two levels" : "each at its own moment", server_ms, client_ms);
        }
}

static void
what_came_before_a_client_was_asked_has_its_time(void **state)
{
    (void)state;
    add_client(100, 10000, 0)->before_ms = 60000;
    run(2000, 100000);
    expect_right("before", 2000, 10000);
}

/* It has gone, and nobody has noticed: the others go on to be told with their time. */
static void
a_client_that_is_silent_takes_no_time_away(void **state)
{
    (void)state;
    add_client(100, 10000, 0);
    add_client(0, 10000, 20)->is_away = true;
    run(2000, 200000);
    assert_in_range(it->covered_ns / MS, 165000, 200000);
    assert_in_range(it->n_requests, 16500, 20000);
    double rate = (double)it->n_requests / ((double)it->covered_ns / 1e9);
    assert_true(rate > 95 && rate < 105);
    clear();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_client_is_told_with_its_rate, begin, end),
        cmocka_unit_test_setup_teardown(clients_that_begin_together_are, begin, end),
        cmocka_unit_test_setup_teardown(clients_with_moments_of_their_own_are, begin, end),
        cmocka_unit_test_setup_teardown(what_came_before_a_client_was_asked_has_its_time, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_client_that_is_silent_takes_no_time_away, begin, end),
    };
    return cmocka_run_group_tests_name("reports load_stats_cover", tests, NULL, NULL);
}
