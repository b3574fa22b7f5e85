/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2: whatever comes, no more calls are there than may be, each is over in the end, once, and
 * what is to be sent does not grow beyond what came. The input's first byte says how it is cut, and
 * which calls wait for the end of the input for their answers. */
#include "tests/fuzz/fuzz.h"
#include "transport/http/engine.h"

#define MAX_BODY 4096
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define ANSWER_BYTES 2000 /* more than the largest takes */

typedef struct listener {
    udpai_http_engine *engine;
    udpai_http_call *held[UDPAI_HTTP_STREAMS];
    size_t n_calls, n_begun;
    bool holds;
    udpa_bytes *text;
} listener;

typedef struct request {
    listener *listener;
    udpai_http_call *call;
    bool is_complete;
} request;

static void *
on_begin(void *userdata, udpai_http_call *call, const udpai_http_head *head)
{
    listener *self = userdata;
    request *new = calloc(1, sizeof(*new));
    FUZZ_CHECK(new && self->n_calls < UDPAI_HTTP_STREAMS);
    *new = (request){self, call, false};
    self->n_begun++;
    for (size_t i = 0; i < UDPAI_HTTP_STREAMS && !head->wrong; i++) {
        if (self->held[i])
            continue;
        self->held[i] = call;
        break;
    }
    self->n_calls++;
    if (head->wrong)
        udpai_http_call_reply(call, head->wrong, NULL);
    return new;
}

static void
forget(request *of)
{
    for (size_t i = 0; i < UDPAI_HTTP_STREAMS; i++)
        if (of->listener->held[i] == of->call)
            of->listener->held[i] = NULL;
}

static void
on_complete(void *userdata, udpai_strbuf *body)
{
    request *self = userdata;
    FUZZ_CHECK(!self->is_complete && body->len <= MAX_BODY);
    self->is_complete = true;
    udpai_strbuf_done(body);
    if (self->listener->holds)
        return;
    forget(self);
    udpai_http_call_reply(self->call, 200, self->listener->text);
}

static void
on_broken(void *userdata, unsigned status, const udpa_error *error)
{
    request *self = userdata;
    FUZZ_CHECK(error);
    forget(self);
    udpai_http_call_reply(self->call, status, NULL);
}

static void
on_progress(void *userdata)
{
    FUZZ_CHECK(((request *)userdata)->call);
}

static void
on_over(void *userdata, bool is_answered)
{
    request *self = userdata;
    (void)is_answered;
    forget(self);
    self->listener->n_calls--;
    free(self);
}

static void
give(listener *self, udpai_strbuf *out)
{
    size_t before;
    do {
        before = out->len;
        udpai_http_engine_give(self->engine, out, out->len + 1000);
    } while (out->len > before);
}

static void
answer_held(listener *self)
{
    for (size_t i = 0; i < UDPAI_HTTP_STREAMS; i++)
        if (self->held[i])
            udpai_http_call_reply(UDPAI_TAKE(self->held[i]), 200, self->text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const udpai_http_events events = {on_begin, on_complete, on_broken, on_progress,
                                             on_over};
    if (size < 1)
        return 0;
    listener self = {.holds = data[0] & 0x80};
    const udpai_http_engine_options options = {
        .events = &events, .userdata = &self, .max_body_bytes = MAX_BODY};
    size_t step = data[0] & 0x40 ? 16384 : data[0] % 64 + 1;
    udpai_str text = {(const char *)data + 1, size - 1};
    udpai_strbuf out = {0};
    FUZZ_CHECK(udpa_bytes_new(&self.text, "hello", 5) == UDPA_OK);
    self.engine = udpai_http2_new(&options);
    udpai_http_engine_take(self.engine, UDPAI_STR(PREFACE), 0);
    while (text.len && udpai_http_engine_may_read(self.engine)) {
        udpai_http_engine_take(self.engine, fuzz_take(&text, step), 0);
        give(&self, &out);
    }
    FUZZ_CHECK(out.len <= 1000 + 8 * size + ANSWER_BYTES * self.n_begun);
    answer_held(&self);
    give(&self, &out);
    udpai_http_engine_shut_down(self.engine);
    give(&self, &out);
    udpai_http_engine_free(self.engine);
    FUZZ_CHECK(self.n_calls == 0);
    udpai_strbuf_done(&out);
    udpa_bytes_unref(self.text);
    return 0;
}
