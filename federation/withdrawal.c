/* SPDX-License-Identifier: Apache-2.0 */
/* What goes by removals. */
#include "federation/absence.h"
#include "federation/ending.h"
#include "federation/sync.h"

struct removal {
    udpai_intake *intake;
    udpai_removal *what;
};

/* A store that was copied back remembers removals from before what came by it since. */
static bool
has_generation(const struct removal *removal, udpai_str type_url)
{
    udpai_contribution held;
    const udpai_intake *intake = removal->intake;
    const udpa_resource *what = removal->what->statement;
    return what && !(udpai_store_get(intake->receiver->context->store, intake->origin, type_url,
                                     removal->what->name, &held) &&
                     udpa_resource_generation(what) < udpa_resource_generation(held.resource));
}

static bool
remove_in_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)n_effective;
    struct removal *removal = userdata;
    if (has_generation(removal, type_url) ||
        !udpai_absence_holds(udpai_intake_source(removal->intake), type_url, removal->what->name))
        udpai_ending_take(removal->intake, type_url, removal->what);
    return true;
}

/* What came by an alias is removed when the source reports that the alias leads nowhere, unless
 * something else brings it too. Of variants the end of each is sent: their alias is a name of its
 * own, and there may be nothing that has it. */
static bool
is_left(void *userdata, const udpa_resource *resource)
{
    const udpai_intake *intake = userdata;
    return udpa_resource_n_aliases(resource) == 0 || udpai_resource_constraints(resource).len ||
           udpai_source_still_brings(intake->peer->source, resource, intake->publication);
}

static void
end_all(udpai_intake *intake, const udpai_store_scope *scope)
{
    if (!udpai_absence_holds_all(udpai_intake_source(intake), scope))
        udpai_store_leave_all(intake->receiver->context->store, intake->origin, scope);
}

static void
take_removed_aliases(udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    if (publication->removals.n && udpai_intake_is_from_source(intake) &&
        udpai_source_is_asked_by_name(intake->peer->source))
        end_all(intake, &(udpai_store_scope){.type_url = publication->type_url,
                                             .keep = is_left,
                                             .userdata = intake});
}

/* It has one answer: what is locked in one type is removed in none. Another replica may have it in
 * a type of which there is nothing here. */
static void
remove_in_all_types(struct removal *removal)
{
    const udpai_receiver *receiver = removal->intake->receiver;
    udpai_staging *staging = removal->intake->staging;
    if (staging && udpai_sync_is_locked(receiver->sync, (udpai_str){0}, removal->what->name)) {
        udpai_ending_refuse_locked(removal->what);
        return;
    }
    udpai_staging_note_unchanged(staging);
    udpai_store_visit_types(receiver->context->store, remove_in_type, removal);
}

void
udpai_intake_removals(udpai_intake *intake)
{
    udpai_publication *publication = intake->publication;
    for (size_t i = 0; i < publication->removals.n; i++) {
        struct removal removal = {intake, &publication->removals.items[i]};
        if (publication->type_url.len)
            remove_in_type(&removal, publication->type_url, 0);
        else
            remove_in_all_types(&removal);
    }
    take_removed_aliases(intake);
}
