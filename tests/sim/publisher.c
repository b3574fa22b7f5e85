/* SPDX-License-Identifier: Apache-2.0 */
/* Endpoints that publish: they say again what was not confirmed, refresh what expires, and from
 * time to time say everything, for their node may have lost it. */
#include <stdlib.h>

#include "scenario.h"

/* What stands for a truth where it is confirmed. */
static int
mark_of(const sim_truth *truth)
{
    return truth->version * 2 + truth->exists;
}

bool
sim_publisher_has_taken_back(const sim_member *member, int key)
{
    const sim_truth *truth = &member->truths[key];
    return truth->version && !truth->exists && !sim_key_expires(key) &&
           member->acknowledged[key] == mark_of(truth);
}

static void
say_key(sim_member *member, udpai_publication *publication, int key)
{
    sim_truth *truth = &member->truths[key];
    bool is_known = member->acknowledged[key] == mark_of(truth);
    bool is_heartbeat = is_known && truth->exists && sim_key_expires(key);
    char name[64];
    if (truth->version == 0 || (is_known && !is_heartbeat && member->n_ticks % 8))
        return;
    if (!truth->exists) {
        truth->safe_version = 0;
        sim_key_name(key, name);
        if (!sim_key_expires(key) &&
            udpai_publication_remove(publication, udpai_str_from(name)) != UDPA_OK)
            abort();
        return;
    }
    udpa_resource *resource = sim_make_resource(key, member->authority, false, truth->version);
    if (udpai_publication_add(publication, resource, is_heartbeat) != UDPA_OK)
        abort();
    udpa_resource_unref(resource);
}

/* In the name of the first node, whose own files are true. */
static void
forge(const sim_member *member, udpai_publication *publication)
{
    const char *authority = member->scenario->members[0]->authority;
    udpa_resource *resource = sim_make_resource(FORGED_KEY, authority, true, 1);
    if (udpai_publication_add(publication, resource, false) != UDPA_OK)
        abort();
    udpa_resource_unref(resource);
}

static void
say(sim_member *member, int type)
{
    udpai_publication *publication = udpai_publication_new();
    if (!publication ||
        udpai_publication_set(&publication->type_url, udpai_str_from(sim_types[type])) != UDPA_OK)
        abort();
    for (int key = N_FILE_KEYS; key < N_OPEN_KEYS; key++)
        if (sim_key_type(key) == type && sim_key_publisher(member->scenario, key) == member->index)
            say_key(member, publication, key);
    if (sim_key_type(FORGED_KEY) == type && sim_once_in(sim_random_of(member->scenario), 8))
        forge(member, publication);
    if (publication->entries.n || publication->removals.n)
        (void)udpai_node_publish(member->node->node, udpai_str_from(member->source_names[0]),
                                 publication);
    else
        udpai_publication_free(publication);
}

static const sim_node *
upstream_of(const sim_member *member)
{
    return member->scenario->members[member->upstreams[0]]->node;
}

static void
tick(sim_world *world, void *userdata)
{
    sim_member *member = userdata;
    const sim_node *node = member->node;
    if (member->scenario->is_over)
        return;
    if (node->is_up &&
        udpai_node_may_publish_to(node->node, udpai_str_from(member->source_names[0]))) {
        member->n_ticks++;
        if (upstream_of(member)->is_up)
            member->said_us = world->now_us;
        for (int type = 0; type < N_TYPES; type++)
            say(member, type);
        sim_touch(member->node);
    }
    sim_after(world, member->scenario->tick_us, tick, member);
}

void
sim_publisher_begin(sim_member *member)
{
    sim_world *world = &member->scenario->world;
    sim_after(world, sim_below(&world->random, member->scenario->tick_us), tick, member);
}

void
sim_publisher_started(sim_member *member)
{
    for (int key = 0; key < N_KEYS; key++)
        member->acknowledged[key] = -1;
}

/* A receipt may still be on its way when the disk that it speaks of is lost. */
static bool
is_kept(const sim_member *member, int key)
{
    return member->truths[key].exists && !sim_key_expires(key) &&
           upstream_of(member)->lost_us < member->said_us;
}

static void
note_entry(sim_member *member, const udpai_publication_entry *entry)
{
    int key = sim_key_of(udpa_resource_name(entry->resource));
    int version = sim_version_of(entry->resource);
    uint64_t *counts = member->scenario->world.counts;
    if (!entry->error && (sim_key_is_refused(key) || key == FORGED_KEY))
        sim_fail(member, "what may not be published was applied", key);
    counts[entry->error ? SIM_PUBLISHED_REFUSED : SIM_PUBLISHED_OK]++;
    counts[SIM_FORGERIES_REFUSED] += key == FORGED_KEY;
    if (!entry->error && is_kept(member, key))
        member->truths[key].safe_version = version;
    member->acknowledged[key] = entry->error ? -1 : version * 2 + 1;
}

void
sim_publisher_answered(sim_node *node,
                       uint64_t ticket,
                       const udpai_publication *publication,
                       const udpa_error *error)
{
    (void)ticket;
    sim_member *member = node->userdata;
    if (error) { /* nobody knows what has become of it */
        sim_publisher_started(member);
        return;
    }
    for (size_t i = 0; i < publication->entries.n; i++)
        note_entry(member, &publication->entries.items[i]);
    for (size_t i = 0; i < publication->removals.n; i++) {
        int key = sim_key_of(publication->removals.items[i].name.data);
        const sim_truth *truth = &member->truths[key];
        if (!truth->exists)
            member->acknowledged[key] = mark_of(truth);
    }
}
