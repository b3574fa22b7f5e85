/* SPDX-License-Identifier: Apache-2.0 */
/* What an LRS client reports: what has come since the last report is added to what has come in all,
 * and that is handed up as resources, one publication at a time. What comes while that is pending
 * goes with the next; so a client that reports faster than can be taken in makes nothing pile up.
 */
#include "base/alloc.h"
#include "model/types.h"
#include "xds/lrs_internal.h"

typedef Envoy__Config__Endpoint__V3__ClusterStats stats_message;

static udpai_str
cluster_key(const void *item)
{
    return udpai_bytes_view(((const udpai_lrs_cluster *)item)->name);
}

static uint64_t
now_ms(const udpai_lrs *lrs)
{
    return udpai_hub_wheel(lrs->session.hub)->now_ms;
}

static udpa_err hand_up(udpai_lrs *lrs, bool is_last);
static void on_gathered(udpai_timer *timer);
static void on_renewal(udpai_timer *timer);

void
udpai_lrs_take_init(udpai_lrs *lrs)
{
    udpai_map_init(&lrs->clusters, cluster_key);
    udpai_timer_init(&lrs->gathering, on_gathered);
    udpai_timer_init(&lrs->renewal, on_renewal);
}

static size_t
n_places(const udpai_load_stats *stats)
{
    return stats->localities.n + stats->n_endpoints + stats->n_metrics + stats->drops.n;
}

static void
free_cluster(udpai_lrs *lrs, udpai_lrs_cluster *cluster)
{
    if (cluster->total)
        lrs->n_places -= n_places(cluster->total);
    udpai_load_stats_free(cluster->total);
    udpa_resource_unref(cluster->resource);
    udpa_bytes_unref(cluster->name);
    udpai_free(cluster);
}

void
udpai_lrs_take_done(udpai_lrs *lrs)
{
    if (lrs->closed && !lrs->session.is_disowned) /* the last report counts, whatever is pending */
        (void)hand_up(lrs, true);
    udpai_timer_cancel(&lrs->gathering);
    udpai_timer_cancel(&lrs->renewal);
    size_t at = 0;
    udpai_lrs_cluster *cluster;
    while ((cluster = udpai_map_next(&lrs->clusters, &at)))
        free_cluster(lrs, cluster);
    udpai_map_done(&lrs->clusters);
}

/* ---- what is refused ---- */

/* LRS has no words for it, so they are for people. */
static void
note_refused(udpai_lrs *lrs, udpai_str what, const udpa_error *why)
{
    unsigned n_suppressed;
    udpai_str id = udpai_node_info_parts(lrs->peer)->id;
    lrs->n_refused++;
    lrs->refused_us = udpai_hub_wall_us(lrs->session.hub);
    udpa_error_unref(lrs->last_error);
    lrs->last_error = udpa_error_new(udpa_error_code(why), NULL, "cluster '%.*s': %s",
                                     UDPAI_SHOWN(what), udpa_error_message(why));
    if (udpai_log_allow(&lrs->service->refused, now_ms(lrs), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, "lrs",
            UDPAI_ABOUT({UDPAI_LOG_PEER, id}, {UDPAI_LOG_NAME, what},
                        {UDPAI_LOG_CODE, udpai_log_code(why)}),
            "rejected load reported by client '%.*s' of cluster '%.*s': %s (%u more not shown)",
            UDPAI_SHOWN(id), UDPAI_SHOWN(what), udpa_error_message(why), n_suppressed);
}

/* ---- names ---- */

/* Of a cluster, and of the resource that is made of it. */
typedef struct report_name {
    udpai_xds_name cluster;
    char room[UDPAI_NAME_MAX];
    udpai_str name;
} report_name;

static udpa_err
make_name(const udpai_lrs *lrs, udpai_str cluster, report_name *to, udpa_error **ret_error)
{
    udpa_err err = udpai_xds_name_resolve(lrs->belonging.audience, UDPAI_STR(UDPAI_TYPE_CLUSTER),
                                          cluster, &to->cluster, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str full = to->cluster.full, segment = udpai_bytes_view(lrs->segment);
    if (to->cluster.is_glob || full.len + 1 + segment.len > sizeof(to->room))
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "it cannot be the name of a cluster, or with the client's id it is longer "
            "than %d bytes",
            UDPAI_NAME_MAX);
    char *at = to->room;
    udpai_str_put(&at, full);
    *at++ = '/';
    udpai_str_put(&at, segment);
    to->name = (udpai_str){to->room, (size_t)(at - to->room)};
    return udpai_name_check(to->name, ret_error);
}

/* ---- counting ---- */

static udpa_err
begin_counting(udpai_lrs *lrs, udpai_lrs_cluster *cluster, udpai_str full_name, uint64_t since_ms)
{
    udpai_load_stats *total = udpai_load_stats_new(&udpai_load_stats_client_limits);
    udpa_err err = total ? udpai_load_stats_set_text(&total->cluster, full_name) : UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        udpai_load_stats_free(total);
        return err;
    }
    if (cluster->total)
        lrs->n_places -= n_places(cluster->total);
    udpai_load_stats_free(cluster->total);
    cluster->total = total;
    /* Another one than of any other stream of the same client. */
    total->epoch =
        udpai_load_epoch_next(&lrs->service->last_epoch, udpai_hub_wall_us(lrs->session.hub));
    cluster->since_ms = since_ms;
    return UDPA_OK;
}

static udpa_err
get_cluster(udpai_lrs *lrs,
            const report_name *named,
            udpai_lrs_cluster **ret_cluster,
            udpa_error **ret_error)
{
    udpai_lrs_cluster *cluster = udpai_map_get(&lrs->clusters, named->name);
    if (!cluster) {
        if (lrs->clusters.n >= UDPAI_LRS_CLUSTERS_MAX)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT, "it is one more than the %d of a client",
                              UDPAI_LRS_CLUSTERS_MAX);
        cluster = udpai_alloc(sizeof(*cluster));
        if (!cluster)
            return UDPA_ERR_NOMEM;
        udpa_err err = udpa_bytes_new(&cluster->name, named->name.data, named->name.len);
        if (err == UDPA_OK)
            err = begin_counting(lrs, cluster, named->cluster.full, lrs->subscribed_ms);
        if (err != UDPA_OK || !udpai_map_add(&lrs->clusters, cluster)) {
            free_cluster(lrs, cluster);
            return UDPA_ERR_NOMEM;
        }
        if (!udpai_timer_is_set(&lrs->renewal))
            udpai_timer_set(udpai_hub_wheel(lrs->session.hub), &lrs->renewal,
                            now_ms(lrs) + lrs->asked.setting.interval_ms);
    }
    *ret_cluster = cluster;
    return UDPA_OK;
}

static udpa_err
make_room(udpai_lrs *lrs,
          udpai_load_stats *total,
          const udpai_load_stats *report,
          udpa_error **ret_error)
{
    size_t before = n_places(total);
    udpa_err err = UDPA_OK;
    if (lrs->n_places <= UDPAI_LRS_PLACES_MAX)
        err = udpai_load_stats_make_room(total, report, ret_error);
    lrs->n_places += n_places(total) - before;
    if (err == UDPA_OK && lrs->n_places > UDPAI_LRS_PLACES_MAX)
        err = udpai_fail(ret_error, UDPA_ERR_LIMIT,
                         "more than %d localities, endpoints, metrics and categories in all "
                         "clusters of a client",
                         UDPAI_LRS_PLACES_MAX);
    return err;
}

static uint64_t
counted_ns(const udpai_lrs *lrs, const udpai_lrs_cluster *cluster)
{
    return (now_ms(lrs) - cluster->since_ms) * 1000000;
}

/* Clients of gRPC state in their first report how long they have counted, which may be longer than
 * they are here. It was reported to nothing else, so it must not be added up as if it was. */
static void
cut_elapsed(const udpai_lrs *lrs, udpai_lrs_cluster *cluster, bool is_first)
{
    udpai_load_stats *total = cluster->total;
    uint64_t max_ns = counted_ns(lrs, cluster), more_ns = 0;
    if (total->elapsed_ns > max_ns)
        more_ns = total->elapsed_ns - max_ns;
    total->elapsed_ns -= more_ns;
    if (is_first)
        cluster->before_ns = more_ns;
    total->covered_ns = total->elapsed_ns + cluster->before_ns;
}

static udpa_err
take_into(udpai_lrs *lrs,
          udpai_lrs_cluster *cluster,
          const udpai_load_stats *report,
          udpa_error **ret_error)
{
    bool is_first = cluster->total->covered_ns == 0;
    udpa_err err = make_room(lrs, cluster->total, report, ret_error);
    if (err == UDPA_OK)
        err = udpai_load_stats_take_report(cluster->total, report, ret_error);
    if (err == UDPA_OK)
        cut_elapsed(lrs, cluster, is_first);
    return err;
}

/* Endpoints come and go: when there have been too many, counting begins again, with those that are
 * there. What was counted has been handed up by then. */
static udpa_err
count(udpai_lrs *lrs,
      udpai_lrs_cluster *cluster,
      const udpai_load_stats *report,
      udpa_error **ret_error)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = take_into(lrs, cluster, report, &error);
    if (err == UDPA_ERR_LIMIT && cluster->resource && !cluster->has_changed) {
        char room[UDPAI_NAME_MAX], *at = room;
        udpai_str full_name = udpai_str_put(&at, cluster->total->cluster);
        err = begin_counting(lrs, cluster, full_name, cluster->handed_up_ms);
        if (err == UDPA_OK) {
            error = udpa_error_unref(error);
            err = take_into(lrs, cluster, report, &error);
        }
    }
    cluster->has_changed |= err == UDPA_OK;
    if (ret_error)
        *ret_error = UDPAI_TAKE(error);
    return err;
}

/* ---- reports ---- */

/* One ClusterStats may be one of several pieces: what came before it in the same request is added
 * to, gauges, too. */
static udpa_err
add_piece(udpai_lrs *lrs,
          udpai_lrs_cluster *cluster,
          const udpai_load_stats *report,
          udpa_error **ret_error)
{
    if (!cluster->is_in_report) {
        cluster->is_in_report = true;
        return count(lrs, cluster, report, ret_error);
    }
    udpai_load_stats *total = cluster->total;
    udpa_err err = make_room(lrs, total, report, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_load_stats_add_growth(total, report, NULL);
    udpai_load_stats_add_gauges(total, report);
    cluster->has_changed = true;
    return UDPA_OK;
}

bool
udpai_lrs_asks_for(const udpai_lrs *lrs, const stats_message *stats)
{
    report_name named;
    return make_name(lrs, udpai_str_from(stats->cluster_name), &named, NULL) == UDPA_OK &&
           udpai_lrs_is_subscribed(lrs, named.name);
}

static udpa_err
take_stats(udpai_lrs *lrs, const stats_message *stats, udpa_error **ret_error)
{
    report_name named;
    udpai_lrs_cluster *cluster = NULL;
    udpa_err err = make_name(lrs, udpai_str_from(stats->cluster_name), &named, ret_error);
    if (err != UDPA_OK)
        return err;
    if (!udpai_lrs_is_subscribed(lrs, named.name)) {
        lrs->n_unasked++;
        return UDPA_OK;
    }
    UDPA_AUTO(udpai_load_stats_free)
    udpai_load_stats *report = udpai_load_stats_new(&udpai_load_stats_client_limits);
    err = report ? udpai_load_stats_add_message(report, stats, ret_error) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !udpai_lrs_setting(lrs->service, named.cluster.full).per_endpoint)
        udpai_load_stats_drop_endpoints(report);
    if (err == UDPA_OK)
        err = get_cluster(lrs, &named, &cluster, ret_error);
    return err == UDPA_OK ? add_piece(lrs, cluster, report, ret_error) : err;
}

/* Of clusters that are not in a report of all there is nothing now. */
static void
end_report(udpai_lrs *lrs, bool is_all)
{
    size_t at = 0;
    udpai_lrs_cluster *cluster;
    while ((cluster = udpai_map_next(&lrs->clusters, &at))) {
        if (is_all && !cluster->is_in_report)
            cluster->has_changed |= udpai_load_stats_clear_gauges(cluster->total);
        cluster->is_in_report = false;
    }
}

/* ---- handing up ---- */

static uint64_t
ttl_ms(const udpai_lrs *lrs)
{
    return 3 * lrs->asked.setting.interval_ms + UDPAI_LRS_GRACE_MS;
}

static udpa_err
make_resource(const udpai_lrs *lrs, udpai_lrs_cluster *cluster)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = udpai_load_stats_encode(cluster->total);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any =
        value ? udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD), udpai_bytes_view(value)) : NULL;
    if (!any)
        return UDPA_ERR_NOMEM;
    const udpai_resource_parts parts = {
        .name = udpai_bytes_view(cluster->name),
        .any = any,
        .ttl_ms = ttl_ms(lrs),
    };
    udpa_resource *resource = NULL;
    udpa_err err = udpai_resource_make(&resource, &parts);
    if (err != UDPA_OK)
        return err;
    udpa_resource_unref(cluster->resource);
    cluster->resource = resource;
    return UDPA_OK;
}

/* It has changed; or it has not for so long that it would expire, and the client is there. What a
 * busy node has not come to read has not changed either: no earlier than need be. */
static bool
is_due(const udpai_lrs *lrs, const udpai_lrs_cluster *cluster)
{
    return cluster->has_changed ||
           (cluster->resource && now_ms(lrs) - cluster->handed_up_ms >= ttl_ms(lrs) / 2);
}

static udpa_err
fill(udpai_lrs *lrs, udpai_publication *publication)
{
    udpa_err err = udpai_publication_set(&publication->type_url, UDPAI_STR(UDPAI_TYPE_CLIENT_LOAD));
    size_t at = 0;
    udpai_lrs_cluster *cluster;
    while (err == UDPA_OK && (cluster = udpai_map_next(&lrs->clusters, &at))) {
        if (!is_due(lrs, cluster))
            continue;
        if (!cluster->has_changed) { /* the same of an earlier time would look younger than it is */
            cluster->total->elapsed_ns = counted_ns(lrs, cluster);
            cluster->total->covered_ns = cluster->total->elapsed_ns + cluster->before_ns;
        }
        err = make_resource(lrs, cluster);
        if (err == UDPA_OK)
            err = udpai_publication_add(publication, cluster->resource, false);
        if (err == UDPA_OK)
            publication->size_bytes += udpai_resource_any_size(cluster->resource);
    }
    return err;
}

static void
note_handed_up(udpai_lrs *lrs, size_t n)
{
    size_t at = 0;
    udpai_lrs_cluster *cluster;
    while ((cluster = udpai_map_next(&lrs->clusters, &at))) {
        if (!is_due(lrs, cluster))
            continue;
        cluster->has_changed = false;
        cluster->handed_up_ms = now_ms(lrs);
    }
    lrs->n_received += n;
    lrs->is_pending = true;
}

/* Without memory what was counted stays, and is handed up the next time. */
static udpa_err
hand_up(udpai_lrs *lrs, bool is_last)
{
    if (!is_last && (lrs->is_pending || lrs->session.is_finishing)) {
        lrs->is_held = true;
        return UDPA_OK;
    }
    udpai_publication *publication = udpai_publication_new();
    udpa_err err = publication ? fill(lrs, publication) : UDPA_ERR_NOMEM;
    size_t n = err == UDPA_OK ? publication->entries.n : 0;
    if (n == 0) {
        udpai_publication_free(publication);
        return err;
    }
    err = udpai_session_report_publication(&lrs->session, publication);
    if (err == UDPA_OK)
        note_handed_up(lrs, n);
    return err;
}

/* For a message of its own from each of thousands of clients both threads would be woken, and again
 * for the answer, which costs more than all there is to do. So what all of them report in a while
 * is handed up together. */
static udpa_err
hand_up_soon(udpai_lrs *lrs)
{
    uint64_t step_ms = lrs->service->gather_ms;
    if (step_ms == 0)
        return hand_up(lrs, false);
    if (!udpai_timer_is_set(&lrs->gathering))
        udpai_timer_set(udpai_hub_wheel(lrs->session.hub), &lrs->gathering,
                        (now_ms(lrs) / step_ms + 1) * step_ms);
    return UDPA_OK;
}

static void
on_gathered(udpai_timer *timer)
{
    (void)hand_up(UDPAI_CONTAINER_OF(timer, udpai_lrs, gathering), false);
}

static void
on_renewal(udpai_timer *timer)
{
    udpai_lrs *lrs = UDPAI_CONTAINER_OF(timer, udpai_lrs, renewal);
    (void)hand_up(lrs, false);
    if (lrs->clusters.n)
        udpai_timer_set(udpai_hub_wheel(lrs->session.hub), timer,
                        now_ms(lrs) + lrs->asked.setting.interval_ms);
}

udpa_err
udpai_lrs_take(udpai_lrs *lrs, stats_message *const *stats, size_t n_stats, bool is_all)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < n_stats && err != UDPA_ERR_NOMEM; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        err = take_stats(lrs, stats[i], &error);
        if (err != UDPA_OK && err != UDPA_ERR_NOMEM)
            note_refused(lrs, udpai_str_from(stats[i]->cluster_name), error);
    }
    end_report(lrs, is_all);
    return err == UDPA_ERR_NOMEM ? err : hand_up_soon(lrs);
}

void
udpai_lrs_publication_done(udpai_lrs *lrs, const udpai_publication *publication)
{
    lrs->is_pending = false;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        if (entry->error)
            note_refused(lrs, udpai_resource_name(entry->resource), entry->error);
    }
    bool was_held = lrs->is_held;
    lrs->is_held = false;
    if (was_held)
        (void)hand_up_soon(lrs);
}

void
udpai_lrs_report_again(udpai_lrs *lrs)
{
    size_t at = 0;
    udpai_lrs_cluster *cluster;
    while ((cluster = udpai_map_next(&lrs->clusters, &at)))
        cluster->has_changed |= cluster->resource != NULL;
    if (lrs->clusters.n)
        udpai_timer_set(udpai_hub_wheel(lrs->session.hub), &lrs->renewal,
                        now_ms(lrs) + lrs->asked.setting.interval_ms);
    (void)hand_up(lrs, false);
}

void
udpai_lrs_forget_unsubscribed(udpai_lrs *lrs)
{
    size_t at = 0;
    udpai_lrs_cluster *cluster;
    while ((cluster = udpai_map_next(&lrs->clusters, &at))) {
        if (udpai_lrs_is_subscribed(lrs, udpai_bytes_view(cluster->name)))
            continue;
        udpai_map_remove(&lrs->clusters, cluster_key(cluster));
        free_cluster(lrs, cluster);
        at = 0; /* what follows may have moved */
    }
}
