/* SPDX-License-Identifier: Apache-2.0 */
/* States of the world: what they do not name any more goes. Of a publisher it goes within bounds,
 * of a source as its absence is believed. */
#include "federation/absence.h"
#include "federation/ending.h"
#include "federation/freezes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/client_type.h"
#include "model/name.h"

/* Of one type that the state covers. */
typedef struct part {
    udpai_str type_url;
    size_t n_left_out, n_all;
    bool is_refused; /* it leaves out too much */
} part;

struct state {
    const udpai_intake *intake;
    UDPAI_VECTOR(part) parts; /* sorted */
};

static int
compare_parts(const void *a, const void *b)
{
    return udpai_str_cmp(((const part *)a)->type_url, ((const part *)b)->type_url);
}

/* NULL: it does not cover the type. */
static part *
find_part(const struct state *state, udpai_str type_url)
{
    const part key = {.type_url = type_url};
    return state->parts.n
               ? bsearch(&key, state->parts.items, state->parts.n, sizeof(key), compare_parts)
               : NULL;
}

static bool
is_named(const struct state *state, const udpa_resource *resource)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    return udpai_intake_has_entry(state->intake, type_url, name) ||
           udpai_intake_has_entry(state->intake, (udpai_str){"", 0}, name);
}

/* What a publisher leaves out of its state. */
static bool
is_frozen(const struct state *state, const udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_intake_check_frozen(state->intake, udpai_resource_type_url(resource),
                                     udpai_resource_name(resource), ret_error) != UDPA_OK;
}

static bool
stays(void *userdata, const udpa_resource *resource)
{
    const struct state *state = userdata;
    const part *of = find_part(state, udpai_resource_type_url(resource));
    return !of || of->is_refused || is_named(state, resource) || is_frozen(state, resource, NULL);
}

/* Each type once: that of its scope, or without one, those that it names. */
static bool
list_types(struct state *state)
{
    const udpai_publication *publication = state->intake->publication;
    size_t n_kept = 0;
    if (!udpai_vector_reserve(&state->parts, publication->entries.n + 1))
        return false;
    part *parts = state->parts.items;
    if (publication->type_url.len)
        parts[state->parts.n++] = (part){.type_url = publication->type_url};
    for (size_t i = 0; i < publication->entries.n && !publication->type_url.len; i++) {
        udpai_str type_url = udpai_resource_type_url(publication->entries.items[i].resource);
        if (type_url.len)
            parts[state->parts.n++] = (part){.type_url = type_url};
    }
    if (state->parts.n > 1)
        qsort(parts, state->parts.n, sizeof(*parts), compare_parts);
    for (size_t i = 0; i < state->parts.n; i++)
        if (n_kept == 0 || !udpai_str_eq(parts[n_kept - 1].type_url, parts[i].type_url))
            parts[n_kept++] = parts[i];
    state->parts.n = n_kept;
    return n_kept > 0;
}

/* ---- of publishers ---- */

/* The part that leaves it out; NULL: it stays, or was not spoken of. */
static part *
left_out_of(const struct state *state, const udpa_resource *resource)
{
    part *of = find_part(state, udpai_resource_type_url(resource));
    bool is_left_out = of &&
                       udpai_prefix_covers(state->intake->publication->name_space,
                                           udpai_resource_name(resource)) &&
                       !is_named(state, resource);
    return is_left_out ? of : NULL;
}

static bool
count(void *userdata, const udpai_contribution *contribution)
{
    struct state *state = userdata;
    part *of = find_part(state, udpai_resource_type_url(contribution->resource));
    if (of)
        of->n_all++;
    of = left_out_of(state, contribution->resource);
    if (of)
        of->n_left_out++;
    return true;
}

struct refusal {
    struct state *state;
    bool failed;
};

static udpa_error *
too_much(const part *of, const udpa_resource *resource)
{
    return udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "'%s' stays: this state of the world leaves out %zu of the %zu resources of type %.*s that "
        "its publisher has, more than may go at once (limits.max_withdrawal). If it is to go, name "
        "it in removed_resources of a DeltaPublish",
        udpa_resource_name(resource), of->n_left_out, of->n_all, UDPAI_SHOWN(of->type_url));
}

static bool
refuse(void *userdata, const udpai_contribution *contribution)
{
    struct refusal *refusal = userdata;
    udpai_publication *publication = refusal->state->intake->publication;
    udpai_str name = udpai_resource_name(contribution->resource);
    udpa_error *error = NULL;
    const part *of = left_out_of(refusal->state, contribution->resource);
    if (!of || !(is_frozen(refusal->state, contribution->resource, &error) || of->is_refused))
        return true;
    if (!error)
        error = too_much(of, contribution->resource);
    refusal->failed = udpai_publication_remove(publication, name) != UDPA_OK;
    if (refusal->failed)
        udpa_error_unref(error);
    else
        udpai_publication_refuse(&publication->removals.items[publication->removals.n - 1].error,
                                 error);
    return !refusal->failed;
}

static void
log_kept(const struct state *state, const part *of)
{
    unsigned n_suppressed;
    udpai_receiver *receiver = state->intake->receiver;
    udpai_str name = udpai_peer_name(state->intake->peer);
    if (udpai_log_allow(&receiver->context->refused_log, udpai_context_now(receiver->context),
                        &n_suppressed))
        udpai_log_about(
            UDPA_LOG_WARNING, "federation",
            UDPAI_ABOUT(UDPAI_PEER_FIELDS(state->intake->peer), {UDPAI_LOG_TYPE, of->type_url}),
            "kept %zu resources of %.*s that its state of the world leaves out, of %zu of "
            "type %.*s: more than may be removed at once (limits.max_withdrawal); to remove "
            "them it must name them (%u more not shown)",
            of->n_left_out, UDPAI_SHOWN(name), of->n_all, UDPAI_SHOWN(of->type_url), n_suppressed);
}

/* What leaves out too much of its type removes nothing of it, and the answer lists the names.
 * Without memory nothing is taken in. */
static bool
bound(struct state *state)
{
    const udpai_intake *intake = state->intake;
    const udpai_store *store = intake->receiver->context->store;
    struct refusal refusal = {.state = state};
    bool any = false, may_be_frozen = udpai_freezes_n(intake->receiver->freezes) > 0;
    udpai_store_visit_origin(store, intake->origin, intake->publication->type_url, count, state);
    for (size_t i = 0; i < state->parts.n; i++) {
        part *of = &state->parts.items[i];
        of->is_refused =
            !udpai_type_is_client(of->type_url) &&
            udpai_absence_is_too_much(of->n_left_out, of->n_all, intake->receiver->max_withdrawal);
        if (of->is_refused)
            log_kept(state, of);
        any |= of->is_refused || (may_be_frozen && of->n_left_out > 0);
    }
    if (any)
        udpai_store_visit_origin(store, intake->origin, intake->publication->type_url, refuse,
                                 &refusal);
    if (refusal.failed)
        udpai_publication_refuse_all(intake->publication, UDPA_ERR_NOMEM, "out of memory");
    return !refusal.failed;
}

void
udpai_intake_state(udpai_intake *intake)
{
    const udpai_publication *publication = intake->publication;
    struct state state = {.intake = intake};
    const udpai_store_scope scope = {publication->type_url, publication->name_space, stays, &state};
    bool is_of_source = udpai_intake_is_from_source(intake);
    /* Without memory nothing is removed; the next state does it. */
    bool is_clear = list_types(&state) && (is_of_source || bound(&state));
    if (is_clear && !udpai_absence_holds_all(udpai_intake_source(intake), &scope))
        udpai_ending_take_state(intake, scope.type_url, scope.prefix, stays, &state);
    udpai_vector_done(&state.parts);
}
