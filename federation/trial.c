/* SPDX-License-Identifier: Apache-2.0 */
/* The publication goes the way that all go, with a staging that is given up at the end: so it is
 * rejected for what it would be rejected for. Only what it would do is found out here. */
#include "federation/trial.h"

#include "federation/intake.h"
#include "federation/signatures.h"
#include "federation/twins.h"

/* ---- what would be effective ---- */

/* The best of what others have of the name. */
struct rival {
    const udpai_origin *origin;
    udpai_contribution best;
};

static bool
look(void *userdata, const udpai_contribution *contribution)
{
    struct rival *rival = userdata;
    if (contribution->origin == rival->origin || !contribution->eligible ||
        contribution->superseded)
        return true;
    rival->best = *contribution;
    return false;
}

static udpai_contribution
find_rival(const udpai_receiver *receiver,
           const udpai_origin *origin,
           udpai_str type_url,
           udpai_str name)
{
    struct rival rival = {.origin = origin};
    udpai_store_visit_name(receiver->context->store, type_url, name, look, &rival);
    return rival.best;
}

/* Does it go before what this origin would have? Of one authority the newest does, and what has no
 * generation gets one that is. */
static bool
goes_before(const udpai_contribution *rival,
            const udpai_origin *origin,
            const udpa_resource *resource,
            udpai_str authority)
{
    uint64_t generation = udpa_resource_generation(resource);
    if (udpai_str_eq(udpai_resource_authority(rival->resource), authority))
        return generation && generation < udpa_resource_generation(rival->resource);
    if (udpai_origin_is_before(origin, rival->origin))
        return false;
    return udpai_origin_is_before(rival->origin, origin) ||
           udpai_str_cmp(udpai_origin_key(rival->origin), udpai_origin_key(origin)) < 0;
}

/* ---- effects ---- */

static bool
is_same(const udpa_resource *held, const udpa_resource *resource)
{
    return udpai_resource_same_payload(held, resource) &&
           udpai_resource_same_aliases(held, resource) &&
           udpa_resource_ttl_ms(held) == udpa_resource_ttl_ms(resource) &&
           udpai_resource_is_lazy(held) == udpai_resource_is_lazy(resource) &&
           udpai_resource_do_not_cache(held) == udpai_resource_do_not_cache(resource);
}

typedef struct trial {
    udpai_receiver *receiver;
    udpai_peer *peer;
    udpai_origin *origin;
    udpai_publication *publication;
    udpai_staging *staging;
} trial;

static udpa_err
note(const trial *self, udpai_effect_kind kind, const udpa_resource *effective)
{
    return udpai_publication_add_effect(
        self->publication, kind, effective ? udpai_resource_authority(effective) : (udpai_str){0});
}

/* @p held: what the origin has; NULL: nothing. */
static udpa_err
note_put(const trial *self, const udpa_resource *resource, const udpa_resource *held)
{
    udpai_str authority = udpai_resource_authority(resource);
    udpai_contribution rival =
        find_rival(self->receiver, self->origin, udpai_resource_type_url(resource),
                   udpai_resource_name(resource));
    if (authority.len == 0)
        authority = udpai_peer_name(self->peer);
    bool is_shadowed = rival.resource && goes_before(&rival, self->origin, resource, authority);
    udpai_effect_kind kind = !held                     ? UDPAI_EFFECT_ADDS
                             : is_same(held, resource) ? UDPAI_EFFECT_NOTHING
                                                       : UDPAI_EFFECT_CHANGES;
    return note(self, kind, is_shadowed ? rival.resource : NULL);
}

/* What goes, and whose contribution is effective then. */
static udpa_err
note_gone(const trial *self, udpai_str type_url, udpai_str name)
{
    udpai_contribution held = {0};
    (void)udpai_store_get(self->receiver->context->store, self->origin, type_url, name, &held);
    if (!held.resource || !udpai_staging_takes(self->staging, self->origin, type_url, name))
        return note(self, UDPAI_EFFECT_NOTHING, NULL);
    bool is_own =
        udpai_str_eq(udpai_resource_authority(held.resource), udpai_peer_name(self->peer));
    return note(self, is_own ? UDPAI_EFFECT_REMOVES : UDPAI_EFFECT_REMOVES_ON_BEHALF,
                find_rival(self->receiver, self->origin, type_url, name).resource);
}

/* What is denied must not stay as it was before, either; nor what has been here before. */
static udpa_err
note_entry(const trial *self, const udpai_publication_entry *entry)
{
    const udpa_resource *resource = entry->resource;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpai_contribution held = {0};
    (void)udpai_store_get(self->receiver->context->store, self->origin, type_url, name, &held);
    bool is_put = !entry->error && !udpai_twins_has_passed(self->receiver->twins, resource);
    return is_put ? note_put(self, resource, held.resource) : note_gone(self, type_url, name);
}

static udpa_err
note_effects(const trial *self)
{
    const udpai_publication *publication = self->publication;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < publication->entries.n && err == UDPA_OK; i++)
        err = note_entry(self, &publication->entries.items[i]);
    for (size_t i = 0; i < publication->removals.n && err == UDPA_OK; i++)
        err = publication->removals.items[i].error
                  ? note(self, UDPAI_EFFECT_NOTHING, NULL)
                  : note_gone(self, publication->type_url, publication->removals.items[i].name);
    return err;
}

/* ---- trying ---- */

/* What it is that cannot be tried; NULL: it can. Nodes do not try: what they pass on, and remove
 * for others, is noted in many places. */
static const char *
why_not(const udpai_peer *peer, const udpai_publication *publication)
{
    if (udpai_peer_source(peer) || peer->is_node)
        return "a node does not try what it publishes";
    if (publication->state_of_the_world)
        return "a state of the world cannot be tried";
    if (publication->removals.n && publication->type_url.len == 0)
        return "a removal that is tried needs its type";
    for (size_t i = 0; i < publication->entries.n; i++)
        if (publication->entries.items[i].is_refresh)
            return "a refresh cannot be tried";
    for (size_t i = 0; i < publication->removals.n; i++)
        if (publication->removals.items[i].statement)
            return "a removal on behalf of an authority cannot be tried";
    return NULL;
}

void
udpai_trial_take(udpai_receiver *receiver, udpai_peer *peer, udpai_publication *publication)
{
    const char *why = why_not(peer, publication);
    if (why) {
        udpai_publication_refuse_all(publication, UDPA_ERR_INVAL, why);
        return;
    }
    trial self = {
        .receiver = receiver,
        .peer = peer,
        .origin = udpai_intake_origin(receiver, peer),
        .publication = publication,
        .staging = udpai_staging_new_trial(receiver->context->store),
    };
    udpa_err err = self.origin && self.staging ? UDPA_OK : UDPA_ERR_NOMEM;
    publication->trace = (udpai_trace){0};
    if (err == UDPA_OK) {
        udpai_signatures_set_trial(receiver->signatures, true);
        udpai_intake_take(receiver, peer, publication, self.staging);
        udpai_signatures_set_trial(receiver->signatures, false);
        err = note_effects(&self);
    }
    if (err == UDPA_OK && udpai_staging_has_failed(self.staging))
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK)
        udpai_publication_refuse_all(publication, err, "out of memory");
    udpai_staging_free(self.staging);
}
