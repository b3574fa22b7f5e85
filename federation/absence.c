/* SPDX-License-Identifier: Apache-2.0 */
/* A source that comes back without its disk has nothing, and reports so in good faith. What it does
 * not name on a new stream is believed if its store is the one that was seen last, or a few names
 * are missing of a source that does not report which store it has; else it is held: it stays
 * effective until it is named again, or an operator accepts its absence. */
#include "federation/absence.h"

#include "federation/connection.h"
#include "federation/held.h"
#include "federation/recovery.h"
#include "federation/source_internal.h"
#include "model/client_type.h"
#include "model/lineage.h"

/* A few may always go. */
#define FEW 10

typedef enum belief {
    BELIEVED,
    COUNTED, /* when all is answered */
    DOUBTED,
} belief;

/* Which store it has, and its last commit, as it has last reported. False: it reports neither. */
static bool
store_of(const udpai_source *source, udpai_str *ret_epoch, uint64_t *ret_commit)
{
    const udpai_peer *peer = udpai_source_peer(source);
    if (!peer || !peer->is_extended || !peer->info ||
        !udpai_node_info_epoch(peer->info, ret_epoch, ret_commit))
        return false;
    if (*ret_commit < source->commit)
        *ret_commit = source->commit;
    return true;
}

static bool
is_whole(const udpai_source *source)
{
    const udpai_peer *peer = udpai_source_peer(source);
    return peer && peer->info && udpai_node_info_is_whole(peer->info);
}

/* Does a new answer of it repeat what it sent before? */
static bool
is_repeated(const udpai_source *source)
{
    return source->kind == UDPAI_SOURCE_REST || source->kind == UDPAI_SOURCE_PATH;
}

static bool
is_answered(const udpai_scope *scope)
{
    if (scope->on_demand)
        return scope->is_asked && udpai_list_empty(&scope->asked);
    return scope->is_complete;
}

/* Does the source still answer, on this stream, what it was asked of the type? */
static bool
is_answering(const udpai_source *source, udpai_str type_url)
{
    if (is_repeated(source))
        return true;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_str_eq(udpai_bytes_view(scope->type), type_url) && scope->is_requested &&
            !is_answered(scope))
            return true;
    }
    return false;
}

/* Is this part of an answer that shows what has become of what was here before? */
static bool
is_first_answer(const udpai_source *source, udpai_str type_url)
{
    bool had_some = is_repeated(source);
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        had_some |= scope->had_some && udpai_str_eq(udpai_bytes_view(scope->type), type_url);
    }
    return had_some && is_answering(source, type_url);
}

static bool
is_store_seen(const udpai_scope *scope, udpai_str epoch, uint64_t commit)
{
    return commit >= scope->seen_commit &&
           udpai_lineage_comes_from(epoch, udpai_bytes_view(scope->seen_epoch), scope->seen_commit);
}

static bool
is_of_epoch(const udpai_scope *scope, udpai_str epoch)
{
    return scope->seen_epoch &&
           udpai_str_eq(udpai_lineage_epoch(udpai_bytes_view(scope->seen_epoch)),
                        udpai_lineage_epoch(epoch));
}

/* What a standby has learned in this node's place is never effective by itself. */
static bool
is_read_to_be_adopted(const udpai_source *source, udpai_str type_url)
{
    const udpai_recovery *recovery = source->recovery;
    for (size_t i = 0; recovery && i < recovery->scopes.n; i++)
        if (udpai_str_eq(udpai_bytes_view(recovery->scopes.items[i]->type), type_url))
            return true;
    return false;
}

/* Of a type whose store was never seen before, as little is known as of a source that never reports
 * which store it has. */
static belief
believe(const udpai_source *source, udpai_str type_url)
{
    udpai_str epoch;
    uint64_t commit;
    if (source->passes_doubts || udpai_type_is_client(type_url) ||
        is_read_to_be_adopted(source, type_url) || !is_first_answer(source, type_url))
        return BELIEVED;
    if (!store_of(source, &epoch, &commit))
        return COUNTED;
    belief so_far = is_whole(source) ? BELIEVED : COUNTED;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (!scope->seen_epoch || !udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            continue;
        if (scope->is_other_store)
            return DOUBTED;
        so_far = BELIEVED;
    }
    return so_far;
}

/* What is held of the type is removed, unless the source names it in its next answer. */
static bool
doubt_no_more(udpai_source *source, udpai_str type_url)
{
    if (!udpai_source_is_held(source, type_url))
        return false;
    if (!source->may_ask)
        udpai_store_end_absences(source->owner->context->store, source->origin, type_url,
                                 UDPAI_ABSENCE_HELD, UDPAI_ABSENCE_FORGET);
    return source->may_ask;
}

/* What matters is the state of its store when the stream began: an older copy may have gone on
 * since. If the epoch is new here, and whole at its source, the source is asked what is left of
 * what is held: on another stream, if this one has gone on. */
void
udpai_absence_introduced(udpai_source *source)
{
    udpai_str epoch;
    uint64_t commit;
    bool must_ask = false;
    if (!source->origin || !store_of(source, &epoch, &commit))
        return;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        bool is_accepted = !is_of_epoch(scope, epoch) && is_whole(source);
        scope->is_other_store =
            scope->seen_epoch && !is_accepted && !is_store_seen(scope, epoch, commit);
        if (scope->is_other_store)
            scope->held_why =
                is_of_epoch(scope, epoch) ? UDPAI_HELD_OLDER_STORE : UDPAI_HELD_OTHER_STORE;
        must_ask |= is_accepted && doubt_no_more(source, udpai_bytes_view(scope->type));
    }
    if (must_ask)
        udpai_source_begin_anew(source, source->owner->context->timing.fail_over_spread_ms);
}

/* While it answers, it may have left out something already. */
const char *
udpai_absence_take_doubt(udpai_source *source)
{
    const char *why = source->doubt;
    source->doubt = NULL;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        const udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (source->passes_doubts && scope->is_other_store)
            why = scope->held_why;
    }
    return why;
}

static belief
belief_in(const udpai_source *source, udpai_str type_url)
{
    return source ? believe(source, type_url) : BELIEVED;
}

bool
udpai_absence_holds(udpai_source *source, udpai_str type_url, udpai_str name)
{
    belief is = belief_in(source, type_url);
    if (is == BELIEVED)
        return false;
    if (udpai_store_set_absence(source->owner->context->store, source->origin, type_url, name,
                                is == COUNTED ? UDPAI_ABSENCE_NEW : UDPAI_ABSENCE_HELD) != UDPA_OK)
        udpai_source_lost_update(source);
    return true;
}

bool
udpai_absence_holds_all(udpai_source *source, const udpai_store_scope *scope)
{
    belief is = belief_in(source, scope->type_url);
    if (is == BELIEVED)
        return false;
    if (udpai_store_set_all_absent(source->owner->context->store, source->origin, scope,
                                   is == COUNTED ? UDPAI_ABSENCE_NEW : UDPAI_ABSENCE_HELD) !=
        UDPA_OK)
        udpai_source_lost_update(source);
    return true;
}

void
udpai_absence_over(const udpai_source *source, const udpa_resource *resource)
{
    (void)udpai_store_set_absence(source->owner->context->store, source->origin,
                                  udpai_resource_type_url(resource), udpai_resource_name(resource),
                                  UDPAI_ABSENCE_NONE);
}

/* ---- when all is received ---- */

bool
udpai_absence_is_too_much(size_t n, size_t n_all, unsigned max_percent)
{
    return n > FEW && n > n_all / 100 * max_percent + n_all % 100 * max_percent / 100;
}

static bool
add_one(void *userdata, const udpai_contribution *contribution)
{
    (void)contribution;
    ++*(size_t *)userdata;
    return true;
}

static bool
are_too_many(const udpai_context *context,
             const udpai_origin *origin,
             udpai_str type_url,
             unsigned max_percent)
{
    size_t n = udpai_origin_n_absent(origin, type_url, UDPAI_ABSENCE_NEW), n_all = 0;
    if (n <= FEW)
        return false;
    udpai_store_visit_origin(context->store, origin, type_url, add_one, &n_all);
    return udpai_absence_is_too_much(n, n_all, max_percent);
}

static void
decide(udpai_source *source, udpai_str type_url)
{
    udpai_sources *sources = source->owner;
    bool too_many =
        are_too_many(sources->context, source->origin, type_url, source->max_withdrawal);
    if (too_many)
        udpai_held_because(source, type_url, UDPAI_HELD_TOO_MANY);
    udpai_store_end_absences(sources->context->store, source->origin, type_url, UDPAI_ABSENCE_NEW,
                             too_many ? UDPAI_ABSENCE_HOLD : UDPAI_ABSENCE_LEAVE);
}

/* What is remembered of it: the epoch, and the opening in which it was seen. */
static udpa_bytes *
mark_of(udpai_str lineage)
{
    udpai_str opening = udpai_lineage_last(lineage);
    udpai_strbuf text = {0};
    udpai_strbuf_str(&text, udpai_lineage_epoch(lineage));
    if (opening.len)
        udpai_strbuf_putc(&text, ' ');
    udpai_strbuf_str(&text, opening);
    return udpai_bytes_of(&text);
}

static bool
is_marked(const udpai_scope *scope, udpai_str lineage)
{
    if (!scope->seen_epoch)
        return false;
    udpai_str opening = udpai_bytes_view(scope->seen_epoch), epoch = opening;
    if (!udpai_str_cut(&opening, ' ', &epoch))
        opening = (udpai_str){0};
    return udpai_str_eq(epoch, udpai_lineage_epoch(lineage)) &&
           udpai_str_eq(opening, udpai_lineage_last(lineage));
}

/* Each publication comes here, and mostly nothing has changed. */
static void
note_seen(udpai_source *source, udpai_scope *scope, udpai_str epoch, uint64_t commit)
{
    udpai_str type_url = udpai_bytes_view(scope->type);
    if (source->passes_doubts && scope->is_other_store)
        source->doubt = scope->held_why;
    scope->is_other_store = false;
    if (commit == scope->seen_commit && is_marked(scope, epoch))
        return;
    udpa_bytes *mark = mark_of(epoch);
    if (!mark)
        return; /* then it is held against the one before */
    udpa_bytes_unref(scope->seen_epoch);
    scope->seen_epoch = mark;
    scope->seen_commit = commit;
    if (udpai_origin_is_durable(source->origin))
        (void)udpai_store_note_seen(source->owner->context->store, source->origin, type_url,
                                    udpai_bytes_view(mark), commit);
}

static void
note_all_seen(udpai_source *source, udpai_str type_url)
{
    udpai_str epoch;
    uint64_t commit;
    if (!store_of(source, &epoch, &commit))
        return;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            note_seen(source, scope, epoch, commit);
    }
}

void
udpai_absence_settle(udpai_source *source, udpai_str type_url)
{
    if (!source->origin || (!is_repeated(source) && is_answering(source, type_url)))
        return;
    if (udpai_origin_n_absent(source->origin, type_url, UDPAI_ABSENCE_NEW))
        decide(source, type_url);
    note_all_seen(source, type_url);
    if (udpai_held_log(source, type_url, NULL))
        udpai_source_touch(source);
}

/* Of what is not answered yet, this stream has seen nothing. */
void
udpai_absence_commit(udpai_source *source, uint64_t commit)
{
    udpai_str epoch;
    uint64_t before;
    if (!store_of(source, &epoch, &before) || commit <= before)
        return;
    source->commit = commit;
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (is_of_epoch(scope, epoch) && !is_answering(source, udpai_bytes_view(scope->type)))
            note_seen(source, scope, epoch, commit);
    }
}

/* ---- directories ---- */

struct directory {
    udpai_context *context;
    udpai_origin *origin;
    unsigned max_percent;
};

static void
decide_type(void *userdata, udpai_str type_url, size_t n)
{
    const struct directory *of = userdata;
    (void)n;
    bool is_held = of->max_percent == 0 ||
                   udpai_origin_n_absent(of->origin, type_url, UDPAI_ABSENCE_HELD) > 0 ||
                   are_too_many(of->context, of->origin, type_url, of->max_percent);
    udpai_store_end_absences(of->context->store, of->origin, type_url, UDPAI_ABSENCE_NEW,
                             is_held ? UDPAI_ABSENCE_HOLD : UDPAI_ABSENCE_FORGET);
}

udpa_err
udpai_absence_of_files(udpai_context *context,
                       udpai_origin *origin,
                       const udpai_store_scope *scope,
                       unsigned max_percent)
{
    udpa_err err = udpai_store_set_all_absent(context->store, origin, scope, UDPAI_ABSENCE_NEW);
    if (err == UDPA_OK) {
        struct directory of = {context, origin, max_percent};
        udpai_origin_visit_absent(origin, UDPAI_ABSENCE_NEW, decide_type, &of);
        return UDPA_OK;
    }
    udpai_store_end_absences(context->store, origin, (udpai_str){0}, UDPAI_ABSENCE_NEW,
                             UDPAI_ABSENCE_FORGET);
    return err;
}

/* ---- restarts ---- */

udpa_err
udpai_absence_restore_seen(const udpai_source *source, const udpai_durable_op *op)
{
    const udpai_str type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
    UDPAI_LIST_FOREACH (at, &source->scopes) {
        udpai_scope *scope = UDPAI_LIST_ENTRY(at, udpai_scope, in_source);
        if (!udpai_str_eq(udpai_bytes_view(scope->type), type_url))
            continue;
        udpa_bytes_unref(scope->seen_epoch);
        scope->seen_epoch = udpa_bytes_ref(op->name);
        scope->seen_commit = op->number;
    }
    return UDPA_OK;
}

/* ---- the end ---- */

void
udpai_absence_closed(udpai_source *source)
{
    if (source->origin)
        udpai_store_end_absences(source->owner->context->store, source->origin, (udpai_str){0},
                                 UDPAI_ABSENCE_NEW, UDPAI_ABSENCE_FORGET);
    source->commit = 0;
}
