/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of udpa.load.v1.LoadReporting, one after the other: a byte says the name and if it is
 * taken back, two say how long the payload is. What is followed lies in the namespace of its name
 * and within the bounds; the finest of a prefix is as fine as that of all that it covers. */
#include "base/alloc.h"
#include "model/name.h"
#include "reports/load_policy.h"
#include "tests/fuzz/fuzz.h"

static const char *const names[] = {"a.b/1", "a.b/2", "c/1", "a.b/x/y"};
static const char *const clusters[] = {"a.b/x", "a.b/x/y", "a.b.d/x", "c/z", "net/x"};

static void
set(udpai_load_policy *policy, const char *name, udpai_str value)
{
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_LOAD_REPORTING), value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    udpa_resource *resource = NULL;
    udpa_error *error = NULL;
    FUZZ_CHECK(any && udpai_resource_make(&resource, &parts) == UDPA_OK);
    udpa_err checked = udpai_load_rule_check(policy, resource, NULL);
    udpa_err err = udpai_load_policy_set(policy, resource, &error);
    FUZZ_CHECK(checked == err && (err == UDPA_OK) == (error == NULL));
    udpa_error_unref(error);
    udpa_resource_unref(resource);
    udpa_bytes_unref(any);
}

static void
check(const udpai_load_policy *policy)
{
    static const char *const prefixes[] = {"", "a.b", "a.b/x", "c"};
    FUZZ_CHECK(policy->rules.n <= UDPAI_ARRAY_LEN(names));
    for (size_t i = 0; i < policy->rules.n; i++)
        FUZZ_CHECK(udpai_prefix_covers(
            udpai_name_namespace(udpai_resource_name(policy->rules.items[i].resource)),
            policy->rules.items[i].prefix));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(clusters); i++) {
        udpai_str cluster = udpai_str_from(clusters[i]);
        udpai_load_setting found = udpai_load_policy_find(policy, cluster);
        FUZZ_CHECK(found.interval_ms >= UDPAI_LOAD_INTERVAL_MIN_MS &&
                   found.interval_ms <= UDPAI_LOAD_INTERVAL_MAX_MS);
        for (size_t k = 0; k < UDPAI_ARRAY_LEN(prefixes); k++) {
            udpai_str prefix = udpai_str_from(prefixes[k]);
            udpai_load_setting finest = udpai_load_policy_finest(policy, prefix);
            if (udpai_prefix_covers(prefix, cluster))
                FUZZ_CHECK(finest.interval_ms <= found.interval_ms &&
                           finest.per_endpoint >= found.per_endpoint);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    udpai_load_policy policy;
    udpai_load_policy_init(&policy, (udpai_load_setting){10000, false});
    while (input.len) {
        uint8_t command = fuzz_take_byte(&input);
        const char *name = names[command % UDPAI_ARRAY_LEN(names)];
        if (command & 128) {
            udpai_load_policy_remove(&policy, udpai_str_from(name));
        } else {
            size_t n = fuzz_take_byte(&input);
            n += (size_t)fuzz_take_byte(&input) << 8;
            set(&policy, name, fuzz_take(&input, n));
        }
        check(&policy);
    }
    udpai_load_policy_done(&policy);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
