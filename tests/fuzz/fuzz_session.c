/* SPDX-License-Identifier: Apache-2.0 */
/* One UDPA session in a hub, from its first message to its end. The first byte says what kind of
 * session; then commands of a byte each: a message of the peer (with two bytes of length), a change
 * of what there is, and so on.
 *
 * The session keeps what it owes: one write at a time, messages that can be read, one receipt for
 * each publish that wants one, memory within bounds and all of it given back. */
#include "session/udpa_internal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/resources.h"
#include "tests/harness/wire.h"

enum { /* bits of the first byte */
    DIALLED = 1,
    SOURCE = 2,
    SETTLED = 4,
    NODE_COMES = 8, /* a good Node is sent before anything else */
    EXTENDED = 16,
    IS_NODE = 32,
};

#define N_NAMES 8

static const char *const types[] = {TEST_CDS, TEST_EDS, TEST_TYPE};
static const char *const names[N_NAMES] = {
    "com.acme/a", "com.acme/b", "com.acme.x/a", "com.acmecorp/a",
    "net/a/b",    "net/a/c",    "net/*",        "udpa.node/peer",
};

typedef struct bed {
    fake_hub hub;
    fake_stream stream;
    udpai_decoder decoder;
    bool is_there[UDPAI_ARRAY_LEN(types)][N_NAMES];
    unsigned n_changes, n_published;
    size_t n_due, n_receipts;
} bed;

/* ---- what the session writes ---- */

static void
read_written(bed *self)
{
    udpa_bytes *bytes;
    while ((bytes = fake_stream_take(&self->stream))) {
        udpai_message message = {0};
        FUZZ_CHECK(udpai_message_decode(&self->decoder, udpai_bytes_view(bytes), true, &message,
                                        NULL) == UDPA_OK);
        FUZZ_CHECK(message.kind != UDPAI_MESSAGE_NONE);
        self->n_receipts += message.kind == UDPAI_MESSAGE_RECEIPT;
        udpai_message_done(&message);
        udpa_bytes_unref(bytes);
    }
}

static void
run(bed *self)
{
    udpai_hub_run(self->hub.hub);
    read_written(self);
}

/* ---- commands ---- */

static void
receive(bed *self, udpai_str *input)
{
    size_t size = fuzz_take_byte(input);
    size += (size_t)fuzz_take_byte(input) << 8;
    udpai_str message = fuzz_take(input, size);
    fake_stream_receive(&self->stream, message.data, message.len);
}

static void
change(bed *self, uint8_t what)
{
    size_t type = what % UDPAI_ARRAY_LEN(types), name = what / 4 % N_NAMES;
    bool *is_there = &self->is_there[type][name];
    udpai_change_kind kind = !*is_there  ? UDPAI_CHANGE_SET
                             : what & 64 ? UDPAI_CHANGE_REFRESH
                             : what & 32 ? UDPAI_CHANGE_REMOVE
                                         : UDPAI_CHANGE_SET;
    char version[16];
    snprintf(version, sizeof(version), "%u", kind == UDPAI_CHANGE_SET ? ++self->n_changes : 0);
    udpai_change_set *set = udpai_change_set_new();
    udpa_resource *resource = RESOURCE(
        names[name], .type = types[type], .value = version, .version = version, .lazy = what & 128,
        .ttl_ms = what & 16 ? 3000 : 0, .aliases = {what & 8 ? "net/x*" : NULL});
    FUZZ_CHECK(set && resource);
    const udpai_change one = {
        .kind = kind,
        .resource = resource,
        .deadline_ms = what & 16 ? self->hub.wheel.now_ms + 3000 : 0,
    };
    FUZZ_CHECK(udpai_change_set_add(set, &one) == UDPA_OK);
    udpa_resource_unref(resource);
    *is_there = kind != UDPAI_CHANGE_REMOVE;
    fake_hub_apply(&self->hub, set);
}

static void
refuse_some(udpai_publication *publication, uint8_t how)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        if (how >> i % 8 & 1)
            udpai_publication_refuse(&publication->entries.items[i].error,
                                     udpa_error_new(UDPA_ERR_DENIED, NULL, "no"));
}

/* Judges one publication; false: there is none. */
static bool
judge(bed *self, uint8_t how)
{
    udpai_report *report = fake_hub_take_report(&self->hub, UDPAI_REPORT_PUBLICATION);
    if (!report)
        return false;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    FUZZ_CHECK(order);
    order->session = report->session;
    order->publication = UDPAI_TAKE(report->publication);
    refuse_some(order->publication, how);
    self->n_due += order->publication->receipt_required;
    udpai_report_free(report);
    udpai_hub_order(self->hub.hub, order);
    return true;
}

static void
ask(bed *self, uint8_t what)
{
    const udpai_str name = udpai_str_from(what & 64 ? "" : names[what / 4 % N_NAMES]);
    const udpai_subscription_message message = {
        .type_url = udpai_str_from(types[what % UDPAI_ARRAY_LEN(types)]),
        .name_space = what & 32 ? UDPAI_STR("com.acme") : (udpai_str){0},
        .names = &name,
        .n_names = 1,
    };
    udpai_order *order =
        udpai_order_new(what & 128 ? UDPAI_ORDER_UNSUBSCRIBE : UDPAI_ORDER_SUBSCRIBE);
    FUZZ_CHECK(order);
    order->session = self->stream.session->id;
    order->subscription = udpai_subscription_message_copy(&message);
    FUZZ_CHECK(order->subscription);
    udpai_hub_order(self->hub.hub, order);
}

static void
settle(bed *self, uint8_t how)
{
    const udpai_unsettled missing = {
        .prefix = udpai_str_from(how & 1 ? "com.acme" : ""),
        .source = UDPAI_STR("s"),
        .may_wait_for_us = how & 2,
        .since_ms = self->hub.wheel.now_ms,
    };
    const udpai_settled_facts facts = {.missing = &missing, .n_missing = how & 4 ? 0 : 1};
    fake_hub_settle(&self->hub, &facts);
}

static void
forget(bed *self, uint64_t ticket)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_FORGET);
    FUZZ_CHECK(order);
    order->ticket = ticket;
    udpai_hub_order(self->hub.hub, order);
}

static void
publish(bed *self, uint8_t what)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLISH);
    udpa_resource *resource = RESOURCE(names[what % N_NAMES], .value = "1", .version = "1");
    FUZZ_CHECK(order && resource);
    order->session = self->stream.session->id;
    order->publication = udpai_publication_new();
    FUZZ_CHECK(order->publication);
    FUZZ_CHECK(udpai_publication_add(order->publication, resource, what & 8) == UDPA_OK);
    FUZZ_CHECK(udpai_publication_remove(order->publication, UDPAI_STR("net/gone")) == UDPA_OK);
    order->publication->receipt_required = what & 16;
    order->ticket = ++self->n_published;
    udpa_resource_unref(resource);
    udpai_hub_order(self->hub.hub, order);
    if (what & 32) /* this one, or one before it */
        forget(self, self->n_published - what / 64);
}

static void
complete(bed *self)
{
    if (self->stream.is_writing)
        fake_stream_complete(&self->stream);
    run(self);
}

static void
command(bed *self, udpai_str *input)
{
    uint8_t which = fuzz_take_byte(input);
    switch (which % 12) {
    case 0:
        change(self, fuzz_take_byte(input));
        break;
    case 1:
        judge(self, fuzz_take_byte(input));
        break;
    case 2:
        ask(self, fuzz_take_byte(input));
        break;
    case 3:
        settle(self, fuzz_take_byte(input));
        break;
    case 4:
        publish(self, fuzz_take_byte(input));
        break;
    case 5:
        fake_hub_advance(&self->hub, fuzz_take_byte(input) * (uint64_t)100);
        break;
    case 6:
    case 7:
        complete(self);
        break;
    default:
        receive(self, input);
        break;
    }
}

/* ---- the whole ---- */

static void
send_node(bed *self, uint8_t kind)
{
    udpai_str features = W_JOIN(kind & EXTENDED ? W_TEXT(10, UDPAI_FEATURE_EXTENSIONS) : W_NOTHING,
                                kind & IS_NODE ? W_TEXT(10, UDPAI_FEATURE_NODE) : W_NOTHING),
              any = W_JOIN(W_TEXT(1, UDPAI_TYPE_NODE), W_MESSAGE(2, W_TEXT(1, "peer"), features)),
              message = W_MESSAGE(3, W_MESSAGE(2, W_MESSAGE(1, wire_bytes(3, any))));
    fake_stream_receive(&self->stream, message.data, message.len);
    wire_free_all();
}

static void
begin(bed *self, uint8_t kind)
{
    static const udpai_str features[] = {{UDPAI_FEATURE_EXTENSIONS, 11}};
    const udpai_node_parts parts = {.id = UDPAI_STR("node"), .features = features, .n_features = 1};
    udpai_hub_options options = fake_hub_options();
    options.fanout.max_names = options.fanout.max_held = 32;
    options.fanout.tombstones_min = 4;
    options.fanout.response_bytes = 256;
    options.max_pending = 4;
    FUZZ_CHECK(udpai_node_info_new(&options.info, &parts) == UDPA_OK);
    fake_hub_init(&self->hub, &options);
    udpai_node_info_unref(options.info);
    udpai_decoder_init(&self->decoder);
    if (kind & SETTLED)
        settle(self, 4);
    const udpai_stream_info info = {.link = kind & DIALLED, .is_source = kind & SOURCE};
    fake_stream_open(&self->stream, &self->hub, udpai_udpa_session_new, &info);
    if (kind & NODE_COMES)
        send_node(self, kind);
}

static void
check_bounds(const bed *self)
{
    const udpai_udpa *udpa = udpai_udpa_of(self->stream.session);
    FUZZ_CHECK(udpa->n_controls <= UDPAI_CONTROLS_MAX);
    FUZZ_CHECK(udpa->subscriber.n_names <= 32);
    FUZZ_CHECK(udpa->answer_bytes <= UDPAI_ANSWERS_MAX_BYTES);
    FUZZ_CHECK(self->stream.is_finished ||
               self->stream.is_paused ==
                   (udpa->n_pending >= 4 || udpa->answer_bytes > UDPAI_ANSWERS_PAUSE_BYTES));
}

/* What is left is judged and written: then every receipt that is due has gone out. */
static void
end(bed *self)
{
    while (judge(self, 0) || self->stream.is_writing)
        complete(self);
    run(self);
    while (self->stream.is_writing)
        complete(self);
    FUZZ_CHECK(self->n_receipts <= self->n_due);
    FUZZ_CHECK(self->stream.is_finished || self->n_receipts == self->n_due);
    udpa_bytes_unref(self->stream.session->ops->describe(self->stream.session));
    fake_stream_close(&self->stream);
    udpai_report *closed = fake_hub_take_report(&self->hub, UDPAI_REPORT_CLOSED);
    FUZZ_CHECK(closed);
    udpai_report_free(closed);
    FUZZ_CHECK(!fake_hub_take_report(&self->hub, UDPAI_REPORT_CLOSED));
    fake_hub_done(&self->hub);
    udpai_decoder_done(&self->decoder);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    unsigned long before = udpai_alloc_live();
    bed self = {0};
    begin(&self, fuzz_take_byte(&input));
    while (input.len && !self.stream.is_finished) {
        command(&self, &input);
        check_bounds(&self);
    }
    FUZZ_CHECK(udpai_alloc_live() - before < 1000 + 32 * size);
    end(&self);
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
