/* SPDX-License-Identifier: Apache-2.0 */
#include "reports/load_stats_state.h"

#include "reports/load_aggregate_internal.h"
#include "reports/load_stats_split_internal.h"

#define VERSION 1

/* ---- writing ---- */

typedef struct state_writer {
    udpai_proto_writer to;
    bool all, failed;
} state_writer;

static void
put_number(state_writer *self, uint64_t value)
{
    udpai_proto_put_bare_number(&self->to, value);
}

static void
put_bytes(state_writer *self, udpai_str bytes)
{
    udpai_proto_put_bare_bytes(&self->to, bytes);
}

static void
put_stats(state_writer *self, const udpai_load_stats *stats)
{
    put_number(self, stats->limits->nodes > 0);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    if (bytes)
        put_bytes(self, udpai_bytes_view(bytes));
    else
        self->failed = true;
}

static void
put_nodes(state_writer *self, const udpai_load_stats_nodes *nodes)
{
    size_t at = 0;
    udpai_load_stats_node node;
    put_number(self, nodes->n_forgotten);
    put_number(self, nodes->map.n);
    while (udpai_load_stats_nodes_next(nodes, &at, &node)) {
        put_bytes(self, node.id);
        put_number(self, node.since_us);
        put_number(self, node.until_us);
        put_number(self, node.is_gone);
    }
}

static bool
is_put(const state_writer *self, const udpai_load_stats_reporter *reporter)
{
    return reporter->n_epochs && reporter->is_lasting && (self->all || reporter->has_changed);
}

static void
put_reporters(state_writer *self, const udpai_load_aggregate *aggregate)
{
    size_t at = 0, n = 0;
    const udpai_load_stats_reporter *reporter;
    while (
        (reporter = (const udpai_load_stats_reporter *)udpai_map_next(&aggregate->reporters, &at)))
        n += is_put(self, reporter);
    put_number(self, n);
    at = 0;
    while ((reporter =
                (const udpai_load_stats_reporter *)udpai_map_next(&aggregate->reporters, &at))) {
        if (!is_put(self, reporter))
            continue;
        put_bytes(self, reporter->name);
        put_number(self, reporter->n_epochs);
        for (size_t i = 0; i < reporter->n_epochs; i++)
            put_stats(self, reporter->epochs[i]);
    }
}

static void
put_aggregate(state_writer *self, const udpai_load_aggregate *aggregate)
{
    put_stats(self, aggregate->total);
    put_number(self, aggregate->counts_from);
    put_nodes(self, &aggregate->nodes);
    put_reporters(self, aggregate);
}

static void
put_state(state_writer *self,
          const udpai_load_stats_state *state,
          const udpai_load_stats_split *split)
{
    put_number(self, VERSION);
    put_number(self, split == NULL);
    put_bytes(self, state->cluster);
    put_number(self, state->epoch);
    put_number(self, state->elapsed_ns);
    if (!split)
        return;
    put_number(self, split->cover.has_begun);
    put_number(self, (uint64_t)split->cover.begin_ns);
    put_number(self, split->cover.covered_ns);
    put_number(self, split->shared ? 2 : 1);
    put_aggregate(self, split->exclusive);
    if (split->shared)
        put_aggregate(self, split->shared);
}

udpa_bytes *
udpai_load_stats_state_make(const udpai_load_stats_state *state,
                            const udpai_load_stats_split *split,
                            bool all)
{
    state_writer writer = {.all = all};
    uint8_t *room;
    put_state(&writer, state, split);
    udpa_bytes *bytes = writer.failed ? NULL : udpai_bytes_make(writer.to.size, &room);
    if (!bytes)
        return NULL;
    writer.to = (udpai_proto_writer){room, 0};
    put_state(&writer, state, split);
    return writer.failed ? udpa_bytes_unref(bytes) : bytes;
}

static void
note_made(udpai_load_aggregate *aggregate)
{
    size_t at = 0;
    udpai_load_stats_reporter *reporter;
    while (aggregate && (reporter = udpai_map_next(&aggregate->reporters, &at)))
        reporter->has_changed = false;
}

void
udpai_load_stats_state_made(udpai_load_stats_split *split)
{
    note_made(split->exclusive);
    note_made(split->shared);
}

/* ---- reading ---- */

static udpa_err
read_heading(udpai_proto_reader *from, udpai_load_stats_state *to)
{
    uint64_t version = 0, has_ended = 0;
    if (!udpai_proto_take_number(from, &version) || version != VERSION ||
        !udpai_proto_take_number(from, &has_ended) || !udpai_proto_take_bytes(from, &to->cluster) ||
        !udpai_proto_take_number(from, &to->epoch) ||
        !udpai_proto_take_number(from, &to->elapsed_ns) ||
        to->elapsed_ns > UDPAI_LOAD_STATS_ELAPSED_MAX_NS)
        return UDPA_ERR_MALFORMED;
    to->has_ended = has_ended != 0;
    return UDPA_OK;
}

udpa_err
udpai_load_stats_state_read(udpai_str record, udpai_load_stats_state *ret_state)
{
    udpai_proto_reader from = udpai_proto_read(record);
    return read_heading(&from, ret_state);
}

typedef struct state_reader {
    udpai_proto_reader from;
    udpai_arena *arena;
    udpa_error **ret_error;
} state_reader;

static uint64_t
take_number(state_reader *self)
{
    uint64_t value = 0;
    return udpai_proto_take_number(&self->from, &value) ? value : 0;
}

static udpa_err
check(const state_reader *self)
{
    return self->from.failed ? UDPA_ERR_MALFORMED : UDPA_OK;
}

static udpa_err
take_stats(state_reader *self, udpai_load_stats **ret_stats)
{
    udpai_str bytes;
    const udpai_load_stats_limits *limits =
        take_number(self) ? &udpai_load_aggregate_limits : &udpai_load_stats_client_limits;
    if (!udpai_proto_take_bytes(&self->from, &bytes))
        return UDPA_ERR_MALFORMED;
    return udpai_load_stats_decode(self->arena, bytes, limits, ret_stats, self->ret_error);
}

static udpa_err
take_total(state_reader *self, udpai_load_aggregate *aggregate)
{
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *total = NULL;
    udpa_err err = take_stats(self, &total);
    if (err != UDPA_OK)
        return err;
    if (!udpai_str_eq(total->cluster, aggregate->total->cluster) ||
        total->epoch != aggregate->total->epoch)
        return UDPA_ERR_MALFORMED;
    total->lasts_ns = aggregate->total->lasts_ns;
    total->n_clients = 0; /* no client is there yet */
    udpai_load_stats_clear_gauges(total);
    udpai_load_stats_clear_nodes(total);
    udpai_load_stats_free(aggregate->total);
    aggregate->total = UDPAI_TAKE(total);
    return UDPA_OK;
}

static udpa_err
take_nodes(state_reader *self, udpai_load_stats_nodes *nodes)
{
    nodes->n_forgotten = take_number(self);
    udpa_err err = check(self);
    for (uint64_t n = take_number(self); n && err == UDPA_OK; n--) {
        udpai_load_stats_node node = {0};
        if (!udpai_proto_take_bytes(&self->from, &node.id))
            return UDPA_ERR_MALFORMED;
        node.since_us = take_number(self);
        node.until_us = take_number(self);
        node.is_gone = take_number(self) != 0;
        err = check(self);
        if (err == UDPA_OK)
            err = udpai_load_stats_nodes_restore(nodes, &node);
    }
    return err == UDPA_OK ? check(self) : err;
}

static udpa_err
take_reporter(state_reader *self, udpai_load_aggregate *aggregate)
{
    udpai_str name;
    udpa_err err = UDPA_OK;
    if (!udpai_proto_take_bytes(&self->from, &name))
        return UDPA_ERR_MALFORMED;
    for (uint64_t n = take_number(self); n && err == UDPA_OK; n--) {
        udpai_load_stats *stats = NULL;
        err = take_stats(self, &stats);
        if (err == UDPA_OK)
            err = udpai_load_aggregate_restore(aggregate, name, stats, self->ret_error);
    }
    return err == UDPA_OK ? check(self) : err;
}

static udpa_err
take_aggregate(state_reader *self, udpai_load_aggregate *aggregate)
{
    udpa_err err = take_total(self, aggregate);
    if (err == UDPA_OK) {
        aggregate->counts_from = take_number(self);
        err = take_nodes(self, &aggregate->nodes);
    }
    if (err != UDPA_OK)
        return err;
    for (uint64_t n = take_number(self); n && err == UDPA_OK; n--)
        err = take_reporter(self, aggregate);
    return err == UDPA_OK ? check(self) : err;
}

static udpa_err
take_split(state_reader *self, udpai_load_stats_split *split)
{
    split->cover.has_begun = take_number(self) != 0;
    split->cover.begin_ns = (int64_t)take_number(self);
    split->cover.covered_ns = take_number(self);
    bool has_shared = take_number(self) > 1;
    udpa_err err = check(self);
    if (err == UDPA_OK)
        err = take_aggregate(self, split->exclusive);
    if (err == UDPA_OK && has_shared)
        err = udpai_load_stats_split_begin_shared(split, self->ret_error);
    if (err == UDPA_OK && has_shared)
        err = take_aggregate(self, split->shared);
    if (err == UDPA_OK && split->both)
        err = udpai_load_stats_make_room(split->both, split->exclusive->total, self->ret_error);
    if (err == UDPA_OK && has_shared)
        err = udpai_load_stats_make_room(split->both, split->shared->total, self->ret_error);
    return err;
}

udpa_err
udpai_load_stats_state_take(udpai_load_stats_split *split,
                            udpai_arena *arena,
                            udpai_str record,
                            udpa_error **ret_error)
{
    udpai_load_stats_state state;
    state_reader reader = {udpai_proto_read(record), arena, ret_error};
    udpa_err err = read_heading(&reader.from, &state);
    if (err == UDPA_OK && !state.has_ended)
        err = take_split(&reader, split);
    return udpai_fail_code(ret_error, err);
}
