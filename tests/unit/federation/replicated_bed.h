/* SPDX-License-Identifier: Apache-2.0 */
/* A node that has replicas; the replication is played by the test, which keeps what is proposed,
 * and says what has been committed, and what was not. */
#ifndef UDPAI_TESTS_REPLICATED_BED_H
#define UDPAI_TESTS_REPLICATED_BED_H

#include "model/removal.h"
#include "store/store.h"
#include "tests/unit/federation/federation_test.h"
#include "tests/unit/federation/notes.h"
#include <stdio.h>

#include "base/alloc.h"

#define BATCHES 64
#define CLUSTER 0xabcdef0123456789u

static const fed_peer alice = {.id = "alice", .name = "alice", .is_plain = true};
static const fed_peer bob = {.id = "bob", .name = "bob", .is_plain = true};

/* What was proposed and has no outcome yet. */
typedef struct proposal {
    udpai_durable_batch *batch;
    uint64_t ticket;
} proposal;

static proposal proposals[BATCHES];
static size_t n_proposals, n_committed, n_lists;
static size_t n_kept_records; /* of the audit, in the copy of this replica */
static int64_t revision;      /* of the replicas */

/* ---- the surroundings of the node ---- */

static inline int64_t
wall_us(void *bed)
{
    return ((fed_bed *)bed)->wall_us + (int64_t)((fed_bed *)bed)->wheel.now_ms * 1000;
}

static inline uint64_t
on_random(void *bed)
{
    return ((fed_bed *)bed)->chance;
}

static inline void
on_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    fed_bed *bed = userdata;
    for (size_t i = 0; i < batch->ops.n; i++) {
        fed_disk_do(&bed->kept, &batch->ops.items[i]);
        n_kept_records += batch->ops.items[i].kind == UDPAI_DURABLE_AUDIT;
    }
    udpai_durable_batch_free(batch);
    bed->committed = ticket;
}

static inline void
on_propose(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    (void)userdata;
    assert_true(n_proposals < BATCHES);
    assert_true(n_proposals == 0 || ticket > proposals[n_proposals - 1].ticket);
    proposals[n_proposals++] = (proposal){batch, ticket};
}

static inline void
on_list_again(void *userdata)
{
    (void)userdata;
    n_lists++;
}

static char stated[256]; /* what the node has read of its directories, for the others */

static inline void
on_set_files(void *userdata, udpai_str files)
{
    (void)userdata;
    (void)snprintf(stated, sizeof(stated), "%.*s", UDPAI_SHOWN(files));
}

/* Before anything is restored; NULL: nothing is to be done. */
static void (*on_made)(fed_bed *bed);

/* With what was kept, which is nothing at first. */
static inline void
start(fed_bed *bed)
{
    const udpai_node_env env = {
        .order = fed_note_order,
        .commit = on_commit,
        .propose = on_propose,
        .list_again = on_list_again,
        .set_files = on_set_files,
        .wall_us = wall_us,
        .random = on_random,
        .userdata = bed,
    };
    bed->config.set_id = UDPAI_STR("the-set");
    assert_ok(udpai_node_new(&bed->node, &bed->wheel, &bed->config, &env, NULL));
    if (on_made)
        on_made(bed);
    for (size_t i = 0; i < bed->kept.n; i++)
        assert_ok(udpai_node_restore(bed->node, &bed->kept.items[i]));
    for (int i = 0; i < FED_LINKS; i++)
        bed->links[i] = (uint64_t)i + 1;
    udpai_node_start(bed->node);
    udpai_node_flush(bed->node);
}

static inline void
forget_proposals(void)
{
    while (n_proposals)
        udpai_durable_batch_free(proposals[--n_proposals].batch);
}

static inline void
restart(fed_bed *bed)
{
    bed->node = udpai_node_free(bed->node);
    forget_proposals();
    bed->answer = udpai_report_free(bed->answer);
    start(bed);
}

static inline int
setup(void **state)
{
    n_proposals = n_committed = n_lists = 0;
    revision = 10;
    on_made = NULL;
    stated[0] = '\0';
    return fed_setup(state);
}

static inline int
teardown(void **state)
{
    forget_proposals();
    return fed_teardown(state);
}

/* ---- what the replication reports ---- */

static inline udpai_replicated *
new_event(udpai_replicated_kind kind)
{
    udpai_replicated *event = udpai_replicated_new(kind);
    assert_non_null(event);
    return event;
}

static inline void
tell_state(fed_bed *bed, udpai_replication_state state)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_STATE);
    event->state = state;
    udpai_node_replicated(bed->node, event);
    udpai_node_flush(bed->node);
}

/* The configurations of those that live, a character each, by their places; this one is that at the
 * number `own`. */
static inline void
tell_members(fed_bed *bed, const char *configs, size_t own)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_MEMBERS);
    event->membership = UDPAI_MEMBERSHIP_JOINED;
    for (size_t i = 0; configs[i]; i++) {
        udpai_replica_member *member = &event->members[event->n_members++];
        const char id[] = {(char)('1' + i), '\0'}, config[] = {configs[i], '\0'};
        udpa_bytes **const texts[] = {&member->id, &member->version, &member->address,
                                      &member->config};
        const char *const values[] = {id, "1.0", "host", config};
        for (size_t j = 0; j < UDPAI_ARRAY_LEN(texts); j++)
            assert_ok(udpa_bytes_new(texts[j], values[j], strlen(values[j])));
        member->place = (unsigned)i + 1;
        member->is_own = i == own;
    }
    udpai_node_replicated(bed->node, event);
    udpai_node_flush(bed->node);
}

static inline udpa_bytes *
bytes_of(const char *text)
{
    udpa_bytes *bytes = NULL;
    assert_ok(udpa_bytes_new(&bytes, text, strlen(text)));
    return bytes;
}

/* At the next revision; the batch is consumed. */
static inline void
tell_change(fed_bed *bed, udpai_durable_batch *batch, bool is_all)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_CHANGE);
    event->batch = batch;
    event->is_all = is_all;
    for (size_t i = 0; i < batch->ops.n; i++)
        if (batch->ops.items[i].kind == UDPAI_DURABLE_AUDIT && !batch->ops.items[i].origin)
            batch->ops.items[i].origin = bytes_of("in etcd");
    batch->position = (udpai_durable_position){CLUSTER, ++revision};
    udpai_node_replicated(bed->node, event);
}

static inline void
flush(fed_bed *bed)
{
    udpai_node_flush(bed->node);
    udpai_node_committed(bed->node, bed->committed, UDPA_OK);
    udpai_node_flush(bed->node);
}

static inline proposal
take_first(void)
{
    assert_true(n_proposals > 0);
    proposal first = proposals[0];
    memmove(proposals, proposals + 1, --n_proposals * sizeof(*proposals));
    return first;
}

static inline void
tell_outcome(fed_bed *bed, uint64_t ticket, udpai_replicated_outcome outcome, udpa_error *why)
{
    udpai_replicated *event = new_event(UDPAI_REPLICATED_OUTCOME);
    event->ticket = ticket;
    event->outcome = outcome;
    event->error = why;
    udpai_node_replicated(bed->node, event);
}

/* The first of what was proposed is committed; its change, then its outcome, come. */
static inline void
commit_first(fed_bed *bed)
{
    proposal first = take_first();
    tell_change(bed, first.batch, false);
    tell_outcome(bed, first.ticket, UDPAI_REPLICATED_COMMITTED, NULL);
    flush(bed);
    n_committed++;
}

static inline void
commit_all(fed_bed *bed)
{
    while (n_proposals)
        commit_first(bed);
}

/* It is not. */
static inline void
end_first(fed_bed *bed, udpai_replicated_outcome outcome, udpa_error *why)
{
    proposal first = take_first();
    udpai_durable_batch_free(first.batch);
    tell_outcome(bed, first.ticket, outcome, why);
    flush(bed);
}

/* ---- batches of other replicas ---- */

static inline udpai_durable_batch *
new_batch(void)
{
    udpai_durable_batch *batch = udpai_durable_batch_new();
    assert_non_null(batch);
    return batch;
}

static inline void
add_put(udpai_durable_batch *batch, const char *origin, udpa_resource *resource, int64_t expires_us)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of(origin);
    assert_ok(udpai_durable_batch_add(batch, &(udpai_durable_op){
                                                 .kind = UDPAI_DURABLE_PUT,
                                                 .origin = key,
                                                 .resource = resource,
                                                 .expires_us = expires_us,
                                             }));
    udpa_resource_unref(resource);
}

static inline void
add_delete(udpai_durable_batch *batch, const char *origin, const char *full_name)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = bytes_of(origin), *name = bytes_of(full_name);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *type = udpai_bytes_cstring(UDPAI_STR(TEST_CDS));
    assert_ok(udpai_durable_batch_add(batch, &(udpai_durable_op){
                                                 .kind = UDPAI_DURABLE_DELETE,
                                                 .origin = key,
                                                 .type = type,
                                                 .name = name,
                                             }));
}

#define ALICE "publisher:alice/alice"
#define BOB "publisher:bob/bob"
#define CAROL "publisher:carol/carol"

static inline udpa_resource *
cluster(const char *name, const char *value, uint64_t generation)
{
    return RESOURCE(name, .type = TEST_CDS, .value = value, .version = value, .authority = "acme",
                    .generation = generation, .hops = {{"node", "acme", "the-set"}});
}

static inline void
add_removal(udpai_durable_batch *batch, const char *name, uint64_t generation)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *held = cluster(name, "1", generation);
    udpa_resource *removal = udpai_removal_of(held, generation);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *key = udpai_store_removal_key(removal);
    assert_true(removal && key);
    char origin[300];
    (void)snprintf(origin, sizeof(origin), "%.*s", UDPAI_SHOWN(udpai_bytes_view(key)));
    assert_int_equal(strlen(origin), udpa_bytes_size(key));
    add_put(batch, origin, removal, 0);
}

static inline void
others_put(
    fed_bed *bed, const char *origin, const char *name, const char *value, uint64_t generation)
{
    udpai_durable_batch *batch = new_batch();
    add_put(batch, origin, cluster(name, value, generation), 0);
    tell_change(bed, batch, false);
    flush(bed);
}

/* ---- looking ---- */

/* What was proposed, as "+alice x=1, -bob y, !x" (a removal of x), by its number. */
static inline const char *
proposed(size_t at)
{
    static char text[1000];
    text[0] = '\0';
    assert_true(at < n_proposals);
    const udpai_durable_batch *batch = proposals[at].batch;
    for (size_t i = 0; i < batch->ops.n; i++) {
        const udpai_durable_op *op = &batch->ops.items[i];
        udpai_str key = udpai_bytes_view(op->origin), value = {"", 0};
        udpai_str name =
            op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
        const char *slash = memchr(key.data, '/', key.len);
        size_t len = strlen(text), skip = strlen("publisher:");
        bool is_removal = udpai_store_is_removal_key(key);
        if (op->resource)
            value = udpai_resource_value(op->resource);
        assert_true(udpai_str_starts(key, UDPAI_STR("publisher:")) || is_removal);
        (void)snprintf(text + len, sizeof(text) - len, "%s%s%.*s%s%.*s%s%.*s", len ? ", " : "",
                       op->kind == UDPAI_DURABLE_DELETE ? "-"
                       : is_removal                     ? ""
                                                        : "+",
                       is_removal || !slash ? 0 : (int)((size_t)(slash - key.data) - skip),
                       key.data + skip, is_removal ? "!" : " ",
                       (int)(name.len - strlen("com.acme/")), name.data + strlen("com.acme/"),
                       value.len ? "=" : "", (int)value.len, value.data);
    }
    return text;
}

#define assert_proposed(at, expected) assert_string_equal(proposed(at), (expected))

static inline bool
is_there(fed_bed *bed, const char *name)
{
    return *fed_value(bed, "CDS", name) != '\0';
}

/* The first peer starts the node, which has the state of the set: nothing. */
static inline uint64_t
arrive(fed_bed *bed, const fed_peer *peer)
{
    if (!bed->node) {
        start(bed);
        tell_change(bed, new_batch(), true);
        tell_state(bed, UDPAI_REPLICATION_CURRENT);
        tell_members(bed, "a", 0);
    }
    uint64_t session = fed_arrive(bed, peer);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    bed->n_judged = 0;
    (void)fed_orders(bed);
    return session;
}

static inline void
publish(fed_bed *bed, uint64_t session, const char *words)
{
    (void)fed_publish_at(bed, session, "CDS", words);
}

#define replicated_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
