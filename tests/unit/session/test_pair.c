/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes face to face on one stream, each subscriber and publisher at once; and one session that
 * runs out of memory at every place where it can. */
#include "session_test.h"

#include <stdio.h>

#include "session/udpa_internal.h"
#include "tests/harness/oom.h"

/* ---- two ends ---- */

#define NAMES 12

typedef struct pair_end {
    fake_hub hub;
    fake_stream stream;
    const char *name_space; /* of what it owns */
    int own[NAMES];         /* versions; 0: not there */
    int seen[NAMES];        /* of the other end's */
    size_t n_completes;
} pair_end;

static pair_end ends[2];

static void
open_end(pair_end *end, const char *name_space, bool dials)
{
    const udpai_stream_info info = {.link = dials ? 1 : 0, .is_source = dials};
    memset(end, 0, sizeof(*end));
    session_hub_init(&end->hub);
    end->name_space = name_space;
    fake_stream_open(&end->stream, &end->hub, udpai_udpa_session_new, &info);
}

static int
begin(void **state)
{
    (void)state;
    open_end(&ends[0], "a.side", true);
    open_end(&ends[1], "b.side", false);
    return 0;
}

static int
end(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_stream_close(&ends[i].stream);
        fake_hub_done(&ends[i].hub);
    }
    wire_free_all();
    return 0;
}

static void
order_subscription(pair_end *end, const char *prefix)
{
    const udpai_str wildcard = {"", 0};
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(TEST_TYPE),
        .name_space = udpai_str_from(prefix),
        .names = &wildcard,
        .n_names = 1,
    };
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    order->session = end->stream.session->id;
    order->subscription = udpai_subscription_message_copy(&message);
    udpai_hub_order(end->hub.hub, order);
}

/* The number in "side/N". */
static size_t
index_of(udpai_str name)
{
    const char *slash = memchr(name.data, '/', name.len);
    size_t index = strtoul(slash + 1, NULL, 10);
    assert_true(index < NAMES);
    return index;
}

/* What the loop side would do: takes the publication in, and judges it. */
static void
take_publication(pair_end *end, udpai_report *report)
{
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    for (size_t i = 0; i < publication->removals.n; i++)
        end->seen[index_of(publication->removals.items[i].name)] = 0;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        assert_null(entry->error);
        if (!udpai_str_eq(udpai_resource_type_url(entry->resource), UDPAI_STR(UDPAI_TYPE_NODE)))
            end->seen[index_of(udpai_resource_name(entry->resource))] =
                (int)strtol(udpa_resource_version(entry->resource), NULL, 10);
    }
    end->n_completes += publication->complete;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    order->session = report->session;
    order->publication = publication;
    udpai_hub_order(end->hub.hub, order);
}

/* Has one end write one message, and the other take it in; false: there was nothing. */
static bool
step(pair_end *from, pair_end *to)
{
    udpai_hub_run(from->hub.hub);
    udpa_bytes *bytes = fake_stream_take(&from->stream);
    if (!bytes)
        return false;
    fake_stream_receive(&to->stream, udpa_bytes_data(bytes), udpa_bytes_size(bytes));
    assert_false(to->stream.is_finished);
    udpa_bytes_unref(bytes);
    fake_stream_complete(&from->stream);
    udpai_report *report;
    while ((report = fake_hub_take_report(&to->hub, UDPAI_REPORT_PUBLICATION))) {
        take_publication(to, report);
        udpai_report_free(report);
    }
    fake_hub_drop_reports(&to->hub);
    return true;
}

static void
run_both(void)
{
    while (step(&ends[0], &ends[1]) + step(&ends[1], &ends[0]))
        ;
}

static void
change_own(pair_end *end, size_t index, int version)
{
    char change[64];
    if (version == 0 && end->own[index] == 0)
        return;
    snprintf(change, sizeof(change), "%cT:%s/%zu=%d", version ? '+' : '-', end->name_space, index,
             version);
    end->own[index] = version;
    session_change(&end->hub, change);
    fake_hub_drop_reports(&end->hub);
}

static void
assert_same(void)
{
    for (size_t i = 0; i < NAMES; i++) {
        assert_int_equal(ends[0].seen[i], ends[1].own[i]);
        assert_int_equal(ends[1].seen[i], ends[0].own[i]);
    }
}

static void
both_ends_subscribe_and_publish(void **state)
{
    (void)state;
    change_own(&ends[0], 1, 5);
    change_own(&ends[1], 2, 6);
    order_subscription(&ends[0], "b.side");
    step(&ends[0], &ends[1]); /* the Node of the side that dialled goes first */
    order_subscription(&ends[1], "a.side");
    run_both();
    assert_same();
    assert_int_equal(ends[0].seen[2], 6);
    assert_int_equal(ends[1].seen[1], 5);
    assert_int_equal(ends[0].n_completes, 1);
    assert_int_equal(ends[1].n_completes, 1);
    change_own(&ends[0], 1, 0);
    run_both();
    assert_same();
}

/* Changes at both ends, messages of either in any order of arrival: in the end each holds what the
 * other has. */
static void
chance_brings_them_to_the_same(void **state)
{
    (void)state;
    uint64_t random = 2026;
    order_subscription(&ends[0], "b.side");
    step(&ends[0], &ends[1]);
    order_subscription(&ends[1], "a.side");
    for (int i = 0; i < 4000; i++) {
        pair_end *one = &ends[test_random_below(&random, 2)];
        switch (test_random_below(&random, 4)) {
        case 0:
            change_own(one, test_random_below(&random, NAMES), i + 1);
            break;
        case 1:
            change_own(one, test_random_below(&random, NAMES), 0);
            break;
        default:
            step(one, one == &ends[0] ? &ends[1] : &ends[0]);
            break;
        }
        if (i % 500 == 499) {
            run_both();
            assert_same();
        }
    }
}

/* ---- without memory ---- */

/* A stream that needs no memory. */
typedef struct bare_stream {
    size_t n_written;
    bool is_writing;
    udpa_err finished;
} bare_stream;

static void
bare_write(udpai_stream *handle, const udpai_outgoing *message)
{
    bare_stream *stream = (bare_stream *)(void *)handle;
    assert_true(message->n_parts > 0);
    stream->is_writing = true;
    stream->n_written++;
}

static void
bare_set_reading(udpai_stream *handle, bool reading)
{
    (void)handle;
    (void)reading;
}

static void
bare_finish(udpai_stream *handle, const udpa_error *status)
{
    bare_stream *stream = (bare_stream *)(void *)handle;
    stream->finished = status ? udpa_error_code(status) : UDPA_ERR_CLOSED;
}

static const udpai_stream_ops bare_ops = {
    .write = bare_write,
    .set_reading = bare_set_reading,
    .finish = bare_finish,
};

/* What is there before memory runs out: messages of the peer, resources, who we are. */
typedef struct oom_bed {
    udpai_str messages[8], receipt;
    size_t n_messages;
    udpa_resource *resources[3];
    udpai_node_info *info;
    udpai_wheel wheel;
    udpai_hub *hub;
    udpai_session *session;
    bare_stream stream;
    udpai_publication *unjudged;
    size_t n_closed, n_receipts;
} oom_bed;

static void
bed_report(void *userdata, udpai_report *report)
{
    oom_bed *bed = userdata;
    bed->n_closed += report->kind == UDPAI_REPORT_CLOSED;
    bed->n_receipts += report->kind == UDPAI_REPORT_RECEIPT;
    if (report->kind == UDPAI_REPORT_PUBLICATION) {
        udpai_publication_free(bed->unjudged);
        bed->unjudged = UDPAI_TAKE(report->publication);
    }
    udpai_report_free(report);
}

static int64_t
bed_wall(void *userdata)
{
    (void)userdata;
    return 1;
}

static void
prepare(oom_bed *bed)
{
    static const udpai_str features[] = {{UDPAI_FEATURE_EXTENSIONS, 11}};
    const udpai_node_parts parts = {.id = UDPAI_STR("node"), .features = features, .n_features = 1};
    memset(bed, 0, sizeof(*bed));
    assert_ok(udpai_node_info_new(&bed->info, &parts));
    bed->resources[0] = RESOURCE("com.acme/a", .value = "1");
    bed->resources[1] = RESOURCE("com.acme/b", .value = "1", .ttl_ms = 500);
    bed->resources[2] = RESOURCE("net/c", .value = "1", .aliases = {"net/alias"});
    udpai_str node = W_JOIN(W_TEXT(1, "peer"), W_TEXT(10, UDPAI_FEATURE_EXTENSIONS)),
              any = W_JOIN(W_TEXT(1, UDPAI_TYPE_NODE), wire_bytes(2, node)),
              payload = W_JOIN(W_TEXT(1, TEST_TYPE), W_TEXT(2, "v"));
    const udpai_str messages[] = {
        W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, W_TEXT(1, "peer"), wire_bytes(3, any)))),
        W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(4, "com.acme"),
                  W_MESSAGE(3, W_TEXT(1, "com.acme/gone"), W_TEXT(2, "1"))),
        W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(2, ""), W_TEXT(4, "com.acme"),
                  W_MESSAGE(5, W_TEXT(1, "com.acme/gone-too"), W_FIXED64(2, 1))),
        W_MESSAGE(1, W_TEXT(1, TEST_TYPE), W_TEXT(2, "net/alias"), W_TEXT(2, "net/none"),
                  W_TEXT(2, "bad name")),
        W_MESSAGE(4, W_TEXT(1, "000000000002"), W_MESSAGE(2, W_VARINT(1, 3), W_TEXT(2, "no"))),
        W_MESSAGE(3, W_MESSAGE(2, W_VARINT(4, 1), W_TEXT(2, "org.other/z"),
                               W_MESSAGE(1, W_TEXT(1, "org.other/x"), wire_bytes(3, payload)))),
        W_MESSAGE(5, W_TEXT(1, TEST_TYPE), W_TEXT(3, "net/x")),
        W_MESSAGE(2, W_TEXT(1, TEST_TYPE), W_TEXT(2, ""), W_TEXT(2, "net/alias")),
    };
    bed->receipt = W_MESSAGE(4, W_TEXT(1, "000000000008"), W_EMPTY(2),
                             W_MESSAGE(2, W_VARINT(1, 7), W_TEXT(2, "com.acme/gone is not yours")));
    bed->n_messages = UDPAI_ARRAY_LEN(messages);
    memcpy(bed->messages, messages, sizeof(messages));
}

static void
tear_down(oom_bed *bed)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bed->resources); i++)
        udpa_resource_unref(bed->resources[i]);
    udpai_node_info_unref(bed->info);
    wire_free_all();
}

static udpa_err
give_changes(oom_bed *bed)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->changes = udpai_change_set_new();
    udpa_err err = order->changes ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(bed->resources) && err == UDPA_OK; i++)
        err = udpai_change_set_add(order->changes, &(udpai_change){.resource = bed->resources[i]});
    if (err != UDPA_OK)
        udpai_order_free(order);
    else
        udpai_hub_order(bed->hub, order);
    return err;
}

static udpa_err
give_settled(oom_bed *bed)
{
    const udpai_settled_facts facts = {0};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SETTLED);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->settled = udpai_settled_new(&facts);
    if (!order->settled) {
        udpai_order_free(order);
        return UDPA_ERR_NOMEM;
    }
    udpai_hub_order(bed->hub, order);
    return UDPA_OK;
}

static udpa_err
judge(oom_bed *bed)
{
    udpai_order *order = bed->unjudged ? udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE) : NULL;
    if (!order)
        return UDPA_ERR_NOMEM; /* also if it did not come up, for the same reason */
    order->session = bed->session->id;
    order->publication = UDPAI_TAKE(bed->unjudged);
    udpai_hub_order(bed->hub, order);
    return UDPA_OK;
}

static udpa_err
ask(oom_bed *bed)
{
    const udpai_str names[] = {{"", 0}, {"net/x", 5}};
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(TEST_CDS),
        .name_space = UDPAI_STR("net"),
        .names = names,
        .n_names = 2,
    };
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->session = bed->session->id;
    order->subscription = udpai_subscription_message_copy(&message);
    udpa_err err = order->subscription ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpai_order_free(order);
    else
        udpai_hub_order(bed->hub, order);
    return err;
}

static udpa_err
publish(oom_bed *bed, uint64_t ticket)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLISH);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->session = bed->session->id;
    order->ticket = ticket;
    order->publication = udpai_publication_new();
    udpa_err err = order->publication ? UDPA_OK : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_publication_add(order->publication, bed->resources[0], false);
    if (err == UDPA_OK)
        err = udpai_publication_remove(order->publication, UDPAI_STR("com.acme/gone"));
    if (err != UDPA_OK) {
        udpai_order_free(order);
        return err;
    }
    order->publication->receipt_required = true;
    udpai_hub_order(bed->hub, order);
    return UDPA_OK;
}

static udpa_err
forget(oom_bed *bed, uint64_t ticket)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_FORGET);
    if (!order)
        return UDPA_ERR_NOMEM;
    order->ticket = ticket;
    udpai_hub_order(bed->hub, order);
    return UDPA_OK;
}

static void
write_all(oom_bed *bed)
{
    udpai_hub_run(bed->hub);
    while (bed->stream.is_writing) {
        bed->stream.is_writing = false;
        udpai_session_written(bed->session);
        udpai_hub_run(bed->hub);
    }
}

static udpa_err
talk(oom_bed *bed)
{
    udpa_err err = give_changes(bed);
    if (err == UDPA_OK)
        err = give_settled(bed);
    for (size_t i = 0; i < bed->n_messages && err == UDPA_OK; i++) {
        udpai_session_receive(bed->session, bed->messages[i]);
        write_all(bed);
        err = bed->stream.finished;
    }
    if (err == UDPA_OK)
        err = judge(bed);
    if (err == UDPA_OK)
        err = publish(bed, 1);
    if (err == UDPA_OK)
        err = publish(bed, 2);
    if (err == UDPA_OK)
        err = forget(bed, 2);
    if (err == UDPA_OK)
        err = ask(bed);
    write_all(bed);
    if (err == UDPA_OK && bed->stream.finished == UDPA_OK) {
        udpai_session_receive(bed->session, bed->receipt);
        if (bed->n_receipts != 2 && bed->stream.finished == UDPA_OK)
            err = UDPA_ERR_INTERNAL; /* somebody would wait for ever */
    }
    udpa_bytes *status = err == UDPA_OK ? bed->session->ops->describe(bed->session) : NULL;
    if (err == UDPA_OK && !status)
        err = UDPA_ERR_NOMEM;
    udpa_bytes_unref(status);
    return err == UDPA_OK ? bed->stream.finished : err;
}

static udpa_err
session_scenario(void *context)
{
    oom_bed *bed = context;
    const udpai_hub_env env = {.report = bed_report, .wall_us = bed_wall, .userdata = bed};
    const udpai_stream_info info = {.stream = (udpai_stream *)(void *)&bed->stream,
                                    .ops = &bare_ops};
    udpai_hub_options options = fake_hub_options();
    options.info = bed->info;
    bed->stream = (bare_stream){0};
    bed->n_closed = bed->n_receipts = 0;
    udpai_wheel_init(&bed->wheel, 1000);
    udpa_err err = udpai_hub_new(&bed->hub, &bed->wheel, &options, &env);
    if (err != UDPA_OK)
        return err;
    err = udpai_udpa_session_new(&bed->session, bed->hub, &info);
    if (err == UDPA_OK) {
        err = talk(bed);
        udpai_session_closed(bed->session, NULL);
        assert_int_equal(bed->n_closed, 1); /* that it has ended is always told */
    }
    bed->unjudged = udpai_publication_free(bed->unjudged);
    udpai_hub_free(bed->hub);
    if (err == UDPA_ERR_CLOSED) /* it could not even begin to speak */
        err = UDPA_ERR_NOMEM;
    return err;
}

static void
memory_may_run_out_anywhere(void **state)
{
    (void)state;
    oom_bed bed;
    prepare(&bed);
    unsigned long before = udpai_alloc_live();
    assert_true(oom_torture(session_scenario, &bed) > 50);
    /* Node, two additions, two removals, three completes, an error, a receipt, a publish,
     * a Subscribe */
    assert_int_equal(bed.stream.n_written, 12);
    assert_int_equal(bed.n_receipts, 2); /* one of them of what was forgotten */
    assert_int_equal(udpai_alloc_live(), before);
    tear_down(&bed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_ends_subscribe_and_publish, begin, end),
        cmocka_unit_test_setup_teardown(chance_brings_them_to_the_same, begin, end),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
