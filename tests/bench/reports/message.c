/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as an Envoy makes them, of one locality for each cluster. */
#include <stdio.h>

#include "base/alloc.h"
#include "envoy/service/load_stats/v3/lrs.pb-c.h"
#include "reports/reports.h"

#define NAME_ROOM 32
#define PREFIX 5 /* of gRPC, before each message */

typedef Envoy__Service__LoadStats__V3__LoadStatsRequest request_message;
typedef Envoy__Config__Endpoint__V3__ClusterStats stats_message;
typedef Envoy__Config__Endpoint__V3__UpstreamLocalityStats place_message;

static char all_clusters[] = "envoy.lrs.supports_send_all_clusters", region[] = "europe-west4",
            zone[] = "europe-west4-a";

/* Of one cluster. */
typedef struct part {
    stats_message stats;
    place_message place;
    place_message *places[1];
    char name[NAME_ROOM];
} part;

struct reports_message {
    request_message request;
    Envoy__Config__Core__V3__Locality locality;
    Google__Protobuf__Duration interval;
    size_t n_parts;
    part *parts;
    stats_message **stats;
};

static void
fill_part(struct reports_message *message, size_t i)
{
    part *one = &message->parts[i];
    envoy__config__endpoint__v3__cluster_stats__init(&one->stats);
    envoy__config__endpoint__v3__upstream_locality_stats__init(&one->place);
    snprintf(one->name, sizeof(one->name), "service-%zu", i);
    one->places[0] = &one->place;
    one->place.locality = &message->locality;
    one->stats.cluster_name = one->name;
    one->stats.load_report_interval = &message->interval;
    one->stats.upstream_locality_stats = one->places;
    one->stats.n_upstream_locality_stats = 1;
    message->stats[i] = &one->stats;
}

struct reports_message *
reports_message_new(const reports_options *options)
{
    size_t n = options->n_clusters;
    struct reports_message *message = udpai_alloc(sizeof(*message));
    if (!message || !(message->parts = udpai_alloc_array(n, sizeof(part))) ||
        !(message->stats = udpai_alloc_array(n, sizeof(stats_message *))))
        reports_fail("out of memory");
    envoy__service__load_stats__v3__load_stats_request__init(&message->request);
    envoy__config__core__v3__locality__init(&message->locality);
    google__protobuf__duration__init(&message->interval);
    message->locality.region = region;
    message->locality.zone = zone;
    message->interval.seconds = (int64_t)(options->interval_ms / 1000);
    message->interval.nanos = (int32_t)(options->interval_ms % 1000 * 1000000);
    message->n_parts = n;
    for (size_t i = 0; i < n; i++)
        fill_part(message, i);
    message->request.cluster_stats = message->stats;
    message->request.n_cluster_stats = n;
    return message;
}

void
reports_message_free(struct reports_message *message)
{
    udpai_free(message->parts);
    udpai_free(message->stats);
    udpai_free(message);
}

static void
put(udpai_strbuf *out, const request_message *request)
{
    size_t size = envoy__service__load_stats__v3__load_stats_request__get_packed_size(request);
    const char prefix[PREFIX] = {0, (char)(size >> 24), (char)(size >> 16), (char)(size >> 8),
                                 (char)size};
    udpai_strbuf_append(out, prefix, PREFIX);
    uint8_t *room = udpai_strbuf_extend(out, size);
    if (!room)
        reports_fail("out of memory");
    envoy__service__load_stats__v3__load_stats_request__pack(request, room);
}

void
reports_message_put_node(udpai_strbuf *out, size_t client)
{
    request_message request;
    Envoy__Config__Core__V3__Node node;
    char id[NAME_ROOM], *features[] = {all_clusters};
    envoy__service__load_stats__v3__load_stats_request__init(&request);
    envoy__config__core__v3__node__init(&node);
    snprintf(id, sizeof(id), "client-%zu", client);
    node.id = id;
    node.client_features = features;
    node.n_client_features = 1;
    request.node = &node;
    put(out, &request);
}

/* Everybody has something else, and something else each time. */
void
reports_message_put(struct reports_message *message,
                    udpai_strbuf *out,
                    size_t client,
                    size_t round,
                    reports_counts *sent)
{
    for (size_t i = 0; i < message->n_parts; i++) {
        place_message *place = &message->parts[i].place;
        place->total_successful_requests = 100 + (client * 7 + round * 13 + i) % 50;
        place->total_error_requests = (client + round) % 3;
        place->total_requests_in_progress = client % 5;
        place->total_issued_requests =
            place->total_successful_requests + place->total_error_requests;
        sent[i].successful += place->total_successful_requests;
        sent[i].error += place->total_error_requests;
        sent[i].issued += place->total_issued_requests;
        sent[i].in_progress += round == 0 ? place->total_requests_in_progress : 0;
        sent[i].n_clients += round == 0;
    }
    put(out, &message->request);
}
