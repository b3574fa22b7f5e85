/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that have each other as sources, each with a store: whichever of two authorities they
 * choose for a name, they come to rest. Nothing is offered to a node that it has passed. */
#include "tests/unit/store/store_test.h"

#include <stdio.h>

#define NODES 8
#define NAME "com.acme/a"
#define DELIVERIES 4000

typedef struct mesh_link {
    unsigned from;
    udpai_origin *origin;
    char sent[NODES + 1]; /* the path of what was offered last; "": nothing */
} mesh_link;

typedef struct mesh_node {
    store_bed bed;
    mesh_link links[NODES]; /* in the order of its sources */
    unsigned n_links;
} mesh_node;

typedef struct mesh {
    mesh_node nodes[NODES];
    unsigned n_nodes;
} mesh;

/* ---- what a node has ---- */

static bool
note_path(void *userdata, const udpai_contribution *contribution)
{
    char *path = userdata;
    if (!contribution->effective)
        return true;
    size_t n = udpa_resource_n_hops(contribution->resource);
    assert_in_range(n, 1, NODES);
    for (size_t i = 0; i < n; i++)
        path[i] = *udpai_resource_hop(contribution->resource, i).node_id.data;
    path[n] = '\0';
    return false;
}

static void
get_path(const mesh_node *node, char path[NODES + 1])
{
    path[0] = '\0';
    udpai_store_visit_name(node->bed.store, UDPAI_STR(TEST_TYPE), UDPAI_STR(NAME), note_path, path);
}

/* As it came by these nodes; the first of them has it of an authority of its own. */
static udpa_resource *
make_resource(const char *path)
{
    const char authority[2] = {path[0], '\0'};
    test_resource spec = {
        .name = NAME, .value = authority, .authority = authority, .generation = 1};
    char ids[NODES][2] = {{0}};
    for (size_t i = 0; path[i]; i++) {
        ids[i][0] = path[i];
        spec.hops[i].node_id = ids[i];
        spec.hops[i].authority = i ? ids[i - 1] : authority;
    }
    return test_resource_make(&spec);
}

/* ---- what it offers ---- */

static void
get_offer(const mesh *self, unsigned to, const mesh_link *link, char offer[NODES + 1])
{
    const char id = (char)('0' + to);
    get_path(&self->nodes[link->from], offer);
    size_t n = strlen(offer);
    if (n == 0 || strchr(offer, id)) {
        offer[0] = '\0';
        return;
    }
    offer[n] = id;
    offer[n + 1] = '\0';
}

/* False: nothing has changed since the last time. */
static bool
deliver(mesh *self, unsigned to, mesh_link *link)
{
    store_bed *bed = &self->nodes[to].bed;
    char offer[NODES + 1];
    get_offer(self, to, link, offer);
    if (strcmp(offer, link->sent) == 0)
        return false;
    memcpy(link->sent, offer, sizeof(offer));
    if (offer[0])
        store_bed_put(bed, link->origin, make_resource(offer));
    else
        store_bed_withdraw(bed, link->origin, NAME);
    (void)store_bed_changes(bed);
    return true;
}

static bool
is_at_rest(const mesh *self)
{
    for (unsigned to = 0; to < self->n_nodes; to++)
        for (unsigned i = 0; i < self->nodes[to].n_links; i++) {
            char offer[NODES + 1];
            get_offer(self, to, &self->nodes[to].links[i], offer);
            if (strcmp(offer, self->nodes[to].links[i].sent) != 0)
                return false;
        }
    return true;
}

/* In any order: messages of different streams overtake each other. */
static bool
comes_to_rest(mesh *self, uint64_t *random)
{
    for (unsigned n = 0; n < DELIVERIES && !is_at_rest(self);) {
        unsigned to = (unsigned)test_random_below(random, self->n_nodes);
        mesh_node *node = &self->nodes[to];
        if (node->n_links)
            n += deliver(self, to, &node->links[test_random_below(random, node->n_links)]);
    }
    return is_at_rest(self);
}

/* ---- meshes ---- */

static void
begin(mesh *self, unsigned n_nodes)
{
    memset(self, 0, sizeof(*self));
    self->n_nodes = n_nodes;
    for (unsigned i = 0; i < n_nodes; i++)
        store_bed_init(&self->nodes[i].bed);
}

static void
end(mesh *self)
{
    for (unsigned i = 0; i < self->n_nodes; i++)
        store_bed_done(&self->nodes[i].bed);
}

/* After those that it has. */
static void
add_source(mesh *self, unsigned to, unsigned from)
{
    mesh_node *node = &self->nodes[to];
    const char key[2] = {(char)('0' + from), '\0'};
    mesh_link *link = &node->links[node->n_links];
    link->from = from;
    link->origin = store_bed_origin(&node->bed, key, UDPAI_ORIGIN_SOURCE, node->n_links++);
}

/* It reads the name from a directory, under an authority of its own. */
static void
make_owner(mesh *self, unsigned owner)
{
    const char path[2] = {(char)('0' + owner), '\0'};
    store_bed *bed = &self->nodes[owner].bed;
    store_bed_put(bed, store_bed_origin(bed, "files", UDPAI_ORIGIN_FILES, 0), make_resource(path));
    (void)store_bed_changes(bed);
}

static void
assert_path(const mesh *self, unsigned node, const char *expected)
{
    char path[NODES + 1];
    get_path(&self->nodes[node], path);
    assert_string_equal(path, expected);
}

/* The authority of 1 ranks first at 5 by what 4 offers, and it has a shorter path to 5 by 1 itself.
 * If 5 took that one, it would be the shorter one for 4, too. So 4 would offer 5 nothing, and 5
 * would choose the authority of 0 again. */
static void
a_node_does_not_take_away_what_it_has_chosen_by(void **state)
{
    static const char *const sources[] = {"", "0", "1", "24", "35", "401"};
    (void)state;
    for (uint64_t random = 1; random <= 10; random++) {
        uint64_t chance = random;
        mesh self;
        begin(&self, 6);
        for (unsigned to = 0; to < 6; to++)
            for (const char *from = sources[to]; *from; from++)
                add_source(&self, to, (unsigned)(*from - '0'));
        make_owner(&self, 0);
        make_owner(&self, 1);
        assert_true(comes_to_rest(&self, &chance));
        assert_path(&self, 4, "1234");
        assert_path(&self, 5, "12345");
        end(&self);
    }
}

/* Of one authority the shortest path is the best, in whatever order a node has its sources. */
static void
one_authority_comes_by_the_shortest_path(void **state)
{
    uint64_t chance = 1;
    mesh self;
    (void)state;
    begin(&self, 4);
    add_source(&self, 1, 0);
    add_source(&self, 2, 1);
    add_source(&self, 3, 2);
    add_source(&self, 3, 0);
    add_source(&self, 2, 3);
    make_owner(&self, 0);
    assert_true(comes_to_rest(&self, &chance));
    assert_path(&self, 3, "03");
    assert_path(&self, 2, "012");
    end(&self);
}

static void
connect_by_chance(mesh *self, uint64_t *random)
{
    for (unsigned to = 0; to < self->n_nodes; to++) {
        unsigned first = (unsigned)test_random_below(random, self->n_nodes);
        unsigned step = test_random_below(random, 2) ? 1 : self->n_nodes - 1;
        for (unsigned i = 0; i < self->n_nodes; i++) {
            unsigned from = (first + i * step) % self->n_nodes;
            if (from != to && test_random_below(random, 3) == 0)
                add_source(self, to, from);
        }
    }
}

static void
meshes_come_to_rest(void **state)
{
    uint64_t random = 1;
    (void)state;
    for (unsigned round = 0; round < 1500; round++) {
        mesh self;
        begin(&self, 4 + (unsigned)test_random_below(&random, NODES - 3));
        connect_by_chance(&self, &random);
        unsigned one = (unsigned)test_random_below(&random, self.n_nodes);
        make_owner(&self, one);
        make_owner(&self, (one + 1) % self.n_nodes);
        if (!comes_to_rest(&self, &random))
            fail_msg("mesh %u does not come to rest", round);
        end(&self);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_does_not_take_away_what_it_has_chosen_by),
        cmocka_unit_test(one_authority_comes_by_the_shortest_path),
        cmocka_unit_test(meshes_come_to_rest),
    };
    return cmocka_run_group_tests_name("meshes", tests, NULL, NULL);
}
