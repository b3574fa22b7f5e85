/* SPDX-License-Identifier: Apache-2.0 */
/* What checkers are to check, of any cluster with any endpoints: a byte, how many checkers there
 * are and by how many each endpoint is checked; a Checker, its length in a byte before it; a
 * Cluster, its length in two; the rest is a ClusterLoadAssignment. Whatever they are, each share is
 * a specifier that a session can send, and each endpoint is in as many as it should be. */
#include "base/proto.h"
#include "reports/health_plan.h"
#include "tests/fuzz/fuzz.h"

#define CHECKERS_MAX 4

static const char *const ids[CHECKERS_MAX] = {"a", "b", "c", "d"};

static size_t
count(udpai_str message, const uint32_t *path)
{
    size_t n = 0;
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == *path && field.type == UDPAI_WIRE_BYTES)
            n += path[1] ? count(field.bytes, path + 1) : 1;
    FUZZ_CHECK(!reader.failed);
    return n;
}

/* How many endpoints are in it. */
static size_t
check_share(const udpai_health_plan *plan, size_t checker)
{
    static const uint32_t to_endpoints[] = {1, 3, 2, 0};
    udpa_bytes *specifier = udpai_health_plan_specifier(plan, checker), *limited = NULL;
    udpai_health_table *table = NULL;
    size_t n_left_out = 0;
    FUZZ_CHECK(specifier);
    size_t n = count(udpai_bytes_view(specifier), to_endpoints);
    FUZZ_CHECK(udpai_health_specifier_limit(udpai_bytes_view(specifier), 7, &limited, &n_left_out,
                                            NULL) == UDPA_OK);
    FUZZ_CHECK(n_left_out == 0 && udpa_bytes_size(limited) == udpa_bytes_size(specifier));
    FUZZ_CHECK(udpai_health_table_new(&table, limited, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_health_table_n_clusters(table) == (n > 0));
    udpai_health_table_free(table);
    udpa_bytes_unref(limited);
    udpa_bytes_unref(specifier);
    return n;
}

static void
check(const udpai_health_plan_input *input)
{
    udpai_health_plan *plan = NULL;
    FUZZ_CHECK(udpai_health_plan_new(&plan, input) == UDPA_OK);
    const udpai_health_plan_counts *counts = udpai_health_plan_counted(plan);
    size_t n = 0,
           n_each = input->n_checkers < input->redundancy ? input->n_checkers : input->redundancy;
    FUZZ_CHECK(counts->n_clusters + counts->n_left_out <= 1 && counts->n_leaving == 0);
    for (size_t i = 0; i < input->n_checkers; i++)
        n += check_share(plan, i);
    /* All checkers can do the same. */
    FUZZ_CHECK(counts->n_unchecked == 0 || counts->n_unchecked == counts->n_endpoints);
    FUZZ_CHECK(n == (counts->n_endpoints - counts->n_unchecked) * n_each);
    udpai_health_plan_free(plan);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str rest = {(const char *)data, size};
    uint8_t numbers = fuzz_take_byte(&rest);
    udpai_health_checker checker = {.capability = 7}, checkers[CHECKERS_MAX];
    (void)udpai_health_checker_read(fuzz_take_text(&rest), &checker);
    size_t high = fuzz_take_byte(&rest), low = fuzz_take_byte(&rest);
    udpai_health_cluster_input cluster = {.name = UDPAI_STR("c")};
    cluster.cluster = fuzz_take(&rest, high << 8 | low);
    cluster.assignment = rest;
    for (size_t i = 0; i < CHECKERS_MAX; i++) {
        checkers[i] = checker;
        checkers[i].id = udpai_str_from(ids[i]);
    }
    const udpai_health_plan_input input = {
        .checkers = checkers,
        .n_checkers = numbers % (CHECKERS_MAX + 1),
        .clusters = &cluster,
        .n_clusters = 1,
        .redundancy = 1 + numbers / 16,
        .interval_ms = 1000,
    };
    check(&input);
    return 0;
}
