/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose resources are validated. */
#include <stdio.h>

#include "base/error.h"
#include "file_bed.h"
#include "transport/file/scan.h"

extern const unsigned char ruled_descriptors[];
extern const unsigned long ruled_descriptors_size;

static const char good[] = "---\n'@type': x/codec.ruled.Plain\nname: a\n";
static const char bad[] = "---\n'@type': x/codec.ruled.Plain\nname: b\nport: 70000\n";

static void
look(udpai_file_scan *scan, size_t n_resources, const char *error)
{
    udpai_file_scan_run(scan);
    assert_int_equal(scan->n_resources, n_resources);
    assert_int_equal(scan->files.n, 1);
    const udpa_error *found = scan->files.items[0]->error;
    if (error && !(found && strstr(udpa_error_message(found), error)))
        fail_msg("found: %s", found ? udpa_error_message(found) : "nothing");
    if (!error)
        assert_null(found);
}

static void
a_file_with_a_mistake_keeps_what_it_had(void **state)
{
    (void)state;
    file_bed bed;
    udpai_file_scan scan;
    UDPA_AUTO(udpai_validator_unref) udpai_validator *validator = NULL;
    file_bed_init(&bed);
    const udpai_str set = {(const char *)ruled_descriptors, ruled_descriptors_size};
    assert_ok(udpai_schema_add_set(bed.schema, set, "ruled", NULL));
    assert_ok(udpai_validator_new(&validator, bed.schema, NULL));
    const udpai_policy policy = {.validator = validator, .others = {.checks = UDPAI_CHECK_RULES}};
    const udpai_file_rules rules = {
        .root = bed.root,
        .schema = bed.schema,
        .default_namespace = UDPAI_STR("local"),
        .max_file_size = 65536,
        .max_files = 10,
        .max_resources = 10,
        .policy = &policy,
    };
    udpai_file_scan_init(&scan, &rules);
    file_bed_put(&bed, "root/a.yaml", good);
    look(&scan, 1, NULL);
    char both[sizeof(good) + sizeof(bad)];
    snprintf(both, sizeof(both), "%s%s", good, bad);
    file_bed_replace(&bed, "root/a.yaml", both);
    look(&scan, 1, "a.yaml:5:1: 'local/b': port: must be at most 65535");
    file_bed_replace(&bed, "root/a.yaml", good);
    look(&scan, 1, NULL);
    udpai_file_scan_done(&scan);
    file_bed_done(&bed);
}

/* By another measure than before files are judged again, though they have not changed. */
static void
the_measure_may_change(void **state)
{
    (void)state;
    file_bed bed;
    udpai_file_scan scan;
    atomic_int mode = UDPAI_POLICY_REFUSE;
    UDPA_AUTO(udpai_validator_unref) udpai_validator *validator = NULL;
    file_bed_init(&bed);
    const udpai_str set = {(const char *)ruled_descriptors, ruled_descriptors_size};
    assert_ok(udpai_schema_add_set(bed.schema, set, "ruled", NULL));
    assert_ok(udpai_validator_new(&validator, bed.schema, NULL));
    const udpai_policy policy = {
        .validator = validator,
        .others = {.checks = UDPAI_CHECK_RULES},
        .mode = &mode,
    };
    const udpai_file_rules rules = {
        .root = bed.root,
        .schema = bed.schema,
        .default_namespace = UDPAI_STR("local"),
        .max_file_size = 65536,
        .max_files = 10,
        .max_resources = 10,
        .policy = &policy,
    };
    udpai_file_scan_init(&scan, &rules);
    file_bed_put(&bed, "root/a.yaml", bad);
    look(&scan, 0, "must be at most 65535");
    mode = UDPAI_POLICY_WARN;
    assert_true(udpai_policy_applies(&policy, UDPAI_STR("x/codec.ruled.Plain")));
    look(&scan, 1, NULL);
    mode = UDPAI_POLICY_REFUSE;
    look(&scan, 1, "must be at most 65535"); /* what it had stays */
    mode = UDPAI_POLICY_OFF;
    assert_false(udpai_policy_applies(&policy, UDPAI_STR("x/codec.ruled.Plain")));
    look(&scan, 1, NULL);
    udpai_file_scan_done(&scan);
    file_bed_done(&bed);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_with_a_mistake_keeps_what_it_had),
        cmocka_unit_test(the_measure_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
