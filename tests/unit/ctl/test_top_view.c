/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of udpactl top. */
#include "ctl/top_view.h"

#include "tests/harness/resources.h"

static const char before_text[] = "udpa_clock_timestamp_seconds 1000\n"
                                  "udpa_deliveries_total{type=\"x\"} 10\n"
                                  "udpa_nacks_total{type=\"x\"} 7\n"
                                  "udpa_propagation_seconds_bucket{type=\"x\",le=\"0.5\"} 0\n"
                                  "udpa_propagation_seconds_bucket{type=\"x\",le=\"+Inf\"} 0\n";
static const char now_text[] = "udpa_build_info{version=\"0.1.0\"} 1\n"
                               "udpa_clock_timestamp_seconds 1002\n"
                               "process_start_time_seconds 0\n"
                               "udpa_sessions{protocol=\"xds-delta\"} 3\n"
                               "udpa_sessions{protocol=\"udpa\"} 0\n"
                               "udpa_deliveries_total{type=\"x\"} 13\n"
                               "udpa_deliveries_total{type=\"y\"} 2\n"
                               "udpa_nacks_total{type=\"x\"} 0\n"
                               "udpa_propagation_seconds_bucket{type=\"x\",le=\"0.5\"} 4\n"
                               "udpa_propagation_seconds_bucket{type=\"x\",le=\"+Inf\"} 4\n"
                               "udpa_source_active{source=\"ok\"} 1\n"
                               "udpa_source_active{source=\"a\x1b[2J\"} 0\n"
                               "udpa_source_connected{source=\"a\x1b[2J\"} 1\n"
                               "udpa_source_held{source=\"a\x1b[2J\"} 9\n"
                               "udpa_source_failures_total{source=\"ok\"} 2\n";

static udpai_cli_page now, before;

static int
read_pages(void **state)
{
    (void)state;
    assert_ok(udpai_cli_page_read(&now, udpai_str_from(now_text), NULL));
    assert_ok(udpai_cli_page_read(&before, udpai_str_from(before_text), NULL));
    return 0;
}

static int
drop_pages(void **state)
{
    (void)state;
    udpai_cli_page_done(&now);
    udpai_cli_page_done(&before);
    return 0;
}

static void
rates_are_by_the_clock_of_the_node(void **state)
{
    (void)state;
    static const udpai_cli_top_clients clients = {.is_known = true, .n_clients = 3};
    const udpai_cli_top_counts counts[] = {udpai_cli_top_counts_of(&now),
                                           udpai_cli_top_counts_of(&before)};
    const udpai_cli_top top = {.page = &now,
                               .now = &counts[0],
                               .before = &counts[1],
                               .clients = &clients,
                               .node = "edge:1"};
    udpai_cli_layout layout = {0};
    udpai_strbuf out = {0};
    udpai_ctl_top_put(&top, &layout, &out);
    assert_str(udpai_strbuf_view(&out), "edge:1, version 0.1.0, up 16 min 42 s\n"
                                        "\n"
                                        "RATE               PER SECOND   IN ALL\n"
                                        "deliveries         2.5          15\n"
                                        "bytes delivered    0.0          0\n"
                                        "ACKs               0.0          0\n"
                                        "NACKs              0.0          0\n"
                                        "changes            0.0          0\n"
                                        "rejected changes   0.0          0\n"
                                        "\n"
                                        "TIME                         NOW      SINCE THE START\n"
                                        "propagation p50              250 ms   250 ms\n"
                                        "propagation p99              495 ms   495 ms\n"
                                        "turn of the loop p99         -        -\n"
                                        "turn of stream threads p99   -        -\n"
                                        "\n"
                                        "STREAMS  xds-delta 3\n"
                                        "\n"
                                        "SOURCE   STATE       FAILURES   HELD\n"
                                        "a?[2J    connected   0          9\n"
                                        "ok       active      2          0\n"
                                        "\n"
                                        "CLIENTS  all of 3 streams are synchronized\n");
    udpai_strbuf_done(&out);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_by_the_clock_of_the_node),
    };
    return cmocka_run_group_tests(tests, read_pages, drop_pages);
}
