/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of endpoints while checkers say something of them: a store that is fed by hand, and
 * a mirror that takes what is told, as the stream side does. */
#include "federation/health_overlay.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tests/unit/reports/health_test.h"

#define EDS "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
#define NAMES_MAX 16

typedef struct fixture {
    udpai_wheel wheel;
    udpai_store *store;
    udpai_health_overlay *verdicts;
    udpai_origin *configured, *checker[3];
    int64_t wall_us;
    uint64_t generation;
    udpai_change_set *late;
    udpa_resource *mirror[NAMES_MAX]; /* assignments, as they were told */
    size_t n_sets, n_payloads;
} fixture;

static fixture bed;

static void
begin(udpai_health_policy policy)
{
    static const udpai_store_options options = {
        .remember_ms = 1000,
        .remember_max = 100,
        .max_resources_per_namespace = 10000,
        .max_bytes_per_namespace = 1 << 24,
        .max_resources_per_publisher = 10000,
        .max_bytes_per_publisher = 1 << 24,
        .max_resources = 10000,
        .max_bytes = 1 << 24,
    };
    memset(&bed, 0, sizeof(bed));
    udpai_wheel_init(&bed.wheel, 1000);
    bed.wall_us = 1700000000000000;
    assert_ok(udpai_store_new(&bed.store, &bed.wheel, &options));
    const udpai_health_overlay_config config = {policy, UDPAI_STR("node"), bed.store, &bed.wheel};
    assert_ok(udpai_health_overlay_new(&bed.verdicts, &config));
    bed.configured = udpai_origin_ref(udpai_store_origin(bed.store, UDPAI_STR("configured")));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bed.checker); i++) {
        const char name[] = {'c', (char)('0' + i)};
        bed.checker[i] = udpai_origin_ref(udpai_store_origin(bed.store, (udpai_str){name, 2}));
    }
}

static int
teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES_MAX; i++)
        udpa_resource_unref(bed.mirror[i]);
    udpai_change_set_unref(bed.late);
    udpai_health_overlay_free(bed.verdicts);
    udpai_store_free(bed.store);
    wire_free_all();
    return 0;
}

/* ---- what the store is given ---- */

static void
put(udpai_origin *origin, const udpai_resource_parts *like, const char *type, udpai_str payload)
{
    udpai_resource_parts parts = *like;
    udpa_resource *resource = NULL;
    parts.generation = ++bed.generation;
    parts.any = udpai_any_make(udpai_str_from(type), payload);
    if (parts.authority.len == 0)
        parts.authority = udpai_origin_key(origin);
    assert_ok(udpai_resource_make(&resource, &parts));
    udpa_bytes_unref(parts.any);
    uint64_t deadline_ms = parts.ttl_ms ? bed.wheel.now_ms + parts.ttl_ms : 0;
    assert_ok(udpai_store_put(bed.store, origin, resource, deadline_ms, NULL));
    udpa_resource_unref(resource);
}

/* Of cluster "k0": endpoints "x:1" and "x:2". */
static udpai_str
assignment(const char *name, uint64_t first, uint64_t second)
{
    return W_JOIN(W_TEXT(1, name),
                  W_MESSAGE(2, W_MESSAGE(2, health_endpoint(1, "x:1"), W_VARINT(2, first)),
                            W_MESSAGE(2, health_endpoint(1, "x:2"), W_VARINT(2, second))));
}

static void
configure(const char *name, uint64_t first, uint64_t second)
{
    char full[32];
    snprintf(full, sizeof(full), "local/%s", name);
    put(bed.configured, &(udpai_resource_parts){.name = udpai_str_from(full)}, EDS,
        assignment(name, first, second));
}

static void
withdraw(const char *name)
{
    char full[32];
    snprintf(full, sizeof(full), "local/%s", name);
    udpai_store_withdraw(bed.store, bed.configured, UDPAI_STR(EDS), udpai_str_from(full));
}

static void
say(size_t checker, const char *name, uint64_t first, uint64_t ttl_ms)
{
    char full[32];
    snprintf(full, sizeof(full), "local/%s/c%zu", name, checker);
    put(bed.checker[checker],
        &(udpai_resource_parts){.name = udpai_str_from(full), .ttl_ms = ttl_ms},
        UDPAI_TYPE_ENDPOINT_HEALTH, W_MESSAGE(2, health_checked(4, "x:1", first)));
}

static void
say_no_more(size_t checker, const char *name)
{
    char full[32];
    snprintf(full, sizeof(full), "local/%s/c%zu", name, checker);
    udpai_store_withdraw(bed.store, bed.checker[checker], UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH),
                         udpai_str_from(full));
}

/* ---- what is told ---- */

static size_t
index_of(const udpa_resource *resource)
{
    udpai_str name = udpai_resource_name(resource);
    return (size_t)(name.data[name.len - 1] - '0');
}

static void
follow(const udpai_change *change)
{
    if (!udpai_str_eq(udpai_resource_type_url(change->resource), UDPAI_STR(EDS)))
        return;
    udpa_resource **place = &bed.mirror[index_of(change->resource)];
    if (change->kind == UDPAI_CHANGE_REFRESH) /* who holds it needs no payload */
        assert_true(*place && udpai_resource_same_payload(*place, change->resource));
    bed.n_payloads += change->kind == UDPAI_CHANGE_SET;
    if (change->kind == UDPAI_CHANGE_SET && *place &&
        udpai_str_eq(udpai_resource_authority(*place), udpai_resource_authority(change->resource)))
        assert_true(udpa_resource_generation(change->resource) > udpa_resource_generation(*place) ||
                    udpai_resource_same_payload(*place, change->resource));
    udpa_resource_unref(*place);
    *place = change->kind == UDPAI_CHANGE_REMOVE ? NULL : udpa_resource_ref(change->resource);
}

/* What could not be told for want of memory is told first. */
static udpa_err
tell(void)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = NULL;
    udpa_err err = bed.late ? UDPA_OK : udpai_store_take_changes(bed.store, &bed.late);
    if (err != UDPA_OK || (!bed.late && !udpai_health_overlay_have_changes(bed.verdicts)))
        return err;
    err = udpai_health_overlay_apply(bed.verdicts, bed.late, bed.wall_us++, &set);
    if (err != UDPA_OK)
        return err;
    bed.late = udpai_change_set_unref(bed.late);
    bed.n_sets += set != NULL;
    for (size_t i = 0; set && i < udpai_change_set_size(set); i++)
        follow(udpai_change_set_at(set, i));
    return UDPA_OK;
}

static void
expect(const char *name, const char *authority, uint64_t first, uint64_t second)
{
    assert_ok(tell());
    udpai_str full = udpai_str_from(name);
    const udpa_resource *told = bed.mirror[full.data[full.len - 1] - '0'];
    assert_non_null(told);
    assert_str(udpai_resource_authority(told), authority);
    assert_true(udpai_str_eq(udpai_resource_value(told), assignment(name, first, second)));
}

/* ---- tests ---- */

static void
a_verdict_becomes_a_version_of_the_node(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    expect("k0", "configured", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    expect("k0", "node", 2, 1);
    say(0, "k0", UDPAI_HEALTH_HEALTHY, 0);
    expect("k0", "configured", 1, 1);
    assert_int_equal(bed.n_payloads, 3);
}

static void
endpoints_that_come_later_are_judged_as_well(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    assert_ok(tell());
    configure("k0", 1, 1);
    expect("k0", "node", 2, 1);
    configure("k0", 1, 5);
    expect("k0", "node", 2, 5);
    configure("k0", 2, 5);
    expect("k0", "configured", 2, 5);
}

static void
both_in_one_change_are_told_once(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    expect("k0", "node", 2, 1);
    assert_int_equal(bed.n_payloads, 1);
}

static void
a_checker_that_goes_has_no_say(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 500);
    expect("k0", "node", 2, 1);
    udpai_wheel_advance(&bed.wheel, bed.wheel.now_ms + 499);
    expect("k0", "node", 2, 1);
    udpai_wheel_advance(&bed.wheel, bed.wheel.now_ms + 1);
    expect("k0", "configured", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    expect("k0", "node", 2, 1);
    say_no_more(0, "k0");
    expect("k0", "configured", 1, 1);
}

static bool
never(void *userdata, const udpa_resource *last)
{
    (void)userdata;
    (void)last;
    return false;
}

/* What has expired, the store holds back while it is not certain that nobody else has it. */
static void
a_vote_ends_though_it_is_held_back(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    udpai_store_set_certain(bed.store, never, NULL);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 500);
    say(1, "k0", UDPAI_HEALTH_DEGRADED, 900);
    expect("k0", "node", 2, 1);
    udpai_wheel_advance(&bed.wheel, bed.wheel.now_ms + 500);
    expect("k0", "node", 5, 1);
    udpai_wheel_advance(&bed.wheel, bed.wheel.now_ms + 400);
    expect("k0", "configured", 1, 1);
}

static void
the_majority_counts(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_MAJORITY);
    configure("k0", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    say(1, "k0", UDPAI_HEALTH_HEALTHY, 0);
    expect("k0", "configured", 1, 1);
    say(2, "k0", UDPAI_HEALTH_TIMEOUT, 0);
    expect("k0", "node", 2, 1);
    say_no_more(0, "k0");
    expect("k0", "configured", 1, 1);
}

static void
what_says_the_same_again_is_not_told(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 1000);
    expect("k0", "node", 2, 1);
    say(1, "k0", UDPAI_HEALTH_TIMEOUT, 1000);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 2000);
    expect("k0", "node", 2, 1);
    assert_int_equal(bed.n_payloads, 1);
}

static void
what_is_removed_is_removed(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    expect("k0", "node", 2, 1);
    withdraw("k0");
    assert_ok(tell());
    assert_null(bed.mirror[0]);
    say(0, "k0", UDPAI_HEALTH_DRAINING, 0);
    assert_ok(tell());
    assert_null(bed.mirror[0]);
    configure("k0", 0, 0);
    expect("k0", "node", 3, 0);
}

static void
what_is_signed_or_no_assignment_stays_as_it_is(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    const udpai_resource_parts parts = {
        .name = UDPAI_STR("local/k0"),
        .signature = {.algorithm = 1, .key_id = UDPAI_STR("k"), .value = UDPAI_STR("s")},
    };
    put(bed.configured, &parts, EDS, assignment("k0", 1, 1));
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    expect("k0", "configured", 1, 1);
    const udpai_resource_parts broken = {.name = UDPAI_STR("local/k1")};
    put(bed.configured, &broken, EDS, UDPAI_STR("\x12\x05"));
    say(0, "k1", UDPAI_HEALTH_UNHEALTHY, 0);
    assert_ok(tell());
    assert_str(udpai_resource_authority(bed.mirror[1]), "configured");
}

static void
newcomers_are_told_the_same(void **state)
{
    (void)state;
    begin(UDPAI_HEALTH_ANY);
    configure("k0", 1, 1);
    configure("k1", 1, 1);
    say(0, "k0", UDPAI_HEALTH_UNHEALTHY, 0);
    assert_ok(tell());
    for (int i = 0; i < 2; i++) {
        const char name[] = {'l', 'o', 'c', 'a', 'l', '/', 'k', (char)('0' + i)};
        udpai_contribution held;
        assert_true(udpai_store_get(bed.store, bed.configured, UDPAI_STR(EDS),
                                    (udpai_str){name, sizeof(name)}, &held));
        assert_ptr_equal(udpai_health_overlay_of(bed.verdicts, held.resource), bed.mirror[i]);
    }
}

/* The mirror is what the definition says, of what the store has. */
static void
expect_definition(udpai_health_policy policy,
                  const uint64_t configured[4],
                  const uint64_t said[3][4])
{
    for (size_t k = 0; k < 4; k++) {
        const char name[] = {'k', (char)('0' + k), '\0'};
        if (configured[k] == UINT64_MAX) {
            assert_null(bed.mirror[k]);
            continue;
        }
        udpai_health_opinion opinions[3];
        udpai_health_verdict verdict;
        size_t n_malformed, n = 0;
        for (size_t i = 0; i < 3; i++)
            if (said[i][k] != UINT64_MAX)
                opinions[n++] =
                    (udpai_health_opinion){W_MESSAGE(2, health_checked(4, "x:1", said[i][k])), 0};
        assert_ok(udpai_health_merge(opinions, n, 0, policy, &verdict, &n_malformed));
        udpai_health_address key = health_key("x:1");
        udpai_health_status wanted = udpai_health_worse((udpai_health_status)configured[k],
                                                        udpai_health_verdict_find(&verdict, &key));
        udpai_health_verdict_done(&verdict);
        assert_non_null(bed.mirror[k]);
        assert_true(udpai_str_eq(udpai_resource_value(bed.mirror[k]), assignment(name, wanted, 1)));
        assert_str(udpai_resource_authority(bed.mirror[k]),
                   wanted == (udpai_health_status)configured[k] ? "configured" : "node");
    }
}

static void
chance(bool without_memory)
{
    uint64_t seed = 7, configured[4], said[3][4];
    udpai_health_policy policy = UDPAI_HEALTH_MAJORITY;
    unsigned n_failed = 0;
    begin(policy);
    memset(configured, 0xff, sizeof(configured));
    memset(said, 0xff, sizeof(said));
    for (int round = 0; round < 4000; round++) {
        for (size_t n = test_random_below(&seed, 4); n > 0; n--) {
            size_t k = test_random_below(&seed, 4), i = test_random_below(&seed, 3);
            const char name[] = {'k', (char)('0' + k), '\0'};
            switch (test_random_below(&seed, 5)) {
            case 0:
                configure(name, configured[k] = test_random_below(&seed, 6), 1);
                break;
            case 1:
                withdraw(name);
                configured[k] = UINT64_MAX;
                break;
            case 2:
                say_no_more(i, name);
                said[i][k] = UINT64_MAX;
                break;
            default:
                say(i, name, said[i][k] = test_random_below(&seed, 6), 0);
                break;
            }
        }
        if (without_memory)
            udpai_alloc_fail_after((long)test_random_below(&seed, 60));
        udpa_err err = tell();
        udpai_alloc_fail_after(-1);
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        n_failed += err != UDPA_OK;
        while (bed.late || udpai_store_has_changes(bed.store) ||
               udpai_health_overlay_have_changes(bed.verdicts))
            assert_ok(tell()); /* now that there is some, the rest */
        expect_definition(policy, configured, (const uint64_t(*)[4])said);
        wire_free_all();
    }
    assert_true(!without_memory || n_failed > 100);
}

static void
chance_never_tells_anything_else(void **state)
{
    (void)state;
    chance(false);
}

static void
want_of_memory_puts_off_and_loses_nothing(void **state)
{
    (void)state;
    chance(true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_verdict_becomes_a_version_of_the_node, teardown),
        cmocka_unit_test_teardown(endpoints_that_come_later_are_judged_as_well, teardown),
        cmocka_unit_test_teardown(both_in_one_change_are_told_once, teardown),
        cmocka_unit_test_teardown(a_checker_that_goes_has_no_say, teardown),
        cmocka_unit_test_teardown(a_vote_ends_though_it_is_held_back, teardown),
        cmocka_unit_test_teardown(the_majority_counts, teardown),
        cmocka_unit_test_teardown(what_says_the_same_again_is_not_told, teardown),
        cmocka_unit_test_teardown(what_is_removed_is_removed, teardown),
        cmocka_unit_test_teardown(what_is_signed_or_no_assignment_stays_as_it_is, teardown),
        cmocka_unit_test_teardown(newcomers_are_told_the_same, teardown),
        cmocka_unit_test_teardown(chance_never_tells_anything_else, teardown),
        cmocka_unit_test_teardown(want_of_memory_puts_off_and_loses_nothing, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
