/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1, cut in two ways: the same calls with the same bodies are told of, and each is over in
 * the end. What comes behind a request before its answer waits. */
#include "tests/fuzz/fuzz.h"
#include "transport/http/engine.h"

#define MAX_BODY 4096

typedef struct listener {
    udpai_http_engine *engine;
    udpai_http_call *waiting; /* for an answer; NULL: none */
    bool is_complete;         /* its body */
    udpai_strbuf told;
    unsigned n_begun, n_over;
} listener;

static void *
on_begin(void *userdata, udpai_http_call *call, const udpai_http_head *head)
{
    listener *self = userdata;
    FUZZ_CHECK(!self->waiting && self->n_begun == self->n_over);
    FUZZ_CHECK(head->path_len < UDPAI_HTTP_PATH_MAX && (head->wrong == 0) == !head->error);
    self->n_begun++;
    udpai_strbuf_printf(&self->told, "begin %u %s\n", head->wrong, head->path);
    if (head->wrong || !head->is_post)
        udpai_http_call_reply(call, head->wrong ? head->wrong : 405, NULL);
    else
        self->waiting = call;
    return self;
}

static void
on_complete(void *request, udpai_strbuf *body)
{
    listener *self = request;
    FUZZ_CHECK(self->waiting && body->len <= MAX_BODY);
    self->is_complete = true;
    udpai_strbuf_puts(&self->told, "complete ");
    udpai_strbuf_str(&self->told, udpai_strbuf_view(body));
    udpai_strbuf_done(body);
    udpai_strbuf_puts(&self->told, "\n");
}

static void
on_broken(void *request, unsigned status, const udpa_error *error)
{
    listener *self = request;
    FUZZ_CHECK(self->waiting && error);
    udpai_strbuf_printf(&self->told, "broken %u\n", status);
    udpai_http_call_reply(UDPAI_TAKE(self->waiting), status, NULL);
}

static void
on_progress(void *request)
{
    (void)request;
    FUZZ_CHECK(!"there is no text");
}

static void
on_over(void *request, bool is_answered)
{
    listener *self = request;
    self->n_over++;
    self->waiting = NULL;
    udpai_strbuf_printf(&self->told, "over %d\n", is_answered);
}

static void
answer(listener *self)
{
    udpai_strbuf out = {0};
    size_t before;
    do {
        before = out.len;
        if (self->is_complete)
            udpai_http_call_reply(UDPAI_TAKE(self->waiting), 200, NULL);
        self->is_complete = false;
        udpai_http_engine_give(self->engine, &out, out.len + 100);
    } while (out.len > before);
    udpai_strbuf_done(&out);
}

static void
talk(listener *self, udpai_str text, size_t step)
{
    static const udpai_http_events events = {on_begin, on_complete, on_broken, on_progress,
                                             on_over};
    const udpai_http_engine_options options = {
        .events = &events, .userdata = self, .max_body_bytes = MAX_BODY};
    self->engine = udpai_http1_new(&options);
    while (text.len && udpai_http_engine_may_read(self->engine)) {
        udpai_str piece = fuzz_take(&text, step);
        udpai_http_engine_take(self->engine, piece, 0);
        answer(self);
    }
    FUZZ_CHECK(!udpai_http_engine_is_broken(self->engine));
    udpai_http_engine_free(self->engine);
    FUZZ_CHECK(self->n_begun == self->n_over);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    listener a = {0}, b = {0};
    udpai_str text = {(const char *)data + 1, size - 1};
    talk(&a, text, 16384);
    talk(&b, text, data[0] % 16 + 1);
    FUZZ_CHECK(udpai_str_eq(udpai_strbuf_view(&a.told), udpai_strbuf_view(&b.told)));
    udpai_strbuf_done(&a.told);
    udpai_strbuf_done(&b.told);
    return 0;
}
