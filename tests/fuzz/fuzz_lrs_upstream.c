/* SPDX-License-Identifier: Apache-2.0 */
/* A server of LRS that is reported to, over several streams. Commands of a byte each: a message of
 * the server (with two bytes of length), requests that are counted, the end of a sum, time, the end
 * of the stream.
 *
 * The session asks the loop side for prefixes that may be, keeps its accounts within their bound,
 * tells of no cluster more than was counted, and gives everything back. */
#include <stdio.h>

#include "base/alloc.h"
#include "envoy/service/load_stats/v3/lrs.pb-c.h"
#include "model/name.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "tests/harness/wire.h"
#include "xds/lrs_upstream_internal.h"

#define NODE_ID "n"

static const char *const clusters[] = {"a", "b/c", "d", "e"};

#define CLUSTERS UDPAI_ARRAY_LEN(clusters)

typedef struct bed {
    fake_hub hub;
    fake_stream stream;
    udpai_lrs_upstream *upstream;
    uint64_t epochs[CLUSTERS], counts[CLUSTERS]; /* of the sum that there is */
    uint64_t counted[CLUSTERS], told[CLUSTERS];  /* in all */
} bed;

/* ---- what it says ---- */

static void
count_told(bed *self, const Envoy__Config__Endpoint__V3__ClusterStats *stats)
{
    size_t which = 0;
    while (which < CLUSTERS && strcmp(clusters[which], stats->cluster_name) != 0)
        which++;
    FUZZ_CHECK(which < CLUSTERS);
    FUZZ_CHECK(stats->load_report_interval);
    for (size_t i = 0; i < stats->n_upstream_locality_stats; i++)
        self->told[which] += stats->upstream_locality_stats[i]->total_issued_requests;
    FUZZ_CHECK(self->told[which] <= self->counted[which]);
}

static void
read_message(bed *self, udpa_bytes *bytes)
{
    Envoy__Service__LoadStats__V3__LoadStatsRequest *request =
        envoy__service__load_stats__v3__load_stats_request__unpack(NULL, udpa_bytes_size(bytes),
                                                                   udpa_bytes_data(bytes));
    FUZZ_CHECK(request);
    for (size_t i = 0; i < request->n_cluster_stats; i++)
        count_told(self, request->cluster_stats[i]);
    envoy__service__load_stats__v3__load_stats_request__free_unpacked(request, NULL);
    udpa_bytes_unref(bytes);
}

static void
read_reports(bed *self)
{
    udpai_report *report;
    while ((report = fake_hub_take_report(&self->hub, UDPAI_REPORT_DEMAND))) {
        FUZZ_CHECK(report->subscription->n_names <= UDPAI_LRS_UPSTREAM_NAMES_MAX);
        for (size_t i = 0; i < report->subscription->n_names; i++)
            FUZZ_CHECK(udpai_prefix_check(report->subscription->names[i], NULL) == UDPA_OK &&
                       udpai_prefix_covers(UDPAI_STR("local"), report->subscription->names[i]));
        udpai_report_free(report);
    }
    FUZZ_CHECK(self->upstream->accounts.n <= UDPAI_LRS_UPSTREAM_CLUSTERS_MAX);
    FUZZ_CHECK(self->upstream->n_named <= self->upstream->accounts.n);
    fake_hub_drop_reports(&self->hub);
}

static void
run(bed *self)
{
    udpa_bytes *bytes;
    fake_stream_run(&self->stream, &self->hub);
    while ((bytes = fake_stream_take(&self->stream)))
        read_message(self, bytes);
    read_reports(self);
}

static void
open_stream(bed *self)
{
    const udpai_stream_info info = {.context = self->upstream, .link = 1};
    fake_stream_open(&self->stream, &self->hub, udpai_lrs_upstream_session_new, &info);
    run(self);
}

/* ---- commands ---- */

static void
name_of(size_t which, char room[64])
{
    snprintf(room, 64, "local/%s/" NODE_ID, clusters[which]);
}

static void
order(bed *self, udpai_publication *publication)
{
    udpai_order *given = udpai_order_new(UDPAI_ORDER_PUBLISH);
    FUZZ_CHECK(given);
    given->session = self->stream.session->id;
    given->publication = publication;
    udpai_hub_order(self->hub.hub, given);
    run(self);
}

/* Some requests, of the sum that there is, or of another. */
static void
count(bed *self, size_t which, uint64_t n)
{
    char name[64];
    if (self->epochs[which] == 0) {
        self->epochs[which] = (uint64_t)self->hub.wall_us++;
        self->counts[which] = 0;
    }
    self->counts[which] += n;
    self->counted[which] += n;
    name_of(which, name);
    udpai_str body =
        W_JOIN(W_TEXT(1, "local/x"), W_VARINT(3, self->epochs[which]), W_TEXT(8, NODE_ID),
               W_MESSAGE(5, W_TEXT(1, "eu"), W_MESSAGE(5, W_VARINT(3, self->counts[which]))));
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD), body);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any, .ttl_ms = 40000};
    udpa_resource *resource = NULL;
    udpai_publication *publication = udpai_publication_new();
    FUZZ_CHECK(any && publication && udpai_resource_make(&resource, &parts) == UDPA_OK);
    FUZZ_CHECK(udpai_publication_add(publication, resource, false) == UDPA_OK);
    udpa_resource_unref(resource);
    udpa_bytes_unref(any);
    order(self, publication);
}

static void
end_sum(bed *self, size_t which)
{
    char name[64];
    name_of(which, name);
    udpai_publication *publication = udpai_publication_new();
    FUZZ_CHECK(publication &&
               udpai_publication_remove(publication, udpai_str_from(name)) == UDPA_OK);
    self->epochs[which] = 0;
    order(self, publication);
}

static void
receive(bed *self, udpai_str message)
{
    fake_stream_receive(&self->stream, message.data, message.len);
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
    size_t which = command / 8 % CLUSTERS, size;
    switch (command % 8) {
    case 0:
    case 1:
        size = fuzz_take_byte(input);
        size += (size_t)fuzz_take_byte(input) << 8;
        receive(self, fuzz_take(input, size));
        break;
    case 2:
    case 3:
        count(self, which, command);
        break;
    case 4:
        end_sum(self, which);
        break;
    case 5:
        fake_hub_advance(&self->hub, (uint64_t)command * 100);
        run(self);
        break;
    case 6:
        describe(self);
        break;
    default:
        fake_stream_close(&self->stream);
        read_reports(self);
        open_stream(self);
        break;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned long before = udpai_alloc_live();
    udpai_str input = {(const char *)data, size};
    const udpai_hub_options options = fake_hub_options();
    const udpai_lrs_upstream_options of = {.source = UDPAI_STR("legacy"),
                                           .name_space = UDPAI_STR("local"),
                                           .node = UDPAI_STR("\x0a\x01" NODE_ID)};
    bed self = {.upstream = NULL};
    fake_hub_init(&self.hub, &options);
    FUZZ_CHECK(udpai_lrs_upstream_new(&self.upstream, &of) == UDPA_OK);
    open_stream(&self);
    while (input.len && !self.stream.is_finished)
        carry_out(&self, &input);
    fake_stream_close(&self.stream);
    read_reports(&self);
    udpai_lrs_upstream_drop(self.upstream);
    fake_hub_done(&self.hub);
    wire_free_all();
    FUZZ_CHECK(udpai_alloc_live() == before);
    return 0;
}
