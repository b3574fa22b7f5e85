/* SPDX-License-Identifier: Apache-2.0 */
/* What a checker has answered, and what of it is to be passed on. */
#include "reports/health_table_internal.h"
#include "wire/entry.h"

enum { /* field numbers of EndpointHealth and what is in it */
    HEALTH_CLUSTER = 1,
    HEALTH_LOCALITIES = 2,
    LOCALITY_REGION = 1,
    LOCALITY_ZONE = 2,
    LOCALITY_SUB_ZONE = 3,
    LOCALITY_ENDPOINTS = 4,
    CHECKED_ADDRESS = 1,
    CHECKED_PORT = 2,
    CHECKED_STATUS = 3,
    CHECKED_SINCE = 4,
};

/* ---- taking answers in ---- */

static void
note_status(udpai_health_table *table,
            udpai_health_asked *asked,
            udpai_health_status status,
            int64_t now)
{
    udpai_health_cluster *cluster = &table->clusters.items[asked->cluster];
    if (!asked->is_reported || asked->status != status) {
        asked->is_reported = true;
        asked->status = status;
        asked->since_us = now;
        cluster->is_changed = true;
    }
    asked->round = cluster->round = table->round;
    cluster->is_renewed = true;
}

/* The endpoints of this address in this cluster (SIZE_MAX: in any), from the place on. */
static udpai_health_asked *
next_match(const udpai_health_table *table,
           const udpai_health_address *address,
           size_t cluster,
           size_t *place)
{
    while (*place < table->asked.n) {
        udpai_health_asked *asked = &table->asked.items[table->by_address[*place]];
        if (udpai_health_address_cmp(&asked->address, address) != 0)
            break;
        ++*place;
        if (cluster == SIZE_MAX || asked->cluster == cluster)
            return asked;
    }
    return NULL;
}

/* False: nothing of the kind is asked; else *ret_cluster, SIZE_MAX: in any. */
static bool
find_cluster(const udpai_health_table *table, udpai_str name, size_t *ret_cluster)
{
    *ret_cluster = name.len ? udpai_health_table_find(table, name) : SIZE_MAX;
    return name.len == 0 || *ret_cluster != SIZE_MAX;
}

static bool
is_asked(const udpai_health_table *table, const udpai_health_result *result)
{
    size_t cluster, place = udpai_health_table_lower(table, &result->address);
    return find_cluster(table, result->cluster, &cluster) &&
           next_match(table, &result->address, cluster, &place);
}

static bool
take(udpai_health_table *table, const udpai_health_result *result, int64_t now_us)
{
    size_t cluster, place = udpai_health_table_lower(table, &result->address);
    if (!find_cluster(table, result->cluster, &cluster))
        return false;
    bool any = false;
    udpai_health_asked *asked;
    while ((asked = next_match(table, &result->address, cluster, &place))) {
        note_status(table, asked, result->status, now_us);
        any = true;
    }
    return any;
}

/* In a cluster that was answered, what was left out is not reported any more. */
static void
drop_unanswered(udpai_health_table *table)
{
    for (size_t i = 0; i < table->asked.n; i++) {
        udpai_health_asked *asked = &table->asked.items[i];
        udpai_health_cluster *cluster = &table->clusters.items[asked->cluster];
        if (!asked->is_reported || cluster->round != table->round || asked->round == table->round)
            continue;
        asked->is_reported = false;
        cluster->is_changed = true;
    }
}

static void
note_unasked(const udpai_health_result *result, udpai_health_taken *taken)
{
    if (taken->n_unasked++ > 0)
        return;
    taken->cluster = result->cluster;
    taken->address = result->address.text;
    taken->port = result->address.port;
}

udpa_err
udpai_health_table_answer(udpai_health_table *table,
                          const udpai_health_table *before,
                          udpai_str message,
                          int64_t now_us,
                          udpai_health_taken *ret_taken,
                          udpa_error **ret_error)
{
    udpai_health_answer answer;
    udpai_health_taken taken = {0};
    udpa_err err = udpai_health_answer_read(message, &answer, ret_error);
    if (err == UDPA_OK) {
        table->round++;
        for (size_t i = 0; i < answer.results.n; i++) {
            const udpai_health_result *result = &answer.results.items[i];
            if (take(table, result, now_us))
                taken.n_taken++;
            else if (!before || !is_asked(before, result))
                note_unasked(result, &taken);
        }
        drop_unanswered(table);
        taken.n_strange = answer.n_strange;
        *ret_taken = taken;
    }
    udpai_health_answer_done(&answer);
    return err;
}

/* ---- another specifier ---- */

static void
inherit_endpoint(udpai_health_asked *asked, udpai_str cluster, const udpai_health_table *before)
{
    size_t old = udpai_health_table_find(before, cluster);
    size_t place = udpai_health_table_lower(before, &asked->address);
    const udpai_health_asked *from =
        old == SIZE_MAX ? NULL : next_match(before, &asked->address, old, &place);
    if (!from || !from->is_reported)
        return;
    asked->is_reported = true;
    asked->status = from->status;
    asked->since_us = from->since_us;
}

void
udpai_health_table_inherit(udpai_health_table *table, const udpai_health_table *before)
{
    for (size_t i = 0; i < table->clusters.n; i++) {
        udpai_health_cluster *cluster = &table->clusters.items[i];
        size_t old = udpai_health_table_find(before, cluster->name);
        if (old == SIZE_MAX)
            continue;
        const udpai_health_cluster *from = &before->clusters.items[old];
        cluster->is_changed = true; /* or may have: it goes with the next answer */
        cluster->is_renewed = from->is_renewed;
        cluster->was_passed_on = from->was_passed_on;
        cluster->passed_on_ms = from->passed_on_ms;
    }
    for (size_t i = 0; i < table->asked.n; i++) {
        udpai_health_asked *asked = &table->asked.items[i];
        inherit_endpoint(asked, table->clusters.items[asked->cluster].name, before);
    }
}

/* ---- passing on ---- */

bool
udpai_health_table_is_due(const udpai_health_table *table, size_t index, uint64_t now_ms)
{
    const udpai_health_cluster *cluster = &table->clusters.items[index];
    return cluster->is_renewed && (cluster->is_changed || now_ms - cluster->passed_on_ms >=
                                                              udpai_health_table_ttl_ms(table) / 2);
}

void
udpai_health_table_passed_on(udpai_health_table *table, size_t index, uint64_t now_ms)
{
    udpai_health_cluster *cluster = &table->clusters.items[index];
    cluster->is_changed = cluster->is_renewed = false;
    cluster->was_passed_on = true;
    cluster->passed_on_ms = now_ms;
}

bool
udpai_health_table_was_passed_on(const udpai_health_table *table, size_t index)
{
    return table->clusters.items[index].was_passed_on;
}

static void
put_checked(udpai_proto_writer *writer, const udpai_health_asked *asked)
{
    udpai_proto_put_bytes(writer, CHECKED_ADDRESS, asked->address.text);
    udpai_proto_put_varint_opt(writer, CHECKED_PORT, asked->address.port);
    udpai_proto_put_varint_opt(writer, CHECKED_STATUS, asked->status);
    udpai_timestamp_put(writer, CHECKED_SINCE, asked->since_us);
}

/* Of the endpoints from `first` up to `end`, which are of one locality. */
static void
put_locality(udpai_proto_writer *writer, const udpai_health_table *table, size_t first, size_t end)
{
    const udpai_health_locality *locality =
        &table->localities.items[table->asked.items[first].locality];
    udpai_proto_put_bytes_opt(writer, LOCALITY_REGION, locality->region);
    udpai_proto_put_bytes_opt(writer, LOCALITY_ZONE, locality->zone);
    udpai_proto_put_bytes_opt(writer, LOCALITY_SUB_ZONE, locality->sub_zone);
    for (size_t i = first; i < end; i++) {
        const udpai_health_asked *asked = &table->asked.items[i];
        if (!asked->is_reported)
            continue;
        udpai_proto_writer size = {0};
        put_checked(&size, asked);
        udpai_proto_put_head(writer, LOCALITY_ENDPOINTS, size.size);
        put_checked(writer, asked);
    }
}

static void
put_health(udpai_proto_writer *writer,
           const udpai_health_table *table,
           size_t index,
           udpai_str full_name)
{
    const udpai_health_cluster *cluster = &table->clusters.items[index];
    size_t limit = cluster->first + cluster->n;
    udpai_proto_put_bytes(writer, HEALTH_CLUSTER, full_name);
    for (size_t i = cluster->first, end; i < limit; i = end) {
        bool any = false;
        for (end = i;
             end < limit && table->asked.items[end].locality == table->asked.items[i].locality;
             end++)
            any |= table->asked.items[end].is_reported;
        if (!any)
            continue;
        udpai_proto_writer size = {0};
        put_locality(&size, table, i, end);
        udpai_proto_put_head(writer, HEALTH_LOCALITIES, size.size);
        put_locality(writer, table, i, end);
    }
}

udpa_bytes *
udpai_health_table_compose(const udpai_health_table *table, size_t index, udpai_str full_name)
{
    udpai_proto_writer writer = {0};
    uint8_t *room;
    put_health(&writer, table, index, full_name);
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (!bytes)
        return NULL;
    writer = (udpai_proto_writer){room, 0};
    put_health(&writer, table, index, full_name);
    return bytes;
}
