/* SPDX-License-Identifier: Apache-2.0 */
/* What is seen by who moves between replicas: R1, R3, R4. */
#include <stdio.h>
#include <stdlib.h>

#include "replicas.h"

static void
fail(const view *self, const char *what, int at)
{
    char name[32];
    scene_name(at, name);
    scene_fail(self->owner, what, self->node->id, name);
}

void
view_moved(view *self, const sim_replica *to)
{
    self->at = to;
    self->since_us = self->owner->world.now_us;
    if (self->owner->world.trace)
        fprintf(stderr, "%9llu %s dials %s\n", (unsigned long long)sim_ms(&self->owner->world),
                self->node->id, to->node->instance);
}

void
view_reset(view *self)
{
    memset(self->values, 0, sizeof(self->values));
    memset(self->reached, 0, sizeof(self->reached));
}

/* Its replica may not have been able to know what it lacked. So an older state cannot be avoided.
 */
static bool
is_excused(const view *self)
{
    return self->at && self->at->loose_us >= self->since_us && self->since_us;
}

static void
step(view *self, int at, int number)
{
    if (number < self->reached[at] && !is_excused(self))
        fail(self, "an older state", at);
    scene_counts[SCENE_STEPS_BACK] += number < self->reached[at];
    self->reached[at] = number;
}

void
view_see(view *self, int at, int number)
{
    story *of = &self->owner->stories[at];
    if (self->owner->world.trace && self->values[at] != number)
        fprintf(stderr, "%9llu %s sees %d of name %d\n",
                (unsigned long long)sim_ms(&self->owner->world), self->node->id, number, at);
    if (number <= 0 || number > of->n || of->ops[number].is_removal)
        fail(self, "what nobody has published", at);
    op *seen = &of->ops[number];
    if (!seen->is_under_way && !seen->is_unknown && !seen->is_ok)
        fail(self, "what was answered with a failure is there", at);
    seen->is_seen = true;
    if (self->owner->is_frozen && self->values[at] != number)
        fail(self, "something has changed, and nobody has published anything", at);
    step(self, at, number);
    self->values[at] = number;
    scene_counts[SCENE_SEEN]++;
}

/* The first removal since. */
static int
removal_behind(const story *of, int number)
{
    for (int i = number + 1; i <= of->n; i++)
        if (of->ops[i].is_removal &&
            (of->ops[i].is_under_way || of->ops[i].is_unknown || of->ops[i].is_ok))
            return i;
    return 0;
}

static bool
was_removed_before(const story *of, int number)
{
    for (int i = 1; i < number; i++)
        if (of->ops[i].is_removal)
            return true;
    return false;
}

/* That something does not exist is not sent then, unless the protocol has no other word for the
 * rest; or the replica comes to what has happened earlier, and a node believes that removal. */
static bool
may_be_gone(const view *self, int at)
{
    bool is_replayed =
        !self->is_delta && was_removed_before(&self->owner->stories[at], self->values[at]);
    return is_excused(self) && (self->takes_states || is_replayed);
}

void
view_gone(view *self, int at)
{
    if (!self->values[at])
        return;
    int removal = removal_behind(&self->owner->stories[at], self->values[at]);
    if (self->owner->world.trace)
        fprintf(stderr, "%9llu %s sees no name %d\n",
                (unsigned long long)sim_ms(&self->owner->world), self->node->id, at);
    if (!removal && !may_be_gone(self, at))
        fail(self, "it is gone, and nobody has removed it", at);
    if (self->owner->is_frozen && story_value(&self->owner->stories[at])) /* else it was held */
        fail(self, "something is gone, and nobody has published anything", at);
    scene_counts[SCENE_STEPS_BACK] += !removal;
    self->values[at] = 0;
    self->reached[at] = is_excused(self) ? 0 : removal; /* else it may have an older state */
    scene_counts[SCENE_GONE]++;
}

static bool
note_held(void *userdata, const udpai_contribution *contribution)
{
    *(bool *)userdata |= contribution->absence == UDPAI_ABSENCE_HELD;
    return true;
}

bool
view_holds(const view *self, const char *name)
{
    bool is_held = false;
    if (self < self->owner->views + 1 + N_ENDPOINTS)
        udpai_store_visit_name(udpai_node_store(self->node->node), UDPAI_STR(CLUSTER),
                               udpai_str_from(name), note_held, &is_held);
    scene_counts[SCENE_HELD] += is_held;
    return is_held;
}

/* ---- subscribers by UDPA ---- */

static void
on_update(void *userdata, udpai_local_update *update)
{
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        int at = scene_at(udpai_resource_name(change->resource));
        if (at >= 0 && change->is_removed)
            view_gone(userdata, at);
        else if (at >= 0)
            view_see(userdata, at, scene_number(udpai_resource_value(change->resource)));
    }
}

static void
on_complete(void *userdata)
{
    (void)userdata;
}

void
view_subscribe(view *self)
{
    const udpai_selection selection = {.type_url = UDPAI_STR(CLUSTER), .prefix = UDPAI_STR(SPACE)};
    const udpai_local_ops ops = {on_update, on_complete, self};
    udpai_local_subscription *subscription;
    view_reset(self);
    if (udpai_node_subscribe(self->node->node, &selection, &ops, &subscription) != UDPA_OK)
        abort();
}
