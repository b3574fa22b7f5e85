/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/metrics_page.h"

#include <ctype.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "daemon/process_facts.h"
#include "daemon/rest.h"
#include "endpoint/host.h"
#include "endpoint/propagation.h"
#include "endpoint/spread.h"
#include "endpoint/stream_counts.h"
#include "federation/node_metrics.h"
#include "loop/clock.h"
#include "metrics/text.h"
#include "storage/sqlite.h"

#define STALE_MS 1000

struct udpai_metrics_page {
    udpai_metrics_page_env env;
    const udpai_certificates *certificates; /* NULL: none are known */
    udpai_metric_snapshot *snapshot;
    double created_seconds;
    uint64_t filled_ms;                      /* 0: never */
    udpa_bytes *texts[UDPAI_METRIC_FORMATS]; /* of the snapshot; NULL: not made yet */
};

static const udpai_str none;

static void
put(udpai_metric_snapshot *to, udpai_metric metric, uint64_t value)
{
    udpai_metric_put(to, metric, none, (double)value);
}

/* ---- processes ---- */

/* Workers may have as many as the node. */
static void
put_open_files(udpai_metric_snapshot *to, uint64_t n)
{
    if (udpai_process_max_fds())
        udpai_metric_put(to, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("open_files"),
                         (double)n / (double)udpai_process_max_fds());
}

static void
put_process(udpai_metric_snapshot *to)
{
    udpai_process_facts facts;
    if (!udpai_process_facts_read(getpid(), &facts))
        return;
    udpai_metric_put(to, UDPAI_METRIC_PROCESS_CPU, none, facts.cpu_seconds);
    udpai_metric_put(to, UDPAI_METRIC_PROCESS_START, none, facts.start_seconds);
    put(to, UDPAI_METRIC_PROCESS_RESIDENT, facts.resident_bytes);
    put(to, UDPAI_METRIC_PROCESS_VIRTUAL, facts.virtual_bytes);
    put(to, UDPAI_METRIC_PROCESS_THREADS, facts.n_threads);
    if (facts.n_fds)
        put(to, UDPAI_METRIC_PROCESS_OPEN_FDS, facts.n_fds);
    if (udpai_process_max_fds()) {
        put(to, UDPAI_METRIC_PROCESS_MAX_FDS, udpai_process_max_fds());
        put_open_files(to, facts.n_fds);
    }
}

static void
put_worker(udpai_metric_snapshot *to, const udpai_worker_facts *worker)
{
    char room[24];
    udpai_process_facts facts;
    const udpai_str label = {room, (size_t)snprintf(room, sizeof(room), "%zu", worker->number)};
    (void)udpai_readings_decode(worker->readings, udpai_metric_snapshot_take, to);
    udpai_metric_put(to, UDPAI_METRIC_WORKER_UP, label, worker->is_up);
    if (worker->pid == 0 || !udpai_process_facts_read(worker->pid, &facts))
        return;
    udpai_metric_put(to, UDPAI_METRIC_WORKER_CPU, label, facts.cpu_seconds);
    udpai_metric_put(to, UDPAI_METRIC_WORKER_RESIDENT, label, (double)facts.resident_bytes);
    if (facts.n_fds) {
        udpai_metric_put(to, UDPAI_METRIC_WORKER_OPEN_FDS, label, (double)facts.n_fds);
        put_open_files(to, facts.n_fds);
    }
}

/* ---- certificates ---- */

/* "HTTP socket" becomes http_socket. */
static udpai_str
use_of(const udpai_certificate_user *user, char room[32])
{
    size_t n = 0;
    for (; user->kind[n] && n < 32; n++)
        room[n] = user->kind[n] == ' ' ? '_' : (char)tolower((unsigned char)user->kind[n]);
    return (udpai_str){room, n};
}

/* The first to expire, of those that are used for the same. */
static void
put_certificates(udpai_metric_snapshot *to, const udpai_certificates *certificates)
{
    for (size_t i = 0; i < certificates->users.n; i++) {
        char room[32];
        const udpai_certificate_user *user = &certificates->users.items[i];
        int64_t first_s = INT64_MAX;
        bool is_first = true;
        for (size_t k = 0; k < certificates->users.n; k++) {
            const udpai_certificate_user *other = &certificates->users.items[k];
            if (strcmp(other->kind, user->kind) != 0)
                continue;
            is_first &= k >= i;
            if (other->is_read && other->not_after_s < first_s)
                first_s = other->not_after_s;
        }
        if (is_first && first_s != INT64_MAX)
            udpai_metric_put(to, UDPAI_METRIC_CERTIFICATE_EXPIRY, use_of(user, room),
                             (double)first_s);
    }
}

/* ---- the configuration ---- */

static void
put_configuration(udpai_metric_snapshot *to, const udpai_effective *effective)
{
    const udpai_bootstrap *loaded = &udpai_effective_plan(effective)->bootstrap;
    if (loaded->read_us)
        udpai_metric_put(to, UDPAI_METRIC_CONFIGURATION_LOADED, none,
                         (double)loaded->read_us / 1e6);
    udpai_metric_put(to, UDPAI_METRIC_CONFIGURATION_REJECTED, none,
                     (double)effective->rejected_us / 1e6);
    udpai_metric_put(to, UDPAI_METRIC_CONFIGURATION_RELOADS, UDPAI_STR("taken_over"),
                     (double)effective->n_reloads);
    udpai_metric_put(to, UDPAI_METRIC_CONFIGURATION_RELOADS, UDPAI_STR("rejected"),
                     (double)effective->n_rejected);
}

/* ---- streams ---- */

static void
put_streams(udpai_metric_snapshot *to, const udpa_endpoint *endpoint)
{
    /* The others are counted by their reasons besides, in meters. */
    static const struct {
        udpai_stream_counter counter;
        udpai_metric metric;
    } all[] = {
        {UDPAI_STREAMS_REFUSED, UDPAI_METRIC_STREAMS_REFUSED},
        {UDPAI_STREAMS_CUT_OFF, UDPAI_METRIC_STREAMS_CUT_OFF},
        {UDPAI_MESSAGES_TOO_LARGE, UDPAI_METRIC_MESSAGES_TOO_LARGE},
        {UDPAI_MESSAGES_HELD_BACK, UDPAI_METRIC_MESSAGES_HELD_BACK},
        {UDPAI_STREAMS_AGED, UDPAI_METRIC_STREAMS_AGED},
        {UDPAI_STREAMS_MOVED, UDPAI_METRIC_STREAMS_MOVED},
        {UDPAI_STREAMS_ABOVE_SHARE, UDPAI_METRIC_STREAMS_ABOVE_SHARE},
        {UDPAI_CONNECTIONS_ENDED, UDPAI_METRIC_CONNECTIONS_ENDED},
    };

    const udpai_service *spread = udpai_endpoint_service(endpoint, UDPAI_PLACE_SPREAD);
    const udpai_stream_counts counts = udpai_endpoint_stream_counts(endpoint);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        put(to, all[i].metric, counts.n[all[i].counter]);
    put(to, UDPAI_METRIC_CLIENT_STREAMS, counts.n_clients);
    if (spread)
        put(to, UDPAI_METRIC_CLIENT_STREAMS_SHARE, udpai_spread_service_facts(spread).share);
    udpai_stream_thread_read_meters(udpai_endpoint_streams(endpoint), udpai_metric_snapshot_take,
                                    to);
}

static void
put_admin(udpai_metric_snapshot *to, const udpai_metrics_page_env *env)
{
    const udpai_http_counts counts = udpai_rest_counts(*env->admin);
    put(to, UDPAI_METRIC_ADMIN_CONNECTIONS, counts.n_connections);
    put(to, UDPAI_METRIC_ADMIN_REJECTED, counts.n_rejected);
    put(to, UDPAI_METRIC_ADMIN_REPLACED, counts.n_replaced);
    put(to, UDPAI_METRIC_ADMIN_UNAUTHENTICATED, *env->n_unauthenticated);
}

/* ---- the store ---- */

static void
put_engine(udpai_metric_snapshot *to, udpai_durable_engine *engine)
{
    const udpai_sqlite_stats stats = udpai_sqlite_stats_of(engine);
    put(to, UDPAI_METRIC_STORE_QUEUED, stats.n_queued);
    put(to, UDPAI_METRIC_STORE_COMMITTED, stats.n_committed);
    put(to, UDPAI_METRIC_STORE_FAILED, stats.n_failed);
    put(to, UDPAI_METRIC_STORE_TRANSACTIONS, stats.n_transactions);
    put(to, UDPAI_METRIC_STORE_UNREADABLE, stats.n_unreadable);
    put(to, UDPAI_METRIC_STORE_SIZE, stats.size_bytes);
    put(to, UDPAI_METRIC_STORE_LOG_SIZE, stats.log_bytes);
    put(to, UDPAI_METRIC_AUDIT_RECORDS, stats.n_audit);
    put(to, UDPAI_METRIC_AUDIT_SIZE, stats.audit_bytes);
}

static void
put_audit_output(udpai_metric_snapshot *to, udpai_audit_output *output)
{
    const udpai_audit_output_facts facts = udpai_audit_output_facts_of(output);
    put(to, UDPAI_METRIC_AUDIT_WRITTEN, facts.n_written);
    put(to, UDPAI_METRIC_AUDIT_BEHIND, facts.n_behind);
    put(to, UDPAI_METRIC_AUDIT_FAILED, facts.n_failed);
    put(to, UDPAI_METRIC_AUDIT_LOST, facts.n_lost);
}

static void
put_traces(udpai_metric_snapshot *to, const udpa_endpoint *endpoint, udpai_otlp_exporter *exporter)
{
    const udpai_otlp_counts counts = udpai_otlp_exporter_counts(exporter);
    udpai_metric_put(to, UDPAI_METRIC_TRACE_SPANS, UDPAI_STR("sent"), (double)counts.n_sent);
    udpai_metric_put(to, UDPAI_METRIC_TRACE_SPANS, UDPAI_STR("dropped"), (double)counts.n_dropped);
    udpai_metric_put(to, UDPAI_METRIC_TRACE_SPANS, UDPAI_STR("rejected"),
                     (double)counts.n_rejected);
    put(to, UDPAI_METRIC_TRACE_FAILURES, counts.n_failures);
    put(to, UDPAI_METRIC_TRACE_QUEUE, counts.queued_bytes);
    udpai_metric_put(to, UDPAI_METRIC_MEMORY, UDPAI_STR("traces"), (double)counts.queued_bytes);
    udpai_propagation_put_exemplars(udpai_endpoint_service(endpoint, UDPAI_PLACE_PROPAGATION), to);
}

/* Of a replica, too: etcd keeps its resources, and its state directory what is its own. */
static void
put_disk(udpai_metric_snapshot *to, const char *directory)
{
    uint64_t size, available;
    if (!directory || !udpai_disk_facts_read(directory, &size, &available))
        return;
    put(to, UDPAI_METRIC_STORE_DISK_SIZE, size);
    put(to, UDPAI_METRIC_STORE_DISK_FREE, available);
}

/* In its state. */
static double
seconds_of(const udpai_replica_status *status)
{
    int64_t us = status->since_us ? udpai_wall_us() - status->since_us : 0;
    return us > 0 ? (double)us / 1e6 : 0;
}

static void
put_replica(udpai_metric_snapshot *to, const udpai_node *node, const udpai_replica_status *status)
{
    bool is_current = status->state == UDPAI_REPLICATION_CURRENT;
    put(to, UDPAI_METRIC_REPLICA_IS_CURRENT, is_current);
    put(to, UDPAI_METRIC_REPLICA_IS_HELD, status->state == UDPAI_REPLICATION_HELD);
    udpai_metric_put(to, UDPAI_METRIC_REPLICA_NOT_CURRENT, none,
                     is_current ? 0 : seconds_of(status));
    put(to, UDPAI_METRIC_REPLICA_REVISION, (uint64_t)udpai_node_position(node).revision);
    put(to, UDPAI_METRIC_REPLICA_ETCD_REVISION, (uint64_t)status->revision);
    put(to, UDPAI_METRIC_REPLICA_ETCD_SIZE, (uint64_t)status->size_bytes);
    put(to, UDPAI_METRIC_REPLICA_ETCD_QUOTA, (uint64_t)status->quota_bytes);
    put(to, UDPAI_METRIC_REPLICA_ETCD_HAS_ALARM, status->alarm != NULL);
    put(to, UDPAI_METRIC_REPLICA_OVERDUE, status->n_overdue);
    put(to, UDPAI_METRIC_REPLICA_BARRIERS_GIVEN_UP, status->n_given_up);
    put(to, UDPAI_METRIC_REPLICA_DIRECTORIES_WAITING, status->n_files_waiting);
    put(to, UDPAI_METRIC_REPLICA_DIRECTORIES_DIFFERING, status->n_files_differing);
    put(to, UDPAI_METRIC_REPLICAS, status->n_members);
    if (status->hold && status->hold->is_listed)
        put(to, UDPAI_METRIC_REPLICA_WOULD_BE_LOST,
            status->hold->difference.n_missing + status->hold->difference.n_older);
}

/* ---- the runtime ---- */

static void
put_runtime(udpai_metric_snapshot *to, const udpai_runtime *runtime)
{
    const udpai_runtime_statistics statistics = udpai_runtime_statistics_of(runtime);
    put(to, UDPAI_METRIC_RUNTIME_OVERRIDES, statistics.admin_overrides_active);
    put(to, UDPAI_METRIC_RUNTIME_DEPRECATED_SEEN,
        statistics.deprecated_feature_seen_since_process_start);
    put(to, UDPAI_METRIC_RUNTIME_DEPRECATED_USE, statistics.deprecated_feature_use);
    put(to, UDPAI_METRIC_RUNTIME_LOAD_ERROR, statistics.load_error);
    put(to, UDPAI_METRIC_RUNTIME_LOAD_SUCCESS, statistics.load_success);
    put(to, UDPAI_METRIC_RUNTIME_KEYS, statistics.num_keys);
    put(to, UDPAI_METRIC_RUNTIME_LAYERS, statistics.num_layers);
    put(to, UDPAI_METRIC_RUNTIME_OVERRIDE_EXISTS, statistics.override_dir_exists);
    put(to, UDPAI_METRIC_RUNTIME_OVERRIDE_NOT_EXISTS, statistics.override_dir_not_exists);
}

/* ---- the page ---- */

static void
fill(udpai_metrics_page *self)
{
    size_t at = 0;
    udpai_worker_facts worker;
    udpai_metric_snapshot *to = self->snapshot;
    const udpai_node *node = udpai_endpoint_node(self->env.endpoint);
    const udpai_replica_status *replica = udpai_node_replica_status(node);
    udpai_metric_snapshot_begin(to, self->created_seconds);
    udpai_metric_put(to, UDPAI_METRIC_BUILD_INFO, udpai_str_from(self->env.plan->settings.version),
                     1);
    udpai_metric_put(to, UDPAI_METRIC_CLOCK, none, (double)(udpai_wall_us() / 1000) / 1000);
    put_process(to);
    while (udpai_workers_next(*self->env.workers, &at, &worker))
        put_worker(to, &worker);
    if (self->certificates)
        put_certificates(to, self->certificates);
    put_configuration(to, self->env.effective);
    put_streams(to, self->env.endpoint);
    put_admin(to, &self->env);
    udpai_node_put_metrics(node, to);
    if (*self->env.engine)
        put_engine(to, *self->env.engine);
    put_disk(to, self->env.plan->state_directory);
    put_audit_output(to, *self->env.audit);
    if (self->env.exporter)
        put_traces(to, self->env.endpoint, self->env.exporter);
    if (replica)
        put_replica(to, node, replica);
    put_runtime(to, self->env.runtime);
    put(to, UDPAI_METRIC_SERIES, udpai_metric_snapshot_n_series(to) + 1);
}

static void
forget_texts(udpai_metrics_page *self)
{
    for (size_t i = 0; i < UDPAI_METRIC_FORMATS; i++)
        udpa_bytes_unref(UDPAI_TAKE(self->texts[i]));
}

udpa_err
udpai_metrics_page_new(udpai_metrics_page **ret_page, const udpai_metrics_page_env *env)
{
    udpai_metrics_page *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->env = *env;
    self->created_seconds = (double)(udpai_wall_us() / 1000) / 1000;
    udpa_err err = udpai_metric_snapshot_new(&self->snapshot);
    if (err != UDPA_OK) {
        udpai_free(self);
        return err;
    }
    *ret_page = self;
    return UDPA_OK;
}

udpai_metrics_page *
udpai_metrics_page_free(udpai_metrics_page *page)
{
    if (!page)
        return NULL;
    forget_texts(page);
    udpai_metric_snapshot_free(page->snapshot);
    udpai_free(page);
    return NULL;
}

void
udpai_metrics_page_set_certificates(udpai_metrics_page *page,
                                    const udpai_certificates *certificates)
{
    page->certificates = certificates;
}

udpa_err
udpai_metrics_page_read(udpai_metrics_page *page,
                        udpai_str accept,
                        const char **ret_type,
                        udpa_bytes **ret_text)
{
    udpai_metric_format format = udpai_metric_negotiate(accept);
    uint64_t now_ms = udpai_monotonic_ms();
    if (page->filled_ms == 0 || now_ms - page->filled_ms >= STALE_MS) {
        forget_texts(page);
        fill(page);
        page->filled_ms = now_ms;
    }
    if (!page->texts[format] && !udpai_metric_snapshot_failed(page->snapshot)) {
        udpai_strbuf text = {0};
        udpai_metric_text(page->snapshot, format, &text);
        page->texts[format] = udpai_bytes_of(&text);
    }
    if (!page->texts[format]) {
        page->filled_ms = 0;
        return UDPA_ERR_NOMEM;
    }
    *ret_type = udpai_metric_content_type(format);
    *ret_text = udpa_bytes_ref(page->texts[format]);
    return UDPA_OK;
}
