/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that are replicas of one, when etcd has another state than they have: what they have, and
 * publish, and what etcd has. */
#ifndef UDPAI_TESTS_REPLICAS_HELD_BED_H
#define UDPAI_TESTS_REPLICAS_HELD_BED_H

#include "tests/unit/federation/replicas_bed.h"

#include <stdio.h>

#include "federation/node_internal.h"
#include "replica/hold_keys.h"
#include "replica/set.h"

#define SETTLE_MS 40000

/* Of what is published from now on. */
static const char *published = TEST_CDS;
/* What has become of it. */
static unsigned n_receipts, n_refused, n_changes;
static char refusal[600];

/* ---- what nodes have, as "a=1 b=2" with generations ---- */

#define TEXT 60000

static inline void
look_at(replica *self)
{
    (void)self;
}

static inline void
take_order(replica *self, udpai_order *order)
{
    (void)self;
    if (order->kind == UDPAI_ORDER_CHANGES)
        n_changes += (unsigned)udpai_change_set_size(order->changes);
    if (order->kind == UDPAI_ORDER_PUBLICATION_DONE) {
        const udpai_publication *done = order->publication;
        const udpa_error *error = NULL;
        for (size_t i = 0; i < done->entries.n; i++)
            error = done->entries.items[i].error ? done->entries.items[i].error : error;
        for (size_t i = 0; i < done->removals.n; i++)
            error = done->removals.items[i].error ? done->removals.items[i].error : error;
        n_receipts += !error;
        n_refused += error != NULL;
        if (error)
            (void)snprintf(refusal, sizeof(refusal), "%s", udpa_error_message(error));
    }
    udpai_order_free(order);
}

struct list {
    char lines[600][100];
    size_t n;
};

static inline bool
add_line(void *userdata, const udpai_contribution *held)
{
    struct list *list = userdata;
    udpai_str name = udpai_resource_name(held->resource);
    udpai_str value = udpai_resource_value(held->resource);
    udpai_str version = udpai_resource_version(held->resource);
    if (!udpai_str_starts(udpai_origin_key(held->origin), UDPAI_STR("publisher:")))
        return true;
    assert_true(list->n < UDPAI_ARRAY_LEN(list->lines));
    (void)snprintf(list->lines[list->n++], 100, "%.*s=%.*s/%.*s/%llu ", UDPAI_SHOWN(name),
                   UDPAI_SHOWN(value), UDPAI_SHOWN(version),
                   (unsigned long long)udpa_resource_generation(held->resource));
    return true;
}

static inline int
compare_lines(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* To be freed. */
static inline char *
has(const replica *self)
{
    struct list *list = calloc(1, sizeof(*list));
    char *text = calloc(1, TEXT);
    size_t len = 0;
    udpai_store_visit_all(udpai_node_store(self->node), add_line, list);
    qsort(list->lines, list->n, sizeof(list->lines[0]), compare_lines);
    for (size_t i = 0; i < list->n; i++)
        len += (size_t)snprintf(text + len, TEXT - len, "%s", list->lines[i]);
    free(list);
    return text;
}

static inline void
assert_has(const replica *self, const char *expected)
{
    char *text = has(self);
    assert_string_equal(text, expected);
    free(text);
}

static inline bool
has_name(const replica *self, const char *name)
{
    char *text = has(self), start[64];
    (void)snprintf(start, sizeof(start), "com.acme/%s=", name);
    bool is_there = strstr(text, start) != NULL;
    free(text);
    return is_there;
}

/* ---- publishing ---- */

static inline void
publish(replica *by, const char *const *names, size_t n, const char *value)
{
    udpai_publication *message = udpai_publication_new();
    assert_ok(udpai_publication_set(&message->nonce, UDPAI_STR("1")));
    assert_ok(udpai_publication_set(&message->type_url, udpai_str_from(published)));
    assert_ok(udpai_publication_set(&message->name_space, UDPAI_STR("com.acme")));
    message->receipt_required = true;
    for (size_t i = 0; i < n; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "com.acme/%s", names[i]);
        if (!value) {
            assert_ok(udpai_publication_remove(message, udpai_str_from(name)));
            continue;
        }
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE(name, .type = published, .value = value,
                                           .version = value, .authority = "acme");
        assert_ok(udpai_publication_add(message, resource, false));
    }
    const stream *on = by->n_streams ? &by->streams[by->n_streams - 1] : open_stream(by, 0);
    udpai_report *report = new_report(UDPAI_REPORT_PUBLICATION, on->session);
    report->publication = message;
    udpai_node_report(by->node, report);
    flush(by);
}

static inline void
put(replica *by, const char *name, const char *value)
{
    unsigned before = n_receipts;
    publish(by, &name, 1, value);
    run_ms(3000);
    assert_int_equal(n_receipts, before + 1);
}

static inline void
publish_many(replica *by, size_t n, const char *value)
{
    static char texts[500][8];
    const char *names[500];
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "m%03zu", i);
        names[i] = texts[i];
    }
    publish(by, names, n, value);
}

static inline void
put_many(replica *by, size_t n, const char *value)
{
    unsigned before = n_receipts;
    publish_many(by, n, value);
    run_ms(15000);
    assert_int_equal(n_receipts, before + 1);
}

/* ---- states ---- */

static inline udpai_replication_state
state_of(const replica *self)
{
    return udpai_node_replica_status(self->node)->state;
}

static inline const udpai_hold *
hold_of(const replica *self)
{
    const udpai_hold *hold = udpai_node_replica_status(self->node)->hold;
    assert_non_null(hold);
    return hold;
}

static inline const char *
next_of(const replica *self)
{
    static char text[600];
    udpai_str next = udpai_bytes_view(hold_of(self)->next);
    (void)snprintf(text, sizeof(text), "%.*s", (int)next.len, next.data);
    return text;
}

static inline void
assert_all(udpai_replication_state state)
{
    for (size_t i = 0; i < NODES; i++)
        if (replicas[i].node)
            assert_int_equal(state_of(&replicas[i]), state);
}

static inline void
assert_all_have(const char *expected)
{
    for (size_t i = 0; i < NODES; i++)
        if (replicas[i].node)
            assert_has(&replicas[i], expected);
}

/* The contribution to this name. */
static inline const char *
record_of(const char *name)
{
    static char text[400];
    (void)snprintf(text, sizeof(text),
                   PREFIX "c/com.acme/envoy.config.cluster.v3.Cluster/%s/publisher:alice%%2Falice",
                   name);
    return text;
}

static inline bool
etcd_has_record(const char *name)
{
    return etcd_model_find(&model, udpai_str_from(record_of(name)), model.revision) != NULL;
}

static inline bool
etcd_has(const char *key)
{
    char text[300];
    (void)snprintf(text, sizeof(text), PREFIX "%s", key);
    return etcd_model_find(&model, udpai_str_from(text), model.revision) != NULL;
}

/* A large change set is committed, and its records are not all written. */
static inline bool
is_under_way(void)
{
    return etcd_model_count(&model, UDPAI_STR(PREFIX "x/"), model.revision) > 0 &&
           etcd_model_count(&model, UDPAI_STR(PREFIX "p/"), model.revision) > 0;
}

static inline size_t
n_records(void)
{
    return etcd_model_count(&model, UDPAI_STR(PREFIX "c/"), model.revision);
}

/* As another cluster, if it is made of a snapshot with another token. */
static inline void
restore(int64_t revision, bool is_another)
{
    etcd_model_restore(&model, revision);
    model.cluster_id += is_another;
}

/* As by etcdutl snapshot restore --bump-revision --mark-compacted. */
static inline void
restore_bumped(int64_t revision)
{
    etcd_model_restore_bumped(&model, revision, 100000);
}

static inline int
setup(void **state)
{
    (void)state;
    bed_begin(1);
    model.faults.latency_ms = 3;
    published = TEST_CDS;
    n_receipts = n_refused = n_changes = 0;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *set =
        udpai_set_value(UDPAI_STR("0123456789abcdef0123456789abcdef"), UDPAI_STR("node"));
    etcd_model_write(&model, PREFIX "set", udpai_bytes_view(set));
    for (size_t i = 0; i < NODES; i++)
        bring_up(&replicas[i]);
    run_ms(3000);
    assert_all(UDPAI_REPLICATION_CURRENT);
    put(&replicas[0], "kept", "1");
    put(&replicas[1], "changed", "1");
    put(&replicas[2], "removed", "1");
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    bed_end();
    return 0;
}

/* Later than a snapshot: what the nodes have then; to be freed. */
static inline char *
go_on(void)
{
    put(&replicas[0], "changed", "2");
    put(&replicas[1], "removed", NULL);
    put(&replicas[2], "new", "2");
    run_ms(2000);
    return has(&replicas[0]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
