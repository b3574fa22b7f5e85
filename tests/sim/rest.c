/* SPDX-License-Identifier: Apache-2.0 */
/* In the quiet nothing changes any more, not even the path by which a node has a resource. What the
 * endpoints have may be right while their nodes change it for ever. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "scenario.h"

static bool
note_effective(void *userdata, const udpai_contribution *contribution)
{
    udpai_strbuf *text = userdata;
    const udpa_resource *resource = contribution->resource;
    if (!contribution->effective)
        return true;
    udpai_strbuf_printf(text, "%s of %s by", udpa_resource_version(resource),
                        udpa_resource_authority(resource));
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++) {
        udpai_strbuf_putc(text, ' ');
        udpai_strbuf_str(text, udpai_resource_hop(resource, i).instance);
    }
    return false;
}

/* 0: nothing. */
static uint64_t
what_is_there(const sim_member *member, int key)
{
    udpai_strbuf text = {0};
    char name[64];
    sim_key_name(key, name);
    udpai_store_visit_name(udpai_node_store(member->node->node),
                           udpai_str_from(sim_types[sim_key_type(key)]), udpai_str_from(name),
                           note_effective, &text);
    if (udpai_strbuf_failed(&text))
        abort();
    uint64_t hash = text.len ? udpai_hash(udpai_strbuf_view(&text)) : 0;
    udpai_strbuf_done(&text);
    return hash;
}

/* Nodes in a ring whose rules differ may never agree. */
static bool
must_rest(const sim_scenario *scenario, int key)
{
    return sim_n_authorities(scenario, key) < 2 || !scenario->has_ring || !scenario->has_rules;
}

static void
look_at(sim_member *member, bool is_first)
{
    for (int key = 0; key < N_KEYS; key++) {
        uint64_t now = what_is_there(member, key), *before = &member->at_rest[key];
        if (!is_first && now != *before && must_rest(member->scenario, key))
            sim_fail(member, "in the quiet it still changes", key);
        *before = now;
    }
}

void
sim_check_rest(sim_scenario *scenario, bool is_first)
{
    for (int i = 0; i < scenario->n_management; i++)
        if (scenario->members[i]->node->is_up)
            look_at(scenario->members[i], is_first);
}
