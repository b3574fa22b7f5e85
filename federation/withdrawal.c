/* SPDX-License-Identifier: Apache-2.0 */
/* What goes: by removals, and by states of the world that do not name it any more. */
#include "federation/absence.h"
#include "federation/ending.h"

#include <stdlib.h>

struct removal {
    udpai_intake *intake;
    udpai_removal *what;
};

static bool
remove_in_type(void *userdata, udpai_str type_url, size_t n_effective)
{
    (void)n_effective;
    struct removal *removal = userdata;
    if (removal->what->said || !udpai_absence_holds(removal->intake, type_url, removal->what->name))
        udpai_ending_take(removal->intake, type_url, removal->what);
    return true;
}

/* What came by an alias goes when the source says that the alias leads nowhere, unless something
 * else brings it too. Of variants the end of each is told: their alias is a name of its own, and
 * there may be nothing that has it. */
static bool
is_left(void *userdata, const udpa_resource *resource)
{
    const udpai_intake *intake = userdata;
    return udpa_resource_n_aliases(resource) == 0 || udpai_resource_constraints(resource).len ||
           udpai_source_still_brings(intake->peer->source, resource, intake->publication);
}

/* Who mirrors everything asks for no aliases. */
static bool
is_asked_by_name(const udpai_intake *intake)
{
    UDPAI_LIST_FOREACH (at, &intake->peer->source->scopes)
        if (UDPAI_LIST_ENTRY(at, udpai_scope, in_source)->on_demand)
            return true;
    return false;
}

static void
end_all(udpai_intake *intake, const udpai_store_scope *scope)
{
    if (!udpai_absence_holds_all(intake, scope))
        udpai_store_withdraw_all(intake->node->store, intake->origin, scope->type_url,
                                 scope->prefix, scope->keep, scope->userdata);
}

static void
take_removed_aliases(udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    if (publication->removals.n && udpai_intake_is_from_source(intake) && is_asked_by_name(intake))
        end_all(intake, &(udpai_store_scope){.type_url = publication->type_url,
                                             .keep = is_left,
                                             .userdata = intake});
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
            udpai_store_visit_types(intake->node->store, remove_in_type, &removal);
    }
    take_removed_aliases(intake);
}

/* ---- states ---- */

struct state {
    const udpai_intake *intake;
    UDPAI_VECTOR(udpai_str) types; /* that it speaks for, sorted; none: that of its scope */
};

static int
compare_types(const void *a, const void *b)
{
    return udpai_str_cmp(*(const udpai_str *)a, *(const udpai_str *)b);
}

static bool
stays(void *userdata, const udpa_resource *resource)
{
    const struct state *state = userdata;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    if (state->types.n &&
        !bsearch(&type_url, state->types.items, state->types.n, sizeof(udpai_str), compare_types))
        return true;
    return udpai_intake_has_entry(state->intake, type_url, name) ||
           udpai_intake_has_entry(state->intake, (udpai_str){"", 0}, name);
}

/* Each type once. */
static bool
list_types(struct state *state)
{
    const udpai_publication *publication = state->intake->publication;
    if (!udpai_vector_reserve(&state->types, publication->entries.n))
        return false;
    udpai_str *types = state->types.items;
    size_t n = 0, n_kept = 0;
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_str type_url = udpai_resource_type_url(publication->entries.items[i].resource);
        if (type_url.len && !(n && udpai_str_eq(types[n - 1], type_url)))
            types[n++] = type_url;
    }
    if (n > 1)
        qsort(types, n, sizeof(*types), compare_types);
    for (size_t i = 0; i < n; i++)
        if (n_kept == 0 || !udpai_str_eq(types[n_kept - 1], types[i]))
            types[n_kept++] = types[i];
    state->types.n = n_kept;
    return true;
}

/* A state of the world speaks for its origin in its scope; without one, in the types it names. */
void
udpai_intake_state(udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    struct state state = {.intake = intake};
    bool is_clear = publication->type_url.len || (list_types(&state) && state.types.n);
    if (is_clear) { /* without memory nothing goes, which the next one mends */
        const udpai_store_scope scope = {publication->type_url, publication->name_space, stays,
                                         &state};
        if (!udpai_absence_holds_all(intake, &scope))
            udpai_ending_take_state(intake, scope.type_url, scope.prefix, stays, &state);
    }
    udpai_vector_done(&state.types);
}
