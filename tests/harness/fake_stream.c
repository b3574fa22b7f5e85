/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/harness/fake_stream.h"

#include "base/alloc.h"
#include "tests/harness/test.h"

/* ---- the hub ---- */

static void
on_report(void *userdata, udpai_report *report)
{
    fake_hub *self = userdata;
    udpai_list_append(&self->reports, &report->node);
    self->n_reports++;
}

static void
on_dial(void *userdata, udpai_order *order)
{
    fake_hub *self = userdata;
    assert_true(udpai_vector_push(&self->dialled, order->link));
    udpai_order_free(order);
}

static void
on_stop_dialling(void *userdata, uint64_t link)
{
    (void)userdata;
    (void)link;
}

static void
on_wake(void *userdata)
{
    ((fake_hub *)userdata)->n_wakes++;
}

static int64_t
on_wall(void *userdata)
{
    return ((fake_hub *)userdata)->wall_us;
}

udpai_hub_options
fake_hub_options(void)
{
    return (udpai_hub_options){
        .fanout =
            {
                .cycle_timeout_ms = 20000,
                .first_answer_timeout_ms = 10000,
                .view_linger_ms = 1000,
                .tombstones_min = 64,
                .max_views = 64,
                .max_views_per_owner = 64,
                .max_names = 100000,
                .max_held = 1000,
                .max_held_bytes = 100000,
                .body_cache_bytes = (size_t)4 << 20,
                .response_bytes = (size_t)1 << 20,
            },
        .max_pending = 64,
        .max_pending_bytes = (size_t)1 << 20,
    };
}

void
fake_hub_init(fake_hub *self, const udpai_hub_options *options)
{
    memset(self, 0, sizeof(*self));
    udpai_hub_options own = *options;
    const udpai_node_parts parts = {.id = UDPAI_STR("node")};
    if (!own.info)
        assert_ok(udpai_node_info_new(&own.info, &parts));
    udpai_wheel_init(&self->wheel, 1000);
    udpai_list_init(&self->reports);
    self->wall_us = 1700000000000000;
    const udpai_hub_env env = {
        .report = on_report,
        .dial = on_dial,
        .stop_dialling = on_stop_dialling,
        .wake = on_wake,
        .wall_us = on_wall,
        .userdata = self,
    };
    assert_ok(udpai_hub_new(&self->hub, &self->wheel, &own, &env));
    if (!options->info)
        udpai_node_info_unref(own.info);
}

void
fake_hub_drop_reports(fake_hub *self)
{
    udpai_list *node;
    while ((node = udpai_list_pop(&self->reports)))
        udpai_report_free(UDPAI_LIST_ENTRY(node, udpai_report, node));
    self->n_reports = 0;
}

void
fake_hub_done(fake_hub *self)
{
    udpai_vector_done(&self->dialled);
    assert_int_equal(udpai_hub_n_sessions(self->hub), 0);
    self->hub = udpai_hub_free(self->hub);
    fake_hub_drop_reports(self);
}

udpai_report *
fake_hub_take_report(fake_hub *self, udpai_report_kind kind)
{
    UDPAI_LIST_FOREACH (node, &self->reports) {
        udpai_report *report = UDPAI_LIST_ENTRY(node, udpai_report, node);
        if (report->kind != kind)
            continue;
        udpai_list_remove(node);
        self->n_reports--;
        return report;
    }
    return NULL;
}

void
fake_hub_advance(fake_hub *self, uint64_t ms)
{
    self->wall_us += (int64_t)ms * 1000;
    udpai_wheel_advance(&self->wheel, self->wheel.now_ms + ms);
}

void
fake_hub_apply(fake_hub *self, udpai_change_set *changes)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    assert_non_null(order);
    order->changes = changes;
    order->since_ms = self->wheel.now_ms;
    const udpai_change_mark mark = {self->mark, udpai_change_set_size(changes) - 1, self->trace};
    if (mark.number)
        assert_true(udpai_vector_push(&order->marks, mark));
    self->mark = 0;
    self->trace = (udpai_trace){0};
    udpai_hub_order(self->hub, order);
}

void
fake_hub_settle(fake_hub *self, const udpai_settled_facts *facts)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SETTLED);
    assert_non_null(order);
    order->settled = udpai_settled_new(facts);
    assert_non_null(order->settled);
    udpai_hub_order(self->hub, order);
}

/* ---- a stream ---- */

static fake_stream *
stream_of(udpai_stream *stream)
{
    return (fake_stream *)(void *)stream;
}

static udpa_bytes *
join(const udpai_outgoing *message)
{
    size_t size = message->tail_len;
    for (size_t i = 0; i < message->n_parts; i++)
        size += udpa_bytes_size(message->parts[i]);
    uint8_t *at;
    udpa_bytes *bytes = udpai_bytes_make(size, &at);
    assert_non_null(bytes);
    for (size_t i = 0; i < message->n_parts; i++) {
        size_t part = udpa_bytes_size(message->parts[i]);
        if (part)
            memcpy(at, udpa_bytes_data(message->parts[i]), part);
        at += part;
    }
    if (message->tail_len)
        memcpy(at, message->tail, message->tail_len);
    return bytes;
}

static void
on_write(udpai_stream *handle, const udpai_outgoing *message)
{
    fake_stream *stream = stream_of(handle);
    assert_false(stream->is_writing); /* one message at a time */
    assert_false(stream->is_finished);
    stream->is_writing = true;
    stream->n_parts = message->n_parts;
    stream->is_last = message->is_last;
    stream->largest_part = 0;
    for (size_t i = 0; i < message->n_parts; i++)
        stream->largest_part =
            udpai_max_size(stream->largest_part, udpa_bytes_size(message->parts[i]));
    assert_true(udpai_vector_push(&stream->written, join(message)));
}

static void
on_set_reading(udpai_stream *handle, bool reading)
{
    fake_stream *stream = stream_of(handle);
    assert_int_equal(stream->is_paused, reading); /* it is told of changes only */
    stream->is_paused = !reading;
}

static void
on_finish(udpai_stream *handle, const udpa_error *status)
{
    fake_stream *stream = stream_of(handle);
    assert_false(stream->is_finished);
    stream->is_finished = true;
    stream->status = udpa_error_ref((udpa_error *)(uintptr_t)status);
}

static const udpai_stream_ops stream_ops = {
    .write = on_write,
    .set_reading = on_set_reading,
    .finish = on_finish,
};

void
fake_stream_open(fake_stream *stream,
                 fake_hub *hub,
                 fake_session_fn session_new,
                 const udpai_stream_info *info)
{
    memset(stream, 0, sizeof(*stream));
    udpai_stream_info own = info ? *info : (udpai_stream_info){0};
    own.stream = (udpai_stream *)(void *)stream;
    own.ops = &stream_ops;
    assert_ok(session_new(&stream->session, hub->hub, &own));
}

void
fake_stream_receive(fake_stream *stream, const void *message, size_t size)
{
    char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    if (size)
        memcpy(exact, message, size);
    udpai_session_receive(stream->session, (udpai_str){exact, size});
    free(exact);
}

void
fake_stream_complete(fake_stream *stream)
{
    assert_true(stream->is_writing);
    stream->is_writing = false;
    udpai_session_written(stream->session);
}

void
fake_stream_run(fake_stream *stream, fake_hub *hub)
{
    udpai_hub_run(hub->hub);
    while (stream->is_writing) {
        fake_stream_complete(stream);
        udpai_hub_run(hub->hub);
    }
}

udpa_bytes *
fake_stream_take(fake_stream *stream)
{
    if (stream->written.n == 0)
        return NULL;
    udpa_bytes *first = stream->written.items[0];
    memmove(stream->written.items, stream->written.items + 1,
            --stream->written.n * sizeof(*stream->written.items));
    return first;
}

void
fake_stream_close(fake_stream *stream)
{
    udpa_bytes *message;
    if (stream->session)
        udpai_session_closed(stream->session, NULL);
    stream->session = NULL;
    while ((message = fake_stream_take(stream)))
        udpa_bytes_unref(message);
    udpai_vector_done(&stream->written);
    stream->status = udpa_error_unref(stream->status);
}
