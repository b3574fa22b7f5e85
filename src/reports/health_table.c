/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/health_table.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "envoy/service/health/v3/hds.pb-c.h"
#include "reports/health_table_internal.h"
#include "wire/scan.h"

enum { /* field numbers of the public types */
    SPECIFIER_CLUSTERS = 1,
    SPECIFIER_INTERVAL = 2,
    CLUSTER_NAME = 1,
    CLUSTER_LOCALITIES = 3,
    LOCALITY = 1,
    LOCALITY_ENDPOINTS = 2,
    LOCALITY_REGION = 1,
    LOCALITY_ZONE = 2,
    LOCALITY_SUB_ZONE = 3,
    ENDPOINT_ADDRESS = 1,
    DURATION_SECONDS = 1,
    DURATION_NANOS = 2,
};

/* How often an answer may fail to come before it is invalid, and time to bring it here. */
#define INTERVALS_PER_TTL 3
#define TTL_SLACK_MS 10000

/* ---- reading ---- */

static uint64_t
number_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    uint64_t value = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_VARINT)
            value = field.value;
    return value;
}

/* What is negative is far above the limit as it is encoded. */
static udpa_err
read_interval(udpai_health_table *table, udpai_str duration, udpa_error **ret_error)
{
    uint64_t seconds = number_of(duration, DURATION_SECONDS);
    uint64_t nanos = number_of(duration, DURATION_NANOS);
    bool fits = seconds <= UDPAI_HEALTH_INTERVAL_MAX_MS / 1000 && nanos < 1000000000;
    table->interval_ms = fits ? seconds * 1000 + (nanos + 999999) / 1000000 : 0;
    if (table->interval_ms > 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "its interval must be more than nothing, and at most a day");
}

static udpa_err
add_endpoint(udpai_health_table *table, udpai_str endpoint, udpa_error **ret_error)
{
    udpai_health_asked asked = {
        .cluster = table->clusters.n - 1,
        .locality = table->localities.n - 1,
    };
    /* What cannot be named in an answer is not checked. */
    if (!udpai_health_address_read(udpai_proto_last_bytes(endpoint, ENDPOINT_ADDRESS),
                                   &asked.address))
        return UDPA_OK;
    if (table->asked.n >= UDPAI_HEALTH_ENDPOINTS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "it has more than %d endpoints",
                          UDPAI_HEALTH_ENDPOINTS_MAX);
    if (!udpai_vector_push(&table->asked, asked))
        return UDPA_ERR_NOMEM;
    table->clusters.items[asked.cluster].n++;
    return UDPA_OK;
}

static udpa_err
add_locality(udpai_health_table *table, udpai_str locality, udpa_error **ret_error)
{
    udpai_str place = udpai_proto_last_bytes(locality, LOCALITY);
    const udpai_health_locality added = {
        .region = udpai_proto_last_bytes(place, LOCALITY_REGION),
        .zone = udpai_proto_last_bytes(place, LOCALITY_ZONE),
        .sub_zone = udpai_proto_last_bytes(place, LOCALITY_SUB_ZONE),
    };
    udpa_err err = udpai_vector_push(&table->localities, added) ? UDPA_OK : UDPA_ERR_NOMEM;
    udpai_proto_reader reader = udpai_proto_read(locality);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == LOCALITY_ENDPOINTS && field.type == UDPAI_WIRE_BYTES)
            err = add_endpoint(table, field.bytes, ret_error);
    return err;
}

static udpa_err
add_cluster(udpai_health_table *table, udpai_str cluster, udpa_error **ret_error)
{
    const udpai_health_cluster added = {
        .name = udpai_proto_last_bytes(cluster, CLUSTER_NAME),
        .first = table->asked.n,
    };
    if (added.name.len == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "it has a cluster without a cluster_name");
    udpa_err err = udpai_vector_push(&table->clusters, added) ? UDPA_OK : UDPA_ERR_NOMEM;
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == CLUSTER_LOCALITIES && field.type == UDPAI_WIRE_BYTES)
            err = add_locality(table, field.bytes, ret_error);
    return err;
}

static udpa_err
read_specifier(udpai_health_table *table, udpai_str message, udpa_error **ret_error)
{
    udpa_err err = udpai_scan(&envoy__service__health__v3__health_check_specifier__descriptor,
                              message, NULL, ret_error);
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == SPECIFIER_CLUSTERS)
            err = add_cluster(table, field.bytes, ret_error);
        else if (field.number == SPECIFIER_INTERVAL)
            err = read_interval(table, field.bytes, ret_error);
    }
    return err;
}

/* ---- finding ---- */

static int
compare_asked(const void *left, const void *right, void *userdata)
{
    const udpai_health_table *table = userdata;
    const udpai_health_asked *a = &table->asked.items[*(const size_t *)left];
    const udpai_health_asked *b = &table->asked.items[*(const size_t *)right];
    int order = udpai_health_address_cmp(&a->address, &b->address);
    return order ? order : (a > b) - (a < b);
}

static int
compare_clusters(const void *left, const void *right, void *userdata)
{
    const udpai_health_table *table = userdata;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    int order = udpai_str_cmp(table->clusters.items[a].name, table->clusters.items[b].name);
    return order ? order : (a > b) - (a < b);
}

static size_t *
sorted(size_t n, int (*compare)(const void *, const void *, void *), udpai_health_table *table)
{
    size_t *order = udpai_alloc_array(n, sizeof(*order));
    for (size_t i = 0; order && i < n; i++)
        order[i] = i;
    if (order && n > 1)
        qsort_r(order, n, sizeof(*order), compare, table);
    return order;
}

static udpa_err
make_indexes(udpai_health_table *table, udpa_error **ret_error)
{
    table->by_address = sorted(table->asked.n, compare_asked, table);
    table->by_name = sorted(table->clusters.n, compare_clusters, table);
    if (!table->by_address || !table->by_name)
        return UDPA_ERR_NOMEM;
    for (size_t i = 1; i < table->clusters.n; i++) {
        udpai_str name = table->clusters.items[table->by_name[i]].name;
        if (udpai_str_eq(name, table->clusters.items[table->by_name[i - 1]].name))
            return udpai_fail(ret_error, UDPA_ERR_INVAL, "it has cluster '%.*s' twice",
                              UDPAI_SHOWN(name));
    }
    return UDPA_OK;
}

size_t
udpai_health_table_find(const udpai_health_table *table, udpai_str cluster)
{
    size_t low = 0, high = table->clusters.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2, at = table->by_name[middle];
        int order = udpai_str_cmp(table->clusters.items[at].name, cluster);
        if (order == 0)
            return at;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

size_t
udpai_health_table_lower(const udpai_health_table *table, const udpai_health_address *address)
{
    size_t low = 0, high = table->asked.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const udpai_health_asked *asked = &table->asked.items[table->by_address[middle]];
        if (udpai_health_address_cmp(&asked->address, address) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- its life ---- */

udpa_err
udpai_health_table_new(udpai_health_table **ret_table,
                       udpa_bytes *specifier,
                       udpa_error **ret_error)
{
    UDPA_AUTO(udpai_health_table_free)
    udpai_health_table *table = udpai_alloc(sizeof(*table));
    if (!table)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    table->specifier = udpa_bytes_ref(specifier);
    table->interval_ms = UDPAI_HEALTH_INTERVAL_MS;
    udpa_err err = read_specifier(table, udpai_bytes_view(specifier), ret_error);
    if (err == UDPA_OK)
        err = make_indexes(table, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    *ret_table = UDPAI_TAKE(table);
    return UDPA_OK;
}

udpai_health_table *
udpai_health_table_free(udpai_health_table *table)
{
    if (!table)
        return NULL;
    udpai_vector_done(&table->clusters);
    udpai_vector_done(&table->localities);
    udpai_vector_done(&table->asked);
    udpai_free(table->by_address);
    udpai_free(table->by_name);
    udpa_bytes_unref(table->specifier);
    udpai_free(table);
    return NULL;
}

udpa_bytes *
udpai_health_table_specifier(const udpai_health_table *table)
{
    return table->specifier;
}

uint64_t
udpai_health_table_interval_ms(const udpai_health_table *table)
{
    return table->interval_ms;
}

uint64_t
udpai_health_table_ttl_ms(const udpai_health_table *table)
{
    return INTERVALS_PER_TTL * table->interval_ms + TTL_SLACK_MS;
}

size_t
udpai_health_table_n_clusters(const udpai_health_table *table)
{
    return table->clusters.n;
}

udpai_str
udpai_health_table_cluster(const udpai_health_table *table, size_t index)
{
    return table->clusters.items[index].name;
}
