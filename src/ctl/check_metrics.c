/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of udpactl check that are about the numbers of a node. Thresholds are those that the
 * documents name; what one of them is about is not there at each node. */
#include <math.h>

#include "ctl/findings.h"
#include "ctl/status_view.h"

#define CLOCK_WARNING_S 5.0
#define CLOCK_ERROR_S 300.0 /* publications from further ahead are rejected */
#define PAGE_AGE_S 1.0      /* a page may be so old */
#define FULL_WARNING 0.8
#define FULL_ERROR 0.95
#define GIB (1024.0 * 1024 * 1024)
#define PENDING_ERROR_S 60.0 /* sources need some time after a start */

typedef struct checking {
    udpai_ctl_findings *findings;
    const udpai_cli_page *page;
    const udpai_ctl_asked *asked;
} checking;

#define ERROR(name, remedy)                                                                        \
    (&(const udpai_ctl_finding){                                                                   \
        .level = UDPAI_CTL_ERROR, .what = (name), .action = (char *)(remedy)})
#define LEVEL(is_error, name, remedy)                                                              \
    (&(const udpai_ctl_finding){.level = (is_error) ? UDPAI_CTL_ERROR : UDPAI_CTL_WARNING,         \
                                .what = (name),                                                    \
                                .action = (char *)(remedy)})

/* ---- times ---- */

/* "3 d 4 h" */
static const char *
age_of(double seconds, udpai_strbuf *room)
{
    udpai_ctl_put_age(room, (int64_t)fmin(fmax(seconds, 0), 1e12));
    return udpai_strbuf_failed(room) ? "?" : room->data;
}

static void
check_certificate(const checking *self, const udpai_cli_series *series)
{
    static const char action[] = "replace its files before: the node reads them again by itself "
                                 "(docs/guide/certificates.md)";
    double left_s = series->value - (double)self->asked->after_us / 1e6;
    udpai_strbuf age = {0}, use = {0};
    if (left_s >= UDPAI_CTL_EXPIRES_WARNING_S)
        return;
    udpai_cli_series_put_label(&use, series);
    const char *where = use.data ? use.data : "";
    if (left_s <= 0)
        udpai_ctl_findings_add(self->findings, ERROR("certificate", action), where,
                               "expired %s ago: peers reject it", age_of(-left_s, &age));
    else
        udpai_ctl_findings_add(self->findings,
                               LEVEL(left_s < UDPAI_CTL_EXPIRES_ERROR_S, "certificate", action),
                               where, "expires in %s", age_of(left_s, &age));
    udpai_strbuf_done(&age);
    udpai_strbuf_done(&use);
}

static void
check_certificates(const checking *self)
{
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series =
                udpai_cli_page_next(self->page, "udpa_certificate_expiry_timestamp_seconds", &at)))
        check_certificate(self, series);
}

/* Against the clock of this machine, by the time that the answer may have taken. */
static void
check_clock(const checking *self)
{
    double node_s, before_s = (double)self->asked->before_us / 1e6 - PAGE_AGE_S,
                   after_s = (double)self->asked->after_us / 1e6;
    if (!udpai_cli_page_value(self->page, "udpa_clock_timestamp_seconds", NULL, &node_s))
        return;
    double off_s = node_s > after_s ? node_s - after_s : before_s - node_s;
    if (off_s <= CLOCK_WARNING_S)
        return;
    udpai_strbuf age = {0};
    udpai_ctl_findings_add(
        self->findings,
        LEVEL(off_s > CLOCK_ERROR_S, "clock",
              "synchronize both clocks, with chrony or ntpd; see docs/guide/operating.md"),
        "of the node", "is %s %s that of this machine", age_of(off_s, &age),
        node_s > after_s ? "ahead of" : "behind");
    udpai_strbuf_done(&age);
}

static void
check_pending(const checking *self)
{
    double pending_s;
    if (!udpai_cli_page_value(self->page, "udpa_unsynchronized_seconds", NULL, &pending_s) ||
        !(pending_s > 0))
        return;
    udpai_strbuf age = {0};
    udpai_ctl_findings_add(
        self->findings,
        LEVEL(pending_s > PENDING_ERROR_S, "synchronization",
              "make these sources active: 'udpactl status sources' has their errors"),
        "", "the node has waited for sources for %s, and sends no removals meanwhile",
        age_of(pending_s, &age));
    udpai_strbuf_done(&age);
}

/* ---- limits ---- */

/* @p used of @p limit, which may be 0: then there is none. */
static void
check_full(const checking *self,
           const udpai_ctl_finding *begin,
           const char *where,
           double used,
           double limit,
           bool is_bytes)
{
    double ratio = limit > 0 ? used / limit : 0;
    udpai_ctl_finding finding = *begin;
    if (ratio < FULL_WARNING)
        return;
    finding.level = ratio >= FULL_ERROR ? UDPAI_CTL_ERROR : UDPAI_CTL_WARNING;
    if (is_bytes)
        udpai_ctl_findings_add(self->findings, &finding, where,
                               "%.0f %% are used: %.3f of %.3f GiB", fmin(ratio, 10) * 100,
                               used / GIB, limit / GIB);
    else
        udpai_ctl_findings_add(self->findings, &finding, where, "%.0f %% are used: %.0f of %.0f",
                               fmin(ratio, 10) * 100, used, limit);
}

static void
check_files(const checking *self)
{
    static const char action[] = "raise LimitNOFILE= of the unit, or ulimit -n, and restart the "
                                 "node: at the limit it accepts no more connections";
    double used, most;
    size_t at = 0;
    const udpai_cli_series *series;
    if (!udpai_cli_page_value(self->page, "process_max_fds", NULL, &most))
        return;
    if (udpai_cli_page_value(self->page, "process_open_fds", NULL, &used))
        check_full(self, ERROR("open files", action), "of the node", used, most, false);
    while ((series = udpai_cli_page_next(self->page, "udpa_worker_open_fds", &at))) {
        udpai_strbuf where = {0};
        udpai_strbuf_puts(&where, "of worker ");
        udpai_cli_series_put_label(&where, series);
        check_full(self, ERROR("open files", action), where.data ? where.data : "", series->value,
                   most, false);
        udpai_strbuf_done(&where);
    }
}

/* By the label of udpa_limit_used_ratio; that of the open files is looked at above. */
static const struct limit {
    const char *label, *where, *action;
} limits[] = {
    {"streams", "of streams",
     "raise limits.max_streams, or add workers or a node: at the limit new streams are rejected"},
    {"connections", "of connections",
     "raise limits.max_streams, or add workers or a node: at the limit new connections are closed"},
    {"views", "of selections",
     "raise limits.max_views, or have clients subscribe to the same namespaces: at the limit new "
     "selections are rejected"},
    {"resources", "of resources of the node",
     "remove some, or raise limits.max_resources: at the limit publications are rejected"},
    {"bytes", "of bytes of the node",
     "remove resources, or raise limits.max_bytes: at the limit publications are rejected"},
    {"namespace", "of the fullest namespace",
     "remove resources, or raise limits.max_resources_per_namespace or "
     "limits.max_bytes_per_namespace: at the limit new resources in it are rejected"},
    {"publisher", "of the fullest publisher",
     "have it remove resources, or raise limits.max_resources_per_publisher or "
     "limits.max_bytes_per_publisher: at the limit its new resources are rejected"},
};

static const struct limit *
find_limit(udpai_str label)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(limits); i++)
        if (udpai_str_eq(label, udpai_str_from(limits[i].label)))
            return &limits[i];
    return NULL;
}

static void
check_limits(const checking *self)
{
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(self->page, "udpa_limit_used_ratio", &at))) {
        const struct limit *limit = find_limit(series->label);
        if (!limit || series->value < FULL_WARNING)
            continue;
        udpai_ctl_findings_add(self->findings,
                               LEVEL(series->value >= FULL_ERROR, "limit", limit->action),
                               limit->where, "%.0f %% are used", fmin(series->value, 10) * 100);
    }
}

static void
check_disk(const checking *self)
{
    double size, available;
    if (udpai_cli_page_value(self->page, "udpa_store_disk_size_bytes", NULL, &size) &&
        udpai_cli_page_value(self->page, "udpa_store_disk_free_bytes", NULL, &available))
        check_full(self,
                   ERROR("disk", "free some space there: the node rejects publications that it "
                                 "cannot write"),
                   "of the state directory", size - available, size, true);
}

static void
check_etcd(const checking *self)
{
    double used, quota;
    if (udpai_cli_page_value(self->page, "udpa_replica_etcd_size_bytes", NULL, &used) &&
        udpai_cli_page_value(self->page, "udpa_replica_etcd_quota_bytes", NULL, &quota))
        check_full(self,
                   ERROR("etcd", "compact and defragment it, or raise --quota-backend-bytes; see "
                                 "docs/guide/replicas.md"),
                   "database", used, quota, true);
    if (udpai_cli_page_sum(self->page, "udpa_replica_etcd_has_alarm") > 0)
        udpai_ctl_findings_add(
            self->findings, ERROR("etcd", "see 'etcdctl alarm list', and docs/guide/replicas.md"),
            "", "has an alarm, and takes no more: publications are rejected");
}

/* ---- parts of the node ---- */

static void
check_workers(const checking *self)
{
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(self->page, "udpa_worker_up", &at))) {
        udpai_strbuf where = {0};
        if (series->value > 0)
            continue;
        udpai_cli_series_put_label(&where, series);
        udpai_ctl_findings_add(self->findings,
                               ERROR("worker", "the log of the node has why; a restart of the node "
                                               "starts all workers"),
                               where.data ? where.data : "",
                               "has not reported for 3 s: its clients receive nothing");
        udpai_strbuf_done(&where);
    }
}

static void
check_store(const checking *self)
{
    double n_failed = udpai_cli_page_sum(self->page, "udpa_store_failed_batches_total");
    double n_locked = udpai_cli_page_sum(self->page, "udpa_store_unreadable_secrets");
    if (n_failed > 0)
        udpai_ctl_findings_add(
            self->findings,
            ERROR("store", "the log has the error of SQLite; see docs/guide/troubleshooting.md, "
                           "Publications could not be kept"),
            "", "%.0f batches could not be committed since the node started", n_failed);
    if (n_locked > 0)
        udpai_ctl_findings_add(self->findings,
                               ERROR("store", "put the key that has encrypted them back into "
                                              "store.keys, behind the first one"),
                               "", "%.0f secrets are not served: their key is missing", n_locked);
}

void
udpai_ctl_check_metrics(udpai_ctl_findings *findings,
                        const udpai_cli_page *page,
                        const udpai_ctl_asked *asked)
{
    const checking self = {findings, page, asked};
    check_certificates(&self);
    check_clock(&self);
    check_disk(&self);
    check_files(&self);
    check_limits(&self);
    check_etcd(&self);
    check_workers(&self);
    check_store(&self);
    check_pending(&self);
}
