/* SPDX-License-Identifier: Apache-2.0 */
/* A source, described as udpa.status.v1.SourceStatus. */
#include "federation/difference.h"
#include "federation/held.h"
#include "federation/recovery.h"

#include "federation/source_internal.h"
#include "session/status.h"
#include "wire/entry.h"

/* The numbers of SourceStatus.State. */
static uint64_t
state_number(const udpai_source *source)
{
    switch (source->state) {
    case UDPAI_SOURCE_WAITING:
        return 1;
    case UDPAI_SOURCE_CONNECTING:
        return 2;
    case UDPAI_SOURCE_CONNECTED:
        return 3;
    case UDPAI_SOURCE_ACTIVE:
        return 4;
    case UDPAI_SOURCE_IDLE:
        break;
    }
    return 0;
}

/* As the bootstrap file calls it. */
static udpai_str
kind_of(const udpai_source *source)
{
    switch (source->kind) {
    case UDPAI_SOURCE_UDPA:
        return source->serves_us ? UDPAI_STR("udpa") : UDPAI_STR("dial");
    case UDPAI_SOURCE_UDPA_LISTEN:
        return UDPAI_STR("udpa_listen");
    case UDPAI_SOURCE_PATH:
        return udpai_str_from(source->kind_name ? source->kind_name : "path");
    case UDPAI_SOURCE_XDS:
        return UDPAI_STR("xds");
    case UDPAI_SOURCE_REST:
        return UDPAI_STR("rest");
    }
    return (udpai_str){0};
}

static void
put_held(udpai_proto_writer *writer, const udpai_scope *scope)
{
    udpai_str names[UDPAI_HELD_NAMES];
    const udpai_source *source = scope->source;
    size_t n = udpai_held_names(source->owner->context, source->origin,
                                udpai_bytes_view(scope->type), names);
    for (size_t i = 0; i < n; i++)
        udpai_proto_put_bytes(writer, 6, names[i]);
    if (scope->held_why)
        udpai_proto_put_bytes(writer, 7, udpai_str_from(scope->held_why));
}

static void
put_scope(udpai_proto_writer *writer, const udpai_scope *scope)
{
    udpai_str type = udpai_bytes_view(scope->type);
    udpai_proto_put_bytes(writer, 1, type);
    udpai_proto_put_bytes_opt(writer, 2, udpai_bytes_view(scope->prefix));
    size_t n_held = scope->source->origin
                        ? udpai_origin_n_absent(scope->source->origin, type, UDPAI_ABSENCE_HELD)
                        : 0;
    bool is_complete =
        scope->source->kind == UDPAI_SOURCE_PATH ? scope->is_known : scope->is_complete;
    udpai_proto_put_varint_opt(writer, 3, is_complete && !n_held);
    udpai_proto_put_varint_opt(writer, 4,
                               scope->is_named
                                   ? scope->is_requested
                                   : udpai_origin_is_eligible(scope->source->origin, type));
    udpai_proto_put_varint_opt(writer, 5, n_held);
    if (n_held)
        put_held(writer, scope);
}

static void
put_counters(udpai_proto_writer *writer, const udpai_source_counters *counters)
{
    udpai_proto_put_varint_opt(writer, 9, counters->n_resources);
    udpai_proto_put_varint_opt(writer, 10, counters->n_refreshes);
    udpai_proto_put_varint_opt(writer, 11, counters->n_removals);
    udpai_proto_put_varint_opt(writer, 12, counters->n_refused);
    udpai_proto_put_varint_opt(writer, 13, counters->n_connects);
}

static void
put_recovery(udpai_proto_writer *writer, const udpai_recovery *recovery)
{
    bool is_awaited = false;
    for (size_t i = 0; recovery && i < recovery->scopes.n; i++)
        is_awaited |= udpai_scope_is_awaited(recovery->scopes.items[i]);
    udpai_proto_put_varint_opt(writer, 15, is_awaited);
    udpai_proto_put_varint_opt(writer, 16, recovery ? recovery->n_adopted : 0);
}

static void
put_differences(udpai_proto_writer *writer, const udpai_source *source)
{
    udpai_str names[UDPAI_DIFFERENCES_LISTED];
    size_t n = udpai_differences_list(source, names);
    udpai_proto_put_varint_opt(writer, 18, source->differences.n);
    for (size_t i = 0; i < n; i++)
        udpai_proto_put_bytes(writer, 19, names[i]);
}

static void
put_source(udpai_proto_writer *writer, const void *what)
{
    const udpai_source *source = what;
    const udpai_peer *peer = udpai_source_peer(source);
    const udpa_error *fault = udpai_fault_present(source);
    udpai_proto_put_bytes_opt(writer, 1, udpai_bytes_view(source->name));
    udpai_proto_put_bytes_opt(writer, 2, udpai_bytes_view(source->address));
    udpai_proto_put_varint_opt(writer, 3, state_number(source));
    udpai_timestamp_put(writer, 4, source->since_us);
    if (peer && peer->info)
        udpai_proto_put_bytes_opt(writer, 5, udpai_node_info_parts(peer->info)->id);
    if (peer)
        udpai_proto_put_bytes_opt(writer, 6, udpai_identity_name(peer->identity));
    if (fault)
        udpai_proto_put_bytes_opt(writer, 7, udpai_str_from(udpa_error_message(fault)));
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        udpai_proto_writer size = {0};
        put_scope(&size, scope);
        udpai_proto_put_head(writer, 8, size.size);
        put_scope(writer, scope);
    }
    put_counters(writer, &source->counters);
    udpai_proto_put_bytes_opt(writer, 14, kind_of(source));
    put_recovery(writer, source->recovery);
    udpai_proto_put_bytes_opt(writer, 17, udpai_source_by(source));
    put_differences(writer, source);
    udpai_proto_put_varint_opt(writer, 20, source->recovery && source->recovery->is_off);
    if (source->servers.n > 1)
        udpai_proto_put_bytes_opt(writer, 21, udpai_str_from(udpai_servers_address(source)));
}

udpa_bytes *
udpai_source_describe(const udpai_source *source)
{
    return udpai_proto_encode(put_source, source);
}
