/* SPDX-License-Identifier: Apache-2.0 */
/* Several whole nodes that are replicas of one, each with a replicator of its own, on one model of
 * etcd and one clock; each has a disk, and a stream side that this plays. What crosses a thread in
 * a process comes later here. Which test includes this says what it looks at. */
#ifndef UDPAI_TESTS_REPLICAS_BED_H
#define UDPAI_TESTS_REPLICAS_BED_H

#include "tests/unit/federation/replicas_world.h"

/* ---- what comes ---- */

static inline void
take_inbox(replica *self)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&self->inbox)))
        udpai_node_replicated(self->node, UDPAI_LIST_ENTRY(at, udpai_replicated, node));
}

static inline void
keep(replica *self, bool is_told)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&self->commits))) {
        udpai_durable_batch *batch = UDPAI_LIST_ENTRY(at, udpai_durable_batch, node);
        for (size_t i = 0; i < batch->ops.n && is_told; i++)
            fed_disk_do(&self->disk, &batch->ops.items[i]);
        uint64_t ticket = batch->ticket;
        udpai_durable_batch_free(batch);
        if (is_told)
            udpai_node_committed(self->node, ticket, UDPA_OK);
    }
}

static inline void
flush(replica *self)
{
    if (!self->is_started)
        return;
    udpai_node_flush(self->node);
    if (self->has_news)
        look_at(self);
    self->has_news = false;
}

static inline void
start_if_ready(replica *self)
{
    bool has_state = udpai_node_position(self->node).cluster_id != 0;
    bool is_current = udpai_node_replica_status(self->node)->state == UDPAI_REPLICATION_CURRENT;
    if (!has_state || (!is_current && wheel.now_ms - self->since_ms < 2000))
        return;
    self->is_started = true;
    udpai_node_start(self->node);
}

static inline void
on_wake(udpai_timer *timer)
{
    replica *self = UDPAI_CONTAINER_OF(timer, replica, wake);
    udpai_list *at;
    self->has_news = true;
    take_inbox(self);
    if (!self->is_started) {
        udpai_node_apply_replicated(self->node);
        start_if_ready(self);
    }
    keep(self, true);
    udpai_list answers;
    udpai_list_init(&answers);
    if (below(3)) /* else the stream side is later */
        udpai_list_splice(&answers, &self->answers);
    while ((at = udpai_list_pop(&answers)))
        udpai_node_report(self->node, UDPAI_LIST_ENTRY(at, udpai_report, node));
    flush(self);
    if (!udpai_list_empty(&self->answers))
        wake(self);
    else if (!self->is_started)
        udpai_timer_set(&wheel, &self->wake, wheel.now_ms + 100);
}

static inline void
run_ms(uint64_t ms)
{
    uint64_t end = wheel.now_ms + ms, flushed_ms = 0;
    while (wheel.now_ms < end) {
        uint64_t next = udpai_wheel_next(&wheel);
        udpai_wheel_advance(&wheel, next < end ? next : end);
        if (wheel.now_ms < flushed_ms + FLUSH_MS)
            continue;
        flushed_ms = wheel.now_ms;
        for (size_t i = 0; i < NODES; i++)
            if (replicas[i].node)
                flush(&replicas[i]);
    }
}

/* ---- streams ---- */

static inline udpai_report *
new_report(udpai_report_kind kind, uint64_t session)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    report->session = session;
    return report;
}

static inline const char *
publisher_name(size_t publisher)
{
    static const char *const names[] = {"alice", "bob", "carol"};
    return names[publisher];
}

static inline stream *
open_stream(replica *self, size_t publisher)
{
    const udpai_str name = udpai_str_from(publisher_name(publisher)), uri = {0};
    const fed_peer peer = {.id = name.data, .name = name.data, .is_plain = true};
    assert_true(self->n_streams < STREAMS_MAX);
    stream *opened = &self->streams[self->n_streams++];
    *opened = (stream){self->n_streams, publisher, true};
    udpai_report *report = new_report(UDPAI_REPORT_OPENED, opened->session);
    assert_ok(udpai_identity_new(
        &report->identity,
        &(udpai_identity_parts){.common_name = name, .uris = &uri, .authenticated = true}));
    udpai_node_report(self->node, report);
    udpai_node_report(self->node, new_report(UDPAI_REPORT_ALIVE, opened->session));
    report = new_report(UDPAI_REPORT_NODE, opened->session);
    report->info = fed_make_info(&(udpai_node_parts){.id = name}, &peer);
    udpai_node_report(self->node, report);
    flush(self);
    return opened;
}

/* Later, with what the stream side answers. */
static inline void
close_stream(replica *self, uint64_t session)
{
    stream *closed = &self->streams[session - 1];
    if (!closed->is_open)
        return;
    closed->is_open = false;
    udpai_report *report = new_report(UDPAI_REPORT_CLOSED, session);
    udpai_list_append(&self->answers, &report->node);
    wake(self);
}

static inline void
ask_barrier(replica *self)
{
    assert_true(self->n_barriers + 1 < BARRIERS_MAX);
    uint64_t number = ++self->n_barriers;
    self->barriers[number] = (barrier){.asked_ms = wheel.now_ms, .asked = model.revision};
    udpai_report *report = new_report(UDPAI_REPORT_BARRIER, 1);
    report->ticket = number;
    udpai_node_report(self->node, report);
    flush(self);
}

/* ---- replicas ---- */

static inline void
open_replicator(replica *self)
{
    static const char *const ids[NODES] = {"one", "two", "three"};
    const udpai_replicator_env env = {
        .etcd = &model.own.etcd,
        .wheel = &wheel,
        .random = on_random,
        .report = on_report,
        .userdata = self,
    };
    udpai_replicator_config config = {
        .prefix = UDPAI_STR(PREFIX),
        .own.id = udpai_str_from(ids[self->index]),
        .seals.is_secret = is_secret,
        .has = udpai_node_position(self->node),
        .proof = *udpai_node_position_proof(self->node),
    };
    if (self->keys)
        config.seals = letter_seals(&self->keys);
    assert_ok(udpai_replicator_new(&self->replicator, &env, &config));
}

/* Before anything is restored; NULL: nothing is to be done. */
static void (*on_made)(replica *self);

/* From what its disk has. */
static inline void
bring_up(replica *self)
{
    static const udpai_node_config config = {
        .id = {"node", 4},
        .set_id = {"0123456789abcdef0123456789abcdef", 32},
        .timing = {2000, 15000, 5000, 250, 15000, 0, 10000, 30000, 1000, 5000, 30000},
        .store =
            {
                .remember_ms = 600000,
                .remember_max = 1000,
                .max_resources_per_namespace = 1000000,
                .max_bytes_per_namespace = 1 << 30,
                .max_resources_per_publisher = 1000000,
                .max_bytes_per_publisher = 1 << 30,
                .max_resources = 1000000,
                .max_bytes = 1 << 30,
                .max_withdrawal = 100,
            },
        .list_part = 2,
        .is_durable = true,
        .peers_are_anonymous = true,
        .max_changes_ahead = 1,
    };
    const udpai_node_env env = {
        .order = on_order,
        .commit = on_commit,
        .propose = on_propose,
        .barrier = on_barrier,
        .list_again = on_list_again,
        .hold = on_hold,
        .wall_us = wall_us,
        .random = on_random,
        .userdata = self,
    };
    assert_ok(udpai_node_new(&self->node, &wheel, &config, &env, NULL));
    if (on_made)
        on_made(self);
    for (size_t i = 0; i < self->disk.n; i++)
        assert_ok(udpai_node_restore(self->node, &self->disk.items[i]));
    self->is_started = false;
    self->since_ms = wheel.now_ms;
    self->n_streams = 0;
    self->n_barriers = 0;
    open_replicator(self);
    wake(self);
}

/* As if it were killed: what the engine has not done yet is lost. */
static inline void
take_down(replica *self)
{
    udpai_list *at;
    if (!self->node)
        return;
    udpai_timer_cancel(&self->wake);
    self->replicator = udpai_replicator_free(self->replicator);
    self->node = udpai_node_free(self->node);
    self->is_started = false;
    keep(self, false);
    while ((at = udpai_list_pop(&self->inbox)))
        udpai_replicated_free(UDPAI_LIST_ENTRY(at, udpai_replicated, node));
    while ((at = udpai_list_pop(&self->answers)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
}

static inline void
bed_begin(uint64_t seed)
{
    udpai_wheel_init(&wheel, 1000);
    etcd_model_init(&model, &wheel, seed);
    chance = seed;
    memset(replicas, 0, sizeof(replicas));
    for (size_t i = 0; i < NODES; i++) {
        replicas[i].index = i;
        udpai_timer_init(&replicas[i].wake, on_wake);
        udpai_list_init(&replicas[i].inbox);
        udpai_list_init(&replicas[i].commits);
        udpai_list_init(&replicas[i].answers);
    }
}

static inline void
bed_end(void)
{
    for (size_t i = 0; i < NODES; i++) {
        take_down(&replicas[i]);
        fed_disk_done(&replicas[i].disk);
    }
    run_ms(20000);
    etcd_model_done(&model);
}

#endif
