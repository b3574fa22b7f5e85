/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of labels are kept apart. */
#include "metrics/labels.h"

#include <stdio.h>

#include "model/types.h"
#include "tests/harness/oom.h"
#include "tests/harness/test.h"

static udpai_str
fold(udpai_metric_labels *labels, const char *type)
{
    return udpai_metric_labels_fold(labels, UDPAI_LABEL_TYPE, udpai_str_from(type));
}

static void
the_first_hundred_types_stay_and_later_ones_are_other(void **state)
{
    udpai_metric_labels labels;
    char name[32];
    (void)state;
    udpai_metric_labels_init(&labels);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 10000; i++) {
            snprintf(name, sizeof(name), "com.acme.T%d", i);
            assert_str(fold(&labels, name), i < 100 ? name : "other");
        }
    udpai_metric_labels_done(&labels);
}

static void
known_types_always_stay(void **state)
{
    udpai_metric_labels labels;
    char name[32];
    (void)state;
    udpai_metric_labels_init(&labels);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "com.acme.T%d", i);
        fold(&labels, name);
    }
    for (size_t i = 0; udpai_type_at(i); i++)
        assert_str(fold(&labels, udpai_type_at(i)->url.data), udpai_type_at(i)->url.data);
    /* the same message by another prefix is another type, of which there may be any number */
    assert_str(fold(&labels, "x/envoy.config.cluster.v3.Cluster"), "other");
    udpai_metric_labels_done(&labels);
}

static void
labels_do_not_take_each_others_room(void **state)
{
    udpai_metric_labels labels;
    char name[32];
    (void)state;
    udpai_metric_labels_init(&labels);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "%d", i);
        fold(&labels, name);
    }
    assert_str(udpai_metric_labels_fold(&labels, UDPAI_LABEL_SOURCE, UDPAI_STR("core")), "core");
    assert_str(udpai_metric_labels_fold(&labels, UDPAI_LABEL_NONE, UDPAI_STR("core")), "");
    udpai_metric_labels_done(&labels);
}

static void
what_is_too_long_is_other(void **state)
{
    udpai_metric_labels labels;
    char name[UDPAI_LABEL_VALUE_MAX + 2];
    (void)state;
    udpai_metric_labels_init(&labels);
    memset(name, 'x', sizeof(name));
    name[UDPAI_LABEL_VALUE_MAX + 1] = '\0';
    assert_str(fold(&labels, name), "other");
    name[UDPAI_LABEL_VALUE_MAX] = '\0';
    assert_str(fold(&labels, name), name);
    udpai_metric_labels_done(&labels);
}

static udpa_err
fold_once(void *context)
{
    udpai_metric_labels labels;
    (void)context;
    udpai_metric_labels_init(&labels);
    udpai_str value = fold(&labels, "com.acme.A");
    bool is_kept = udpai_str_eq(value, UDPAI_STR("com.acme.A"));
    udpai_metric_labels_done(&labels);
    return is_kept ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_it_is_other(void **state)
{
    (void)state;
    oom_torture(fold_once, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_hundred_types_stay_and_later_ones_are_other),
        cmocka_unit_test(known_types_always_stay),
        cmocka_unit_test(labels_do_not_take_each_others_room),
        cmocka_unit_test(what_is_too_long_is_other),
        cmocka_unit_test(without_memory_it_is_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
