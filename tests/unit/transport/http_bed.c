/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/transport/http_bed.h"

#include <stdio.h>

#define GIVE_BYTES 1000

void
http_bed_reply(http_request *request, unsigned status, const char *text)
{
    udpa_bytes *bytes = NULL;
    if (text)
        assert_ok(udpa_bytes_new(&bytes, text, strlen(text)));
    udpai_http_call_reply(request->call, status, bytes);
    udpa_bytes_unref(bytes);
}

static void *
on_begin(void *userdata, udpai_http_call *call, const udpai_http_head *head)
{
    http_bed *bed = userdata;
    if (bed->without_memory)
        return NULL;
    assert_true(bed->n_requests < HTTP_BED_REQUESTS);
    http_request *request = &bed->requests[bed->n_requests++];
    *request = (http_request){.bed = bed, .call = call, .wrong = head->wrong};
    memcpy(request->path, head->path, sizeof(request->path) - 1);
    if (head->wrong)
        http_bed_reply(request, head->wrong, udpa_error_message(head->error));
    else if (bed->refuses)
        http_bed_reply(request, 404, "refused");
    return request;
}

static void
on_complete(void *userdata, udpai_strbuf *body)
{
    http_request *request = userdata;
    char text[128];
    request->body = *body;
    request->is_complete = true;
    if (strncmp(request->path, "/hold", 5) == 0)
        return;
    (void)snprintf(text, sizeof(text), "%s %.*s", request->path, (int)body->len,
                   body->len ? body->data : "");
    if (request->bed->answer)
        udpai_http_call_reply(request->call, 200, request->bed->answer);
    else
        http_bed_reply(request, 200, text);
}

static void
on_broken(void *userdata, unsigned status, const udpa_error *error)
{
    http_request *request = userdata;
    request->broken = status;
    http_bed_reply(request, status, udpa_error_message(error));
}

static void
on_progress(void *userdata)
{
    ((http_request *)userdata)->n_progress++;
}

static void
on_over(void *userdata, bool is_answered)
{
    http_request *request = userdata;
    assert_non_null(request->call);
    request->call = NULL;
    request->is_answered = is_answered;
    request->bed->n_over++;
    udpai_strbuf_done(&request->body);
    request->body = (udpai_strbuf){0};
}

void
http_bed_open(http_bed *bed, bool is_second, size_t max_body)
{
    static const udpai_http_events events = {on_begin, on_complete, on_broken, on_progress,
                                             on_over};
    const udpai_http_engine_options options = {.events = &events,
                                               .userdata = bed,
                                               .max_body_bytes = max_body,
                                               .body_setting = "http.max_body_bytes",
                                               .now_ms = 1000};
    *bed = (http_bed){.now_ms = 1000};
    bed->engine = is_second ? udpai_http2_new(&options) : udpai_http1_new(&options);
    assert_non_null(bed->engine);
}

void
http_bed_close(http_bed *bed)
{
    udpai_http_engine_free(bed->engine);
    assert_int_equal(bed->n_over, bed->n_requests);
    udpai_strbuf_done(&bed->out);
    udpa_bytes_unref(bed->answer);
}

void
http_bed_give(http_bed *bed)
{
    size_t before;
    udpai_strbuf piece = {0};
    do {
        before = bed->out.len;
        piece.len = 0;
        udpai_http_engine_give(bed->engine, &piece, GIVE_BYTES);
        udpai_strbuf_str(&bed->out, udpai_strbuf_view(&piece));
    } while (bed->out.len > before);
    udpai_strbuf_done(&piece);
}

void
http_bed_send(http_bed *bed, const void *bytes, size_t size, size_t step)
{
    udpai_str left = {bytes, size};
    while (left.len && udpai_http_engine_may_read(bed->engine)) {
        size_t n = udpai_min_size(step, left.len);
        udpai_http_engine_take(bed->engine, (udpai_str){left.data, n}, bed->now_ms);
        left = (udpai_str){left.data + n, left.len - n};
        http_bed_give(bed);
    }
}
