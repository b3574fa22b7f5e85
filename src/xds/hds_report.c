/* SPDX-License-Identifier: Apache-2.0 */
/* What a client has found, as resources that it publishes: one publication at a time, and what has
 * changed while it was pending goes with the next. So a client that answers faster than can be
 * taken in makes nothing pile up. */
#include "base/alloc.h"
#include "model/name.h"
#include "model/types.h"
#include "xds/hds_internal.h"
#include "xds/names.h"

/* A judgement that there was no memory for is not waited for without end. */
#define PUBLICATION_PATIENCE_MS 60000

static uint64_t
now_ms(const udpai_hds *hds)
{
    return udpai_hub_wheel(hds->session.hub)->now_ms;
}

static udpai_str
id_of(const udpai_hds *hds)
{
    return udpai_node_info_parts(hds->peer)->id;
}

/* ---- names ---- */

/* The full name of a cluster, and behind it the client's segment. */
typedef struct report_name {
    udpai_xds_name cluster;
    char room[UDPAI_NAME_MAX];
    udpai_str name;
} report_name;

static udpa_err
make_name(const udpai_hds *hds, udpai_str cluster, report_name *to, udpa_error **ret_error)
{
    udpa_err err = udpai_xds_name_resolve(hds->belonging.audience, UDPAI_STR(UDPAI_TYPE_CLUSTER),
                                          cluster, &to->cluster, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str full = to->cluster.full, segment = udpai_bytes_view(hds->segment);
    if (to->cluster.is_glob || full.len + 1 + segment.len > sizeof(to->room))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' cannot be the name of a cluster, or with the client's id it is "
                          "longer than %d bytes",
                          UDPAI_SHOWN(cluster), UDPAI_NAME_MAX);
    char *at = to->room;
    udpai_str_put(&at, full);
    *at++ = '/';
    udpai_str_put(&at, segment);
    to->name = (udpai_str){to->room, (size_t)(at - to->room)};
    return udpai_name_check(to->name, ret_error);
}

/* ---- publishing ---- */

static udpa_err
make_resource(const udpai_hds *hds,
              size_t cluster,
              const report_name *named,
              udpa_resource **ret_resource)
{
    udpai_str type_url = UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *value = udpai_health_table_compose(hds->table, cluster, named->cluster.full);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = value ? udpai_any_make(type_url, udpai_bytes_view(value)) : NULL;
    if (!any)
        return UDPA_ERR_NOMEM;
    const udpai_resource_parts parts = {
        .name = named->name,
        .any = any,
        .ttl_ms = udpai_health_table_ttl_ms(hds->table),
    };
    return udpai_resource_make(ret_resource, &parts);
}

static void
warn_unnameable(udpai_hds *hds, const udpa_error *why)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&hds->service->bad_answers, now_ms(hds), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, "hds",
            UDPAI_ABOUT({UDPAI_LOG_PEER, id_of(hds)}, {UDPAI_LOG_CODE, udpai_log_code(why)}),
            "health reported by client '%.*s' is not forwarded: %s (%u more not shown)",
            UDPAI_SHOWN(id_of(hds)), udpa_error_message(why), n_suppressed);
}

static udpa_err
add_cluster(udpai_hds *hds, udpai_publication *publication, size_t cluster)
{
    report_name named;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_str cluster_name = udpai_health_table_cluster(hds->table, cluster);
    udpa_err err = make_name(hds, cluster_name, &named, &error);
    if (err == UDPA_ERR_NOMEM)
        return err;
    if (err != UDPA_OK) {
        warn_unnameable(hds, error);
        return UDPA_OK;
    }
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    err = make_resource(hds, cluster, &named, &resource);
    if (err == UDPA_OK)
        err = udpai_publication_add(publication, resource, false);
    if (err == UDPA_OK)
        publication->size_bytes += udpai_resource_any_size(resource);
    return err;
}

/* Those that are due, and what is to go. What could not be added is added the next time. */
static udpa_err
fill(udpai_hds *hds, udpai_publication *publication)
{
    udpa_err err =
        udpai_publication_set(&publication->type_url, UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH));
    for (size_t i = 0; i < hds->removed.n && err == UDPA_OK; i++)
        err = udpai_publication_remove(publication, udpai_bytes_view(hds->removed.items[i]));
    size_t n = udpai_health_table_n_clusters(hds->table);
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        if (udpai_health_table_is_due(hds->table, i, now_ms(hds)))
            err = add_cluster(hds, publication, i);
    return err;
}

static void
note_handed_up(udpai_hds *hds)
{
    for (size_t i = 0; i < udpai_health_table_n_clusters(hds->table); i++)
        if (udpai_health_table_is_due(hds->table, i, now_ms(hds)))
            udpai_health_table_passed_on(hds->table, i, now_ms(hds));
    for (size_t i = 0; i < hds->removed.n; i++)
        udpa_bytes_unref(hds->removed.items[i]);
    hds->removed.n = 0;
    hds->is_pending = true;
    hds->handed_up_ms = now_ms(hds);
}

static bool
has_news(const udpai_hds *hds)
{
    for (size_t i = 0; i < udpai_health_table_n_clusters(hds->table); i++)
        if (udpai_health_table_is_due(hds->table, i, now_ms(hds)))
            return true;
    return hds->removed.n > 0;
}

udpa_err
udpai_hds_publish(udpai_hds *hds, udpa_error **ret_error)
{
    bool is_waiting = hds->is_pending && now_ms(hds) - hds->handed_up_ms < PUBLICATION_PATIENCE_MS;
    if (is_waiting || !hds->table || !has_news(hds))
        return UDPA_OK;
    udpai_publication *publication = udpai_publication_new();
    udpa_err err = publication ? fill(hds, publication) : UDPA_ERR_NOMEM;
    size_t n = err == UDPA_OK ? publication->entries.n : 0;
    if (err != UDPA_OK) {
        udpai_publication_free(publication);
        return udpai_fail_code(ret_error, err);
    }
    if (n + publication->removals.n == 0) { /* nothing of it can be named */
        note_handed_up(hds);
        hds->is_pending = false;
        udpai_publication_free(publication);
        return UDPA_OK;
    }
    err = udpai_session_report_publication(&hds->session, publication);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    hds->n_received += n;
    note_handed_up(hds);
    return UDPA_OK;
}

/* ---- judgements ---- */

static const udpa_error *
first_error(const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        if (publication->entries.items[i].error)
            return publication->entries.items[i].error;
    for (size_t i = 0; i < publication->removals.n; i++)
        if (publication->removals.items[i].error)
            return publication->removals.items[i].error;
    return NULL;
}

void
udpai_hds_publication_done(udpai_hds *hds, const udpai_publication *publication)
{
    const udpa_error *error = first_error(publication);
    unsigned n_suppressed;
    bool is_announcement = udpai_str_eq(publication->type_url, UDPAI_STR(UDPAI_TYPE_CHECKER));
    hds->is_pending &= is_announcement;
    if (error) {
        udpa_error_unref(hds->last_error);
        hds->last_error = udpa_error_ref((udpa_error *)(uintptr_t)error);
        if (udpai_log_allow(&hds->service->refused, now_ms(hds), &n_suppressed))
            udpai_log_about(
                UDPA_LOG_WARNING, "hds",
                UDPAI_ABOUT({UDPAI_LOG_PEER, id_of(hds)}, {UDPAI_LOG_CODE, udpai_log_code(error)}),
                "rejected health reported by client '%.*s': %s (%u more not shown)",
                UDPAI_SHOWN(id_of(hds)), udpa_error_message(error), n_suppressed);
    }
    udpa_error *failure = NULL;
    if (udpai_hds_publish(hds, &failure) != UDPA_OK)
        udpai_session_finish(&hds->session, failure);
}

/* ---- answers ---- */

static void
note_bad(udpai_hds *hds, const udpai_health_taken *taken)
{
    unsigned n_suppressed;
    hds->n_unasked += taken->n_unasked + taken->n_strange;
    if (taken->n_unasked == 0 ||
        !udpai_log_allow(&hds->service->bad_answers, now_ms(hds), &n_suppressed))
        return;
    udpai_log_about(
        UDPA_LOG_WARNING, "hds",
        UDPAI_ABOUT({UDPAI_LOG_PEER, id_of(hds)}, {UDPAI_LOG_NAME, taken->cluster}),
        "ignored health reported by client '%.*s' of %zu endpoints that it was not asked to check, "
        "such as %.*s port %u of cluster '%.*s' (%u more not shown)",
        UDPAI_SHOWN(id_of(hds)), taken->n_unasked, UDPAI_SHOWN(taken->address), taken->port,
        UDPAI_SHOWN(taken->cluster), n_suppressed);
}

/* Before anything was asked, nothing can be answered. */
static udpa_err
refuse_all(udpai_hds *hds, udpai_str message, udpa_error **ret_error)
{
    udpai_health_answer answer;
    udpa_err err = udpai_health_answer_read(message, &answer, ret_error);
    if (err == UDPA_OK) {
        udpai_health_taken taken = {.n_unasked = answer.results.n, .n_strange = answer.n_strange};
        if (answer.results.n) {
            taken.cluster = answer.results.items[0].cluster;
            taken.address = answer.results.items[0].address.text;
            taken.port = answer.results.items[0].address.port;
        }
        note_bad(hds, &taken);
    }
    udpai_health_answer_done(&answer);
    return err;
}

udpa_err
udpai_hds_answer(udpai_hds *hds, udpai_str message, udpa_error **ret_error)
{
    udpai_health_taken taken;
    if (!hds->table)
        return refuse_all(hds, message, ret_error);
    udpa_err err = udpai_health_table_answer(
        hds->table, hds->before, message, udpai_hub_wall_us(hds->session.hub), &taken, ret_error);
    if (err != UDPA_OK)
        return err;
    note_bad(hds, &taken);
    return udpai_hds_publish(hds, ret_error);
}

/* ---- what is not checked any more ---- */

udpa_err
udpai_hds_note_removed(udpai_hds *hds, const udpai_health_table *next)
{
    for (size_t i = 0; i < udpai_health_table_n_clusters(hds->table); i++) {
        udpai_str cluster = udpai_health_table_cluster(hds->table, i);
        report_name named;
        udpa_bytes *name;
        if (!udpai_health_table_was_passed_on(hds->table, i) ||
            udpai_health_table_find(next, cluster) != SIZE_MAX ||
            make_name(hds, cluster, &named, NULL) != UDPA_OK)
            continue;
        if (hds->removed.n >= UDPAI_HEALTH_ENDPOINTS_MAX)
            break; /* they expire */
        if (udpa_bytes_new(&name, named.name.data, named.name.len) != UDPA_OK)
            return UDPA_ERR_NOMEM;
        if (!udpai_vector_push(&hds->removed, name)) {
            udpa_bytes_unref(name);
            return UDPA_ERR_NOMEM;
        }
    }
    return UDPA_OK;
}

void
udpai_hds_forget_removed(udpai_hds *hds)
{
    for (size_t i = 0; i < hds->removed.n; i++)
        udpa_bytes_unref(hds->removed.items[i]);
    udpai_vector_done(&hds->removed);
}
