/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/load_names.h"

#include "base/percent.h"
#include "base/strbuf.h"

/* Of one kind, before the id of the reporter: a client and a node may have the same. */
static const char kinds[] = {
    [UDPAI_LOAD_STATS_OF_CLIENT] = 'c',
    [UDPAI_LOAD_STATS_OF_NODE] = 'n',
    [UDPAI_LOAD_STATS_OF_SHARED] = 's',
};

bool
udpai_load_name_split(udpai_str name, udpai_str *ret_thing, udpai_str *ret_id)
{
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    if (!slash)
        return false;
    *ret_thing = (udpai_str){name.data, (size_t)(slash - name.data)};
    *ret_id = (udpai_str){slash + 1, name.len - ret_thing->len - 1};
    return ret_thing->len && ret_id->len;
}

bool
udpai_load_is_id(udpai_str segment, udpai_str id)
{
    char room[UDPAI_NAME_MAX], *at = room;
    udpai_str decoded;
    return segment.len <= sizeof(room) && udpai_percent_decode(segment, &at, &decoded) &&
           udpai_str_eq(decoded, id);
}

udpai_str
udpai_load_reporter(udpai_str id, udpai_load_stats_kind kind, char room[1 + UDPAI_NAME_MAX])
{
    room[0] = kinds[kind];
    memcpy(room + 1, id.data, id.len);
    return (udpai_str){room, 1 + id.len};
}

/* Nodes between have taken it into their own aggregates, or pass it on for subscribers to what each
 * reports. A client that is an endpoint is on the path itself, as nodes are; one of LRS is not. A
 * shared client is counted wherever it is. */
bool
udpai_load_counts_here(const udpa_resource *resource, udpai_str id, udpai_load_stats_kind kind)
{
    size_t n_hops = udpa_resource_n_hops(resource);
    if (kind == UDPAI_LOAD_STATS_OF_SHARED)
        return true;
    if (kind == UDPAI_LOAD_STATS_OF_NODE || n_hops != 2)
        return n_hops == (kind == UDPAI_LOAD_STATS_OF_NODE ? 2U : 1U);
    return udpai_load_is_id(id, udpai_resource_hop(resource, 0).node_id);
}

/* How long it has been held where it came from, and on the way: so much of its ttl was over. */
static uint64_t
held_ns(const udpa_resource *resource, const udpai_load_stats *stats)
{
    uint64_t left_ns = udpa_resource_ttl_ms(resource) * 1000000;
    return stats->lasts_ns > left_ns ? stats->lasts_ns - left_ns : 0;
}

uint64_t
udpai_load_age_ns(const udpa_resource *resource, const udpai_load_stats *stats, int64_t wall_us)
{
    const udpai_hop hop = udpai_resource_hop(resource, udpa_resource_n_hops(resource) - 1);
    int64_t us = wall_us - hop.time_us;
    return stats->elapsed_ns + held_ns(resource, stats) + (us > 0 ? (uint64_t)us * 1000 : 0);
}

udpa_resource *
udpai_load_aggregate_resource(const udpai_load_stats *total, udpai_str node_id, uint64_t ttl_ms)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *body = udpai_load_stats_encode(total);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any =
        body ? udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD), udpai_bytes_view(body)) : NULL;
    udpai_strbuf name = {0};
    udpai_strbuf_str(&name, total->cluster);
    udpai_strbuf_putc(&name, '/');
    udpai_percent_encode_segment(&name, node_id);
    const udpai_resource_parts parts = {
        .name = udpai_strbuf_view(&name), .any = any, .ttl_ms = ttl_ms};
    udpa_resource *resource = NULL;
    if (any && !udpai_strbuf_failed(&name) && udpai_resource_parts_check(&parts, NULL) == UDPA_OK &&
        udpai_resource_make(&resource, &parts) != UDPA_OK)
        resource = NULL;
    udpai_strbuf_done(&name);
    return resource;
}
