/* SPDX-License-Identifier: Apache-2.0 */
/* An HDS session: messages with their length in two bytes before them. The first byte of each says
 * who sends it: 0 the client; 1 and 2 the operator, as the default specifier and as that of "c",
 * with an empty one withdrawn; 3: what was published is judged; 4: time passes. Whatever they are:
 * every resource that is published has a name, a ttl and a payload that may be, at most one
 * publication is under way, and what is sent can be read. */
#include "base/alloc.h"
#include "reports/health_table.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "xds/hds.h"

#define STEPS_MAX 64

typedef struct world {
    fake_hub hub;
    udpai_xds_server xds_server;
    udpai_xds_audience audience;
    udpai_hds_service service;
    fake_stream stream;
    udpai_publication *unjudged;
} world;

static udpai_str
take_message(udpai_str *input)
{
    size_t high = fuzz_take_byte(input), low = fuzz_take_byte(input);
    return fuzz_take(input, high << 8 | low);
}

static void
specify(world *self, const char *name, udpai_str payload)
{
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE), payload);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    udpai_change change = {.kind = payload.len ? UDPAI_CHANGE_SET : UDPAI_CHANGE_REMOVE};
    udpai_change_set *set = udpai_change_set_new();
    FUZZ_CHECK(set && udpai_resource_make(&change.resource, &parts) == UDPA_OK);
    FUZZ_CHECK(udpai_change_set_add(set, &change) == UDPA_OK);
    udpa_resource_unref(change.resource);
    udpa_bytes_unref(any);
    fake_hub_apply(&self->hub, set);
}

static void
judge(world *self)
{
    udpai_publication *publication = UDPAI_TAKE(self->unjudged);
    udpai_order *order = publication ? udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE) : NULL;
    if (!order)
        return;
    order->session = self->stream.session->id;
    order->publication = publication;
    udpai_hub_order(self->hub.hub, order);
}

static void
check_entry(const udpai_publication_entry *entry)
{
    udpai_resource_room room;
    const udpai_resource_parts parts = udpai_resource_parts_of(entry->resource, &room);
    FUZZ_CHECK(!entry->error && !entry->is_refresh);
    FUZZ_CHECK(udpai_resource_parts_check(&parts, NULL) == UDPA_OK);
    FUZZ_CHECK(udpa_resource_ttl_ms(entry->resource) > 10000);
    const udpai_health_opinion opinion = {udpai_resource_value(entry->resource), 0};
    udpai_health_verdict verdict;
    size_t n_malformed;
    FUZZ_CHECK(udpai_health_merge(&opinion, 1, 0, UDPAI_HEALTH_ANY, &verdict, &n_malformed) ==
                   UDPA_OK &&
               n_malformed == 0);
    udpai_health_verdict_done(&verdict);
}

static void
look(world *self)
{
    udpai_report *report;
    while ((report = fake_hub_take_report(&self->hub, UDPAI_REPORT_PUBLICATION))) {
        FUZZ_CHECK(!self->unjudged);
        self->unjudged = UDPAI_TAKE(report->publication);
        FUZZ_CHECK(self->unjudged->entries.n + self->unjudged->removals.n > 0);
        for (size_t i = 0; i < self->unjudged->entries.n; i++)
            check_entry(&self->unjudged->entries.items[i]);
        udpai_report_free(report);
    }
    udpa_bytes *message;
    while ((message = fake_stream_take(&self->stream))) {
        udpai_health_table *table = NULL;
        FUZZ_CHECK(udpai_health_table_new(&table, message, NULL) == UDPA_OK);
        udpai_health_table_free(table);
        udpa_bytes_unref(message);
    }
}

static void
step(world *self, udpai_str *input)
{
    uint8_t kind = fuzz_take_byte(input) % 5;
    udpai_str message = take_message(input);
    if (kind == 0)
        fake_stream_receive(&self->stream, message.data, message.len);
    else if (kind == 1 || kind == 2)
        specify(self, kind == 1 ? "local/default" : "local/c", message);
    else if (kind == 3)
        judge(self);
    else if (!self->unjudged) /* else another is handed up when that is late */
        fake_hub_advance(&self->hub, 1 + message.len);
    fake_stream_run(&self->stream, &self->hub);
    look(self);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static world self;
    const udpai_settled_facts settled = {0};
    const udpai_hub_options options = fake_hub_options();
    udpai_str input = {(const char *)data, size};
    memset(&self, 0, sizeof(self));
    fake_hub_init(&self.hub, &options);
    fake_hub_settle(&self.hub, &settled);
    self.audience.default_namespace = UDPAI_STR("local");
    self.xds_server.audiences = &self.audience;
    self.xds_server.n_audiences = 1;
    udpai_xds_server_init(&self.xds_server);
    udpai_hds_init(&self.service, &self.xds_server);
    const udpai_stream_info info = {.context = &self.service.methods[0]};
    fake_stream_open(&self.stream, &self.hub, udpai_hds_session_new, &info);
    for (int i = 0; i < STEPS_MAX && input.len && !self.stream.is_finished; i++)
        step(&self, &input);
    udpa_bytes_unref(self.stream.session->ops->describe(self.stream.session));
    fake_stream_close(&self.stream);
    udpai_publication_free(self.unjudged);
    fake_hub_done(&self.hub);
    return 0;
}
