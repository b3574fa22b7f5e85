/* SPDX-License-Identifier: Apache-2.0 */
/* What a node lets its streams announce of its store. */
#include <stdio.h>

#include "base/alloc.h"
#include "federation/accept.h"
#include "tests/harness/resources.h"

#define ROOT "/etc/udpa/resources"

typedef struct epoch_bed {
    udpai_wheel wheel;
    udpai_node *node;
    uint64_t ticket;
    unsigned n_epochs; /* that the engine was given to keep */
    char said[1024];   /* "first:7" an epoch, "8" a commit that was told */
} epoch_bed;

static void
on_order(void *userdata, udpai_order *order)
{
    epoch_bed *bed = userdata;
    size_t at = strlen(bed->said);
    if (order->kind == UDPAI_ORDER_EPOCH)
        snprintf(bed->said + at, sizeof(bed->said) - at, "%s%.*s:%llu%s", at ? " " : "",
                 UDPAI_SHOWN(udpai_bytes_view(order->announced)), (unsigned long long)order->commit,
                 order->is_set ? " whole" : "");
    if (order->kind == UDPAI_ORDER_COMMIT)
        snprintf(bed->said + at, sizeof(bed->said) - at, "%s%llu", at ? " " : "",
                 (unsigned long long)order->commit);
    if (order->answer)
        udpai_node_report(bed->node, UDPAI_TAKE(order->answer));
    udpai_order_free(order);
}

static void
on_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    epoch_bed *bed = userdata;
    bed->ticket = ticket;
    for (size_t i = 0; i < batch->ops.n; i++)
        bed->n_epochs += batch->ops.items[i].kind == UDPAI_DURABLE_EPOCH;
    udpai_durable_batch_free(batch);
}

static int64_t
wall_us(void *userdata)
{
    const epoch_bed *bed = userdata;
    return 1000000 + (int64_t)bed->wheel.now_ms * 1000;
}

static uint64_t
chance(void *userdata)
{
    (void)userdata;
    return 42;
}

static int
setup(void **state)
{
    static epoch_bed only;
    only = (epoch_bed){0};
    udpai_wheel_init(&only.wheel, 5000);
    const udpai_node_config config = {
        .id = UDPAI_STR("node"),
        .authority = UDPAI_STR("node"),
        .store =
            {
                .max_resources_per_namespace = 1000,
                .max_bytes_per_namespace = 1 << 20,
                .max_resources_per_publisher = 1000,
                .max_bytes_per_publisher = 1 << 20,
                .max_resources = 1000,
                .max_bytes = 1 << 20,
            },
        .is_durable = true,
        .max_changes_ahead = SIZE_MAX,
    };
    const udpai_node_env env = {
        .order = on_order,
        .commit = on_commit,
        .wall_us = wall_us,
        .random = chance,
        .userdata = &only,
    };
    assert_ok(udpai_node_new(&only.node, &only.wheel, &config, &env, NULL));
    assert_ok(udpai_node_expect_files(only.node, UDPAI_STR(ROOT)));
    *state = &only;
    return 0;
}

static int
teardown(void **state)
{
    epoch_bed *bed = *state;
    bed->node = udpai_node_free(bed->node);
    return 0;
}

static void
start_with(epoch_bed *bed, const char *name, uint64_t number)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *epoch = NULL;
    assert_ok(udpa_bytes_new(&epoch, name, strlen(name)));
    const udpai_durable_op op = {.kind = UDPAI_DURABLE_EPOCH, .name = epoch, .number = number};
    assert_ok(udpai_node_restore(bed->node, &op));
    udpai_node_start(bed->node);
    udpai_node_flush(bed->node);
}

/* The directory has another version of its file. */
static void
change(epoch_bed *bed, const char *version)
{
    udpa_resource *resource =
        RESOURCE("com.acme/a", .type = TEST_CDS, .version = version, .value = version);
    const udpai_directory directory = {
        .root = UDPAI_STR(ROOT),
        .resources = &resource,
        .n_resources = 1,
    };
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpai_node_flush(bed->node);
    udpa_resource_unref(resource);
}

static void
advance(epoch_bed *bed, uint64_t ms)
{
    udpai_wheel_advance(&bed->wheel, bed->wheel.now_ms + ms);
    udpai_node_flush(bed->node);
}

static void
assert_said(epoch_bed *bed, const char *expected)
{
    assert_string_equal(bed->said, expected);
    bed->said[0] = '\0';
}

/* What is not safe yet is not announced. */
static void
a_commit_is_told_when_it_is_done(void **state)
{
    epoch_bed *bed = *state;
    start_with(bed, "first", 7);
    assert_said(bed, "first:7");
    change(bed, "1");
    advance(bed, 5000);
    assert_said(bed, "");
    udpai_node_committed(bed->node, bed->ticket, UDPA_OK);
    char expected[16];
    snprintf(expected, sizeof(expected), "%llu", (unsigned long long)(7 + bed->ticket));
    assert_said(bed, expected);
    change(bed, "2");
    udpai_node_committed(bed->node, bed->ticket, UDPA_ERR_IO);
    advance(bed, 5000);
    assert_said(bed, "");
}

/* Streams are told once a second, of the last. */
static void
many_commits_are_told_together(void **state)
{
    epoch_bed *bed = *state;
    start_with(bed, "first", 7);
    change(bed, "0");
    udpai_node_committed(bed->node, bed->ticket, UDPA_OK);
    bed->said[0] = '\0';
    for (int i = 0; i < 10; i++) {
        char version[2] = {(char)('a' + i), '\0'};
        change(bed, version);
        udpai_node_committed(bed->node, bed->ticket, UDPA_OK);
        advance(bed, 10);
    }
    assert_said(bed, "");
    advance(bed, 1000);
    char expected[16];
    snprintf(expected, sizeof(expected), "%llu", (unsigned long long)(7 + bed->ticket));
    assert_said(bed, expected);
    advance(bed, 5000);
    assert_said(bed, "");
}

/* Even while there is always another one under way. */
static void
what_is_done_is_told_while_more_is_under_way(void **state)
{
    epoch_bed *bed = *state;
    start_with(bed, "first", 0);
    bed->said[0] = '\0';
    change(bed, "0");
    uint64_t first = bed->ticket;
    for (int i = 0; i < 5; i++) {
        char version[2] = {(char)('a' + i), '\0'}, expected[16];
        uint64_t before = bed->ticket;
        change(bed, version);
        udpai_node_committed(bed->node, before, UDPA_OK);
        advance(bed, 1000);
        snprintf(expected, sizeof(expected), "%llu", (unsigned long long)before);
        assert_said(bed, expected);
    }
    assert_true(bed->ticket > first);
}

/* Nodes that have each other as sources would go on for ever. */
static void
that_a_store_was_seen_is_not_told(void **state)
{
    epoch_bed *bed = *state;
    start_with(bed, "first", 7);
    udpai_store *store = udpai_node_store(bed->node);
    udpai_origin *origin = udpai_store_origin(store, UDPAI_STR("source:a"));
    assert_non_null(origin);
    udpai_origin_set_durable(origin, true);
    bed->said[0] = '\0';
    uint64_t before = bed->ticket;
    assert_ok(udpai_store_note_seen(store, origin, UDPAI_STR(TEST_CDS), UDPAI_STR("its"), 3));
    udpai_node_flush(bed->node);
    assert_int_equal(bed->ticket, before + 1);
    udpai_node_committed(bed->node, bed->ticket, UDPA_OK);
    advance(bed, 5000);
    assert_said(bed, "");
}

#define DRAWN "000000000000002a000000000000002a"

/* A crash must not take back what others have followed. */
static void
another_epoch_begins_when_that_is_kept(void **state)
{
    epoch_bed *bed = *state;
    start_with(bed, "first", 7);
    bed->said[0] = '\0';
    assert_ok(udpai_node_accept_as_source(bed->node, UDPAI_STR("node"), NULL));
    udpai_node_flush(bed->node);
    assert_said(bed, "");
    assert_int_equal(udpai_node_accept_as_source(bed->node, UDPAI_STR("another"), NULL),
                     UDPA_ERR_INVAL);
    udpai_node_committed(bed->node, bed->ticket - 1, UDPA_OK);
    bed->said[0] = '\0';
    udpai_node_committed(bed->node, bed->ticket, UDPA_ERR_IO);
    assert_said(bed, "");
    assert_ok(udpai_node_accept_as_source(bed->node, UDPAI_STR("node"), NULL));
    udpai_node_flush(bed->node);
    udpai_node_committed(bed->node, bed->ticket, UDPA_OK);
    assert_non_null(strstr(bed->said, DRAWN));
    assert_non_null(strstr(bed->said, " whole"));
}

static void
accepting_without_memory_changes_nothing(void **state)
{
    epoch_bed *bed = *state;
    start_with(bed, "first", 7);
    bed->said[0] = '\0';
    for (long n = 0;; n++) {
        udpai_alloc_fail_after(n);
        udpa_err err = udpai_node_accept_as_source(bed->node, UDPAI_STR("node"), NULL);
        udpai_node_flush(bed->node);
        udpai_alloc_fail_after(-1);
        udpai_node_flush(bed->node);
        bool is_kept = bed->n_epochs > 0;
        udpai_node_committed(bed->node, bed->ticket, UDPA_OK);
        if (is_kept)
            break;
        assert_true(err == UDPA_OK || err == UDPA_ERR_NOMEM);
        assert_null(strstr(bed->said, "whole"));
    }
    assert_non_null(strstr(bed->said, "whole"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_is_told_when_it_is_done, setup, teardown),
        cmocka_unit_test_setup_teardown(many_commits_are_told_together, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_done_is_told_while_more_is_under_way, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(that_a_store_was_seen_is_not_told, setup, teardown),
        cmocka_unit_test_setup_teardown(another_epoch_begins_when_that_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(accepting_without_memory_changes_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
