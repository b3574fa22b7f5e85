/* SPDX-License-Identifier: Apache-2.0 */
/* Who may see and say what: rules for the colours that peers' names begin with, and for sources by
 * their names. Rules allow; of a name space also all that lies in it. */
#include "guest.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- choosing ---- */

static ref_spaces
some_spaces(sim_random *random)
{
    ref_spaces spaces = (ref_spaces)sim_below(random, ALL_SPACES + 1);
    return spaces | (ref_spaces)sim_below(random, ALL_SPACES + 1);
}

/* Who may see nothing at all is not answered, and what he held before stays with him. */
static ref_spaces
at_least_one(sim_random *random, ref_spaces spaces)
{
    return spaces ? spaces : 1u << sim_below(random, N_OPEN_NAMESPACES);
}

static void
note_ever(sim_member *self)
{
    for (int colour = 0; colour < N_COLOURS; colour++) {
        self->ever_shows[colour] |= self->shows[colour];
        self->ever_takes[colour] |= self->takes[colour];
    }
}

void
sim_rules_choose(sim_member *self)
{
    sim_random *random = sim_random_of(self->scenario);
    bool has_rules = self->scenario->has_rules;
    for (int colour = 0; colour < N_COLOURS; colour++) {
        self->shows[colour] = has_rules ? at_least_one(random, some_spaces(random)) : ALL_SPACES;
        self->takes[colour] = has_rules ? some_spaces(random) : ALL_SPACES;
    }
    for (int i = 0; i < SOURCES_MAX; i++)
        if (has_rules && sim_once_in(random, 4))
            self->refuses[i] = 1u << sim_below(random, N_OPEN_NAMESPACES);
    note_ever(self);
}

/* ---- saying it ---- */

enum {
    RULES_MAX = SOURCES_MAX + 3 * N_COLOURS
};

struct rule_texts {
    char identity[24];
    char below[N_OPEN_NAMESPACES][64];
    udpai_str identities[1], prefixes[N_OPEN_NAMESPACES];
};

struct rule_list {
    struct rule_texts texts[RULES_MAX];
    udpai_acl_rule rules[RULES_MAX];
    size_t n;
};

static const udpai_str everybody[] = {{"*", 1}};

static udpai_acl_rule *
add_rule(struct rule_list *list, const char *identity, unsigned actions, ref_spaces spaces)
{
    struct rule_texts *texts = &list->texts[list->n];
    udpai_acl_rule *rule = &list->rules[list->n];
    snprintf(texts->identity, sizeof(texts->identity), "%s", identity);
    texts->identities[0] = udpai_str_from(texts->identity);
    *rule = (udpai_acl_rule){
        .name = texts->identities[0],
        .identities = texts->identities,
        .n_identities = 1,
        .actions = actions,
        .prefixes = texts->prefixes,
    };
    for (int space = 0; space < N_OPEN_NAMESPACES; space++)
        if (spaces >> space & 1)
            texts->prefixes[rule->n_prefixes++] = udpai_str_from(sim_namespaces[space]);
    list->n += rule->n_prefixes > 0; /* without any it would be for all */
    return rule;
}

/* Of what is not shown, what would have a longer name than something that there is: which shows
 * nothing. */
static void
show_what_lies_below(struct rule_texts *texts, udpai_acl_rule *rule, ref_spaces spaces, int colour)
{
    for (int space = 0; space < N_OPEN_NAMESPACES; space++) {
        if (spaces >> space & 1)
            continue;
        snprintf(texts->below[space], sizeof(texts->below[space]), "%s/r%d/below",
                 sim_namespaces[space], 2 * space + (colour & 1));
        texts->prefixes[rule->n_prefixes++] = udpai_str_from(texts->below[space]);
    }
}

static void
add_rules_of_colour(struct rule_list *list, const sim_member *self, int colour)
{
    char pattern[24];
    snprintf(pattern, sizeof(pattern), "%s-e*", sim_colours[colour]);
    (void)add_rule(list, pattern, UDPAI_ACL_PUBLISH, self->takes[colour]);
    snprintf(pattern, sizeof(pattern), "%s-*", sim_colours[colour]);
    udpai_acl_rule *rule = add_rule(list, pattern, UDPAI_ACL_SUBSCRIBE, self->shows[colour]);
    show_what_lies_below(&list->texts[rule - list->rules], rule, self->shows[colour], colour);
}

/* Nodes below say what clients of theirs have said. */
static void
add_rule_of_nodes(struct rule_list *list, const sim_member *self, int colour)
{
    static const udpai_str types[] = {UDPAI_STR("*/udpa.load.v1.*"),
                                      UDPAI_STR("*/udpa.status.v1.*")};
    char pattern[24];
    snprintf(pattern, sizeof(pattern), "%s-m*", sim_colours[colour]);
    udpai_acl_rule *rule = add_rule(list, pattern, UDPAI_ACL_PUBLISH, self->passes[colour]);
    rule->types = types;
    rule->n_types = UDPAI_ARRAY_LEN(types);
    rule->on_behalf_of = everybody;
    rule->n_on_behalf_of = 1;
}

static udpai_acl *
make_acl(const sim_member *self)
{
    struct rule_list list = {.n = 0};
    for (int colour = 0; colour < N_COLOURS; colour++)
        add_rules_of_colour(&list, self, colour);
    for (int colour = 0; self->scenario->has_reports && colour < N_COLOURS; colour++)
        add_rule_of_nodes(&list, self, colour);
    for (size_t i = 0; i < self->provider.n_descriptors; i++) {
        udpai_acl_rule *rule = add_rule(&list, self->source_names[i], UDPAI_ACL_PUBLISH,
                                        ALL_SPACES & ~self->refuses[i]);
        rule->on_behalf_of = everybody;
        rule->n_on_behalf_of = 1;
    }
    const udpai_acl_options options = {
        .rules = list.rules,
        .n_rules = list.n,
        .trusts_node_ids = !self->scenario->has_tls,
    };
    udpai_acl *acl = NULL;
    if (udpai_acl_new(&acl, &options) != UDPA_OK)
        abort();
    return acl;
}

void
sim_rules_apply(sim_member *self)
{
    udpai_acl_unref(self->acl);
    self->acl = make_acl(self);
    if (!self->node->is_up)
        return;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    if (!order)
        abort();
    order->acl = udpai_acl_ref(self->acl);
    sim_order(self->node, order);
    udpai_node_set_acl(self->node->node, self->acl);
    sim_touch(self->node);
}

/* ---- changing ---- */

void
sim_rules_change(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    sim_random *random = &world->random;
    if (!scenario->rules_change)
        return;
    sim_member *self = scenario->members[sim_below(random, (uint64_t)scenario->n_management)];
    int colour = (int)sim_below(random, N_COLOURS);
    ref_spaces changed = 1u << sim_below(random, N_OPEN_NAMESPACES);
    if (sim_once_in(random, 3))
        self->takes[colour] ^= changed;
    else
        self->shows[colour] = at_least_one(random, self->shows[colour] ^ changed);
    note_ever(self);
    if (world->trace)
        fprintf(stderr, "%9llu %s has other rules: %s sees %x, says %x\n",
                (unsigned long long)sim_ms(world), self->node->id, sim_colours[colour],
                self->shows[colour], self->takes[colour]);
    world->counts[SIM_RULE_CHANGES]++;
    sim_rules_apply(self);
}

/* ---- identities ---- */

static void
set_identity(sim_member *self)
{
    char name[24];
    snprintf(name, sizeof(name), "%s-%s", sim_colours[self->colour], self->node->id);
    const udpai_identity_parts parts = {
        .common_name = udpai_str_from(name),
        .authenticated = true,
    };
    udpai_identity_unref(self->node->identity);
    if (udpai_identity_new(&self->node->identity, &parts) != UDPA_OK)
        abort();
}

/* Without TLS a node has its colour in its id. */
void
sim_identity_choose(sim_member *self)
{
    self->ever_colours |= 1u << self->colour;
    if (self->scenario->has_tls)
        set_identity(self);
}

/* Of those who publish nothing: under another name they would be somebody else, and what they said
 * before would stay. */
void
sim_identity_change(sim_scenario *scenario)
{
    sim_world *world = &scenario->world;
    sim_random *random = &world->random;
    int number = (int)sim_below(random, (uint64_t)scenario->n_endpoints);
    sim_member *self = scenario->members[scenario->n_management + number];
    if ((!scenario->has_tls && !self->is_guest) || self->is_publisher || self->reporter ||
        (scenario->has_rules && !scenario->rules_change))
        return;
    self->colour = (int)sim_below(random, N_COLOURS);
    sim_identity_choose(self);
    if (world->trace)
        fprintf(stderr, "%9llu %s is %s now\n", (unsigned long long)sim_ms(world), self->node->id,
                sim_colours[self->colour]);
    world->counts[SIM_IDENTITY_CHANGES]++;
    if (self->is_guest && !scenario->has_tls)
        sim_guest_rename(self);
    else
        sim_cut_streams_of(self->node);
}
