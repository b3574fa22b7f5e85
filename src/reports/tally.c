/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a tally: sorted, so that two tallies that say the same are the same bytes. */
#include "reports/tally.h"

#include <stdlib.h>

const udpai_tally_limits udpai_tally_client_limits = {
    .localities = 256,
    .endpoints = 4096,
    .metrics = 4096,
    .drops = 256,
    .nodes = 0,
};
const udpai_tally_limits udpai_tally_sum_limits = {
    .localities = 1024,
    .endpoints = 16384,
    .metrics = 16384,
    .drops = 1024,
    .nodes = 4096 + UDPAI_TALLY_GONE_NODES_MAX,
};

udpai_tally *
udpai_tally_new(const udpai_tally_limits *limits)
{
    udpai_tally *tally = udpai_alloc(sizeof(*tally));
    if (tally)
        tally->limits = limits;
    return tally;
}

static void
free_text(udpai_str text)
{
    udpai_free((void *)(uintptr_t)text.data);
}

static void
free_figures(udpai_tally_figures *figures)
{
    for (size_t i = 0; i < figures->metrics.n; i++)
        free_text(figures->metrics.items[i].name);
    udpai_vector_done(&figures->metrics);
}

/* Returns of how many metrics. */
static size_t
free_endpoints(udpai_tally_locality *locality)
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
free_locality(udpai_tally_locality *locality)
{
    (void)free_endpoints(locality);
    free_figures(&locality->figures);
    free_text(locality->region);
}

void
udpai_tally_clear_nodes(udpai_tally *tally)
{
    while (tally->nodes.n)
        free_text(tally->nodes.items[--tally->nodes.n].id);
}

static int
compare_ids(const void *a, const void *b)
{
    return udpai_str_cmp(((const udpai_tally_node *)a)->id, ((const udpai_tally_node *)b)->id);
}

void
udpai_tally_sort_nodes(udpai_tally *tally)
{
    if (tally->nodes.n)
        qsort(tally->nodes.items, tally->nodes.n, sizeof(tally->nodes.items[0]), compare_ids);
}

udpai_tally *
udpai_tally_free(udpai_tally *tally)
{
    if (!tally)
        return NULL;
    for (size_t i = 0; i < tally->localities.n; i++)
        free_locality(&tally->localities.items[i]);
    udpai_vector_done(&tally->localities);
    for (size_t i = 0; i < tally->drops.n; i++)
        free_text(tally->drops.items[i].category);
    udpai_vector_done(&tally->drops);
    udpai_tally_clear_nodes(tally);
    udpai_vector_done(&tally->nodes);
    udpai_tally_free(tally->shared);
    free_text(tally->cluster);
    free_text(tally->service);
    udpai_free(tally);
    return NULL;
}

void
udpai_tally_drop_endpoints(udpai_tally *tally)
{
    for (size_t i = 0; i < tally->localities.n; i++)
        tally->n_metrics -= free_endpoints(&tally->localities.items[i]);
    tally->n_endpoints = 0;
}

void
udpai_tally_forget_endpoint(udpai_tally *tally,
                            const udpai_tally_locality *locality,
                            const udpai_tally_endpoint *endpoint)
{
    udpai_tally_locality *of = (udpai_tally_locality *)udpai_tally_find_locality(tally, locality);
    udpai_tally_endpoint *gone =
        of ? (udpai_tally_endpoint *)udpai_tally_find_endpoint(of, endpoint) : NULL;
    if (!gone)
        return;
    size_t at = (size_t)(gone - of->endpoints.items);
    tally->n_endpoints--;
    tally->n_metrics -= gone->figures.metrics.n;
    free_figures(&gone->figures);
    free_text(gone->address);
    memmove(gone, gone + 1, (--of->endpoints.n - at) * sizeof(*gone));
}

udpa_err
udpai_tally_set_text(udpai_str *field, udpai_str text)
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
    const udpai_tally_locality *a = of_a, *b = of_b;
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
    const udpai_tally_endpoint *a = of_a, *b = of_b;
    int order = udpai_str_cmp(a->address, b->address);
    return order ? order : compare_numbers(a->port, b->port);
}

static int
compare_metrics(const void *of_a, const void *of_b)
{
    const udpai_tally_metric *a = of_a, *b = of_b;
    int order = compare_numbers(a->kind, b->kind);
    return order ? order : udpai_str_cmp(a->name, b->name);
}

static int
compare_drops(const void *of_a, const void *of_b)
{
    const udpai_tally_drop *a = of_a, *b = of_b;
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
    if (text.len <= UDPAI_TALLY_TEXT_MAX)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s '%.60s…' has %zu bytes, and may have %d", what,
                      text.data, text.len, UDPAI_TALLY_TEXT_MAX);
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
name_locality(udpai_tally_locality *locality, const udpai_tally_locality *like)
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
check_locality(const udpai_tally *tally, const udpai_tally_locality *like, udpa_error **ret_error)
{
    udpa_err err =
        check_number(tally->localities.n, tally->limits->localities, "localities", ret_error);
    if (err == UDPA_OK)
        err = check_text(like->region, "region", ret_error);
    if (err == UDPA_OK)
        err = check_text(like->zone, "zone", ret_error);
    return err == UDPA_OK ? check_text(like->sub_zone, "sub-zone", ret_error) : err;
}

udpa_err
udpai_tally_get_locality(udpai_tally *tally,
                         const udpai_tally_locality *like,
                         udpai_tally_locality **ret_locality,
                         udpa_error **ret_error)
{
    sorted among = SORTED(tally->localities, compare_localities);
    bool found;
    size_t at = find_place(&among, like, &found);
    if (!found) {
        udpa_err err = check_locality(tally, like, ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_tally_locality made = {0};
        if (!udpai_vector_reserve(&tally->localities, 1) || name_locality(&made, like) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = tally->localities.items;
        open_place(&among, at);
        tally->localities.items[at] = made;
        tally->localities.n++;
    }
    *ret_locality = &tally->localities.items[at];
    return UDPA_OK;
}

udpa_err
udpai_tally_get_endpoint(udpai_tally *tally,
                         udpai_tally_locality *locality,
                         const udpai_tally_endpoint *like,
                         udpai_tally_endpoint **ret_endpoint,
                         udpa_error **ret_error)
{
    sorted among = SORTED(locality->endpoints, compare_endpoints);
    bool found;
    size_t at = find_place(&among, like, &found);
    if (!found) {
        udpa_err err =
            check_number(tally->n_endpoints, tally->limits->endpoints, "endpoints", ret_error);
        if (err == UDPA_OK)
            err = check_text(like->address, "address", ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_tally_endpoint made = {.port = like->port};
        if (!udpai_vector_reserve(&locality->endpoints, 1) ||
            udpai_tally_set_text(&made.address, like->address) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = locality->endpoints.items;
        open_place(&among, at);
        locality->endpoints.items[at] = made;
        locality->endpoints.n++;
        tally->n_endpoints++;
    }
    *ret_endpoint = &locality->endpoints.items[at];
    return UDPA_OK;
}

udpa_err
udpai_tally_get_metric(udpai_tally *tally,
                       udpai_tally_figures *figures,
                       const udpai_tally_metric *like,
                       udpai_tally_metric **ret_metric,
                       udpa_error **ret_error)
{
    sorted among = SORTED(figures->metrics, compare_metrics);
    bool found;
    size_t at = find_place(&among, like, &found);
    if (!found) {
        udpa_err err = check_number(tally->n_metrics, tally->limits->metrics, "metrics", ret_error);
        if (err == UDPA_OK)
            err = check_text(like->name, "metric", ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_tally_metric made = {.kind = like->kind};
        if (!udpai_vector_reserve(&figures->metrics, 1) ||
            udpai_tally_set_text(&made.name, like->name) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = figures->metrics.items;
        open_place(&among, at);
        figures->metrics.items[at] = made;
        figures->metrics.n++;
        tally->n_metrics++;
    }
    *ret_metric = &figures->metrics.items[at];
    return UDPA_OK;
}

udpa_err
udpai_tally_get_drop(udpai_tally *tally,
                     udpai_str category,
                     udpai_tally_drop **ret_drop,
                     udpa_error **ret_error)
{
    const udpai_tally_drop like = {.category = category};
    sorted among = SORTED(tally->drops, compare_drops);
    bool found;
    size_t at = find_place(&among, &like, &found);
    if (!found) {
        udpa_err err = check_number(tally->drops.n, tally->limits->drops,
                                    "categories of dropped "
                                    "requests",
                                    ret_error);
        if (err == UDPA_OK)
            err = check_text(category, "category", ret_error);
        if (err != UDPA_OK)
            return err;
        udpai_tally_drop made = {0};
        if (!udpai_vector_reserve(&tally->drops, 1) ||
            udpai_tally_set_text(&made.category, category) != UDPA_OK)
            return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
        among.items = tally->drops.items;
        open_place(&among, at);
        tally->drops.items[at] = made;
        tally->drops.n++;
    }
    *ret_drop = &tally->drops.items[at];
    return UDPA_OK;
}

/* ---- finding ---- */

const udpai_tally_locality *
udpai_tally_find_locality(const udpai_tally *tally, const udpai_tally_locality *like)
{
    const sorted among = SORTED(tally->localities, compare_localities);
    bool found;
    size_t at = find_place(&among, like, &found);
    return found ? &tally->localities.items[at] : NULL;
}

const udpai_tally_endpoint *
udpai_tally_find_endpoint(const udpai_tally_locality *locality, const udpai_tally_endpoint *like)
{
    const sorted among = SORTED(locality->endpoints, compare_endpoints);
    bool found;
    size_t at = find_place(&among, like, &found);
    return found ? &locality->endpoints.items[at] : NULL;
}

const udpai_tally_metric *
udpai_tally_find_metric(const udpai_tally_figures *figures, const udpai_tally_metric *like)
{
    const sorted among = SORTED(figures->metrics, compare_metrics);
    bool found;
    size_t at = find_place(&among, like, &found);
    return found ? &figures->metrics.items[at] : NULL;
}

const udpai_tally_drop *
udpai_tally_find_drop(const udpai_tally *tally, udpai_str category)
{
    const udpai_tally_drop like = {.category = category};
    const sorted among = SORTED(tally->drops, compare_drops);
    bool found;
    size_t at = find_place(&among, &like, &found);
    return found ? &tally->drops.items[at] : NULL;
}

bool
udpai_tally_figures_empty(const udpai_tally_figures *figures)
{
    uint64_t any = 0;
    for (size_t i = 0; i < UDPAI_TALLY_COUNTS; i++)
        any |= figures->counts[i];
    for (size_t i = 0; i < UDPAI_TALLY_GAUGES; i++)
        any |= figures->gauges[i];
    for (size_t i = 0; i < figures->metrics.n; i++)
        any |= figures->metrics.items[i].n;
    return any == 0;
}

bool
udpai_tally_locality_empty(const udpai_tally_locality *locality)
{
    bool empty = udpai_tally_figures_empty(&locality->figures);
    for (size_t i = 0; i < locality->endpoints.n && empty; i++)
        empty = udpai_tally_figures_empty(&locality->endpoints.items[i].figures);
    return empty;
}

bool
udpai_tally_is_empty(const udpai_tally *tally)
{
    bool empty = tally->dropped == 0;
    for (size_t i = 0; i < tally->localities.n && empty; i++)
        empty = udpai_tally_locality_empty(&tally->localities.items[i]);
    for (size_t i = 0; i < tally->drops.n && empty; i++)
        empty = tally->drops.items[i].n == 0;
    return empty;
}
