/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks of replicas that go back and forth, and what must hold of generations all the same: R7. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replicas.h"

/* What a generation of a name has. */
typedef struct stamped {
    uint64_t content;
    const sim_node *by;
    udpai_str key;
    char bytes[]; /* of the key */
} stamped;

static udpai_str
key_of(const void *item)
{
    return ((const stamped *)item)->key;
}

/* The chance of this is its own, so that the other seeds stay what they are. */
void
stamps_begin(scene *self)
{
    udpai_map_init(&self->stamps, key_of);
    self->clock_chance.state = self->seed + UINT64_C(0x5eed0c10c4);
    self->has_clocks = self->seed / 2 % 3 == 1;
}

void
stamps_free(scene *self)
{
    size_t at = 0;
    stamped *one;
    while ((one = udpai_map_next(&self->stamps, &at)))
        free(one);
    udpai_map_done(&self->stamps);
}

/* ---- clocks ---- */

void
stamps_disturb(scene *self)
{
    sim_random *chance = &self->clock_chance;
    if (!self->has_clocks || !sim_once_in(chance, 4))
        return;
    sim_node *node = self->set.replicas[sim_below(chance, self->set.n)].node;
    node->clock_us = (int64_t)sim_below(chance, 2 * CLOCK_US) - CLOCK_US;
    scene_counts[SCENE_CLOCKS]++;
    if (self->world.trace)
        fprintf(stderr, "%9" PRIu64 " the clock of %s is %" PRId64 " s ahead\n",
                sim_ms(&self->world), node->instance, node->clock_us / (int64_t)SECOND);
}

/* ---- R7 ---- */

static stamped *
new_stamped(udpai_str key, uint64_t content, const sim_node *by)
{
    stamped *made = malloc(sizeof(*made) + key.len);
    if (!made)
        abort();
    memcpy(made->bytes, key.data, key.len);
    made->key = (udpai_str){made->bytes, key.len};
    made->content = content;
    made->by = by;
    return made;
}

void
stamps_check(scene *self, const sim_node *node, const udpa_resource *resource)
{
    char room[2 * UDPA_NAME_MAX], value[64];
    int n = snprintf(room, sizeof(room), "%s %s %" PRIu64, udpa_resource_type_url(resource),
                     udpa_resource_name(resource), udpa_resource_generation(resource));
    (void)snprintf(value, sizeof(value), "%s %d ", udpa_resource_version(resource),
                   scene_number(udpai_resource_value(resource)));
    udpai_str key = {room, (size_t)n};
    uint64_t content =
        udpai_hash(udpai_str_from(value)) ^ udpai_hash(udpai_resource_authority(resource));
    const stamped *before = udpai_map_get(&self->stamps, key);
    if (!before && !udpai_map_add(&self->stamps, new_stamped(key, content, node)))
        abort();
    if (!before || before->content == content)
        return;
    fprintf(stderr, "%s: %sof %s; other contents were at %s\n", room, value,
            udpa_resource_authority(resource), before->by->instance);
    scene_fail(self, "two contents with one generation", node->id, udpa_resource_name(resource));
}
