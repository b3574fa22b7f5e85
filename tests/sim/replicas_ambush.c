/* SPDX-License-Identifier: Apache-2.0 */
/* What hardly ever comes together by chance: what a replica does not know yet is what somebody
 * relies on. The chance of this is its own, as are the seeds. */
#include "replicas.h"

void
ambush_begin(scene *self)
{
    self->ambush_chance.state = self->seed + UINT64_C(0xa4b054);
}

static void
run_for(scene *self, uint64_t duration_us)
{
    sim_run_until(&self->world, self->world.now_us + duration_us);
}

/* It can publish to this one alone. */
static void
move_publisher(scene *self, publisher *one, sim_replica *to)
{
    self->chosen = to;
    sim_cut_streams_of(publisher_node(one));
}

/* R1: what one replica has committed is removed at another one, which does not know of it, together
 * with something that this one does know. */
static void
remove_what_is_not_known(scene *self)
{
    sim_random *chance = &self->ambush_chance;
    publisher *one = self->publishers[sim_below(chance, N_PUBLISHERS)];
    size_t at = (size_t)sim_below(chance, self->set.n);
    sim_replica *behind = &self->set.replicas[at];
    sim_replica *ahead = &self->set.replicas[(at + 1) % self->set.n];
    if (!behind->node->is_serving || !ahead->node->is_serving)
        return;
    behind->client.old_revision = self->set.etcd.revision;
    move_publisher(self, one, ahead);
    publisher_prefer(one, PUBLISH_NEW);
    for (int i = 0; i < 400 && !publisher_has_published_new(one); i++) {
        (void)publisher_try(one);
        run_for(self, SECOND / 400);
    }
    move_publisher(self, one, behind);
    publisher_prefer(one, PUBLISH_REMOVAL);
    for (int i = 0; i < 1200 && publisher_has_published_new(one); i++) { /* beyond a barrier */
        (void)publisher_try(one);
        run_for(self, SECOND / 400);
    }
    publisher_prefer(one, PUBLISH_ANYTHING);
    self->chosen = NULL;
    scene_counts[SCENE_AMBUSHES]++;
}

/* R7: the places of all are lost, and one that has a clock which is behind does not know that. */
static void
lose_places(scene *self)
{
    sim_replica *one = &self->set.replicas[sim_below(&self->ambush_chance, self->set.n)];
    one->client.old_revision = self->set.etcd.revision;
    for (size_t i = 0; i < self->set.n; i++)
        self->set.replicas[i].node->clock_us = -CLOCK_US;
    scene_lose_leases(self);
    for (int i = 0; i < 16; i++) {
        run_for(self, SECOND / 8);
        for (int k = 0; k < N_PUBLISHERS; k++)
            (void)publisher_try(self->publishers[k]);
    }
    scene_counts[SCENE_AMBUSHES]++;
}

void
ambush(scene *self)
{
    if (self->seed % 5 == 4 && sim_once_in(&self->ambush_chance, 8))
        remove_what_is_not_known(self);
    if (self->has_clocks && sim_once_in(&self->ambush_chance, 8))
        lose_places(self);
}
