/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine keeps when it crashes: batches, each whole, in their order, some time after they
 * were handed in. */
#include "network.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "model/client_type.h"

/* Who is to die while he commits, dies within this time, and does not live to see it done. */
#define DYING_US 50000

static bool
same_bytes(const udpa_bytes *a, const udpa_bytes *b)
{
    return udpai_str_eq(udpai_bytes_view(a), udpai_bytes_view(b));
}

static udpa_bytes *
type_of(const udpai_durable_op *op)
{
    return op->kind == UDPAI_DURABLE_PUT ? udpai_resource_type(op->resource) : op->type;
}

static udpai_str
name_of(const udpai_durable_op *op)
{
    return op->kind == UDPAI_DURABLE_PUT ? udpai_resource_name(op->resource)
                                         : udpai_bytes_view(op->name);
}

static void
hold_op(const udpai_durable_op *op)
{
    udpa_bytes_ref(op->origin);
    udpa_resource_ref(op->resource);
    udpa_bytes_ref(op->type);
    udpa_bytes_ref(op->name);
}

static void
release_op(udpai_durable_op *op)
{
    udpa_bytes_unref(op->origin);
    udpa_resource_unref(op->resource);
    udpa_bytes_unref(op->type);
    udpa_bytes_unref(op->name);
}

static void
forget_one(sim_node *node, udpai_durable_kind kind, const udpai_durable_op *op)
{
    for (size_t i = 0; i < node->kept.n; i++) {
        udpai_durable_op *kept = &node->kept.items[i];
        if (kept->kind == kind && same_bytes(kept->origin, op->origin) &&
            same_bytes(type_of(kept), type_of(op)) &&
            (kind == UDPAI_DURABLE_SEEN || udpai_str_eq(name_of(kept), name_of(op)))) {
            release_op(kept);
            udpai_vector_remove_unordered(&node->kept, i);
            return;
        }
    }
}

static void
forget_origin(sim_node *node, const udpa_bytes *origin)
{
    for (size_t i = node->kept.n; i-- > 0;) {
        if (!same_bytes(node->kept.items[i].origin, origin))
            continue;
        release_op(&node->kept.items[i]);
        udpai_vector_remove_unordered(&node->kept, i);
    }
}

static void
keep_op(sim_node *node, const udpai_durable_op *op)
{
    static const udpai_durable_kind kept_as[] = {
        [UDPAI_DURABLE_PUT] = UDPAI_DURABLE_PUT,   [UDPAI_DURABLE_DELETE] = UDPAI_DURABLE_PUT,
        [UDPAI_DURABLE_MARK] = UDPAI_DURABLE_MARK, [UDPAI_DURABLE_UNMARK] = UDPAI_DURABLE_MARK,
        [UDPAI_DURABLE_USE] = UDPAI_DURABLE_USE,   [UDPAI_DURABLE_DISUSE] = UDPAI_DURABLE_USE,
        [UDPAI_DURABLE_HOLD] = UDPAI_DURABLE_HOLD, [UDPAI_DURABLE_RELEASE] = UDPAI_DURABLE_HOLD,
        [UDPAI_DURABLE_SEEN] = UDPAI_DURABLE_SEEN,
    };
    if (op->kind == UDPAI_DURABLE_EPOCH)
        return; /* nobody here says that a store is whole */
    if (op->kind == UDPAI_DURABLE_FORGET_ORIGIN) {
        forget_origin(node, op->origin);
        return;
    }
    forget_one(node, kept_as[op->kind], op);
    if (op->kind != kept_as[op->kind])
        return;
    if (!udpai_vector_push(&node->kept, *op))
        abort();
    hold_op(op);
}

struct commit {
    sim_node *node;
    unsigned epoch;
    udpai_durable_batch *batch;
    uint64_t ticket;
};

static void
end_commit(sim_world *world, void *userdata)
{
    struct commit *commit = userdata;
    sim_node *node = commit->node;
    if (node->is_up && node->epoch == commit->epoch) {
        for (size_t i = 0; i < commit->batch->ops.n; i++)
            keep_op(node, &commit->batch->ops.items[i]);
        world->counts[SIM_COMMITS]++;
        node->n_committed = node->n_committed_before + commit->ticket;
        sim_loop_begin(node);
        udpai_node_committed(node->node, commit->ticket, UDPA_OK);
        sim_loop_end(node);
    } else {
        world->counts[SIM_COMMITS_LOST]++;
    }
    udpai_durable_batch_free(commit->batch);
    udpai_free(commit);
}

static uint64_t
disk_time_us(sim_node *node)
{
    /* In order: a later batch is never done before an earlier one. Now and then it takes long. */
    sim_world *world = node->world;
    bool is_slow = node->dies_committing || sim_once_in(&world->random, 30);
    uint64_t done = world->now_us + 100 + sim_below(&world->random, is_slow ? 500000 : 3000) +
                    (node->dies_committing ? DYING_US : 0);
    world->counts[SIM_SLOW_COMMITS] += is_slow;
    if (done <= node->disk_busy_until_us)
        done = node->disk_busy_until_us + 1;
    node->disk_busy_until_us = done;
    return done - world->now_us;
}

/* ---- nothing is effective before it is kept ---- */

static bool
is_kept(const sim_node *node, const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    for (size_t i = 0; i < node->kept.n; i++) {
        const udpai_durable_op *op = &node->kept.items[i];
        if (op->kind == UDPAI_DURABLE_PUT &&
            udpai_str_eq(udpai_bytes_view(op->origin), udpai_origin_key(contribution->origin)) &&
            udpai_str_eq(udpai_resource_name(op->resource), udpai_resource_name(resource)) &&
            udpai_str_eq(udpai_resource_type_url(op->resource),
                         udpai_resource_type_url(resource)) &&
            udpa_resource_generation(op->resource) >= udpa_resource_generation(resource))
            return true;
    }
    return false;
}

static bool
check_contribution(void *userdata, const udpai_contribution *contribution)
{
    const sim_node *node = userdata;
    const udpa_resource *resource = contribution->resource;
    if (udpai_origin_rank(contribution->origin) != UDPAI_ORIGIN_PUBLISHER ||
        !udpai_origin_is_durable(contribution->origin) ||
        udpai_type_is_client(udpai_resource_type_url(resource)))
        return true;
    node->world->counts[SIM_KEPT_FIRST]++;
    if (!is_kept(node, contribution)) {
        fprintf(stderr, "%s: effective before it is kept: '%s' of %.*s, generation %llu\n",
                node->id, udpa_resource_name(resource),
                UDPAI_SHOWN(udpai_origin_key(contribution->origin)),
                (unsigned long long)udpa_resource_generation(resource));
        abort();
    }
    return true;
}

void
sim_disk_check(sim_node *node)
{
    if (node->is_durable && !node->replication) /* else it is in etcd */
        udpai_store_visit_all(udpai_node_store(node->node), check_contribution, node);
}

void
sim_disk_lose(sim_node *node)
{
    for (size_t i = 0; i < node->kept.n; i++)
        release_op(&node->kept.items[i]);
    node->kept.n = 0;
    node->n_stores++;
    node->n_committed = 0;
    node->openings.n = 0;
}

void
sim_disk_save(const sim_node *node, sim_disk *ret_copy)
{
    *ret_copy = (sim_disk){.n_committed = node->n_committed, .openings = node->openings};
    for (size_t i = 0; i < node->kept.n; i++) {
        if (!udpai_vector_push(&ret_copy->kept, node->kept.items[i]))
            abort();
        hold_op(&node->kept.items[i]);
    }
}

void
sim_disk_restore(sim_node *node, const sim_disk *copy)
{
    for (size_t i = 0; i < node->kept.n; i++)
        release_op(&node->kept.items[i]);
    node->kept.n = 0;
    for (size_t i = 0; i < copy->kept.n; i++) {
        if (!udpai_vector_push(&node->kept, copy->kept.items[i]))
            abort();
        hold_op(&copy->kept.items[i]);
    }
    node->n_committed = copy->n_committed;
    node->openings = copy->openings;
}

void
sim_disk_drop(sim_disk *copy)
{
    for (size_t i = 0; i < copy->kept.n; i++)
        release_op(&copy->kept.items[i]);
    udpai_vector_done(&copy->kept);
}

static void
note_opening(sim_node *node)
{
    sim_openings *openings = &node->openings;
    if (openings->n == UDPAI_LINEAGE_OPENINGS) {
        openings->n--;
        memmove(openings->ids, openings->ids + 1, openings->n * sizeof(*openings->ids));
        memmove(openings->numbers, openings->numbers + 1, openings->n * sizeof(*openings->numbers));
    }
    openings->ids[openings->n] = ++node->n_opened;
    openings->numbers[openings->n++] = node->n_committed;
}

/* What a store says of itself when it is opened. */
void
sim_disk_open(sim_node *node)
{
    udpai_strbuf text = {0};
    note_opening(node);
    udpai_strbuf_printf(&text, "%s-%u", node->id, node->n_stores);
    for (size_t i = 0; i < node->openings.n; i++)
        udpai_strbuf_printf(&text, " %u@%" PRIu64, node->openings.ids[i],
                            node->openings.numbers[i]);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *epoch = NULL;
    if (udpai_strbuf_failed(&text) || udpa_bytes_new(&epoch, text.data, text.len) != UDPA_OK)
        abort();
    udpai_strbuf_done(&text);
    node->n_committed_before = node->n_committed;
    const udpai_durable_op op = {
        .kind = UDPAI_DURABLE_EPOCH,
        .name = epoch,
        .number = node->n_committed,
    };
    if (udpai_node_restore(node->node, &op) != UDPA_OK)
        abort();
}

void
sim_disk_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    sim_node *node = userdata;
    struct commit *commit = udpai_alloc(sizeof(*commit));
    if (!commit)
        abort();
    *commit = (struct commit){node, node->epoch, batch, ticket};
    if (node->dies_committing)
        sim_node_after(node, 1 + sim_below(&node->world->random, DYING_US), node->dies);
    sim_after(node->world, disk_time_us(node), end_commit, commit);
}
