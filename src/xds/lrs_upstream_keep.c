/* SPDX-License-Identifier: Apache-2.0 */
/* What was reported to a server, as records: they are kept before it is sent, so that a node that
 * begins anew reports nothing twice. A record has what the server asks for in general, and of some
 * clusters what will have been reported; the newest that names a cluster counts. */
#include "base/alloc.h"
#include "xds/lrs_upstream_internal.h"

#define VERSION 1

enum {            /* of a cluster */
    IS_KNOWN = 1, /* else it is not asked for any more */
    HAS_BEGUN = 2,
    HAS_REPORTED = 4,
    HAS_PENDING = 8,
};

/* ---- writing ---- */

typedef struct keep_writer {
    udpai_proto_writer to;
    bool failed;
} keep_writer;

static void
put_stats(keep_writer *self, const udpai_load_stats *stats)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = udpai_load_stats_encode(stats);
    if (bytes)
        udpai_proto_put_bare_bytes(&self->to, udpai_bytes_view(bytes));
    else
        self->failed = true;
}

static void
put_account(keep_writer *self, const udpai_lrs_kept *one)
{
    uint64_t flags = (one->is_known ? IS_KNOWN : 0) | (one->has_begun ? HAS_BEGUN : 0) |
                     (one->reported ? HAS_REPORTED : 0) | (one->pending ? HAS_PENDING : 0);
    udpai_proto_put_bare_bytes(&self->to, one->cluster);
    udpai_proto_put_bare_number(&self->to, flags);
    udpai_proto_put_bare_number(&self->to, (uint64_t)one->since_us);
    if (one->reported)
        put_stats(self, one->reported);
    if (one->pending)
        put_stats(self, one->pending);
}

static void
put_record(keep_writer *self,
           const udpai_lrs_upstream *upstream,
           const udpai_lrs_kept *items,
           size_t n)
{
    udpai_proto_put_bare_number(&self->to, VERSION);
    udpai_proto_put_bare_bytes(&self->to, upstream->options.source);
    udpai_proto_put_bare_number(&self->to, upstream->subscribes_all);
    udpai_proto_put_bare_number(&self->to, (uint64_t)upstream->all_since_us);
    udpai_proto_put_bare_number(&self->to, n);
    for (size_t i = 0; i < n; i++)
        put_account(self, &items[i]);
}

/* NULL without memory. */
static udpa_bytes *
make_record(const udpai_lrs_upstream *upstream, const udpai_lrs_kept *items, size_t n)
{
    keep_writer writer = {.failed = false};
    uint8_t *room;
    put_record(&writer, upstream, items, n);
    udpa_bytes *record = writer.failed ? NULL : udpai_bytes_make(writer.to.size, &room);
    if (!record)
        return NULL;
    writer.to = (udpai_proto_writer){room, 0};
    put_record(&writer, upstream, items, n);
    return writer.failed ? udpa_bytes_unref(record) : record;
}

void
udpai_lrs_keep(const udpai_lrs_upstream *upstream, const udpai_lrs_kept *items, size_t n)
{
    const udpai_lrs_keeper *keeper = &upstream->keeper;
    if (!keeper->keep)
        return;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *record = make_record(upstream, items, n);
    keeper->keep(keeper->userdata, record);
}

udpai_lrs_kept
udpai_lrs_kept_of(const udpai_lrs_account *account)
{
    return (udpai_lrs_kept){
        .cluster = udpai_lrs_account_key(account),
        .is_known = true,
        .has_begun = account->has_begun,
        .since_us = account->since_us,
        .reported = account->reported,
        .pending = account->pending,
    };
}

udpa_bytes *
udpai_lrs_upstream_state(const udpai_lrs_upstream *upstream)
{
    UDPAI_VECTOR(udpai_lrs_kept) items = {0};
    size_t at = 0;
    const udpai_lrs_account *account;
    if (!udpai_vector_reserve(&items, upstream->accounts.n))
        return NULL;
    while ((account = udpai_map_next(&upstream->accounts, &at)))
        items.items[items.n++] = udpai_lrs_kept_of(account);
    udpa_bytes *record = make_record(upstream, items.items, items.n);
    udpai_vector_done(&items);
    return record;
}

/* ---- reading ---- */

static udpa_err
take_stats(udpai_proto_reader *from, udpai_arena *arena, udpai_load_stats **ret_stats)
{
    udpai_str bytes;
    if (!udpai_proto_take_bytes(from, &bytes))
        return UDPA_ERR_MALFORMED;
    udpai_load_stats_free(*ret_stats);
    *ret_stats = NULL;
    return udpai_load_stats_decode(arena, bytes, &udpai_load_aggregate_limits, ret_stats, NULL);
}

static udpa_err
take_account(udpai_lrs_upstream *upstream, udpai_proto_reader *from, udpai_arena *arena)
{
    udpai_str cluster;
    uint64_t flags = 0, since_us = 0;
    udpai_lrs_account *account = NULL;
    if (!udpai_proto_take_bytes(from, &cluster) || !udpai_proto_take_number(from, &flags) ||
        !udpai_proto_take_number(from, &since_us))
        return UDPA_ERR_MALFORMED;
    udpai_lrs_account_forget(upstream, cluster);
    if (!(flags & IS_KNOWN))
        return UDPA_OK;
    udpa_err err = udpai_lrs_account_make(upstream, cluster, &account, NULL);
    if (err != UDPA_OK)
        return err;
    account->since_us = (int64_t)since_us;
    account->has_begun = (flags & HAS_BEGUN) != 0;
    account->is_restored = true;
    if (flags & HAS_REPORTED)
        err = take_stats(from, arena, &account->reported);
    if (err == UDPA_OK && (flags & HAS_PENDING))
        err = take_stats(from, arena, &account->pending);
    return err;
}

udpa_err
udpai_lrs_upstream_source(udpai_str record, udpai_str *ret_source)
{
    udpai_proto_reader from = udpai_proto_read(record);
    uint64_t version = 0;
    return udpai_proto_take_number(&from, &version) && version == VERSION &&
                   udpai_proto_take_bytes(&from, ret_source)
               ? UDPA_OK
               : UDPA_ERR_MALFORMED;
}

static udpa_err
take_record(udpai_lrs_upstream *upstream, udpai_str record, udpai_arena *arena)
{
    udpai_proto_reader from = udpai_proto_read(record);
    udpai_str source;
    uint64_t version, subscribes_all = 0, since_us = 0, n = 0;
    if (!udpai_proto_take_number(&from, &version) || version != VERSION ||
        !udpai_proto_take_bytes(&from, &source) ||
        !udpai_proto_take_number(&from, &subscribes_all) ||
        !udpai_proto_take_number(&from, &since_us) || !udpai_proto_take_number(&from, &n))
        return UDPA_ERR_MALFORMED;
    upstream->subscribes_all = subscribes_all != 0;
    upstream->all_since_us = (int64_t)since_us;
    udpa_err err = UDPA_OK;
    for (; n && err == UDPA_OK; n--)
        err = take_account(upstream, &from, arena);
    return err;
}

udpa_err
udpai_lrs_upstream_restore(udpai_lrs_upstream *upstream, udpai_str record)
{
    udpai_arena arena;
    udpai_arena_init(&arena);
    udpa_err err = take_record(upstream, record, &arena);
    udpai_arena_done(&arena);
    if (err != UDPA_OK)
        udpai_lrs_upstream_forget(upstream);
    return err;
}

void
udpai_lrs_upstream_forget(udpai_lrs_upstream *upstream)
{
    udpai_lrs_accounts_free(upstream);
    udpai_map_init(&upstream->accounts, udpai_lrs_account_key);
    upstream->subscribes_all = false;
    upstream->n_named = 0;
}

void
udpai_lrs_upstream_keep(udpai_lrs_upstream *upstream, const udpai_lrs_keeper *keeper)
{
    upstream->keeper = keeper ? *keeper : (udpai_lrs_keeper){0};
}
