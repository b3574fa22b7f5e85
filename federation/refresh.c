/* SPDX-License-Identifier: Apache-2.0 */
/* Refreshes: what is held is renewed, without its payload. */
#include "federation/access.h"
#include "federation/adoption.h"
#include "federation/difference.h"
#include "federation/reports.h"
#include "federation/signatures.h"
#include "federation/stamp.h"
#include "federation/take_back.h"
#include "federation/twins.h"

/* A peer that renews what we have signed for it need not know that. */
static bool
is_for_our_signature(const udpai_receiver *receiver,
                     const udpa_resource *resource,
                     const udpa_resource *held)
{
    return !udpai_resource_signature(resource) &&
           udpai_signatures_is_own(receiver->signatures, held);
}

/* What the refresh contains, upon what is held. */
static udpa_err
refresh(udpai_intake *intake,
        const udpa_resource *resource,
        const udpai_contribution *held,
        udpa_error **ret_error)
{
    udpai_receiver *receiver = intake->receiver;
    udpai_resource_room room, new_room;
    udpai_resource_parts parts = udpai_resource_parts_of(held->resource, &room);
    udpai_resource_parts given = udpai_resource_parts_of(resource, &new_room);
    bool is_newer = given.generation > parts.generation ||
                    (given.generation == parts.generation && given.n_hops && parts.generation);
    if (is_newer && udpai_intake_keeps_generation(intake, resource) &&
        !is_for_our_signature(receiver, resource, held->resource)) {
        parts.generation = given.generation;
        parts.signature = given.signature;
        parts.hops = given.hops;
        parts.n_hops = given.n_hops;
        udpai_stamp_hop(receiver->context, &parts, &new_room, udpai_peer_name(intake->peer));
    }
    uint64_t deadline_ms = held->deadline_ms;
    if (given.ttl_ms) {
        parts.ttl_ms = given.ttl_ms;
        deadline_ms = udpai_context_now(receiver->context) + given.ttl_ms;
    }
    UDPA_AUTO(udpa_resource_unref) udpa_resource *renewed = NULL;
    udpa_err err = udpai_resource_make(&renewed, &parts);
    if (err == UDPA_OK)
        err = udpai_signatures_pass(receiver->signatures, intake->origin, &renewed, ret_error);
    else
        udpai_fail_code(ret_error, err);
    if (err == UDPA_OK)
        err = udpai_intake_stage(receiver, intake->origin, renewed, deadline_ms, intake->staging,
                                 ret_error);
    return err;
}

struct match {
    udpai_intake *intake;
    const udpa_resource *resource;
    UDPAI_VECTOR(udpa_resource *) found; /* of which type; references */
};

static bool
find_match(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)n_effective;
    struct match *match = userdata;
    const udpai_intake *intake = match->intake;
    udpai_str name = udpai_resource_name(match->resource);
    udpai_contribution held;
    if (!udpai_staging_takes(intake->staging, intake->origin, type_url, name) &&
        udpai_store_get(intake->receiver->context->store, intake->origin, type_url, name, &held) &&
        udpai_str_eq(udpai_resource_version(held.resource),
                     udpai_resource_version(match->resource)) &&
        udpai_vector_push(&match->found, held.resource))
        udpa_resource_ref(held.resource);
    return true;
}

/* The type, if the refresh or its publication names one. */
static udpai_str
type_of(const udpai_intake *intake, const udpai_publication_entry *entry)
{
    udpai_str type_url = udpai_resource_type_url(entry->resource);
    return type_url.len ? type_url : intake->publication->type_url;
}

/* Does the peer send it because it was asked to, and may it? */
static bool
is_asked_for(const udpai_intake *intake, const udpai_publication_entry *entry)
{
    udpai_str type_url = type_of(intake, entry), name = udpai_resource_name(entry->resource);
    return udpai_reports_asks(intake->receiver->interest, intake->peer, type_url, name) &&
           udpai_access_may_refresh(intake->receiver->access, intake->peer, type_url,
                                    entry->resource);
}

/* A peer that was asked is asked for the payload; one that publishes unasked is notified to send
 * it. */
static void
take_unmatched(udpai_intake *intake, udpai_publication_entry *entry)
{
    if (udpai_intake_is_from_source(intake) || is_asked_for(intake, entry)) {
        (void)udpai_vector_push(&intake->unmatched, entry); /* else with the next refresh */
        return;
    }
    intake->publication->receipt_required = true;
    udpai_publication_refuse(&entry->error,
                             udpa_error_new(UDPA_ERR_NOT_FOUND, NULL,
                                            "'%s': version '%s' is not held here: send its payload",
                                            udpa_resource_name(entry->resource),
                                            udpa_resource_version(entry->resource)));
}

static void
refresh_one(udpai_intake *intake, udpai_publication_entry *entry, const udpa_resource *found)
{
    udpai_receiver *receiver = intake->receiver;
    udpai_str type_url = udpai_resource_type_url(found), name = udpai_resource_name(found);
    udpai_contribution held;
    udpa_error *error = NULL;
    if (!udpai_store_get(receiver->context->store, intake->origin, type_url, name, &held))
        return;
    udpa_err err = udpai_access_check_publication(receiver->access, intake->peer, found, &error);
    if (err == UDPA_OK)
        err = refresh(intake, entry->resource, &held, &error);
    if (err == UDPA_OK)
        err = udpai_recovery_taken(intake, found, &error);
    if (err == UDPA_OK)
        udpai_intake_look_for_difference(intake, type_url, entry->resource);
    if (err != UDPA_OK)
        udpai_publication_refuse(&entry->error, error);
    if (err == UDPA_ERR_DENIED) {
        udpai_intake_note_refused(intake);
        udpai_staging_withdraw(intake->staging, receiver->context->store, intake->origin, type_url,
                               name);
    }
}

static void
withdraw_found(udpai_intake *intake, const struct match *match)
{
    for (size_t i = 0; i < match->found.n; i++)
        udpai_staging_withdraw(intake->staging, intake->receiver->context->store, intake->origin,
                               udpai_resource_type_url(match->found.items[i]),
                               udpai_resource_name(match->found.items[i]));
}

static void
find_matches(struct match *match, udpai_str type_url)
{
    if (type_url.len)
        find_match(match, type_url, 0);
    else
        udpai_store_visit_types(match->intake->receiver->context->store, find_match, match);
}

static void
match_done(struct match *match)
{
    for (size_t i = 0; i < match->found.n; i++)
        udpa_resource_unref(match->found.items[i]);
    udpai_vector_done(&match->found);
}

/* A loop, or too long a path, shows that the path by which it came before is closed. */
void
udpai_intake_refresh(udpai_intake *intake, udpai_publication_entry *entry)
{
    udpai_receiver *receiver = intake->receiver;
    udpa_error *error = NULL;
    bool has_come_too_far = udpa_resource_n_hops(entry->resource) >= UDPAI_HOPS_MAX;
    bool is_refused = udpai_intake_check_path(intake, entry->resource, &error) != UDPA_OK;
    if (is_refused)
        udpai_publication_refuse(&entry->error, error);
    if (is_refused && !has_come_too_far)
        return;
    if (udpai_take_back_concerns(intake, type_of(intake, entry), entry->resource)) {
        if (udpai_take_back_was_lost(intake, type_of(intake, entry), entry->resource))
            take_unmatched(intake, entry);
        return;
    }
    struct match match = {.intake = intake, .resource = entry->resource};
    find_matches(&match, type_of(intake, entry));
    bool is_loop = udpai_twins_is_loop(receiver->twins, entry->resource);
    receiver->n_loops += is_loop;
    if (is_loop || has_come_too_far)
        withdraw_found(intake, &match);
    else if (match.found.n == 0)
        take_unmatched(intake, entry);
    else
        for (size_t i = 0; i < match.found.n; i++)
            refresh_one(intake, entry, match.found.items[i]);
    match_done(&match);
}

static void
ask_source(udpai_intake *intake)
{
    UDPAI_VECTOR(udpai_unmatched) names = {0};
    for (size_t i = 0; i < intake->unmatched.n; i++) {
        const udpai_publication_entry *entry = intake->unmatched.items[i];
        const udpai_unmatched one = {type_of(intake, entry), udpai_resource_name(entry->resource)};
        (void)udpai_vector_push(&names, one);
    }
    udpai_source_ask_again(intake->peer->source, names.items, names.n);
    udpai_vector_done(&names);
}

/* Those of one type go together; mostly all are. */
static void
ask_reporter(const udpai_intake *intake)
{
    UDPAI_VECTOR(udpai_str) names = {0};
    const udpai_publication_entry *const *entries =
        (const udpai_publication_entry *const *)intake->unmatched.items;
    for (size_t i = 0; i < intake->unmatched.n; i++) {
        udpai_str type_url = type_of(intake, entries[i]);
        (void)udpai_vector_push(&names, udpai_resource_name(entries[i]->resource));
        if (i + 1 < intake->unmatched.n && udpai_str_eq(type_of(intake, entries[i + 1]), type_url))
            continue;
        udpai_reports_ask_again(intake->receiver->interest, intake->peer, type_url, names.items,
                                names.n);
        names.n = 0;
    }
    udpai_vector_done(&names);
}

void
udpai_intake_ask_unmatched(udpai_intake *intake)
{
    if (intake->unmatched.n == 0)
        return;
    if (udpai_intake_is_from_source(intake))
        ask_source(intake);
    else
        ask_reporter(intake);
    udpai_vector_done(&intake->unmatched);
}
