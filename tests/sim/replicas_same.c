/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from what etcd has, each replica must have in the same way: R2. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replicas.h"

/* Of what publishers have published. */
typedef struct digest {
    int64_t revision;
    uint64_t value;
    const sim_node *by;
} digest;

typedef struct gathering {
    const sim_replica *replica;
    uint64_t value;
    bool is_all, is_shown;
    int bulk; /* the value of those that are published together; -1: not the same one */
} gathering;

static uint64_t
hash(uint64_t state, udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        state = (state ^ (uint8_t)text.data[i]) * UINT64_C(0x100000001b3);
    return (state ^ text.len) * UINT64_C(0x9e3779b97f4a7c15);
}

/* In whichever order they are visited. */
static bool
gather(void *userdata, const udpai_contribution *held)
{
    gathering *all = userdata;
    const udpa_resource *resource = held->resource;
    udpai_str type = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    bool is_published = udpai_str_starts(name, UDPAI_STR(SPACE "/"));
    if (!is_published && !udpai_str_eq(type, UDPAI_STR(ENDPOINT)))
        return true;
    if (!all->is_shown)
        stamps_check(all->replica->node->userdata, all->replica->node, resource);
    if (!is_published && !all->is_all)
        return true;
    if (all->is_shown)
        fprintf(stderr, "  %s: %.*s of %.*s%s%s%s: %d, version %.*s, generation %" PRIu64 "\n",
                all->replica->node->instance, UDPAI_SHOWN(name),
                UDPAI_SHOWN(udpai_origin_key(held->origin)), held->effective ? ", effective" : "",
                held->superseded ? ", superseded" : "", held->eligible ? "" : ", not eligible",
                scene_number(udpai_resource_value(resource)),
                UDPAI_SHOWN(udpai_resource_version(resource)), udpa_resource_generation(resource));
    if (!held->effective)
        return true;
    uint64_t generation = udpa_resource_generation(resource);
    uint64_t one = hash(hash(UINT64_C(0xcbf29ce484222325), type), name);
    one = hash(hash(one, udpai_resource_value(resource)), udpai_resource_version(resource));
    one = hash(hash(one, udpai_resource_authority(resource)), udpai_origin_key(held->origin));
    all->value += hash(one, (udpai_str){(const char *)&generation, sizeof(generation)});
    int at = is_published ? scene_at(name) : -1;
    if (at >= N_PUBLISHERS * N_OWN) {
        int number = scene_number(udpai_resource_value(resource));
        all->bulk = !all->bulk || all->bulk == number ? number : -1;
    }
    return true;
}

static gathering
gather_all(const sim_replica *replica, bool is_all, bool is_shown)
{
    gathering all = {.replica = replica, .is_all = is_all, .is_shown = is_shown};
    udpai_store_visit_all(udpai_node_store(replica->node->node), gather, &all);
    return all;
}

uint64_t
same_digest(const sim_replica *replica, bool is_all)
{
    return gather_all(replica, is_all, false).value;
}

void
same_show(const scene *self)
{
    for (size_t i = 0; i < self->set.n; i++)
        if (self->set.replicas[i].node->is_up)
            (void)gather_all(&self->set.replicas[i], true, true);
}

/* NULL: nobody had anything at that revision. */
static const digest *
find(const scene *self, int64_t revision)
{
    for (size_t i = self->digests.n; i-- > 0;)
        if (self->digests.items[i].revision == revision)
            return &self->digests.items[i];
    return NULL;
}

void
same_forget(scene *self)
{
    self->digests.n = 0;
}

void
same_check(scene *self, const sim_replica *replica)
{
    const sim_node *node = replica->node;
    if (udpai_store_has_changes(udpai_node_store(node->node)))
        return;
    const gathering all = gather_all(replica, false, false);
    const digest now = {udpai_node_position(node->node).revision, all.value, node};
    const digest *before = find(self, now.revision);
    if (all.bulk < 0)
        scene_fail(self, "half of a publication", node->id, "bulk");
    if (!before && !udpai_vector_push(&self->digests, now))
        abort();
    if (before && before->value != now.value) {
        same_show(self);
        scene_fail(self, "another state at the same revision than", node->id, before->by->instance);
    }
    scene_counts[SCENE_SAME] += before && before->by != node;
}

void
same_check_quiet(scene *self)
{
    const sim_replica *first = &self->set.replicas[0];
    for (size_t i = 1; i < self->set.n; i++)
        if (same_digest(&self->set.replicas[i], true) != same_digest(first, true)) {
            same_show(self);
            scene_fail(self, "another state at a quiet time than", self->set.replicas[i].node->id,
                       first->node->id);
        }
}
