/* SPDX-License-Identifier: Apache-2.0 */
/* The list of metrics: that it follows the conventions of Prometheus, and that no node can have
 * more series than it may. */
#include "metrics/families.h"

#include <ctype.h>

#include "model/types.h"
#include "tests/harness/test.h"

static bool
ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

static void
names_follow_the_conventions(void **state)
{
    static const char *const reserved[] = {"_total", "_created", "_bucket", "_sum", "_count"};
    (void)state;
    for (int i = 0; i < UDPAI_METRICS; i++) {
        const char *name = udpai_metric_family_of((udpai_metric)i)->name;
        assert_true(strncmp(name, "udpa_", 5) == 0 || strncmp(name, "process_", 8) == 0);
        for (const char *at = name; *at; at++)
            assert_true(islower((unsigned char)*at) || *at == '_');
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(reserved); k++)
            if (ends_with(name, reserved[k]))
                fail_msg("%s ends with %s", name, reserved[k]);
    }
}

static void
no_two_families_have_one_name(void **state)
{
    (void)state;
    for (int i = 0; i < UDPAI_METRICS; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(udpai_metric_family_of((udpai_metric)i)->name,
                                    udpai_metric_family_of((udpai_metric)k)->name);
}

static void
each_has_a_sentence(void **state)
{
    (void)state;
    for (int i = 0; i < UDPAI_METRICS; i++) {
        const char *help = udpai_metric_family_of((udpai_metric)i)->help;
        assert_true(isupper((unsigned char)help[0]));
        assert_true(ends_with(help, "."));
    }
}

static void
a_unit_is_the_end_of_the_name(void **state)
{
    (void)state;
    assert_string_equal(udpai_metric_unit(UDPAI_METRIC_DELIVERY_BYTES), "bytes");
    assert_string_equal(udpai_metric_unit(UDPAI_METRIC_PROCESS_START), "seconds");
    assert_null(udpai_metric_unit(UDPAI_METRIC_ACKS));
    for (int i = 0; i < UDPAI_METRICS; i++)
        if (udpai_metric_family_of((udpai_metric)i)->kind == UDPAI_METRIC_HISTOGRAM)
            assert_string_equal(udpai_metric_unit((udpai_metric)i), "seconds");
}

static void
bounds_ascend(void **state)
{
    (void)state;
    for (size_t i = 1; i < UDPAI_METRIC_BUCKETS; i++)
        assert_true(udpai_metric_bounds_us[i - 1] < udpai_metric_bounds_us[i]);
}

static void
all_together_have_no_more_series_than_a_node_may(void **state)
{
    size_t n = 0, n_types = 0;
    (void)state;
    while (udpai_type_at(n_types))
        n_types++;
    for (int i = 0; i < UDPAI_METRICS; i++)
        n += udpai_metric_max_series((udpai_metric)i);
    assert_in_range(n, 2 * (n_types + 101), UDPAI_METRIC_SERIES_MAX);
    assert_int_equal(udpai_metric_max_series(UDPAI_METRIC_ACKS), 2 * (n_types + 101));
    assert_int_equal(udpai_metric_max_series(UDPAI_METRIC_LOOP_TURN), UDPAI_METRIC_BUCKETS + 4);
    assert_int_equal(udpai_metric_max_series(UDPAI_METRIC_PROCESS_START), 1);
}

static void
codes_are_those_of_grpc(void **state)
{
    (void)state;
    assert_str(udpai_metric_code(UDPA_OK), "ok");
    assert_str(udpai_metric_code(UDPA_ERR_DENIED), "permission_denied");
    assert_str(udpai_metric_code(UDPA_ERR_UNAUTHENTICATED), "unauthenticated");
    assert_str(udpai_metric_code((udpa_err)12345), "unknown");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_conventions),
        cmocka_unit_test(no_two_families_have_one_name),
        cmocka_unit_test(each_has_a_sentence),
        cmocka_unit_test(a_unit_is_the_end_of_the_name),
        cmocka_unit_test(bounds_ascend),
        cmocka_unit_test(all_together_have_no_more_series_than_a_node_may),
        cmocka_unit_test(codes_are_those_of_grpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
