/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a client is sent. */
#include "metrics/text.h"

#include "tests/harness/test.h"

static const struct {
    const char *accept;
    udpai_metric_format format;
} cases[] = {
    {"", UDPAI_METRIC_PROMETHEUS},
    {"*/*", UDPAI_METRIC_PROMETHEUS},
    {"text/html,application/xhtml+xml,*/*;q=0.8", UDPAI_METRIC_PROMETHEUS},
    {"text/plain", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text", UDPAI_METRIC_OPENMETRICS},
    {"application/openmetrics-text; version=1.0.0", UDPAI_METRIC_OPENMETRICS},
    {"Application/OpenMetrics-Text ; Version=1.0.0 ; charset=utf-8", UDPAI_METRIC_OPENMETRICS},
    /* Prometheus 2 */
    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
     "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
     UDPAI_METRIC_OPENMETRICS},
    /* Prometheus 3 */
    {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
     "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
     UDPAI_METRIC_OPENMETRICS},
    /* one that knows an older version alone */
    {"application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5",
     UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=0.2,text/plain;q=0.7", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=0.7, text/plain;q=0.70", UDPAI_METRIC_OPENMETRICS},
    {"text/*;q=0.3,application/*;q=0.4", UDPAI_METRIC_OPENMETRICS},
    /* the closest range decides, not the first or the best */
    {"application/*, application/openmetrics-text;q=0", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=0", UDPAI_METRIC_PROMETHEUS},
    /* what is no quality is none */
    {"application/openmetrics-text;q=2", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=1.001", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=0,5", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=0.0001", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=", UDPAI_METRIC_PROMETHEUS},
    {"application/openmetrics-text;q=0.001", UDPAI_METRIC_OPENMETRICS},
    {",,;;,application/openmetrics-text,", UDPAI_METRIC_OPENMETRICS},
};

static void
the_client_chooses(void **state)
{
    (void)state;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++)
        if (udpai_metric_negotiate(udpai_str_from(cases[i].accept)) != cases[i].format)
            fail_msg("'%s'", cases[i].accept);
}

static void
any_bytes_choose_something(void **state)
{
    static const char bytes[] = "aq=;,./* 01text/plain";
    uint64_t seed = 3;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char accept[64];
        size_t len = test_random(&seed) % sizeof(accept);
        for (size_t i = 0; i < len; i++)
            accept[i] = bytes[test_random(&seed) % (sizeof(bytes) - 1)];
        assert_in_range(udpai_metric_negotiate((udpai_str){accept, len}), 0,
                        UDPAI_METRIC_FORMATS - 1);
    }
}

static void
each_format_has_its_type(void **state)
{
    (void)state;
    assert_string_equal(udpai_metric_content_type(UDPAI_METRIC_PROMETHEUS),
                        "text/plain; version=0.0.4; charset=utf-8");
    assert_string_equal(udpai_metric_content_type(UDPAI_METRIC_OPENMETRICS),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_client_chooses),
        cmocka_unit_test(any_bytes_choose_something),
        cmocka_unit_test(each_format_has_its_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
