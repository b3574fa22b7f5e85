/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a value: sorted, so that two equal values are the same bytes. */
#include "reports/load_stats.h"

#include <stdlib.h>

const udpai_load_stats_limits udpai_load_stats_client_limits = {
    .localities = 256,
    .endpoints = 4096,
    .metrics = 4096,
    .drops = 256,
    .nodes = 0,
};
const udpai_load_stats_limits udpai_load_aggregate_limits = {
    .localities = 1024,
    .endpoints = 16384,
    .metrics = 16384,
    .drops = 1024,
    .nodes = 4096 + UDPAI_LOAD_STATS_LEFT_NODES_MAX,
};

udpai_load_stats *
udpai_load_stats_new(const udpai_load_stats_limits *limits)
{
    udpai_load_stats *stats = udpai_alloc(sizeof(*stats));
    if (stats)
        stats->limits = limits;
    return stats;
}

static void
free_text(udpai_str text)
{
    udpai_free((void *)(uintptr_t)text.data);
}

static void
free_figures(udpai_load_stats_figures *figures)
{
    for (size_t i = 0; i < figures->metrics.n; i++)
        free_text(figures->metrics.items[i].name);
    udpai_vector_done(&figures->metrics);
}

/* Returns of how many metrics. */
static size_t
free_endpoints(udpai_load_stats_locality *locality)
{
    size_t n_metrics = 0;
    for (size_t i = 0; i < locality->endpoints.n; i++) {
        n_metrics += locality->endpoints.items[i].figures.metrics.n;
        free_text(locality->endpoints.items[i].address);
        free_figures(&locality->endpoints.items[i].figures);
    }
    udpai_vector_done(&locality->endpoints);
    return n_metrics;
}

static void
free_locality(udpai_load_stats_locality *locality)
{
    (void)free_endpoints(locality);
    free_figures(&locality->figures);
    free_text(locality->region);
}

void
udpai_load_stats_clear_nodes(udpai_load_stats *stats)
{
    while (stats->nodes.n)
        free_text(stats->nodes.items[--stats->nodes.n].id);
}

static int
compare_ids(const void *a, const void *b)
{
    return udpai_str_cmp(((const udpai_load_stats_node *)a)->id,
                         ((const udpai_load_stats_node *)b)->id);
}

void
udpai_load_stats_sort_nodes(udpai_load_stats *stats)
{
    if (stats->nodes.n)
        qsort(stats->nodes.items, stats->nodes.n, sizeof(stats->nodes.items[0]), compare_ids);
}

udpai_load_stats *
udpai_load_stats_free(udpai_load_stats *stats)
{
    if (!stats)
        return NULL;
    for (size_t i = 0; i < stats->localities.n; i++)
        free_locality(&stats->localities.items[i]);
    udpai_vector_done(&stats->localities);
    for (size_t i = 0; i < stats->drops.n; i++)
        free_text(stats->drops.items[i].category);
    udpai_vector_done(&stats->drops);
    udpai_load_stats_clear_nodes(stats);
    udpai_vector_done(&stats->nodes);
    udpai_load_stats_free(stats->shared);
    free_text(stats->cluster);
    free_text(stats->service);
    udpai_free(stats);
    return NULL;
}

void
udpai_load_stats_drop_endpoints(udpai_load_stats *stats)
{
    for (size_t i = 0; i < stats->localities.n; i++)
        stats->n_metrics -= free_endpoints(&stats->localities.items[i]);
    stats->n_endpoints = 0;
}

void
udpai_load_stats_forget_endpoint(udpai_load_stats *stats,
                                 const udpai_load_stats_locality *locality,
                                 const udpai_load_stats_endpoint *endpoint)
{
    udpai_load_stats_locality *of =
        (udpai_load_stats_locality *)udpai_load_stats_find_locality(stats, locality);
    udpai_load_stats_endpoint *removed =
        of ? (udpai_load_stats_endpoint *)udpai_load_stats_find_endpoint(of, endpoint) : NULL;
    if (!removed)
        return;
    size_t at = (size_t)(removed - of->endpoints.items);
    stats->n_endpoints--;
    stats->n_metrics -= removed->figures.metrics.n;
    free_figures(&removed->figures);
    free_text(removed->address);
    memmove(removed, removed + 1, (--of->endpoints.n - at) * sizeof(*removed));
}

udpa_err
udpai_load_stats_set_text(udpai_str *field, udpai_str text)
{
    if (udpai_str_eq(*field, text) && field->data)
        return UDPA_OK;
    char *copy = udpai_strndup(text.data ? text.data : "", text.len);
    if (!copy)
        return UDPA_ERR_NOMEM;
    free_text(*field);
    *field = (udpai_str){copy, text.len};
    return UDPA_OK;
}

/* ---- order ---- */

typedef int (*compare_fn)(const void *a, const void *b);

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int
compare_localities(const void *of_a, const void *of_b)
{
    const udpai_load_stats_locality *a = of_a, *b = of_b;
    int order = compare_numbers(a->priority, b->priority);
    if (order == 0)
        order = udpai_str_cmp(a->region, b->region);
    if (order == 0)
        order = udpai_str_cmp(a->zone, b->zone);
    return order ? order : udpai_str_cmp(a->sub_zone, b->sub_zone);
}

static int
compare_endpoints(const void *of_a, const void *of_b)
{
    const udpai_load_stats_endpoint *a = of_a, *b = of_b;
    int order = udpai_str_cmp(a->address, b->address);
    return order ? order : compare_numbers(a->port, b->port);
}

static int
compare_metrics(const void *of_a, const void *of_b)
{
    const udpai_load_stats_metric *a = of_a, *b = of_b;
    int order = compare_numbers(a->kind, b->kind);
    return order ? order : udpai_str_cmp(a->name, b->name);
}

static int
compare_drops(const void *of_a, const void *of_b)
{
    const udpai_load_stats_drop *a = of_a, *b = of_b;
    return udpai_str_cmp(a->category, b->category);
}

typedef struct sorted {
    void *items;
    size_t n, size;
    compare_fn compare;
} sorted;

/* Where it is, or belongs. */
static size_t
find_place(const sorted *among, const void *like, bool *ret_found)
{
    size_t low = 0, high = among->n;
    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = among->compare((const char *)among->items + middle * among->size, like);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes a hole in an array that has room for one more. */
static void
open_place(const sorted *among, size_t at)
{
    char *place = (char *)among->items + at * among->size;
    memmove(place + among->size, place, (among->n - at) * among->size);
    memset(place, 0, among->size);
}

#define SORTED(vector, compare)                                                                    \
    {                                                                                              \
        (vector).items, (vector).n, sizeof(*(vector).items), compare                               \
    }

/* ---- limits ---- */

static udpa_err
check_text(udpai_str text, const char *what, udpa_error **ret_error)
{
    if (text.len <= UDPAI_LOAD_STATS_TEXT_MAX)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s '%.60s…' has %zu bytes, and may have %d", what,
                      text.data, text.len, UDPAI_LOAD_STATS_TEXT_MAX);
}

static udpa_err
check_number(size_t n, size_t max, const char *what, udpa_error **ret_error)
{
    if (n < max)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "more than %zu %s", max, what);
}

/* ---- places ---- */

static udpa_err
name_locality(udpai_load_stats_locality *locality, const udpai_load_stats_locality *like)
{
    char *at = udpai_alloc(like->region.len + like->zone.len + like->sub_zone.len + 1);
    if (!at)
        return UDPA_ERR_NOMEM;
    locality->region = udpai_str_put(&at, like->region);
    locality->zone = udpai_str_put(&at, like->zone);
    locality->sub_zone = udpai_str_put(&at, like->sub_zone);
    locality->priority = like->priority;
    return UDPA_OK;
}

static udpa_err
check_locality(const udpai_load_stats *stats,
               const udpai_load_stats_locality *like,
               udpa_error **ret_error)
{
    udpa_err err =
        check_number(stats->localities.n, stats->limits->localities, "localities", ret_error);
    if (err == UDPA_OK)
        err = check_text(like->region, "region", ret_error);
    if (err == UDPA_OK)
        err = check_text(like->zone, "zone", ret_error);
    return err == UDPA_OK ? check_text(like->sub_zone, "sub-zone", ret_error) : err;
}

udpa_err
udpai_load_stats_get_locality(udpai_load_stats *stats,
                              const udpai_load_stats_locality *like,
                              udpai_load_stats_locality **ret_locality,
                              udpa_error **ret_error)
{
    sorted among = SORTED(stats->localities, compare_localities);
    bool found;
    size_t at = find_place(&among, like, &found);
    if (!found) {
        udpa_err err = check_locality(stats, like, ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_load_stats_locality made = {0};
        if (!udpai_vector_reserve(&stats->localities, 1) || name_locality(&made, like) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = stats->localities.items;
        open_place(&among, at);
        stats->localities.items[at] = made;
        stats->localities.n++;
    }
    *ret_locality = &stats->localities.items[at];
    return UDPA_OK;
}

udpa_err
udpai_load_stats_get_endpoint(udpai_load_stats *stats,
                              udpai_load_stats_locality *locality,
                              const udpai_load_stats_endpoint *like,
                              udpai_load_stats_endpoint **ret_endpoint,
                              udpa_error **ret_error)
{
    sorted among = SORTED(locality->endpoints, compare_endpoints);
    bool found;
    size_t at = find_place(&among, like, &found);
    if (!found) {
        udpa_err err =
            check_number(stats->n_endpoints, stats->limits->endpoints, "endpoints", ret_error);
        if (err == UDPA_OK)
            err = check_text(like->address, "address", ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_load_stats_endpoint made = {.port = like->port};
        if (!udpai_vector_reserve(&locality->endpoints, 1) ||
            udpai_load_stats_set_text(&made.address, like->address) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = locality->endpoints.items;
        open_place(&among, at);
        locality->endpoints.items[at] = made;
        locality->endpoints.n++;
        stats->n_endpoints++;
    }
    *ret_endpoint = &locality->endpoints.items[at];
    return UDPA_OK;
}

udpa_err
udpai_load_stats_get_metric(udpai_load_stats *stats,
                            udpai_load_stats_figures *figures,
                            const udpai_load_stats_metric *like,
                            udpai_load_stats_metric **ret_metric,
                            udpa_error **ret_error)
{
    sorted among = SORTED(figures->metrics, compare_metrics);
    bool found;
    size_t at = find_place(&among, like, &found);
    if (!found) {
        udpa_err err = check_number(stats->n_metrics, stats->limits->metrics, "metrics", ret_error);
        if (err == UDPA_OK)
            err = check_text(like->name, "metric", ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_load_stats_metric made = {.kind = like->kind};
        if (!udpai_vector_reserve(&figures->metrics, 1) ||
            udpai_load_stats_set_text(&made.name, like->name) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = figures->metrics.items;
        open_place(&among, at);
        figures->metrics.items[at] = made;
        figures->metrics.n++;
        stats->n_metrics++;
    }
    *ret_metric = &figures->metrics.items[at];
    return UDPA_OK;
}

udpa_err
udpai_load_stats_get_drop(udpai_load_stats *stats,
                          udpai_str category,
                          udpai_load_stats_drop **ret_drop,
                          udpa_error **ret_error)
{
    const udpai_load_stats_drop like = {.category = category};
    sorted among = SORTED(stats->drops, compare_drops);
    bool found;
    size_t at = find_place(&among, &like, &found);
    if (!found) {
        udpa_err err = check_number(stats->drops.n, stats->limits->drops,
                                    "categories of dropped "
                                    "requests",
                                    ret_error);
        if (err == UDPA_OK)
            err = check_text(category, "category", ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_load_stats_drop made = {0};
        if (!udpai_vector_reserve(&stats->drops, 1) ||
            udpai_load_stats_set_text(&made.category, category) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = stats->drops.items;
        open_place(&among, at);
        stats->drops.items[at] = made;
        stats->drops.n++;
    }
    *ret_drop = &stats->drops.items[at];
    return UDPA_OK;
}

/* ---- finding ---- */

const udpai_load_stats_locality *
udpai_load_stats_find_locality(const udpai_load_stats *stats, const udpai_load_stats_locality *like)
{
    const sorted among = SORTED(stats->localities, compare_localities);
    bool found;
    size_t at = find_place(&among, like, &found);
    return found ? &stats->localities.items[at] : NULL;
}

const udpai_load_stats_endpoint *
udpai_load_stats_find_endpoint(const udpai_load_stats_locality *locality,
                               const udpai_load_stats_endpoint *like)
{
    const sorted among = SORTED(locality->endpoints, compare_endpoints);
    bool found;
    size_t at = find_place(&among, like, &found);
    return found ? &locality->endpoints.items[at] : NULL;
}

const udpai_load_stats_metric *
udpai_load_stats_find_metric(const udpai_load_stats_figures *figures,
                             const udpai_load_stats_metric *like)
{
    const sorted among = SORTED(figures->metrics, compare_metrics);
    bool found;
    size_t at = find_place(&among, like, &found);
    return found ? &figures->metrics.items[at] : NULL;
}

const udpai_load_stats_drop *
udpai_load_stats_find_drop(const udpai_load_stats *stats, udpai_str category)
{
    const udpai_load_stats_drop like = {.category = category};
    const sorted among = SORTED(stats->drops, compare_drops);
    bool found;
    size_t at = find_place(&among, &like, &found);
    return found ? &stats->drops.items[at] : NULL;
}

bool
udpai_load_stats_figures_empty(const udpai_load_stats_figures *figures)
{
    uint64_t any = 0;
    for (size_t i = 0; i < UDPAI_LOAD_STATS_COUNTS; i++)
        any |= figures->counts[i];
    for (size_t i = 0; i < UDPAI_LOAD_STATS_GAUGES; i++)
        any |= figures->gauges[i];
    for (size_t i = 0; i < figures->metrics.n; i++)
        any |= figures->metrics.items[i].n;
    return any == 0;
}

bool
udpai_load_stats_locality_empty(const udpai_load_stats_locality *locality)
{
    bool empty = udpai_load_stats_figures_empty(&locality->figures);
    for (size_t i = 0; i < locality->endpoints.n && empty; i++)
        empty = udpai_load_stats_figures_empty(&locality->endpoints.items[i].figures);
    return empty;
}

bool
udpai_load_stats_is_empty(const udpai_load_stats *stats)
{
    bool empty = stats->dropped == 0;
    for (size_t i = 0; i < stats->localities.n && empty; i++)
        empty = udpai_load_stats_locality_empty(&stats->localities.items[i]);
    for (size_t i = 0; i < stats->drops.n && empty; i++)
        empty = stats->drops.items[i].n == 0;
    return empty;
}
