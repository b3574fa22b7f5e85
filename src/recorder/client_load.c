/* SPDX-License-Identifier: Apache-2.0 */
/* What was counted, as udpa.load.v1.ClientLoad. It is read once, to the `now` of everything; then
 * the message is sized and written of that. What counts 0 is left out. */
#include <math.h>

#include "base/proto.h"
#include "recorder/recorder_internal.h"

/* Fields of the messages (proto/udpa/load/v1/load.proto). */
enum {
    CLIENT_CLUSTER = 1,
    CLIENT_SERVICE_NAME,
    CLIENT_EPOCH,
    CLIENT_ELAPSED,
    CLIENT_LOCALITIES,
    CLIENT_DROPPED,
    CLIENT_TOTAL_DROPPED,
    CLIENT_SHARED,
    CLIENT_LASTS,
};

enum {
    LOCALITY_REGION = 1,
    LOCALITY_ZONE,
    LOCALITY_SUB_ZONE,
    LOCALITY_PRIORITY,
    LOCALITY_REQUESTS,
    LOCALITY_CONNECTIONS,
    LOCALITY_METRICS,
    LOCALITY_ENDPOINTS,
};

enum {
    ENDPOINT_ADDRESS = 1,
    ENDPOINT_PORT,
    ENDPOINT_REQUESTS,
    ENDPOINT_CONNECTIONS,
    ENDPOINT_METRICS,
};

enum {
    REQUESTS_SUCCESSFUL = 1,
    REQUESTS_ERROR,
    REQUESTS_ISSUED,
    REQUESTS_IN_PROGRESS,
};

enum {
    CONNECTIONS_OPENED = 1,
    CONNECTIONS_FAILED,
    CONNECTIONS_ACTIVE,
};

enum {
    METRIC_NAME = 1,
    METRIC_N,
    METRIC_SUM,
};

enum {
    DROPPED_CATEGORY = 1,
    DROPPED_N,
};

enum {
    DURATION_SECONDS = 1,
    DURATION_NANOS,
};

/* What the parts of one message have in common. */
struct common {
    const udpai_load_cluster *cluster;
    uint64_t now_ms;
    bool with_endpoints;
    udpai_load_audience audience;
};

typedef void (*put_fn)(udpai_proto_writer *writer, const struct common *common, const void *part);

/* A message inside another one; nothing if it is empty and may be left out. */
static void
put_part(udpai_proto_writer *writer,
         uint32_t number,
         put_fn put,
         const struct common *common,
         const void *part)
{
    udpai_proto_writer size = {0};
    put(&size, common, part);
    if (size.size == 0)
        return;
    udpai_proto_put_head(writer, number, size.size);
    if (writer->at)
        put(writer, common, part);
    else
        writer->size += size.size;
}

/* ---- reading ---- */

static void
add_figures(udpai_load_figures *to, const udpai_load_figures *from)
{
    for (size_t i = 0; i < UDPAI_LOAD_FIGURES; i++)
        to->n[i] += from->n[i];
}

static void
add_sum(udpai_load_sum *to, const udpai_load_sum *from)
{
    to->n += from->n;
    to->sum += from->sum;
}

static bool
is_zero(const udpai_load_words *words)
{
    static const udpai_load_words zero;
    return memcmp(words, &zero, sizeof(zero)) == 0;
}

static void
read_target(udpai_load_locality *locality, udpa_load_target *target)
{
    udpai_load_words *now = &target->now, *all = &locality->now;
    udpai_load_figures_read(target, &now->figures);
    now->in_flight = udpai_load_in_flight(&now->figures);
    now->connected = udpai_load_connected(&now->figures);
    add_figures(&now->figures, &target->start);
    add_figures(&all->figures, &now->figures);
    all->in_flight += now->in_flight;
    all->connected += now->connected;
    target->has_counted = !is_zero(now);
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        metric->now = udpai_load_sum_read(metric);
        add_sum(&metric->now, &metric->start);
        add_sum(&locality->metrics[metric->name].now, &metric->now);
        target->has_counted |= metric->now.n != 0;
    }
}

/* Nothing is in flight of what was forgotten. */
static void
read_locality(udpai_load_locality *locality)
{
    locality->now = (udpai_load_words){.figures = locality->forgotten};
    for (size_t i = 0; i < locality->n_metrics; i++)
        locality->metrics[i].now = locality->metrics[i].forgotten;
    UDPAI_LIST_FOREACH (at, &locality->targets)
        read_target(locality, UDPAI_LIST_ENTRY(at, udpa_load_target, node));
}

static void
read_cluster(udpai_load_cluster *cluster)
{
    UDPAI_LIST_FOREACH (at, &cluster->localities)
        read_locality(UDPAI_LIST_ENTRY(at, udpai_load_locality, node));
    UDPAI_LIST_FOREACH (at, &cluster->categories) {
        udpa_load_category *category = UDPAI_LIST_ENTRY(at, udpa_load_category, node);
        category->now = category->start;
        udpai_bank_read(&category->account, UDPAI_LOAD_N, 1, &category->now);
    }
}

/* ---- it was said ---- */

static void
note_target(udpa_load_target *target)
{
    target->said = target->now.figures;
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        metric->said = metric->now;
    }
}

static void
note_locality(udpai_load_locality *locality)
{
    locality->said = locality->forgotten;
    for (size_t i = 0; i < locality->n_metrics; i++)
        locality->metrics[i].said = locality->metrics[i].forgotten;
    UDPAI_LIST_FOREACH (at, &locality->targets)
        note_target(UDPAI_LIST_ENTRY(at, udpa_load_target, node));
}

static void
note_cluster(udpai_load_cluster *cluster, bool with_endpoints)
{
    UDPAI_LIST_FOREACH (at, &cluster->localities)
        note_locality(UDPAI_LIST_ENTRY(at, udpai_load_locality, node));
    UDPAI_LIST_FOREACH (at, &cluster->categories) {
        udpa_load_category *category = UDPAI_LIST_ENTRY(at, udpa_load_category, node);
        category->said = category->now;
    }
    cluster->has_said_endpoints = with_endpoints;
    cluster->was_said = true;
}

/* ---- writing ---- */

static void
put_requests(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpai_load_words *words = part;
    const uint64_t *n = words->figures.n;
    (void)common;
    udpai_proto_put_varint_opt(writer, REQUESTS_SUCCESSFUL, n[UDPAI_LOAD_SUCCEEDED]);
    udpai_proto_put_varint_opt(writer, REQUESTS_ERROR, n[UDPAI_LOAD_FAILED]);
    udpai_proto_put_varint_opt(writer, REQUESTS_ISSUED, n[UDPAI_LOAD_STARTED]);
    udpai_proto_put_varint_opt(writer, REQUESTS_IN_PROGRESS, words->in_flight);
}

static void
put_connections(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpai_load_words *words = part;
    const uint64_t *n = words->figures.n;
    (void)common;
    udpai_proto_put_varint_opt(writer, CONNECTIONS_OPENED, n[UDPAI_LOAD_OPENED]);
    udpai_proto_put_varint_opt(writer, CONNECTIONS_FAILED, n[UDPAI_LOAD_NOT_OPENED]);
    udpai_proto_put_varint_opt(writer, CONNECTIONS_ACTIVE, words->connected);
}

typedef struct named_sum {
    udpai_str name;
    udpai_load_sum sum;
} named_sum;

static void
put_metric(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const named_sum *metric = part;
    uint64_t bits;
    (void)common;
    if (!metric->sum.n)
        return;
    memcpy(&bits, &metric->sum.sum, sizeof(bits));
    udpai_proto_put_bytes(writer, METRIC_NAME, metric->name);
    udpai_proto_put_varint(writer, METRIC_N, metric->sum.n);
    if (isfinite(metric->sum.sum) && bits)
        udpai_proto_put_fixed64(writer, METRIC_SUM, bits);
}

static void
put_named(udpai_proto_writer *writer,
          const struct common *common,
          uint32_t number,
          size_t name,
          udpai_load_sum sum)
{
    const named_sum metric = {common->cluster->metric_names.items[name], sum};
    put_part(writer, number, put_metric, common, &metric);
}

static void
put_endpoint(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpa_load_target *target = part;
    udpai_proto_put_bytes(writer, ENDPOINT_ADDRESS, target->address);
    udpai_proto_put_varint_opt(writer, ENDPOINT_PORT, target->port);
    put_part(writer, ENDPOINT_REQUESTS, put_requests, common, &target->now);
    put_part(writer, ENDPOINT_CONNECTIONS, put_connections, common, &target->now);
    UDPAI_LIST_FOREACH (at, &target->metrics) {
        const udpa_load_metric *metric = UDPAI_LIST_ENTRY(at, udpa_load_metric, node);
        put_named(writer, common, ENDPOINT_METRICS, metric->name, metric->now);
    }
}

/* Is it to be said of by itself? */
static bool
is_endpoint(const udpa_load_target *target)
{
    return target->address.len && target->has_counted;
}

static void
put_locality_figures(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpai_load_locality *locality = part;
    put_part(writer, LOCALITY_REQUESTS, put_requests, common, &locality->now);
    put_part(writer, LOCALITY_CONNECTIONS, put_connections, common, &locality->now);
    for (size_t i = 0; i < locality->n_metrics; i++)
        put_named(writer, common, LOCALITY_METRICS, i, locality->metrics[i].now);
}

static void
put_locality(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpai_load_locality *locality = part;
    udpai_proto_writer size = {0};
    put_locality_figures(&size, common, locality);
    if (size.size == 0)
        return;
    udpai_proto_put_bytes_opt(writer, LOCALITY_REGION, locality->region);
    udpai_proto_put_bytes_opt(writer, LOCALITY_ZONE, locality->zone);
    udpai_proto_put_bytes_opt(writer, LOCALITY_SUB_ZONE, locality->sub_zone);
    udpai_proto_put_varint_opt(writer, LOCALITY_PRIORITY, locality->priority);
    put_locality_figures(writer, common, locality);
    if (!common->with_endpoints)
        return;
    UDPAI_LIST_FOREACH (at, &locality->targets) {
        const udpa_load_target *target = UDPAI_LIST_ENTRY(at, udpa_load_target, node);
        if (is_endpoint(target))
            put_part(writer, LOCALITY_ENDPOINTS, put_endpoint, common, target);
    }
}

static void
put_dropped(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpa_load_category *category = part;
    (void)common;
    if (!category->now)
        return;
    udpai_proto_put_bytes(writer, DROPPED_CATEGORY, category->name);
    udpai_proto_put_varint(writer, DROPPED_N, category->now);
}

static void
put_ms(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const uint64_t *ms = part;
    (void)common;
    udpai_proto_put_varint_opt(writer, DURATION_SECONDS, *ms / 1000);
    udpai_proto_put_varint_opt(writer, DURATION_NANOS, *ms % 1000 * 1000000);
}

static void
put_client(udpai_proto_writer *writer, const struct common *common, const void *part)
{
    const udpai_load_cluster *cluster = common->cluster;
    uint64_t began_ms = cluster->epoch_ms, total_dropped = 0;
    uint64_t elapsed_ms = common->now_ms > began_ms ? common->now_ms - began_ms : 0;
    (void)part;
    udpai_proto_put_bytes(writer, CLIENT_CLUSTER, cluster->name);
    udpai_proto_put_bytes_opt(writer, CLIENT_SERVICE_NAME, cluster->service_name);
    udpai_proto_put_varint(writer, CLIENT_EPOCH, cluster->epoch);
    put_part(writer, CLIENT_ELAPSED, put_ms, common, &elapsed_ms);
    UDPAI_LIST_FOREACH (at, &cluster->localities)
        put_part(writer, CLIENT_LOCALITIES, put_locality, common,
                 UDPAI_LIST_ENTRY(at, udpai_load_locality, node));
    UDPAI_LIST_FOREACH (at, &cluster->categories) {
        const udpa_load_category *category = UDPAI_LIST_ENTRY(at, udpa_load_category, node);
        put_part(writer, CLIENT_DROPPED, put_dropped, common, category);
        total_dropped += category->now;
    }
    udpai_proto_put_varint_opt(writer, CLIENT_TOTAL_DROPPED, total_dropped);
    if (common->audience.is_shared)
        udpai_proto_put_varint(writer, CLIENT_SHARED, 1);
    if (common->audience.lasts_ms)
        put_part(writer, CLIENT_LASTS, put_ms, common, &common->audience.lasts_ms);
}

/* ---- a cluster ---- */

/* Will those who take it in take so many? Called with what was read. */
static bool
may_say_endpoints(const struct common *common)
{
    size_t n_endpoints = 0, n_metrics = 0;
    UDPAI_LIST_FOREACH (in_cluster, &common->cluster->localities) {
        const udpai_load_locality *locality =
            UDPAI_LIST_ENTRY(in_cluster, udpai_load_locality, node);
        n_metrics += locality->n_metrics;
        UDPAI_LIST_FOREACH (at, &locality->targets) {
            const udpa_load_target *target = UDPAI_LIST_ENTRY(at, udpa_load_target, node);
            if (!is_endpoint(target))
                continue;
            n_endpoints++;
            UDPAI_LIST_FOREACH (of_target, &target->metrics)
                n_metrics++;
        }
    }
    return n_endpoints <= UDPAI_LOAD_ENDPOINTS_MAX && n_metrics <= UDPAI_LOAD_METRICS_MAX;
}

static udpa_bytes *
encode(const struct common *common, size_t max_bytes)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_client(&writer, common, NULL);
    udpa_bytes *bytes = writer.size <= max_bytes ? udpai_bytes_make(writer.size, &room) : NULL;
    if (!bytes)
        return NULL;
    writer = (udpai_proto_writer){room, 0};
    put_client(&writer, common, NULL);
    return bytes;
}

static void
begin_epoch(udpa_load_recorder *recorder, udpai_load_cluster *cluster)
{
    udpai_load_epoch_begin(recorder, cluster);
    read_cluster(cluster);
}

/* What one has been told is not told to another again. Of two who read, each has an audience. */
static bool
is_for_others(const udpai_load_cluster *cluster,
              const udpai_load_reading *reading,
              const udpai_load_audience *audience)
{
    return cluster->was_said && (!cluster->reader || (cluster->reader == reading->userdata &&
                                                      cluster->audience != audience->id));
}

static void
say(udpa_load_recorder *recorder, udpai_load_cluster *cluster, const udpai_load_reading *reading)
{
    struct common common = {.cluster = cluster, .now_ms = reading->now_ms};
    if (reading->audience && !reading->audience(reading->userdata, cluster->name, &common.audience))
        return;
    read_cluster(cluster);
    if (reading->from_now && !cluster->was_said) {
        note_cluster(cluster, false);
        begin_epoch(recorder, cluster);
    } else if (is_for_others(cluster, reading, &common.audience)) {
        begin_epoch(recorder, cluster);
    }
    bool per_endpoint = reading->is_per_endpoint
                            ? reading->is_per_endpoint(reading->userdata, cluster->name)
                            : reading->per_endpoint;
    common.with_endpoints = per_endpoint && may_say_endpoints(&common);
    if (cluster->has_said_endpoints && !common.with_endpoints) {
        /* They would count 0 now, which nobody would believe within one epoch. */
        begin_epoch(recorder, cluster);
    }
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *load = encode(&common, reading->max_bytes);
    if (!reading->take(reading->userdata, cluster->name, load) || !load)
        return;
    note_cluster(cluster, common.with_endpoints);
    cluster->reader = reading->userdata;
    cluster->audience = common.audience.id;
}

void
udpai_load_recorder_read(udpa_load_recorder *recorder, const udpai_load_reading *reading)
{
    pthread_mutex_lock(&recorder->mutex);
    UDPAI_LIST_FOREACH (at, &recorder->all) {
        udpai_load_cluster *cluster = UDPAI_LIST_ENTRY(at, udpai_load_cluster, node);
        if (reading->wants(reading->userdata, cluster->name))
            say(recorder, cluster, reading);
    }
    pthread_mutex_unlock(&recorder->mutex);
}

void
udpai_load_recorder_leave(udpa_load_recorder *recorder, const void *userdata)
{
    pthread_mutex_lock(&recorder->mutex);
    UDPAI_LIST_FOREACH (at, &recorder->all) {
        udpai_load_cluster *cluster = UDPAI_LIST_ENTRY(at, udpai_load_cluster, node);
        if (cluster->reader == userdata)
            cluster->reader = NULL;
    }
    pthread_mutex_unlock(&recorder->mutex);
}
