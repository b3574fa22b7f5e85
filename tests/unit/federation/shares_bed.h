/* SPDX-License-Identifier: Apache-2.0 */
/* A replica that shares a directory with others: what it reads, what it proposes, and what etcd
 * has, in words. */
#ifndef UDPAI_TESTS_SHARES_BED_H
#define UDPAI_TESTS_SHARES_BED_H

#include "federation/node_internal.h"
#include "federation/shares.h"
#include "tests/unit/federation/replicated_bed.h"

#define ROOT "/files"
#define ORIGIN "path:" ROOT
#define MARK "mark:" ORIGIN
#define MARK_TYPE "type.googleapis.com/udpa.config.v1.Directory"
#define FILES_MAX 40
/* So many that more than half of them may not be missing. */
#define TWELVE "a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1"

/* ---- a node ---- */

static inline void
share_root(fed_bed *bed)
{
    assert_ok(udpai_node_expect_files(bed->node, UDPAI_STR(ROOT)));
    assert_ok(udpai_node_share_files(bed->node, UDPAI_STR(ROOT), (udpai_str){0}));
}

static inline void
do_not_share_root(fed_bed *bed)
{
    assert_ok(udpai_node_expect_files(bed->node, UDPAI_STR(ROOT)));
}

static inline void
share_source(fed_bed *bed)
{
    assert_ok(udpai_node_share_files(bed->node, UDPAI_STR(ROOT), UDPAI_STR("a")));
}

/* etcd is there, and has nothing. */
static inline void
begin_as(fed_bed *bed, const char *members, size_t own, void (*made)(fed_bed *bed))
{
    bed->config.is_durable = true;
    bed->config.authority = UDPAI_STR("operator");
    on_made = made;
    start(bed);
    tell_change(bed, new_batch(), true);
    tell_state(bed, UDPAI_REPLICATION_CURRENT);
    tell_members(bed, members, own);
    flush(bed);
    assert_int_equal(n_proposals, 0);
    n_lists = 0;
}

static inline void
begin(fed_bed *bed)
{
    begin_as(bed, "c", 0, share_root);
}

/* ---- what is read: "x=1 y=2" ---- */

static inline udpa_resource *
file(const char *word, size_t len)
{
    char name[64], value[64];
    const char *is = memchr(word, '=', len);
    assert_non_null(is);
    (void)snprintf(name, sizeof(name), "com.acme/%.*s", (int)(is - word), word);
    (void)snprintf(value, sizeof(value), "%.*s", (int)(len - (size_t)(is + 1 - word)), is + 1);
    return RESOURCE(name, .type = TEST_CDS, .value = value, .version = value);
}

static inline void
read_files(fed_bed *bed, const udpai_directory *how, const char *words)
{
    udpa_resource *resources[FILES_MAX];
    udpai_directory directory = *how;
    directory.resources = resources;
    directory.root = UDPAI_STR(ROOT);
    while (*words) {
        size_t len = strcspn(words, " ");
        assert_true(directory.n_resources < FILES_MAX);
        resources[directory.n_resources++] = file(words, len);
        words += len + (words[len] == ' ');
    }
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    for (size_t i = 0; i < directory.n_resources; i++)
        udpa_resource_unref(resources[i]);
    flush(bed);
}

static inline void
read_all(fed_bed *bed, const char *words)
{
    read_files(bed, &(udpai_directory){0}, words);
}

/* ---- what etcd has ---- */

static inline void
add_mark(udpai_durable_batch *batch, const char *mark, const char *state)
{
    add_put(batch, mark, RESOURCE("udpa.node/read", .type = MARK_TYPE, .version = state), 0);
}

static inline void
add_shared(udpai_durable_batch *batch, const char *name, const char *value, uint64_t generation)
{
    add_put(batch, ORIGIN,
            RESOURCE(name, .type = TEST_CDS, .value = value, .version = value,
                     .authority = "operator", .generation = generation,
                     .hops = {{"node", "", "the-set"}}),
            0);
}

/* ---- what was proposed: "+x=1 -y !y whole" ---- */

static inline const char *
shown(const udpai_durable_op *op)
{
    static char text[100];
    udpai_str key = udpai_bytes_view(op->origin);
    udpai_str name = op->resource ? udpai_resource_name(op->resource) : udpai_bytes_view(op->name);
    udpai_str value = op->resource ? udpai_resource_value(op->resource) : (udpai_str){0};
    bool is_put = op->kind == UDPAI_DURABLE_PUT;
    name = (udpai_str){name.data + strlen("com.acme/"), name.len - strlen("com.acme/")};
    if (udpai_shares_is_mark_key(key))
        (void)snprintf(text, sizeof(text), "%.*s",
                       UDPAI_SHOWN(udpai_resource_version(op->resource)));
    else if (udpai_store_is_removal_key(key))
        (void)snprintf(text, sizeof(text), "!%.*s", UDPAI_SHOWN(name));
    else
        (void)snprintf(text, sizeof(text), "%s%.*s%s%.*s", is_put ? "+" : "-", UDPAI_SHOWN(name),
                       is_put ? "=" : "", UDPAI_SHOWN(value));
    return text;
}

static inline const char *
next_proposal(void)
{
    static char text[2000];
    text[0] = '\0';
    if (n_proposals == 0)
        return text;
    const udpai_durable_batch *batch = proposals[0].batch;
    assert_true(batch->is_janitors);
    for (size_t i = 0; i < batch->ops.n; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "",
                       shown(&batch->ops.items[i]));
    }
    return text;
}

#define assert_next(expected) assert_string_equal(next_proposal(), (expected))

static inline void
assert_nothing_proposed(fed_bed *bed)
{
    flush(bed);
    assert_int_equal(n_proposals, 0);
}

static inline uint64_t
generation_of(fed_bed *bed, const char *name)
{
    udpai_contribution held;
    udpai_store *store = bed->node->context.store;
    const udpai_origin *origin = udpai_store_find_origin(store, UDPAI_STR(ORIGIN));
    char full[64];
    (void)snprintf(full, sizeof(full), "com.acme/%s", name);
    bool is_there =
        origin && udpai_store_get(store, origin, UDPAI_STR(TEST_CDS), udpai_str_from(full), &held);
    return is_there ? udpa_resource_generation(held.resource) : 0;
}

#endif
