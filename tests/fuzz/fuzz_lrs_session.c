/* SPDX-License-Identifier: Apache-2.0 */
/* One session of LRS in a hub, from its first message to its end. The first byte says what comes
 * before the rest; then commands of a byte each: a message of the client (with two bytes of
 * length), a wish, its end, a judgement, time.
 *
 * The session keeps what it owes: one publication at a time, of resources that may be, of what
 * somebody wants, in the client's own name and with a ttl, within its bounds; and gives everything
 * back. */
#include "base/alloc.h"
#include "model/client_type.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/wire.h"
#include "xds/lrs_internal.h"

enum { /* bits of the first byte */
    NODE_COMES = 1,
    CAN_SEND_ALL = 2,
    WANTS_ALL = 4,
};

#define ID "a/b"

static const char *const wishes[] = {
    "*",
    "*local",
    "*local/a",
    "*com.acme/x",
    "local/a/a%2Fb",
    "local/b/other",
    "*com.acme/x/a%2Fb",
    "*net",
};

typedef struct bed {
    fake_hub hub;
    fake_stream stream;
    udpai_xds_audience audience;
    udpai_xds_server xds_server;
    udpai_lrs_service service;
    udpai_node_info *peer; /* who it says it is */
    udpai_publication *unjudged;
} bed;

/* ---- what it says ---- */

static void
check_resource(bed *self, const udpa_resource *resource, udpai_arena *arena)
{
    udpai_str name = udpai_resource_name(resource);
    udpai_load_stats *stats = NULL;
    FUZZ_CHECK(udpai_name_check(name, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_client_name_check(name, udpai_node_info_parts(self->peer)->id, NULL) ==
               UDPA_OK);
    FUZZ_CHECK(udpa_resource_ttl_ms(resource) == 3 * self->service.interval_ms + 10000);
    FUZZ_CHECK(udpai_load_stats_decode(arena, udpai_resource_value(resource),
                                       &udpai_load_stats_client_limits, &stats, NULL) == UDPA_OK);
    FUZZ_CHECK(udpai_str_starts(name, stats->cluster));
    FUZZ_CHECK(stats->epoch > 0 && stats->epoch <= self->service.last_epoch);
    udpai_load_stats_free(stats);
}

static void
read_reports(bed *self)
{
    udpai_report *report;
    udpai_arena arena;
    udpai_arena_init(&arena);
    if (!self->peer && (report = fake_hub_take_report(&self->hub, UDPAI_REPORT_NODE))) {
        self->peer = udpai_node_info_ref(report->info);
        udpai_report_free(report);
    }
    while ((report = fake_hub_take_report(&self->hub, UDPAI_REPORT_PUBLICATION))) {
        FUZZ_CHECK(!self->unjudged || !self->stream.session);
        udpai_publication_free(self->unjudged); /* it has ended */
        self->unjudged = UDPAI_TAKE(report->publication);
        FUZZ_CHECK(self->unjudged->entries.n > 0);
        FUZZ_CHECK(self->unjudged->entries.n <= UDPAI_LRS_CLUSTERS_MAX);
        for (size_t i = 0; i < self->unjudged->entries.n; i++)
            check_resource(self, self->unjudged->entries.items[i].resource, &arena);
        udpai_report_free(report);
    }
    udpai_arena_done(&arena);
}

static void
run(bed *self)
{
    udpa_bytes *bytes;
    fake_stream_run(&self->stream, &self->hub);
    while ((bytes = fake_stream_take(&self->stream)))
        udpa_bytes_unref(bytes);
    read_reports(self);
}

/* ---- commands ---- */

static void
receive(bed *self, udpai_str message)
{
    fake_stream_receive(&self->stream, message.data, message.len);
    run(self);
}

static void
wish(bed *self, udpai_order_kind kind, const char *text)
{
    const udpai_str everything = {"", 0};
    udpai_str name = udpai_str_from(text);
    udpai_subscription_message message = {
        .type_url = UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD), .names = &name, .n_names = 1};
    if (*text == '*') {
        message.name_space = udpai_str_from(text + 1);
        message.names = &everything;
    }
    udpai_order *order = udpai_order_new(kind);
    FUZZ_CHECK(order);
    order->session = self->stream.session->id;
    order->subscription = udpai_subscription_message_copy(&message);
    udpai_hub_order(self->hub.hub, order);
    run(self);
}

static void
judge(bed *self, bool refuses)
{
    if (!self->unjudged)
        return;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    FUZZ_CHECK(order);
    if (refuses)
        udpai_publication_refuse_all(self->unjudged, UDPA_ERR_DENIED, "no");
    order->session = self->stream.session->id;
    order->publication = UDPAI_TAKE(self->unjudged);
    udpai_hub_order(self->hub.hub, order);
    run(self);
}

static void
describe(const bed *self)
{
    udpa_bytes *status = self->stream.session->ops->describe(self->stream.session);
    FUZZ_CHECK(status);
    udpa_bytes_unref(status);
}

static void
carry_out(bed *self, udpai_str *input)
{
    uint8_t command = fuzz_take_byte(input);
    const char *text = wishes[command / 8 % UDPAI_ARRAY_LEN(wishes)];
    size_t size;
    switch (command % 8) {
    case 0:
    case 1:
        size = fuzz_take_byte(input);
        size += (size_t)fuzz_take_byte(input) << 8;
        receive(self, fuzz_take(input, size));
        break;
    case 2:
        wish(self, UDPAI_ORDER_SUBSCRIBE, text);
        break;
    case 3:
        wish(self, UDPAI_ORDER_UNSUBSCRIBE, text);
        break;
    case 4:
        fake_hub_advance(&self->hub, (uint64_t)command * 100);
        run(self);
        break;
    case 5:
        describe(self);
        break;
    default:
        judge(self, command & 8);
        break;
    }
}

static void
open_bed(bed *self)
{
    static const udpai_str namespaces[] = {{"com.acme", 8}};
    const udpai_hub_options options = fake_hub_options();
    memset(self, 0, sizeof(*self));
    fake_hub_init(&self->hub, &options);
    self->audience.default_namespace = UDPAI_STR("local");
    self->audience.namespaces = namespaces;
    self->audience.n_namespaces = UDPAI_ARRAY_LEN(namespaces);
    self->xds_server.audiences = &self->audience;
    self->xds_server.n_audiences = 1;
    udpai_xds_server_init(&self->xds_server);
    self->service = (udpai_lrs_service){.server = &self->xds_server, .interval_ms = 1000};
    const udpai_stream_info info = {.context = &self->service};
    fake_stream_open(&self->stream, &self->hub, udpai_lrs_session_new, &info);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    uint8_t how = fuzz_take_byte(&input);
    bed self;
    open_bed(&self);
    if (how & NODE_COMES)
        receive(&self, W_MESSAGE(1, W_TEXT(1, ID),
                                 W_TEXT(10, how & CAN_SEND_ALL ? UDPAI_LRS_FEATURE_ALL : "x")));
    if (how & WANTS_ALL)
        wish(&self, UDPAI_ORDER_SUBSCRIBE, "*");
    while (input.len && !self.stream.is_finished)
        carry_out(&self, &input);
    fake_stream_close(&self.stream);
    read_reports(&self);
    udpai_publication_free(self.unjudged);
    udpai_node_info_unref(self.peer);
    fake_hub_drop_reports(&self.hub);
    fake_hub_done(&self.hub);
    wire_free_all();
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
