/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2: many calls at a time, whose bytes come mixed. The client is nghttp2's. */
#include <nghttp2/nghttp2.h>
#include <stdio.h>

#include "tests/unit/transport/http_bed.h"

#define MAX_BODY 100000
#define STREAMS UDPAI_HTTP_STREAMS

/* ---- a client ---- */

typedef struct answer {
    int32_t id;
    int status;
    char text[64];
    size_t size;
    bool is_closed;
    uint32_t code;
} answer;

typedef struct client {
    nghttp2_session *session;
    http_bed *bed;
    answer answers[HTTP_BED_REQUESTS];
    size_t n_sent; /* of what the bed has given */
    size_t step;
    bool is_told_to_go, says_go_on;
} client;

typedef struct upload {
    const char *text;
    size_t size, piece, n_sent;
    bool is_held; /* nothing more is sent */
} upload;

static answer *
answer_of(client *self, int32_t id)
{
    assert_true(id > 0 && id / 2 < HTTP_BED_REQUESTS);
    return &self->answers[id / 2];
}

static int
on_header(nghttp2_session *session,
          const nghttp2_frame *frame,
          const uint8_t *name,
          size_t name_len,
          const uint8_t *value,
          size_t value_len,
          uint8_t flags,
          void *userdata)
{
    (void)session;
    (void)flags;
    if (name_len != 7 || memcmp(name, ":status", 7) != 0)
        return 0;
    assert_int_equal(value_len, 3);
    if (memcmp(value, "100", 3) == 0)
        ((client *)userdata)->says_go_on = true;
    else
        answer_of(userdata, frame->hd.stream_id)->status =
            (int)strtol((const char *)value, NULL, 10);
    return 0;
}

static int
on_data(nghttp2_session *session,
        uint8_t flags,
        int32_t id,
        const uint8_t *data,
        size_t len,
        void *userdata)
{
    answer *to = answer_of(userdata, id);
    (void)flags;
    assert_ok(nghttp2_session_consume_connection(session, len)); /* of the stream: by the tests */
    for (size_t i = 0; i < len && to->size + i + 1 < sizeof(to->text); i++)
        to->text[to->size + i] = (char)data[i];
    to->size += len;
    return 0;
}

static int
on_close(nghttp2_session *session, int32_t id, uint32_t code, void *userdata)
{
    answer *to = answer_of(userdata, id);
    (void)session;
    to->is_closed = true;
    to->code = code;
    return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *userdata)
{
    (void)session;
    if (frame->hd.type == NGHTTP2_GOAWAY)
        ((client *)userdata)->is_told_to_go = true;
    return 0;
}

static void
client_open(client *self, http_bed *bed, const nghttp2_settings_entry *settings, size_t n)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    *self = (client){.bed = bed, .step = 16384};
    http_bed_open(bed, true, MAX_BODY);
    assert_ok(nghttp2_session_callbacks_new(&callbacks));
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    assert_ok(nghttp2_option_new(&option));
    nghttp2_option_set_no_auto_window_update(option, 1);
    assert_ok(nghttp2_session_client_new2(&self->session, callbacks, self, option));
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    assert_ok(nghttp2_submit_settings(self->session, NGHTTP2_FLAG_NONE, settings, n));
}

static void
client_close(client *self)
{
    nghttp2_session_del(self->session);
    http_bed_close(self->bed);
}

/* All that either has to say, until both are silent. */
static void
exchange(client *self)
{
    http_bed *bed = self->bed;
    for (bool is_moving = true; is_moving;) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(self->session, &bytes);
        assert_true(n >= 0);
        http_bed_send(bed, bytes, (size_t)n, self->step);
        http_bed_give(bed);
        size_t new = bed->out.len - self->n_sent;
        if (new)
            assert_int_equal(nghttp2_session_mem_recv(self->session,
                                                      (uint8_t *)bed->out.data + self->n_sent, new),
                             new);
        self->n_sent += new;
        is_moving = n > 0 || new > 0;
    }
}

static ssize_t
read_upload(nghttp2_session *session,
            int32_t id,
            uint8_t *room,
            size_t len,
            uint32_t *flags,
            nghttp2_data_source *source,
            void *userdata)
{
    upload *from = source->ptr;
    size_t n = udpai_min_size(udpai_min_size(len, from->piece), from->size - from->n_sent);
    (void)session;
    (void)id;
    (void)userdata;
    if (from->is_held)
        return NGHTTP2_ERR_DEFERRED;
    memcpy(room, from->text + from->n_sent, n);
    from->n_sent += n;
    if (from->n_sent == from->size)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv
pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

/* Without an upload the head is all. @p more: a name and a value, or NULL. */
static int32_t
ask(client *self, const char *path, upload *body, const char *name, const char *value)
{
    const nghttp2_nv fields[] = {
        pair(":method", "POST"),
        pair(":scheme", "http"),
        pair(":path", path),
        pair(":authority", "host"),
        pair(name ? name : "x", name ? value : "y"),
    };
    const nghttp2_data_provider provider = {.source.ptr = body, .read_callback = read_upload};
    int32_t id = nghttp2_submit_request(self->session, NULL, fields, UDPAI_ARRAY_LEN(fields),
                                        body ? &provider : NULL, NULL);
    assert_true(id > 0);
    return id;
}

static http_request *
find_request(http_bed *bed, const char *path)
{
    for (size_t i = 0; i < bed->n_requests; i++)
        if (strcmp(bed->requests[i].path, path) == 0)
            return &bed->requests[i];
    fail_msg("no request for %s", path);
    return NULL;
}

/* ---- many at a time ---- */

/* The bytes of all bodies are mixed; answers are given last first. */
static void
check_many(size_t step, size_t piece)
{
    static client self;
    static http_bed bed;
    static upload uploads[100];
    static char texts[100][32], paths[100][32];
    client_open(&self, &bed, NULL, 0);
    self.step = step;
    for (size_t i = 0; i < 100; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "the body of request %zu", i);
        (void)snprintf(paths[i], sizeof(paths[i]), "/hold%zu", i);
        uploads[i] = (upload){.text = texts[i], .size = strlen(texts[i]), .piece = piece};
        ask(&self, paths[i], &uploads[i], NULL, NULL);
    }
    exchange(&self);
    assert_int_equal(bed.n_requests, 100);
    assert_int_equal(udpai_http_engine_n_calls(bed.engine), 100);
    for (size_t i = 100; i-- > 0;) {
        http_request *request = find_request(&bed, paths[i]);
        assert_true(request->is_complete);
        assert_str(udpai_strbuf_view(&request->body), texts[i]);
        http_bed_reply(request, 200, paths[i]);
        exchange(&self);
        assert_true(request->is_answered);
    }
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(self.answers[i].status, 200);
        assert_string_equal(self.answers[i].text, paths[i]);
        assert_int_equal(self.answers[i].code, NGHTTP2_NO_ERROR);
    }
    assert_false(self.is_told_to_go);
    client_close(&self);
}

static void
a_hundred_requests_at_a_time(void **state)
{
    (void)state;
    check_many(16384, 16384);
    check_many(16384, 3);
    check_many(1, 5);
    check_many(13, 1);
}

static void
no_more_streams_than_was_said(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    client_open(&self, &bed, NULL, 0);
    exchange(&self);
    for (size_t i = 0; i < STREAMS + 50; i++)
        ask(&self, "/hold", NULL, NULL, NULL);
    exchange(&self);
    assert_int_equal(bed.n_requests, STREAMS);
    for (size_t i = 0; i < bed.n_requests; i++) {
        http_bed_reply(&bed.requests[i], 200, "x");
        exchange(&self);
    }
    assert_int_equal(bed.n_requests, STREAMS + 50);
    client_close(&self);
}

static void
one_that_is_reset_disturbs_no_other(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    upload one = {.text = "hello", .size = 5, .piece = 5};
    client_open(&self, &bed, NULL, 0);
    int32_t a = ask(&self, "/hold/a", &one, NULL, NULL);
    int32_t b = ask(&self, "/hold/b", NULL, NULL, NULL);
    exchange(&self);
    assert_ok(nghttp2_submit_rst_stream(self.session, 0, a, NGHTTP2_CANCEL));
    exchange(&self);
    assert_null(find_request(&bed, "/hold/a")->call);
    assert_false(find_request(&bed, "/hold/a")->is_answered);
    http_bed_reply(find_request(&bed, "/hold/b"), 304, NULL);
    exchange(&self);
    assert_int_equal(answer_of(&self, b)->status, 304);
    assert_int_equal(answer_of(&self, b)->size, 0);
    client_close(&self);
}

static void
trailers_end_a_body(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    upload held = {.text = "hi", .size = 2, .piece = 2, .is_held = true};
    const nghttp2_nv trailer = pair("content-type", "surprise");
    client_open(&self, &bed, NULL, 0);
    int32_t id = ask(&self, "/a", &held, NULL, NULL);
    exchange(&self);
    assert_int_equal(answer_of(&self, id)->status, 0);
    assert_ok(nghttp2_submit_trailer(self.session, id, &trailer, 1));
    exchange(&self);
    assert_int_equal(answer_of(&self, id)->status, 200);
    assert_string_equal(answer_of(&self, id)->text, "/a ");
    client_close(&self);
}

static void
who_waits_for_it_is_told_to_go_on(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    upload one = {.text = "hello", .size = 5, .piece = 5, .is_held = true};
    client_open(&self, &bed, NULL, 0);
    int32_t id = ask(&self, "/a", &one, "expect", "100-continue");
    exchange(&self);
    assert_true(self.says_go_on);
    one.is_held = false;
    assert_ok(nghttp2_session_resume_data(self.session, id));
    exchange(&self);
    assert_string_equal(answer_of(&self, id)->text, "/a hello");
    client_close(&self);
}

/* ---- windows ---- */

static void
a_small_window_holds_its_own_answer_alone(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    static char text[50000];
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0}};
    memset(text, 'x', sizeof(text));
    client_open(&self, &bed, settings, 1);
    assert_ok(udpa_bytes_new(&bed.answer, text, sizeof(text)));
    int32_t a = ask(&self, "/a", NULL, NULL, NULL), b = ask(&self, "/b", NULL, NULL, NULL);
    exchange(&self);
    assert_int_equal(answer_of(&self, a)->status, 200);
    assert_int_equal(answer_of(&self, a)->size, 0);
    assert_int_equal(bed.requests[0].n_progress, 0);
    assert_ok(nghttp2_submit_window_update(self.session, 0, b, 60000));
    exchange(&self);
    assert_int_equal(answer_of(&self, b)->size, sizeof(text));
    assert_true(bed.requests[1].is_answered);
    assert_int_equal(answer_of(&self, a)->size, 0);
    for (int i = 0; i < 50; i++) {
        assert_ok(nghttp2_submit_window_update(self.session, 0, a, 1000));
        exchange(&self);
        assert_int_equal(answer_of(&self, a)->size, (i + 1) * 1000);
    }
    assert_true(bed.requests[0].is_answered);
    assert_true(bed.requests[0].n_progress >= 49);
    client_close(&self);
}

/* ---- bodies ---- */

static void
a_body_too_large_is_refused(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    static char text[2 * MAX_BODY];
    upload large = {.text = text, .size = sizeof(text), .piece = 5000};
    upload small = {.text = "hi", .size = 2, .piece = 1};
    memset(text, 'x', sizeof(text));
    client_open(&self, &bed, NULL, 0);
    int32_t a = ask(&self, "/a", &large, NULL, NULL), b = ask(&self, "/b", &small, NULL, NULL);
    exchange(&self);
    assert_int_equal(answer_of(&self, a)->status, 413);
    assert_true(answer_of(&self, a)->is_closed);
    assert_int_equal(bed.requests[0].broken, 413);
    assert_string_equal(answer_of(&self, b)->text, "/b hi");
    assert_true(large.n_sent < sizeof(text));
    client_close(&self);
}

static void
bodies_of_one_connection_are_limited_together(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    static char text[MAX_BODY];
    upload uploads[UDPAI_HTTP_BODIES + 1];
    int32_t ids[UDPAI_HTTP_BODIES + 1];
    size_t n_refused = 0;
    memset(text, 'x', sizeof(text));
    client_open(&self, &bed, NULL, 0);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(uploads); i++) {
        uploads[i] = (upload){.text = text, .size = sizeof(text), .piece = 5000};
        ids[i] = ask(&self, "/hold", &uploads[i], NULL, NULL);
    }
    exchange(&self);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(uploads); i++)
        n_refused += answer_of(&self, ids[i])->status == 429;
    assert_int_equal(n_refused, 1);
    for (size_t i = 0; i < bed.n_requests; i++)
        if (bed.requests[i].call)
            http_bed_reply(&bed.requests[i], 200, "x");
    exchange(&self);
    int32_t next = ask(&self, "/a", NULL, NULL, NULL);
    exchange(&self);
    assert_int_equal(answer_of(&self, next)->status, 200);
    client_close(&self);
}

/* ---- heads ---- */

static void
a_head_too_large_is_refused(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    static char value[2 * UDPAI_HTTP_HEAD_MAX];
    memset(value, 'x', UDPAI_HTTP_HEAD_MAX);
    client_open(&self, &bed, NULL, 0);
    int32_t a = ask(&self, "/a", NULL, "z", value), b = ask(&self, "/b", NULL, NULL, NULL);
    exchange(&self);
    assert_int_equal(answer_of(&self, a)->status, 431);
    assert_int_equal(answer_of(&self, b)->status, 200);
    memset(value, 'x', sizeof(value) - 1);
    client_close(&self);
}

static void
what_belongs_to_one_protocol_is_refused_by_the_other(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    client_open(&self, &bed, NULL, 0);
    int32_t a = ask(&self, "/a", NULL, "content-length", "5");
    exchange(&self);
    assert_int_equal(answer_of(&self, a)->status, 0); /* the body is not there */
    assert_int_equal(answer_of(&self, a)->code, NGHTTP2_PROTOCOL_ERROR);
    int32_t b = ask(&self, "/b", NULL, "prefer", "wait=1");
    exchange(&self);
    assert_int_equal(answer_of(&self, b)->status, 200);
    client_close(&self);
}

/* ---- the end ---- */

static void
a_shut_down_waits_for_the_answers(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    client_open(&self, &bed, NULL, 0);
    ask(&self, "/hold/a", NULL, NULL, NULL);
    int32_t b = ask(&self, "/hold/b", NULL, NULL, NULL);
    exchange(&self);
    udpai_http_engine_shut_down(bed.engine);
    exchange(&self);
    assert_true(self.is_told_to_go);
    assert_false(udpai_http_engine_is_over(bed.engine));
    http_bed_reply(&bed.requests[0], 503, "ending");
    exchange(&self);
    assert_false(udpai_http_engine_is_over(bed.engine));
    http_bed_reply(&bed.requests[1], 503, "ending");
    exchange(&self);
    assert_true(udpai_http_engine_is_over(bed.engine));
    assert_int_equal(answer_of(&self, b)->status, 503);
    client_close(&self);
}

static void
calls_that_are_held_are_over_when_their_connection_goes(void **state)
{
    (void)state;
    static client self;
    static http_bed bed;
    client_open(&self, &bed, NULL, 0);
    for (int i = 0; i < STREAMS; i++)
        ask(&self, "/hold", NULL, NULL, NULL);
    exchange(&self);
    client_close(&self);
    assert_int_equal(bed.n_over, STREAMS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_requests_at_a_time),
        cmocka_unit_test(no_more_streams_than_was_said),
        cmocka_unit_test(one_that_is_reset_disturbs_no_other),
        cmocka_unit_test(trailers_end_a_body),
        cmocka_unit_test(who_waits_for_it_is_told_to_go_on),
        cmocka_unit_test(a_small_window_holds_its_own_answer_alone),
        cmocka_unit_test(a_body_too_large_is_refused),
        cmocka_unit_test(bodies_of_one_connection_are_limited_together),
        cmocka_unit_test(a_head_too_large_is_refused),
        cmocka_unit_test(what_belongs_to_one_protocol_is_refused_by_the_other),
        cmocka_unit_test(a_shut_down_waits_for_the_answers),
        cmocka_unit_test(calls_that_are_held_are_over_when_their_connection_goes),
    };
    return cmocka_run_group_tests_name("http2", tests, NULL, NULL);
}
