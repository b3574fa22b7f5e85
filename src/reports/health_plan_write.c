/* SPDX-License-Identifier: Apache-2.0 */
/* What one checker is to check, as a HealthCheckSpecifier. A cluster's settings for that are copied
 * as they are. */
#include "base/proto.h"
#include "reports/health_plan_internal.h"

enum { /* field numbers of the public types */
    CLUSTER_CHECKS = 8,
    CLUSTER_BIND_CONFIG = 21,
    CLUSTER_TRANSPORT_SOCKET = 24,
    CLUSTER_SOCKET_MATCHES = 43,
    SPECIFIER_CLUSTERS = 1,
    SPECIFIER_INTERVAL = 2,
    ASKED_NAME = 1,
    ASKED_CHECKS = 2,
    ASKED_LOCALITIES = 3,
    ASKED_SOCKET_MATCHES = 4,
    ASKED_BIND_CONFIG = 5,
    PLACE = 1,
    PLACE_ENDPOINTS = 2,
    MATCH_NAME = 1,
    MATCH_CRITERIA = 2,
    MATCH_SOCKET = 3,
    DURATION_SECONDS = 1,
    DURATION_NANOS = 2,
};

/* The pairs of one checker. */
typedef struct share {
    const udpai_health_plan *plan;
    const udpai_plan_pair *at, *end;
} share;

static const udpai_plan_subject *
subject_at(const share *self, const udpai_plan_pair *pair)
{
    return &self->plan->subjects.items[pair->subject];
}

/* ---- how ---- */

/* One that fits everything, behind all others. */
static void
put_default_socket(udpai_proto_writer *writer, udpai_str socket)
{
    udpai_proto_writer size = {0};
    for (udpai_proto_writer *to = &size;; to = writer) {
        udpai_proto_put_bytes(to, MATCH_NAME, UDPAI_STR("default"));
        udpai_proto_put_bytes(to, MATCH_CRITERIA, UDPAI_STR(""));
        udpai_proto_put_bytes(to, MATCH_SOCKET, socket);
        if (to == writer)
            return;
        udpai_proto_put_head(writer, ASKED_SOCKET_MATCHES, size.size);
    }
}

/* There is no field for the socket that all endpoints have: it becomes a match. */
static void
put_sockets(udpai_proto_writer *writer, udpai_str cluster)
{
    udpai_str socket = {0};
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == CLUSTER_SOCKET_MATCHES && field.type == UDPAI_WIRE_BYTES)
            udpai_proto_put_bytes(writer, ASKED_SOCKET_MATCHES, field.bytes);
        else if (field.number == CLUSTER_TRANSPORT_SOCKET && field.type == UDPAI_WIRE_BYTES)
            socket = field.bytes;
    }
    if (socket.len)
        put_default_socket(writer, socket);
}

static void
put_how(udpai_proto_writer *writer, udpai_str cluster)
{
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == CLUSTER_CHECKS && udpai_health_check_is_usable(field.bytes))
            udpai_proto_put_bytes(writer, ASKED_CHECKS, field.bytes);
        else if (field.number == CLUSTER_BIND_CONFIG)
            udpai_proto_put_bytes(writer, ASKED_BIND_CONFIG, field.bytes);
    }
    put_sockets(writer, cluster);
}

/* ---- what ---- */

static const udpai_plan_pair *
end_of_locality(const share *self, const udpai_plan_pair *begin)
{
    const udpai_plan_pair *at = begin;
    while (at < self->end && subject_at(self, at)->locality == subject_at(self, begin)->locality)
        at++;
    return at;
}

static const udpai_plan_pair *
end_of_cluster(const share *self, const udpai_plan_pair *begin)
{
    const udpai_plan_pair *at = begin;
    while (at < self->end && subject_at(self, at)->cluster == subject_at(self, begin)->cluster)
        at++;
    return at;
}

static void
put_locality(const share *self,
             udpai_proto_writer *writer,
             const udpai_plan_pair *begin,
             const udpai_plan_pair *end)
{
    udpai_str place = self->plan->localities.items[subject_at(self, begin)->locality];
    udpai_proto_put_bytes_opt(writer, PLACE, place);
    for (const udpai_plan_pair *at = begin; at < end; at++)
        udpai_proto_put_bytes(writer, PLACE_ENDPOINTS, subject_at(self, at)->endpoint);
}

static void
put_cluster(const share *self,
            udpai_proto_writer *writer,
            const udpai_plan_pair *begin,
            const udpai_plan_pair *end)
{
    const udpai_health_cluster_input *cluster =
        &self->plan->input.clusters[subject_at(self, begin)->cluster];
    udpai_proto_put_bytes(writer, ASKED_NAME, cluster->name);
    put_how(writer, cluster->cluster);
    for (const udpai_plan_pair *next; begin < end; begin = next) {
        udpai_proto_writer size = {0};
        next = end_of_locality(self, begin);
        put_locality(self, &size, begin, next);
        udpai_proto_put_head(writer, ASKED_LOCALITIES, size.size);
        put_locality(self, writer, begin, next);
    }
}

static void
put_interval(udpai_proto_writer *writer, uint64_t interval_ms)
{
    udpai_proto_writer size = {0};
    for (udpai_proto_writer *to = &size;; to = writer) {
        udpai_proto_put_varint_opt(to, DURATION_SECONDS, interval_ms / 1000);
        udpai_proto_put_varint_opt(to, DURATION_NANOS, interval_ms % 1000 * 1000000);
        if (to == writer)
            return;
        udpai_proto_put_head(writer, SPECIFIER_INTERVAL, size.size);
    }
}

static void
put_specifier(udpai_proto_writer *writer, const void *what)
{
    const share *self = what;
    for (const udpai_plan_pair *next, *begin = self->at; begin < self->end; begin = next) {
        udpai_proto_writer size = {0};
        next = end_of_cluster(self, begin);
        put_cluster(self, &size, begin, next);
        udpai_proto_put_head(writer, SPECIFIER_CLUSTERS, size.size);
        put_cluster(self, writer, begin, next);
    }
    put_interval(writer, self->plan->input.interval_ms);
}

static size_t
lower(const udpai_health_plan *plan, size_t checker)
{
    size_t low = 0, high = plan->pairs.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (plan->pairs.items[middle].checker < checker)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

udpa_bytes *
udpai_health_plan_specifier(const udpai_health_plan *plan, size_t checker)
{
    size_t begin = lower(plan, checker), end = lower(plan, checker + 1);
    share self = {.plan = plan};
    if (begin < end) {
        self.at = plan->pairs.items + begin;
        self.end = plan->pairs.items + end;
    }
    return udpai_proto_encode(put_specifier, &self);
}
