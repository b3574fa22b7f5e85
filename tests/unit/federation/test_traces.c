/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are traced, and what a span has when it is given out. */
#include <stdio.h>

#include "base/alloc.h"
#include "federation/node_internal.h"
#include "federation/traces.h"
#include "tests/unit/federation/federation_test.h"

#define PARENT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"

static udpai_list ended; /* spans that were not given out */

static void
take(void *userdata, udpai_span *span)
{
    (void)userdata;
    udpai_list_append(&ended, &span->node);
}

static int
set_up(void **state)
{
    udpai_list_init(&ended);
    int result = fed_setup(state);
    fed_bed *bed = *state;
    bed->chance = UINT64_MAX / 2;
    bed->config.traces = (udpai_traces_config){.ratio = 1, .per_second = 10, .take = take};
    return result;
}

static int
tear_down(void **state)
{
    udpai_spans_free(&ended);
    return fed_teardown(state);
}

#define traces_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static uint64_t
begin(fed_bed *bed)
{
    fed_type(bed, "CDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_publish(bed, 'a', "CDS", "!");
    return fed_arrive(bed, &(fed_peer){.id = "publisher"});
}

static void
arrive(fed_bed *bed, const char *parent, const char *name)
{
    udpai_traces *traces = bed->node->parts.traces;
    udpai_trace trace = {0};
    if (parent)
        assert_true(udpai_trace_read(udpai_str_from(parent), &trace));
    udpai_traces_begin(traces, &trace, UDPAI_STR("somebody"));
    udpai_traces_note(traces, UDPAI_STR(TEST_CDS), udpai_str_from(name));
    udpai_traces_end(traces);
}

/* A change set with these names, each set. */
static udpai_change_set *
changes_of(const char *const *names, size_t n)
{
    udpai_change_set *set = udpai_change_set_new();
    for (size_t i = 0; i < n; i++) {
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE(names[i], .type = TEST_CDS, .value = "1");
        const udpai_change change = {.kind = UDPAI_CHANGE_SET, .resource = resource};
        assert_ok(udpai_change_set_add(set, &change));
    }
    return set;
}

static size_t
give_out(fed_bed *bed, const char *const *names, size_t n, udpai_list *spans)
{
    size_t count = 0;
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *set = changes_of(names, n);
    udpai_list_init(spans);
    udpai_traces_take(bed->node->parts.traces, set, spans);
    UDPAI_LIST_FOREACH (node, spans)
        count++;
    return count;
}

static udpai_span *
first_of(const udpai_list *spans)
{
    return UDPAI_LIST_ENTRY(spans->next, udpai_span, node);
}

#define NAMES(...)                                                                                 \
    (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)

static void
a_change_begins_a_trace(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    (void)begin(bed);
    arrive(bed, NULL, "com.acme/x");
    assert_int_equal(give_out(bed, NAMES("com.acme/y"), &spans), 0);
    assert_int_equal(give_out(bed, NAMES("com.acme/y", "com.acme/x"), &spans), 1);
    const udpai_span *span = first_of(&spans);
    assert_int_equal(span->change, 1);
    assert_true(udpai_trace_is_set(&span->trace) && span->trace.is_sampled);
    assert_int_equal(span->n_changed, 1);
    assert_true(udpai_str_eq(udpai_bytes_view(span->from), UDPAI_STR("somebody")));
    assert_true(span->effective_us >= span->begin_us && span->begin_us > 0);
    udpai_spans_free(&spans);
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 0); /* it was given out */
}

static void
a_trace_of_a_peer_goes_on(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    bed->config.traces.ratio = 0;
    (void)begin(bed);
    arrive(bed, NULL, "com.acme/x");
    arrive(bed, PARENT "0", "com.acme/x");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 0);
    arrive(bed, PARENT "1", "com.acme/x");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 1);
    const udpai_span *span = first_of(&spans);
    assert_int_equal(span->trace.id[0], 0x4b);
    assert_int_equal(span->parent[7], 0xb7);
    assert_int_not_equal(memcmp(span->trace.span, span->parent, UDPAI_SPAN_ID), 0);
    udpai_spans_free(&spans);
}

/* One that is not sampled is not, whatever the ratio. */
static void
what_a_peer_does_not_trace_is_not_traced(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    (void)begin(bed);
    arrive(bed, PARENT "0", "com.acme/x");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 0);
}

static void
the_ratio_decides(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    bed->config.traces.ratio = 0.25;
    (void)begin(bed);
    arrive(bed, NULL, "com.acme/x"); /* the chance is a half */
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 0);
    bed->chance = UINT64_MAX / 5;
    arrive(bed, NULL, "com.acme/x");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 1);
    udpai_spans_free(&spans);
}

static void
so_many_begin_in_a_second(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    size_t n = 0;
    bed->config.traces.per_second = 3;
    (void)begin(bed);
    for (int i = 0; i < 5; i++) {
        arrive(bed, NULL, "com.acme/x");
        n += give_out(bed, NAMES("com.acme/x"), &spans);
        udpai_spans_free(&spans);
    }
    assert_int_equal(n, 3);
    fed_advance(bed, 334);
    arrive(bed, NULL, "com.acme/x");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 1);
    udpai_spans_free(&spans);
    fed_advance(bed, 3600000); /* and no more at once after a long time */
    for (int i = n = 0; i < 5; i++) {
        arrive(bed, NULL, "com.acme/x");
        n += give_out(bed, NAMES("com.acme/x"), &spans);
        udpai_spans_free(&spans);
    }
    assert_int_equal(n, 3);
}

static void
changes_that_become_one_are_linked(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    (void)begin(bed);
    arrive(bed, PARENT "1", "com.acme/x");
    arrive(bed, NULL, "com.acme/x");
    assert_string_equal(first_of(&ended)->outcome, "replaced");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 1);
    const udpai_span *span = first_of(&spans);
    assert_int_equal(span->links.n, 1);
    assert_memory_equal(span->links.items[0].id, first_of(&ended)->trace.id, UDPAI_TRACE_ID);
    udpai_spans_free(&spans);
}

static void
what_has_no_effect_ends(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    (void)begin(bed);
    arrive(bed, NULL, "com.acme/x");
    fed_advance(bed, UDPAI_TRACES_PATIENCE_MS - 1);
    assert_true(udpai_list_empty(&ended));
    fed_advance(bed, 2);
    assert_string_equal(first_of(&ended)->outcome, "ineffective");
    assert_int_equal(give_out(bed, NAMES("com.acme/x"), &spans), 0);
}

static void
not_more_than_a_bound_wait(void **state)
{
    fed_bed *bed = *state;
    udpai_list spans;
    bed->config.traces.per_second = 1000;
    (void)begin(bed);
    for (int i = 0; i <= UDPAI_TRACES_WAITING_MAX; i++) {
        char name[32];
        snprintf(name, sizeof(name), "com.acme/x%d", i);
        arrive(bed, NULL, name);
    }
    assert_int_equal(give_out(bed, NAMES("com.acme/x64", "com.acme/x63"), &spans), 1);
    udpai_spans_free(&spans);
}

/* ---- what a node notes ---- */

static size_t
n_noted(fed_bed *bed)
{
    size_t n = 0;
    fed_advance(bed, 2 * UDPAI_TRACES_PATIENCE_MS);
    UDPAI_LIST_FOREACH (node, &ended)
        n++;
    return n;
}

/* The bed has no engine that is slow, so all is given out at once, but for what changes nothing. */
static void
what_changes_nothing_is_not_traced(void **state)
{
    fed_bed *bed = *state;
    uint64_t session = begin(bed);
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_value(bed, "CDS", "x", "1");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "x=1"), "");
    assert_string_equal(fed_publish_at(bed, session, "CDS", "-nobody"), "");
    assert_int_equal(n_noted(bed), 0);
}

static void
without_memory_nothing_is_lost_but_spans(void **state)
{
    fed_bed *bed = *state;
    (void)begin(bed);
    for (long n = 0; n < 8; n++) {
        udpai_list spans;
        udpai_alloc_fail_after(n);
        arrive(bed, NULL, "com.acme/x");
        udpai_alloc_fail_after(-1);
        (void)give_out(bed, NAMES("com.acme/x"), &spans);
        udpai_spans_free(&spans);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        traces_test(a_change_begins_a_trace),
        traces_test(a_trace_of_a_peer_goes_on),
        traces_test(what_a_peer_does_not_trace_is_not_traced),
        traces_test(the_ratio_decides),
        traces_test(so_many_begin_in_a_second),
        traces_test(changes_that_become_one_are_linked),
        traces_test(what_has_no_effect_ends),
        traces_test(not_more_than_a_bound_wait),
        traces_test(what_changes_nothing_is_not_traced),
        traces_test(without_memory_nothing_is_lost_but_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
