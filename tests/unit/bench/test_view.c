/* SPDX-License-Identifier: Apache-2.0 */
/* Results of udpactl bench as tables and as JSON. */
#include "base/alloc.h"
#include "tests/harness/test.h"
#include "tools/bench/view.h"

static const udpai_load_options usual = {
    .n_streams = 10, .n_connections = 10, .n_resources = 50, .size = 300, .n_servers = 1};

static udpai_cli_layout plain;

static udpai_load_figures
all_figures(void)
{
    udpai_load_figures figures = {
        .publish = {true, 20, 4, 5, 50, 1000},
        .connect = {true, 12.5, 8, 1, 10, 420},
        .sync = {true, 1250, 40, 2, 500, 2190000},
        .changes = {true, 100, 30, 4, 20, 119320},
        .reconnect = {true, 300, 7, 1, 3, 8768},
        .memory = {10240, 11264, 20480, 30720, 30208},
        .n_deliveries = 200,
        .n_messages = 190,
    };
    for (uint64_t i = 1; i <= 200; i++)
        udpai_samples_add(&figures.deliveries, i * 10000);
    for (uint64_t i = 1; i <= 20; i++)
        udpai_samples_add(&figures.last, i * 100000);
    return figures;
}

static void
assert_json(const udpai_load_options *load, udpai_load_figures *figures, const char *expected)
{
    udpai_strbuf out = {0};
    udpai_bench_put_json(&out, load, figures);
    assert_str(udpai_strbuf_view(&out), expected);
    udpai_strbuf_done(&out);
}

static void
assert_text(const udpai_load_options *load, udpai_load_figures *figures, const char *expected)
{
    udpai_strbuf out = {0};
    udpai_bench_put_text(&out, &plain, load, figures);
    assert_str(udpai_strbuf_view(&out), expected);
    udpai_strbuf_done(&out);
}

static void
a_rest_of_envoys(void **state)
{
    (void)state;
    udpai_load_options load = usual;
    udpai_load_figures figures = {.rest = {true, 60000, 25.5, 3, 0, 128}};
    udpai_strbuf out = {0};
    load.n_servers = 0;
    load.n_of_envoys = 202;
    assert_json(&load, &figures,
                "{\"protocol\":\"delta\",\"streams\":10,\"connections\":10,\"resources\":50,"
                "\"size\":300,\"names\":0,\"tls\":false,\"envoy\":202,\"rest\":{\"ms\":60000.000,"
                "\"server_cpu_ms\":25.500,\"client_cpu_ms\":3.000,\"bytes\":128,\"resources\":0},"
                "\"errors\":0}\n");
    udpai_bench_put_text(&out, &plain, &load, &figures);
    assert_non_null(strstr(out.data, "\nrest   "));
    udpai_strbuf_done(&out);
}

static void
all_as_json(void **state)
{
    (void)state;
    udpai_load_figures figures = all_figures();
    assert_json(
        &usual, &figures,
        "{\"protocol\":\"delta\",\"streams\":10,\"connections\":10,\"resources\":50,\"size\":300,"
        "\"names\":0,\"tls\":false,"
        "\"publish\":{\"n\":50,\"ms\":20.000,\"per_s\":2500,\"server_cpu_ms\":4.000},"
        "\"connect\":{\"ms\":12.500,\"server_cpu_ms\":8.000,\"client_cpu_ms\":1.000,\"bytes\":420,"
        "\"connections\":10},"
        "\"sync\":{\"ms\":1250.000,\"server_cpu_ms\":40.000,\"client_cpu_ms\":2.000,"
        "\"bytes\":2190000,\"resources\":500},"
        "\"memory\":{\"begin_kb\":10240,\"filled_kb\":11264,\"connected_kb\":20480,"
        "\"synced_kb\":30720,\"end_kb\":30208},"
        "\"changes\":{\"n\":20,\"complete\":20,\"deliveries\":200,\"messages\":190,\"ms\":100.000,"
        "\"per_s\":2000,\"p50_us\":1010.0,\"p99_us\":1990.0,\"max_us\":2000.0,"
        "\"last_p50_us\":1100.0,\"last_p99_us\":2000.0,\"server_cpu_ms\":30.000,"
        "\"server_cpu_s_per_million\":150.000,\"client_cpu_s_per_million\":20.000,"
        "\"bytes\":119320},"
        "\"reconnect\":{\"ms\":300.000,\"server_cpu_ms\":7.000,\"client_cpu_ms\":1.000,"
        "\"bytes\":8768,\"resources\":3},"
        "\"errors\":0}\n");
    udpai_load_figures_done(&figures);
}

static void
all_as_tables(void **state)
{
    (void)state;
    udpai_load_figures figures = all_figures();
    assert_text(&usual, &figures,
                "10 streams of delta xDS, each on a connection of its own\n"
                "\n"
                "STEP                           TIME       NUMBER   RECEIVED   SERVER CPU\n"
                "resources published            20.00 ms       50   -          4.00 ms\n"
                "connections                    12.50 ms       10   0.4 kB     8.00 ms\n"
                "first resources                1.25 s        500   2.2 MB     40.00 ms\n"
                "changes                        100 ms         20   119.3 kB   30.00 ms\n"
                "resources behind a reconnect   300 ms          3   8.8 kB     7.00 ms\n"
                "\n"
                "CHANGES                        NUMBER   P50       P99       LONGEST\n"
                "until a stream has one            200   1.01 ms   1.99 ms   2.00 ms\n"
                "until the last stream has it       20   1.10 ms   2.00 ms   2.00 ms\n"
                "\n"
                "200 deliveries in 190 messages, 2000 a second\n"
                "CPU of a million deliveries: server 150.00 s, this client 20.00 s\n"
                "\n"
                "SERVER MEMORY      MB     MORE\n"
                "in the beginning   10.0   -\n"
                "with resources     11.0   +1.0\n"
                "with connections   20.0   +9.0\n"
                "with streams       30.0   +10.0\n"
                "after changes      29.5   -0.5\n");
    udpai_load_figures_done(&figures);
}

/* Only if there were some, and streams that had the changes. */
static void
receipts(void **state)
{
    (void)state;
    udpai_load_figures figures = {.changes = {true, 100, 30, 4, 20, 0}};
    udpai_load_options load = usual;
    load.n_servers = 0;
    for (uint64_t i = 1; i <= 20; i++)
        udpai_samples_add(&figures.receipts, i * 100000);
    udpai_strbuf out = {0};
    udpai_bench_put_json(&out, &load, &figures);
    assert_non_null(strstr(out.data, ",\"receipts\":{\"n\":20,\"p50_us\":1100.0,"
                                     "\"p99_us\":2000.0,\"max_us\":2000.0},\"errors\":0}"));
    udpai_strbuf_done(&out);
    for (uint64_t i = 1; i <= 10; i++)
        udpai_samples_add(&figures.after_receipt, i * 10000);
    udpai_bench_put_json(&out, &load, &figures);
    assert_non_null(strstr(out.data, "\"max_us\":2000.0,\"visible_p50_us\":60.0,"
                                     "\"visible_p99_us\":100.0},"));
    udpai_strbuf_done(&out);
    udpai_bench_put_text(&out, &plain, &load, &figures);
    assert_non_null(
        strstr(out.data, "until the receipt                   20   1.10 ms   2.00 ms   2.00 ms\n"
                         "from there to the last stream       10   60 us     100 us    100 us\n"));
    udpai_strbuf_done(&out);
    udpai_load_figures_done(&figures);
}

/* Without processes that are measured there are no figures of them. */
static void
idle_connections(void **state)
{
    (void)state;
    udpai_load_options load = {
        .n_streams = 10, .n_connections = 10, .is_idle = true, .n_servers = 1};
    udpai_load_figures figures = {.connect = {true, 0.5, 8, 1, 10, 420},
                                  .memory = {1024, 1024, 2048, 0, 0}};
    assert_json(
        &load, &figures,
        "{\"protocol\":\"delta\",\"streams\":10,\"connections\":10,\"resources\":0,\"size\":0,"
        "\"names\":0,\"tls\":false,"
        "\"connect\":{\"ms\":0.500,\"server_cpu_ms\":8.000,\"client_cpu_ms\":1.000,\"bytes\":420,"
        "\"connections\":10},"
        "\"memory\":{\"begin_kb\":1024,\"filled_kb\":1024,\"connected_kb\":2048},\"errors\":0}\n");
    load.n_servers = 0;
    load.tls.authorities = "ca.crt";
    assert_text(&load, &figures,
                "10 idle connections, with TLS\n"
                "\n"
                "STEP          TIME     NUMBER   RECEIVED   SERVER CPU\n"
                "connections   500 us       10   0.4 kB     -\n");
}

static void
what_is_not_usual_is_told(void **state)
{
    (void)state;
    udpai_load_options load = usual;
    udpai_load_figures figures = {0};
    load.n_connections = 2;
    load.n_slow = 3;
    load.slow_bytes_per_s = 1000;
    load.n_namespaces = 4;
    load.protocol = UDPAI_LOAD_UDPA;
    load.n_servers = 0;
    assert_json(&load, &figures,
                "{\"protocol\":\"udpa\",\"streams\":10,\"connections\":2,\"resources\":50,"
                "\"size\":300,\"names\":0,\"tls\":false,\"namespaces\":4,\"slow\":3,"
                "\"slow_bytes_per_s\":1000,\"errors\":0}\n");
    assert_text(&load, &figures, "10 streams of UDPA on 2 connections\n");
}

static void
changes_that_nobody_has_asked_for(void **state)
{
    (void)state;
    udpai_load_figures figures = {.changes = {true, 100, 30, 4, 20, 0}};
    udpai_load_options load = usual;
    load.n_servers = 0;
    assert_text(&load, &figures,
                "10 streams of delta xDS, each on a connection of its own\n"
                "\n"
                "STEP      TIME     NUMBER   RECEIVED   SERVER CPU\n"
                "changes   100 ms       20   -          -\n"
                "\n"
                "CHANGES                        NUMBER   P50   P99   LONGEST\n"
                "until a stream has one              0   -     -     -\n"
                "until the last stream has it        0   -     -     -\n"
                "\n"
                "0 deliveries in 0 messages, 0 a second\n");
}

static void
without_memory_it_is_told(void **state)
{
    (void)state;
    udpai_load_figures figures = all_figures();
    for (long n = 0;; n++) {
        udpai_strbuf out = {0};
        udpai_alloc_fail_after(n);
        udpai_bench_put_text(&out, &plain, &usual, &figures);
        udpai_alloc_fail_after(-1);
        bool failed = udpai_strbuf_failed(&out);
        udpai_strbuf_done(&out);
        if (!failed)
            break;
        assert_true(n < 1000);
    }
    udpai_load_figures_done(&figures);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rest_of_envoys),
        cmocka_unit_test(all_as_json),
        cmocka_unit_test(all_as_tables),
        cmocka_unit_test(receipts),
        cmocka_unit_test(idle_connections),
        cmocka_unit_test(what_is_not_usual_is_told),
        cmocka_unit_test(changes_that_nobody_has_asked_for),
        cmocka_unit_test(without_memory_it_is_told),
    };
    return cmocka_run_group_tests_name("bench/view", tests, NULL, NULL);
}
