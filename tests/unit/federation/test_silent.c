/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose place another process takes: it leaves its sources to that one, keeps what they have
 * brought, and follows what that one keeps; or goes on by itself. */
#include "tests/unit/federation/federation_test.h"

#define ACME "com.acme"
#define LONG_MS 600000

static void
start_with_source(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', ACME, UDPAI_STOP_ON_SUCCESS, false},
                 {'b', ACME, UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=1 y=1 !com.acme");
    (void)fed_orders(bed);
}

static void
be_silent(fed_bed *bed, bool is_silent)
{
    udpai_node_set_silent(bed->node, is_silent);
    udpai_node_flush(bed->node);
}

static void
its_sources_are_another_process_s(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    be_silent(bed, true);
    assert_orders(bed, "hangup a");
    fed_close(bed, 'a');
    fed_advance(bed, LONG_MS);
    assert_orders(bed, ""); /* neither is dialled, nor the next one */
    assert_value(bed, "CDS", "x", "1");
    be_silent(bed, false);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', "CDS", "x=2 y=1 !com.acme");
    assert_value(bed, "CDS", "x", "2");
}

/* While it waits to be dialled; and an attempt that is under way ends. */
static void
one_that_is_away_is_not_dialled(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    fed_lose(bed, 'a', "gone");
    (void)fed_orders(bed);
    be_silent(bed, true);
    assert_orders(bed, "hangup b"); /* which stands in */
    fed_close(bed, 'b');
    fed_advance(bed, LONG_MS);
    assert_orders(bed, "");
    be_silent(bed, false);
    assert_non_null(strstr(fed_orders(bed), "dial a"));
}

/* The contribution of this name that was kept. */
static const udpai_durable_op *
kept(const fed_bed *bed, const char *name)
{
    for (size_t i = 0; i < bed->kept.n; i++) {
        const udpai_durable_op *op = &bed->kept.items[i];
        if (op->kind == UDPAI_DURABLE_PUT && strcmp(udpa_resource_name(op->resource), name) == 0)
            return op;
    }
    fail_msg("%s was not kept", name);
    return NULL;
}

static void
follow_put(fed_bed *bed, udpa_bytes *origin, const char *name, const char *value)
{
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource =
        RESOURCE(name, .type = TEST_CDS, .value = value, .version = value, .authority = "a",
                 .generation = (uint64_t)bed->wall_us + (uint64_t)*value);
    assert_ok(udpai_node_follow(
        bed->node,
        &(udpai_durable_op){.kind = UDPAI_DURABLE_PUT, .origin = origin, .resource = resource}));
    udpai_node_flush(bed->node);
}

static void
follow_delete(fed_bed *bed, udpa_bytes *origin, const char *name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(TEST_CDS));
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *text = NULL;
    assert_ok(udpa_bytes_new(&text, name, strlen(name)));
    assert_ok(udpai_node_follow(bed->node, &(udpai_durable_op){.kind = UDPAI_DURABLE_DELETE,
                                                               .origin = origin,
                                                               .type = type,
                                                               .name = text}));
    udpai_node_flush(bed->node);
}

static void
what_the_other_process_keeps_is_effective_and_not_committed(void **state)
{
    fed_bed *bed = *state;
    start_with_source(bed);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *origin = udpa_bytes_ref(kept(bed, "com.acme/x")->origin);
    be_silent(bed, true);
    fed_close(bed, 'a');
    size_t n_kept = bed->kept.n;
    follow_put(bed, origin, "com.acme/x", "2");
    assert_value(bed, "CDS", "x", "2");
    follow_put(bed, origin, "com.acme/z", "3");
    assert_value(bed, "CDS", "z", "3");
    follow_delete(bed, origin, "com.acme/y");
    assert_value(bed, "CDS", "y", "");
    follow_delete(bed, origin, "com.acme/never");
    assert_int_equal(bed->kept.n, n_kept);
    assert_string_equal(udpa_resource_version(kept(bed, "com.acme/x")->resource), "1");
}

/* Of a publisher that this process has never seen. */
static void
an_origin_may_be_new(void **state)
{
    fed_bed *bed = *state;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
    start_with_source(bed);
    be_silent(bed, true);
    assert_ok(udpa_bytes_new(&origin, "publisher:late", strlen("publisher:late")));
    follow_delete(bed, origin, "com.acme/p");
    follow_put(bed, origin, "com.acme/p", "1");
    assert_value(bed, "CDS", "p", "1");
    follow_delete(bed, origin, "com.acme/p");
    assert_value(bed, "CDS", "p", "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(its_sources_are_another_process_s),
        fed_test(one_that_is_away_is_not_dialled),
        fed_test(what_the_other_process_keeps_is_effective_and_not_committed),
        fed_test(an_origin_may_be_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
