/* SPDX-License-Identifier: Apache-2.0 */
/* CSDS of a client about itself: the loop side is asked, and what it says is handed on. */
#include "xds/csds_own.h"

#include <stdio.h>

#include "envoy/service/status/v3/csds.pb-c.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "tests/harness/sink_stream.h"

typedef Envoy__Service__Status__V3__ClientStatusResponse response_message;

typedef struct fixture {
    fake_hub hub;
    udpai_csds_own own;
    udpai_csds_own_method method;
    fake_stream stream;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    udpai_hub_options options = fake_hub_options();
    fake_hub_init(&self->hub, &options);
    self->method = (udpai_csds_own_method){&self->own, false};
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    fake_stream_close(&self->stream);
    assert_int_equal(self->own.n_answers, 0);
    fake_hub_done(&self->hub);
    free(self);
    return 0;
}

static void
open_stream(fixture *self, bool is_fetch)
{
    const udpai_stream_info info = {.context = &self->method};
    self->method.is_fetch = is_fetch;
    fake_stream_open(&self->stream, &self->hub, udpai_csds_own_session_new, &info);
}

/* The loop side's part; its session. 0: it was not asked. */
static uint64_t
take_question(fixture *self, bool with_bodies)
{
    udpai_report *report = fake_hub_take_report(&self->hub, UDPAI_REPORT_OWN_STATUS);
    uint64_t session = report ? report->session : 0;
    if (report)
        assert_int_equal(report->subscribed, with_bodies);
    udpai_report_free(report);
    return session;
}

static udpa_bytes *
make_chunk(const char *name)
{
    udpai_strbuf out = {0};
    udpa_bytes *bytes = NULL;
    const udpai_own_entry entry = {
        .type_url = UDPAI_STR(TEST_CDS),
        .name = udpai_str_from(name),
        .state = UDPAI_OWN_REQUESTED,
    };
    assert_true(udpai_own_entry_put(&out, &entry));
    assert_ok(udpa_bytes_new(&bytes, out.data, out.len));
    udpai_strbuf_done(&out);
    return bytes;
}

static void
answer(fixture *self, uint64_t session, size_t n)
{
    static const char *const names[] = {"a", "b", "c"};
    udpai_order *order = udpai_order_new(UDPAI_ORDER_OWN_STATUS);
    assert_non_null(order);
    order->session = session;
    for (size_t i = 0; i < n; i++)
        assert_true(udpai_vector_push(&order->answers, make_chunk(names[i])));
    udpai_hub_order(self->hub.hub, order);
    fake_stream_run(&self->stream, &self->hub);
}

/* "# a b |# c": of each response the names. */
static const char *
take(fixture *self)
{
    static char text[500];
    udpa_bytes *message;
    udpai_strbuf out = {0};
    while ((message = fake_stream_take(&self->stream))) {
        response_message *response = envoy__service__status__v3__client_status_response__unpack(
            NULL, udpa_bytes_size(message), udpa_bytes_data(message));
        assert_non_null(response);
        udpai_strbuf_puts(&out, out.len ? " |" : "");
        for (size_t i = 0; i < response->n_config; i++) {
            assert_string_equal(response->config[i]->node->id, "node");
            udpai_strbuf_puts(&out, "#");
            for (size_t k = 0; k < response->config[i]->n_generic_xds_configs; k++)
                udpai_strbuf_printf(&out, " %s", response->config[i]->generic_xds_configs[k]->name);
        }
        envoy__service__status__v3__client_status_response__free_unpacked(response, NULL);
        udpa_bytes_unref(message);
    }
    snprintf(text, sizeof(text), "%s", out.len ? out.data : "");
    udpai_strbuf_done(&out);
    return text;
}

static void
a_fetch_has_one_response(void **state)
{
    fixture *self = *state;
    open_stream(self, true);
    fake_stream_receive(&self->stream, "", 0);
    uint64_t session = take_question(self, true);
    assert_true(session != 0);
    answer(self, session, 3);
    assert_string_equal(take(self), "# a b c");
    assert_true(self->stream.is_finished);
    assert_null(self->stream.status);
}

static void
a_stream_is_answered_in_pieces_and_again(void **state)
{
    fixture *self = *state;
    open_stream(self, false);
    fake_stream_receive(&self->stream, "\x18\x01", 2);
    assert_true(self->stream.is_paused);
    fake_stream_receive(&self->stream, "", 0); /* read already */
    answer(self, take_question(self, false), 3);
    assert_string_equal(take(self), "# a |# b |# c");
    answer(self, take_question(self, true), 0);
    assert_string_equal(take(self), "#");
    assert_false(self->stream.is_paused);
    assert_false(self->stream.is_finished);
    udpai_session_ended(self->stream.session);
    fake_stream_run(&self->stream, &self->hub);
    assert_true(self->stream.is_finished);
}

static void
who_asks_about_others_is_told_of_nobody(void **state)
{
    fixture *self = *state;
    open_stream(self, true);
    fake_stream_receive(&self->stream, "\x0a\x05\x0a\x03\x0a\x01x", 7);
    fake_stream_run(&self->stream, &self->hub);
    assert_int_equal(take_question(self, true), 0);
    udpa_bytes *message = fake_stream_take(&self->stream);
    assert_non_null(message);
    assert_int_equal(udpa_bytes_size(message), 0);
    udpa_bytes_unref(message);
    assert_true(self->stream.is_finished);
}

static void
what_is_no_request_is_refused(void **state)
{
    fixture *self = *state;
    open_stream(self, false);
    fake_stream_receive(&self->stream, "\xff\xff", 2);
    assert_int_equal(udpa_error_code(self->stream.status), UDPA_ERR_MALFORMED);
    fake_stream_close(&self->stream);
    open_stream(self, true);
    udpai_session_ended(self->stream.session);
    assert_int_equal(udpa_error_code(self->stream.status), UDPA_ERR_INVAL);
    fake_stream_close(&self->stream);
    open_stream(self, false);
    for (int i = 0; i < 3; i++)
        fake_stream_receive(&self->stream, "", 0);
    assert_int_equal(udpa_error_code(self->stream.status), UDPA_ERR_LIMIT);
}

static void
a_busy_application_is_not_waited_for(void **state)
{
    fixture *self = *state;
    open_stream(self, true);
    fake_stream_receive(&self->stream, "", 0);
    fake_hub_advance(&self->hub, UDPAI_CSDS_OWN_PATIENCE_MS + 1);
    assert_int_equal(udpa_error_code(self->stream.status), UDPA_ERR_DEADLINE);
}

static void
why_there_is_no_answer_is_said(void **state)
{
    fixture *self = *state;
    open_stream(self, true);
    fake_stream_receive(&self->stream, "", 0);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_OWN_STATUS);
    order->session = take_question(self, true);
    order->error = udpa_error_new(UDPA_ERR_LIMIT, NULL, "too much");
    udpai_hub_order(self->hub.hub, order);
    assert_string_equal(udpa_error_message(self->stream.status), "too much");
}

static void
only_so_many_are_answered_at_a_time(void **state)
{
    fixture *self = *state;
    fake_stream many[UDPAI_CSDS_OWN_MAX + 1] = {0};
    const udpai_stream_info info = {.context = &self->method};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(many); i++) {
        fake_stream_open(&many[i], &self->hub, udpai_csds_own_session_new, &info);
        fake_stream_receive(&many[i], "", 0);
    }
    assert_int_equal(udpa_error_code(many[UDPAI_CSDS_OWN_MAX].status), UDPA_ERR_LIMIT);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(many); i++)
        fake_stream_close(&many[i]);
}

static void
an_answer_for_nobody_is_dropped(void **state)
{
    fixture *self = *state;
    open_stream(self, false);
    udpai_order *order = udpai_order_new(UDPAI_ORDER_OWN_STATUS);
    order->session = 1;
    assert_true(udpai_vector_push(&order->answers, make_chunk("a")));
    udpai_hub_order(self->hub.hub, order);
    fake_stream_run(&self->stream, &self->hub);
    assert_string_equal(take(self), "");
}

/* ---- entries ---- */

static void
bodies_are_shown_but_for_secrets(void **state)
{
    (void)state;
    static const char *const types[] = {
        TEST_CDS, TEST_CDS, "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
        "example.org/types/envoy.extensions.transport_sockets.tls.v3.Secret", /* whatever its host
                                                                               */
    };
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *resource = RESOURCE("a/b", .value = "hidden treasure");
    udpai_own_entry entry = {.type_url = UDPAI_STR(TEST_CDS),
                             .name = UDPAI_STR("a/b"),
                             .state = UDPAI_OWN_ACKED,
                             .good = resource,
                             .updated_us = 1};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(types); i++) {
        udpai_strbuf out = {0};
        entry.with_bodies = i > 0;
        entry.type_url = udpai_str_from(types[i]);
        assert_true(udpai_own_entry_put(&out, &entry));
        bool is_shown = memmem(out.data, out.len, "hidden", 6) != NULL;
        assert_int_equal(is_shown, i == 1);
        udpai_strbuf_done(&out);
    }
}

/* With an answer that the loop side had memory for. */
static udpa_err
ask_once(void *context)
{
    fixture *self = context;
    sink_stream stream = {0};
    const udpai_stream_info info = sink_stream_info(&stream, &self->method);
    self->method.is_fetch = true;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_OWN_STATUS);
    udpa_err err =
        order ? udpai_csds_own_session_new(&stream.session, self->hub.hub, &info) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_order_free(order);
        return err;
    }
    order->session = stream.session->id;
    udpai_session_receive(stream.session, (udpai_str){"", 0});
    udpai_hub_order(self->hub.hub, order);
    udpai_hub_run(self->hub.hub);
    fake_hub_drop_reports(&self->hub);
    udpai_session_closed(stream.session, NULL);
    return stream.is_writing ? UDPA_OK : UDPA_ERR_NOMEM;
}

static void
without_memory_there_is_no_answer(void **state)
{
    oom_torture(ask_once, *state);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_fetch_has_one_response),
        CASE(a_stream_is_answered_in_pieces_and_again),
        CASE(who_asks_about_others_is_told_of_nobody),
        CASE(what_is_no_request_is_refused),
        CASE(a_busy_application_is_not_waited_for),
        CASE(why_there_is_no_answer_is_said),
        CASE(only_so_many_are_answered_at_a_time),
        CASE(an_answer_for_nobody_is_dropped),
        CASE(bodies_are_shown_but_for_secrets),
        CASE(without_memory_there_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
