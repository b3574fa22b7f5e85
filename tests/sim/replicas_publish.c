/* SPDX-License-Identifier: Apache-2.0 */
/* Publishers of a replica set, each with one publication at a time. What has no receipt is
 * published again as it was; what was refused is not, if it cannot be there. R1. */
#include <stdio.h>
#include <stdlib.h>

#include "replicas.h"

struct publisher {
    scene *owner;
    sim_node *node;
    int index, fresh; /* the name that it has published last as a new one; -1: none */
    preference preferred;
    bool is_busy;
    size_t n_committed;
    bool has[N_NAMES]; /* what is under way has that name */
};

static const char *const ids[N_PUBLISHERS] = {"alice", "bob"};

static bool
is_own(const publisher *self, int at)
{
    int by = at < N_PUBLISHERS * N_OWN ? at / N_OWN : 0;
    return by == self->index;
}

static op *
last_op(scene *owner, int at)
{
    story *of = &owner->stories[at];
    return &of->ops[of->n];
}

int
story_value(const story *self)
{
    for (int i = self->n; i > 0; i--)
        if (self->ops[i].is_ok)
            return self->ops[i].is_removal ? 0 : i;
    return 0;
}

/* ---- publishing ---- */

static void
add(udpai_publication *publication, const char *name, int number, uint64_t ttl_ms)
{
    char room[64], version[16];
    snprintf(version, sizeof(version), "%d", number);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(CLUSTER), scene_cluster(room, name, number));
    const udpai_resource_parts parts = {
        .name = udpai_str_from(name),
        .version = udpai_str_from(version),
        .any = any,
        .ttl_ms = ttl_ms,
    };
    udpa_resource *resource = NULL;
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK ||
        udpai_publication_add(publication, resource, false) != UDPA_OK)
        abort();
    udpa_resource_unref(resource);
}

static void
add_last(publisher *self, udpai_publication *publication, int at)
{
    char name[32];
    op *last = last_op(self->owner, at);
    scene_name(at, name);
    self->has[at] = last->is_under_way = true;
    if (!last->is_removal)
        add(publication, name, self->owner->stories[at].n, 0);
    else if (udpai_publication_remove(publication, udpai_str_from(name)) != UDPA_OK)
        abort();
}

static void
add_next(publisher *self, udpai_publication *publication, int at, bool may_remove)
{
    story *of = &self->owner->stories[at];
    if (self->has[at] || of->n + 1 >= N_OPS)
        return;
    bool is_there = story_value(of) > 0; /* else nothing need be written */
    of->ops[++of->n] =
        (op){.is_removal = may_remove && is_there && sim_once_in(&self->owner->chance, 4)};
    add_last(self, publication, at);
}

/* What is not known of before is published first, as it was. */
static bool
add_unanswered(publisher *self, udpai_publication *publication)
{
    bool is_any = false;
    for (int at = 0; at < N_NAMES; at++) {
        const op *last = last_op(self->owner, at);
        if (!is_own(self, at) || last->is_ok || !last->is_unknown)
            continue;
        add_last(self, publication, at);
        is_any = true;
    }
    return is_any;
}

void
publisher_prefer(publisher *self, preference preferred)
{
    if (preferred == PUBLISH_NEW)
        self->fresh = -1;
    self->preferred = preferred;
}

bool
publisher_has_published_new(const publisher *self)
{
    const story *of = self->fresh >= 0 ? &self->owner->stories[self->fresh] : NULL;
    return of && of->ops[of->n].is_ok && !of->ops[of->n].is_removal;
}

static bool
add_new(publisher *self, udpai_publication *publication)
{
    for (int i = 0; i < N_OWN; i++) {
        int at = self->index * N_OWN + i;
        const story *of = &self->owner->stories[at];
        if (story_value(of) || of->n + 1 >= N_OPS)
            continue;
        add_next(self, publication, at, false);
        self->fresh = at;
        return true;
    }
    return false;
}

/* False: there is nothing like what it prefers. */
static bool
add_preferred(publisher *self, udpai_publication *publication)
{
    if (self->preferred == PUBLISH_NEW && self->fresh < 0)
        return add_new(self, publication);
    if (self->preferred != PUBLISH_REMOVAL || self->fresh < 0)
        return false;
    story *of = &self->owner->stories[self->fresh];
    if (!story_value(of) || of->n + 1 >= N_OPS)
        return false;
    of->ops[++of->n] = (op){.is_removal = true};
    add_last(self, publication, self->fresh);
    return true;
}

static void
add_more(publisher *self, udpai_publication *publication)
{
    if (add_preferred(self, publication) && self->preferred == PUBLISH_NEW)
        return;
    sim_random *chance = &self->owner->chance;
    static int number;
    char name[32];
    int bulk = N_PUBLISHERS * N_OWN;
    if (self->index == 0 && sim_once_in(chance, 15)) {
        for (int at = bulk; at < N_NAMES; at++)
            add_next(self, publication, at, false);
        return;
    }
    for (uint64_t n = 1 + sim_below(chance, 3); n; n--)
        add_next(self, publication, self->index * N_OWN + (int)sim_below(chance, N_OWN), true);
    if (sim_once_in(chance, self->owner->has_clocks ? 1 : 4)) {
        snprintf(name, sizeof(name), SPACE "/common%d", (int)sim_below(chance, N_COMMON));
        add(publication, name, ++number, 0);
    }
    if (!self->owner->has_clocks && sim_once_in(chance, 6)) {
        snprintf(name, sizeof(name), SPACE "/ttl%d", (int)sim_below(chance, N_TTL));
        add(publication, name, ++number, 5000 + sim_below(chance, 10000));
    }
}

bool
publisher_is_idle(const publisher *self)
{
    return !self->is_busy && self->node->is_up &&
           udpai_node_may_publish_to(self->node->node, UDPAI_STR("set"));
}

bool
publisher_try(publisher *self)
{
    if (!publisher_is_idle(self))
        return false;
    udpai_publication *publication = udpai_publication_new();
    if (!publication || udpai_publication_set(&publication->type_url, UDPAI_STR(CLUSTER)) ||
        udpai_publication_set(&publication->name_space, UDPAI_STR(SPACE)))
        abort();
    if (!add_unanswered(self, publication))
        add_more(self, publication);
    publication->receipt_required = true;
    self->is_busy = true;
    if (!udpai_node_publish(self->node->node, UDPAI_STR("set"), publication))
        abort();
    sim_touch(self->node);
    return true;
}

static void
tick(sim_world *world, void *userdata)
{
    publisher *self = userdata;
    scene *owner = self->owner;
    if (owner->is_over)
        return;
    bool is_owed = false;
    for (int at = 0; at < N_NAMES && !is_owed; at++)
        is_owed = is_own(self, at) && last_op(owner, at)->is_unknown && !last_op(owner, at)->is_ok;
    if (!owner->is_quiet || is_owed)
        (void)publisher_try(self);
    uint64_t pause_us = owner->is_quiet ? SECOND / 5 : 2 * SECOND;
    sim_after(world, 1 + sim_below(&owner->chance, pause_us), tick, self);
}

/* ---- answers ---- */

static void
show_answer(const publisher *self, int at, const char *text)
{
    const scene *owner = self->owner;
    if (owner->world.trace)
        fprintf(stderr, "%9llu %s: op %d of name %d: %s\n",
                (unsigned long long)sim_ms(&owner->world), self->node->id, owner->stories[at].n, at,
                text);
}

static void
refused(publisher *self, int at, const udpa_error *why)
{
    char name[32];
    op *last = last_op(self->owner, at);
    last->is_under_way = false;
    self->has[at] = false;
    show_answer(self, at, udpa_error_message(why));
    scene_counts[SCENE_REFUSED]++;
    scene_name(at, name);
    if (last->is_seen && !last->is_unknown && !last->is_ok)
        scene_fail(self->owner, "a failure is answered, and it was done", self->node->id, name);
}

static void
answer(publisher *self, const udpai_publication *publication)
{
    bool is_any = false;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        int at = scene_at(udpai_resource_name(entry->resource));
        if (at >= 0 && entry->error)
            refused(self, at, entry->error);
    }
    for (size_t i = 0; i < publication->removals.n; i++) {
        const udpai_removal *removal = &publication->removals.items[i];
        int at = scene_at(removal->name);
        if (at >= 0 && removal->error)
            refused(self, at, removal->error);
    }
    for (int at = 0; at < N_NAMES; at++) {
        if (!self->has[at])
            continue;
        is_any = true;
        last_op(self->owner, at)->is_under_way = self->has[at] = false;
        last_op(self->owner, at)->is_ok = true;
        show_answer(self, at, "committed");
    }
    self->n_committed += is_any;
    scene_counts[SCENE_OK] += is_any;
}

static void
lose(publisher *self)
{
    for (int at = 0; at < N_NAMES; at++) {
        if (!self->has[at])
            continue;
        last_op(self->owner, at)->is_under_way = self->has[at] = false;
        last_op(self->owner, at)->is_unknown = true;
        show_answer(self, at, "nobody knows");
        scene_counts[SCENE_UNKNOWN]++;
    }
}

static void
on_published(sim_node *node,
             uint64_t ticket,
             const udpai_publication *publication,
             const udpa_error *error)
{
    (void)ticket;
    publisher *self = node->userdata;
    self->is_busy = false;
    if (error)
        lose(self);
    else
        answer(self, publication);
}

bool
publishers_are_done(const scene *self)
{
    for (int at = 0; at < N_NAMES; at++) {
        const story *of = &self->stories[at];
        const op *last = &of->ops[of->n];
        if (of->n && (last->is_under_way || (last->is_unknown && !last->is_ok)))
            return false;
    }
    return true;
}

/* ---- life ---- */

static void
plan(sim_node *node, sim_node_plan *plan)
{
    publisher *self = node->userdata;
    scene *owner = self->owner;
    udpai_source_config *source = &owner->sources[node->index];
    *source = (udpai_source_config){.name = UDPAI_STR("set"), .stays_connected = true};
    sim_target(owner->front, source);
    plan->config = (udpai_node_config){
        .id = udpai_str_from(node->id),
        .authority = udpai_str_from(node->id),
        .timing = sim_timing,
        .store = {600000, 1000, 1000000, 1 << 30, 1000000, 1 << 30, 1000000, 1 << 30},
        .sources = source,
        .n_sources = 1,
        .peers_are_anonymous = true,
        .max_changes_ahead = 3,
    };
}

void
publishers_begin(scene *self)
{
    for (int i = 0; i < N_PUBLISHERS; i++) {
        publisher *one = calloc(1, sizeof(*one));
        if (!one)
            abort();
        self->publishers[i] = one;
        one->owner = self;
        one->index = i;
        one->node = sim_add_node(&self->world, ids[i]);
        one->node->plan = plan;
        one->node->published = on_published;
        one->node->userdata = one;
        sim_after(&self->world, 5 * SECOND, tick, one);
    }
}

size_t
publisher_n_committed(const publisher *self)
{
    return self->n_committed;
}

sim_node *
publisher_node(const publisher *self)
{
    return self->node;
}

void
publishers_free(scene *self)
{
    for (int i = 0; i < N_PUBLISHERS; i++)
        free(self->publishers[i]);
}
