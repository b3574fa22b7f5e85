/* SPDX-License-Identifier: Apache-2.0 */
/* A change is applied as a whole within one flush, so that clients receive it as one, and its
 * position is kept with it: after a restart the replica goes on from there. */
#include "federation/replica.h"

#include "base/alloc.h"
#include "federation/access.h"
#include "federation/agreement.h"
#include "federation/epoch.h"
#include "federation/freezes.h"
#include "federation/janitor.h"
#include "federation/mesh.h"
#include "federation/obsolete.h"
#include "federation/places.h"
#include "federation/position_fact.h"
#include "federation/publishers.h"
#include "federation/replica_accept.h"
#include "federation/replica_held.h"
#include "federation/replica_listing.h"
#include "federation/replica_problems.h"
#include "federation/shares.h"
#include "federation/signatures.h"
#include "federation/stamps.h"
#include "federation/sync.h"
#include "store/audit.h"

struct udpai_replica {
    udpai_context *context;
    struct udpai_epoch *epoch;
    struct udpai_access *access;
    struct udpai_signatures *signatures;
    struct udpai_stamps *stamps;
    struct udpai_freezes *freezes;
    udpai_janitor *janitor;
    struct udpai_mesh *mesh; /* NULL: it does not know the others */
    struct udpai_sync *sync;
    struct udpai_agreement *agreement;
    struct udpai_shares *shares;
    udpai_list events;
    udpai_obsolete *obsolete;
    udpai_replica_listing listing; /* of the first event, if it is a list */
    udpai_durable_position kept;
    uint64_t base;                 /* from which revisions count, as numbers of commits */
    bool kept_partial;             /* beside that position */
    udpai_replication_proof proof; /* a reference */
    udpai_replica_status status;
    uint64_t logged; /* digest of what was amiss then */
    size_t logged_hidden;
    udpai_replicated *members, *why, *keys, *hold; /* what the status refers to; NULL: nothing */
};

static udpai_listed compare(void *userdata, const udpai_durable_op *op);

udpa_err
udpai_replica_new(udpai_replica **ret_replica, const udpai_parts *parts)
{
    udpai_replica *replica = udpai_alloc(sizeof(*replica));
    if (!replica)
        return UDPA_ERR_NOMEM;
    replica->context = parts->context;
    replica->epoch = parts->epoch;
    replica->access = parts->access;
    replica->signatures = parts->signatures;
    replica->stamps = parts->stamps;
    replica->freezes = parts->freezes;
    replica->mesh = parts->mesh;
    replica->sync = parts->sync;
    replica->agreement = parts->agreement;
    replica->shares = parts->shares;
    udpai_list_init(&replica->events);
    udpai_replica_listing_init(&replica->listing, parts->context, compare, replica);
    udpa_err err = udpai_janitor_new(&replica->janitor, parts->context);
    if (err == UDPA_OK)
        err = udpai_obsolete_new(&replica->obsolete, parts->context);
    if (err == UDPA_OK)
        *ret_replica = replica;
    else
        udpai_replica_free(replica);
    return err;
}

void
udpai_replica_free(udpai_replica *replica)
{
    udpai_list *at;
    if (!replica)
        return;
    while ((at = udpai_list_pop(&replica->events)))
        udpai_replicated_free(UDPAI_LIST_ENTRY(at, udpai_replicated, node));
    udpai_replica_listing_done(&replica->listing);
    udpai_obsolete_free(replica->obsolete);
    udpai_janitor_free(replica->janitor);
    udpai_replicated_free(replica->members);
    udpai_replicated_free(replica->why);
    udpa_error_unref(replica->status.alarm);
    udpai_replicated_free(replica->hold);
    udpai_replicated_free(replica->keys);
    udpa_bytes_unref(replica->proof.key);
    udpai_free(replica);
}

udpai_replication_state
udpai_replica_state(const udpai_replica *replica)
{
    return replica->status.state;
}

const udpai_replica_status *
udpai_replica_get_status(udpai_replica *replica)
{
    replica->status.n_hidden = udpai_janitor_n_hidden(replica->janitor);
    replica->status.n_overdue = udpai_store_n_overdue(replica->context->store);
    replica->status.n_files_waiting = udpai_agreement_n_waiting(replica->agreement);
    replica->status.n_files_differing = udpai_agreement_n_differing(replica->agreement);
    return &replica->status;
}

/* ---- the position ---- */

static bool
is_at(udpai_durable_position a, udpai_durable_position b)
{
    return a.cluster_id == b.cluster_id && a.revision == b.revision;
}

const udpai_replication_proof *
udpai_replica_proof(const udpai_replica *replica)
{
    return &replica->proof;
}

/* There is something in etcd that its store does not have: it cannot decrypt that, or hides it. */
static bool
is_partial(const udpai_replica *replica)
{
    bool was_partial = replica->kept_partial && !replica->status.has_listed;
    return was_partial || replica->context->lacks_keys ||
           udpai_janitor_n_hidden(replica->janitor) > 0;
}

bool
udpai_replica_has_moved(const udpai_replica *replica)
{
    return !is_at(replica->context->position, replica->kept) ||
           is_partial(replica) != replica->kept_partial;
}

/* Without memory the next commit has it. */
void
udpai_replica_commit(udpai_replica *replica, udpai_durable_batch *batch)
{
    const udpai_durable_position now = replica->context->position;
    const udpai_position_fact fact = {now, replica->base, is_partial(replica), replica->proof};
    if (!udpai_replica_has_moved(replica) || udpai_position_fact_add(batch, &fact) != UDPA_OK)
        return;
    replica->kept = now;
    replica->kept_partial = fact.is_partial;
}

bool
udpai_replica_restore(udpai_replica *replica, const udpai_durable_op *op)
{
    udpai_position_fact fact;
    if (!udpai_position_fact_read(op, &fact))
        return false;
    replica->kept = fact.position;
    replica->base = fact.base;
    replica->kept_partial = fact.is_partial;
    udpa_bytes_unref(replica->proof.key);
    replica->proof = fact.proof;
    replica->context->position = replica->kept;
    replica->context->n_commits = replica->base + (uint64_t)replica->kept.revision;
    return true;
}

/* ---- applying ---- */

static bool
is_removal(const udpai_durable_op *op)
{
    return udpai_store_is_removal_key(udpai_bytes_view(op->origin));
}

/* Has an origin what etcd has of it? Everything else a replica has by itself. */
static bool
is_of_set(const udpai_replica *replica, udpai_str key)
{
    return udpai_publisher_is_key(key) || udpai_shares_find(replica->shares, key);
}

/* ---- what removals end ---- */

struct ending {
    udpai_replica *replica;
    bool has_failed;
};

static bool
note_ended(void *userdata, const udpai_contribution *held)
{
    struct ending *ending = userdata;
    if (is_of_set(ending->replica, udpai_origin_key(held->origin)))
        ending->has_failed = udpai_obsolete_add(ending->replica->obsolete, held) != UDPA_OK;
    return !ending->has_failed;
}

static udpa_err
apply_removal(udpai_replica *replica, const udpai_durable_op *op)
{
    udpai_store *store = replica->context->store;
    struct ending ending = {replica, false};
    size_t n_before = udpai_obsolete_n(replica->obsolete);
    udpai_store_visit_name(store, udpai_resource_type_url(op->resource),
                           udpai_resource_name(op->resource), note_ended, &ending);
    udpa_err err =
        ending.has_failed ? UDPA_ERR_NOMEM : udpai_store_end_replicated(store, op->resource);
    udpai_obsolete_drop_held(replica->obsolete, n_before);
    return err;
}

/* The janitor finds it again, if it was another until now. */
bool
udpai_replica_next_obsolete(udpai_replica *replica, udpai_durable_op *ret_op)
{
    if (!udpai_janitor_is_known(replica->janitor))
        return false;
    bool is_any = udpai_obsolete_next(replica->obsolete, ret_op);
    while (is_any && !udpai_janitor_is_on(replica->janitor)) {
        udpai_durable_op_done(ret_op);
        is_any = udpai_obsolete_next(replica->obsolete, ret_op);
    }
    return is_any;
}

/* ---- applying ---- */

static bool
holds(const udpai_replica *replica,
      const udpai_origin *origin,
      const udpa_resource *resource,
      udpai_contribution *ret_held)
{
    return udpai_store_get(replica->context->store, origin, udpai_resource_type_url(resource),
                           udpai_resource_name(resource), ret_held);
}

/* Clocks of replicas differ, and that of the janitor decides: so it is not compared with those of
 * others. A record has its whole time from when it is received. */
static uint64_t
deadline_of(const udpai_replica *replica, const udpai_origin *origin, const udpai_durable_op *op)
{
    udpai_contribution held;
    if (!op->expires_us)
        return 0;
    if (op->is_known && holds(replica, origin, op->resource, &held) && held.deadline_ms)
        return held.deadline_ms;
    return udpai_context_now(replica->context) + udpa_resource_ttl_ms(op->resource);
}

/* As after a restart, or when all is read again: it need not be kept again. What has a ttl may have
 * been renewed, but for a record that was reported before: its time goes on. */
static bool
has_it(const udpai_replica *replica, const udpai_origin *origin, const udpai_durable_op *op)
{
    udpai_contribution held;
    bool may_end = udpa_resource_ttl_ms(op->resource) > 0;
    return holds(replica, origin, op->resource, &held) &&
           (may_end ? op->is_known : held.deadline_ms == 0) &&
           udpai_resource_is_same(held.resource, op->resource);
}

/* Its authority has removed it by then, though neither replica knew of the other: it is as if it
 * had come before that. */
static udpa_err
end_late(udpai_replica *replica, udpai_origin *origin, udpa_resource *resource)
{
    const udpai_contribution late = {.origin = origin, .resource = resource};
    udpai_store_withdraw(replica->context->store, origin, udpai_resource_type_url(resource),
                         udpai_resource_name(resource));
    return udpai_obsolete_add(replica->obsolete, &late);
}

/* In etcd it stays, until the rules of all replicas are the same, and clocks must have it, too. */
static udpa_err
hide(udpai_replica *replica, udpai_origin *origin, const udpai_durable_op *op)
{
    const udpai_place place = udpai_place_of(op);
    bool is_for_now = udpai_access_allows(replica->access, origin, op->identity, op->resource) &&
                      udpai_signatures_is_matter_of_time(replica->signatures, op->resource,
                                                         UDPAI_JANITOR_LATE_MS / 1000);
    udpai_store_withdraw(replica->context->store, origin, place.type_url, place.name);
    bool is_hidden = is_for_now ? udpai_janitor_hide_for_now(replica->janitor, &place)
                                : udpai_janitor_hide(replica->janitor, &place);
    return is_hidden ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* Another replica has let it in, perhaps by other rules. */
static bool
is_allowed(const udpai_replica *replica, const udpai_origin *origin, const udpai_durable_op *op)
{
    return udpai_access_allows(replica->access, origin, op->identity, op->resource) &&
           udpai_signatures_allow(replica->signatures, origin, op->resource);
}

/* Of a list: what applying it would do. */
static udpai_listed
compare(void *userdata, const udpai_durable_op *op)
{
    const udpai_replica *replica = userdata;
    const udpai_store *store = replica->context->store;
    udpai_str key = udpai_bytes_view(op->origin);
    const udpai_origin *origin = udpai_store_find_origin((udpai_store *)(uintptr_t)store, key);
    udpai_contribution held;
    if (!origin || !is_of_set(replica, key) || !holds(replica, origin, op->resource, &held))
        return UDPAI_LISTED_NEW;
    if (!has_it(replica, origin, op))
        return UDPAI_LISTED_CHANGED;
    if (udpai_shares_find(replica->shares, key))
        return UDPAI_LISTED_SAME;
    bool is_named = udpai_origin_identity(origin) || !op->identity;
    return is_named && is_allowed(replica, origin, op) ? UDPAI_LISTED_SAME : UDPAI_LISTED_CHANGED;
}

static udpa_err
apply_put(udpai_replica *replica,
          udpai_origin *origin,
          const udpai_durable_op *op,
          uint64_t deadline_ms)
{
    udpai_store *store = replica->context->store;
    if (udpai_store_removal_generation(store, op->resource) >
        udpa_resource_generation(op->resource))
        return end_late(replica, origin, op->resource);
    if (!is_allowed(replica, origin, op))
        return hide(replica, origin, op);
    const udpai_place place = udpai_place_of(op);
    udpai_janitor_show(replica->janitor, &place);
    if (has_it(replica, origin, op))
        return UDPA_OK;
    return udpai_store_put_replicated(store, origin, op->resource, deadline_ms);
}

static udpa_err
apply_published(udpai_replica *replica, const udpai_durable_op *op)
{
    udpai_origin *origin =
        udpai_store_origin(replica->context->store, udpai_bytes_view(op->origin));
    if (!origin)
        return UDPA_ERR_NOMEM;
    udpai_origin_set_durable(origin, true);
    if (!udpai_origin_identity(origin))
        udpai_origin_set_identity(origin, op->identity);
    return apply_put(replica, origin, op, deadline_of(replica, origin, op));
}

static void
apply_delete(udpai_replica *replica, const udpai_durable_op *op)
{
    udpai_store *store = replica->context->store;
    udpai_origin *origin = udpai_store_find_origin(store, udpai_bytes_view(op->origin));
    const udpai_place place = udpai_place_of(op);
    udpai_obsolete_deleted(replica->obsolete, op);
    udpai_janitor_show(replica->janitor, &place);
    if (is_removal(op))
        udpai_store_forget_removal(store, place.origin, place.type_url, place.name);
    else if (origin)
        udpai_store_withdraw(store, origin, place.type_url, place.name);
}

/* ---- what one replica reads for all ---- */

/* If it is not what the elected one has proposed, that compares. */
static udpa_err
apply_shared(udpai_replica *replica, udpai_share *share, const udpai_durable_op *op)
{
    uint64_t now = udpai_context_now(replica->context);
    uint64_t ttl_ms = op->resource ? udpa_resource_ttl_ms(op->resource) : 0;
    udpa_err err = UDPA_OK;
    if (op->kind == UDPAI_DURABLE_DELETE)
        apply_delete(replica, op);
    else if (!has_it(replica, share->origin, op))
        err = apply_put(replica, share->origin, op, ttl_ms ? now + ttl_ms : 0);
    else
        return UDPA_OK;
    if (!share->is_proposed)
        udpai_shares_compare_at(replica->shares, share, now + UDPAI_SHARES_AGAIN_MS);
    return err;
}

/* What was here before the first mark may not be in etcd. */
static udpa_err
apply_mark(udpai_replica *replica, const udpai_durable_op *op)
{
    bool is_first;
    if (!udpai_shares_take_mark(replica->shares, op, &is_first))
        return udpai_janitor_ignore(replica->janitor, op);
    if (is_first)
        udpai_context_list_again(replica->context);
    return UDPA_OK;
}

static udpa_err
apply_one(udpai_replica *replica, const udpai_durable_op *op)
{
    if (op->kind == UDPAI_DURABLE_AUDIT) {
        udpai_store_note_op(replica->context->store, op);
        return UDPA_OK;
    }
    udpai_str key = udpai_bytes_view(op->origin);
    udpai_share *share = udpai_shares_find(replica->shares, key);
    if (udpai_stamps_is_key(key))
        return udpai_stamps_take(replica->stamps, op);
    if (udpai_freezes_is_key(key))
        return udpai_freezes_take_replicated(replica->freezes, op);
    if (udpai_shares_is_mark_key(key))
        return apply_mark(replica, op);
    if (share)
        return apply_shared(replica, share, op);
    if (!is_removal(op) && !udpai_publisher_is_key(key))
        return udpai_janitor_ignore(replica->janitor, op);
    if (op->kind == UDPAI_DURABLE_DELETE)
        apply_delete(replica, op);
    else
        return is_removal(op) ? apply_removal(replica, op) : apply_published(replica, op);
    return UDPA_OK;
}

/* Removals first: what is put with them is newer. */
static unsigned
turn_of(const udpai_durable_op *op)
{
    return op->kind == UDPAI_DURABLE_DELETE ? 1 : is_removal(op) ? 0 : 2;
}

static udpa_err
apply_ops(udpai_replica *replica, const udpai_durable_batch *batch)
{
    udpa_err err = UDPA_OK;
    for (unsigned turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++)
            if (turn_of(&batch->ops.items[i]) == turn)
                err = apply_one(replica, &batch->ops.items[i]);
    return err;
}

/* ---- events ---- */

void
udpai_replica_take(udpai_replica *replica, udpai_replicated *event)
{
    udpai_list_append(&replica->events, &event->node);
}

#define HIDDEN                                                                                     \
    "%zu resources that other replicas have accepted are not served by this one: its rules or "    \
    "keys of signatures do not allow them, or it reads their directory by itself (replicas: "      \
    "LOCAL)"

static void
log_hidden(udpai_replica *replica)
{
    size_t n = udpai_janitor_n_hidden(replica->janitor);
    if (n > replica->logged_hidden)
        udpai_log(UDPA_LOG_WARNING, "replicas", HIDDEN, n);
    else if (n == 0 && replica->logged_hidden)
        udpai_log(UDPA_LOG_INFO, "replicas", "the rules allow all that other replicas accept");
    replica->logged_hidden = n;
}

/* Again from its beginning, if there was no memory: what is applied already changes nothing. */
static bool
apply(udpai_replica *replica, const udpai_replicated *change)
{
    udpa_err err = UDPA_OK;
    if (change->is_other)
        err = udpai_replica_forget_newer(replica->context, replica->shares, change->batch);
    bool is_at_once = change->is_other || !replica->context->is_started; /* nobody is served yet */
    if (change->is_all &&
        !udpai_replica_listing_go_on(&replica->listing, change->batch, is_at_once))
        return false;
    if (change->is_all)
        udpai_shares_take_marks(replica->shares, change->batch);
    if (err == UDPA_OK && change->is_all)
        err = udpai_replica_listing_end_others(&replica->listing, replica->shares,
                                               replica->keys ? replica->keys->batch : NULL);
    if (change->is_all) {
        udpai_janitor_show_all(replica->janitor);
        udpai_stamps_clear(replica->stamps);
        udpai_freezes_clear(replica->freezes);
    }
    if (err == UDPA_OK)
        err = apply_ops(replica, change->batch);
    udpai_context_touch(replica->context);
    if (err != UDPA_OK)
        return false;
    udpai_replica_listing_reset(&replica->listing);
    replica->context->position = change->batch->position;
    replica->status.has_listed |= change->is_all;
    if (change->proof.key) {
        udpa_bytes_ref(change->proof.key);
        udpa_bytes_unref(replica->proof.key);
        replica->proof = change->proof;
    }
    log_hidden(replica);
    replica->base = change->base;
    if (replica->status.revision < change->batch->position.revision)
        replica->status.revision = change->batch->position.revision;
    udpai_epoch_reached(replica->epoch, replica->base + (uint64_t)change->batch->position.revision,
                        change->batch->ops.n != 0);
    return true;
}

/* Takes it; NULL: there is none. */
static void
set_hold(udpai_replica *replica, udpai_replicated *event)
{
    udpai_replicated_free(replica->hold);
    replica->hold = event;
    replica->status.hold = event ? event->hold : NULL;
    if (event && event->hold->revision)
        replica->status.revision = event->hold->revision;
}

static bool
is_news(const udpai_replica *replica, const udpai_replicated *event)
{
    const udpai_replica_parts parts = {replica->context, replica->stamps, replica->freezes,
                                       replica->shares};
    return udpai_replica_hold_is_news(&parts, udpai_epoch_name(replica->epoch), is_partial(replica),
                                      event);
}

static void
take_state(udpai_replica *replica, udpai_replicated *event)
{
    udpai_replica_status *status = &replica->status;
    if (event->state != UDPAI_REPLICATION_HELD)
        set_hold(replica, NULL);
    if (event->revision)
        status->revision = event->revision;
    if (status->state != event->state || !status->since_us)
        status->since_us = udpai_context_wall_us(replica->context);
    status->state = event->state;
    bool is_current = event->state == UDPAI_REPLICATION_CURRENT;
    bool knows_all = is_current && !event->is_uncertain;
    if (replica->context->knows_all != knows_all)
        udpai_context_touch(replica->context);
    replica->context->knows_all = knows_all;
    replica->context->is_current = is_current;
    status->why = event->error;
    udpai_replicated_free(replica->why);
    replica->why = event;
}

/* What is not known must not be said to be absent. */
static void
take_keys(udpai_replica *replica, udpai_replicated *event)
{
    udpai_replica_status *status = &replica->status;
    udpai_str before =
        status->locked ? udpai_str_from(udpa_error_message(status->locked)) : (udpai_str){0};
    if (event->error && !udpai_str_eq(before, udpai_str_from(udpa_error_message(event->error))))
        udpai_log(UDPA_LOG_ERROR, "replicas", "this replica is not ready: %s",
                  udpa_error_message(event->error));
    else if (!event->error && status->locked)
        udpai_log(UDPA_LOG_INFO, "replicas", "all secrets in etcd can be decrypted");
    status->locked = event->error;
    status->n_locked = event->batch->ops.n;
    replica->context->lacks_keys = status->n_locked > 0;
    udpai_sync_set_locked(replica->sync, event->batch);
    udpai_context_touch(replica->context);
    udpai_replicated_free(replica->keys);
    replica->keys = event;
}

/* ---- what is amiss ---- */

void
udpai_replica_visit_problems(const udpai_replica *replica, udpai_problem_fn visit, void *userdata)
{
    const udpai_replica_status *status = &replica->status;
    udpai_replica_visit_members(status, visit, userdata);
    udpai_agreement_visit_problems(replica->agreement, visit, userdata);
    udpai_shares_visit_problems(replica->shares, visit, userdata);
    size_t n_hidden = udpai_janitor_n_hidden(replica->janitor);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *hidden = n_hidden ? udpa_error_new(UDPA_ERR_DENIED, NULL, HIDDEN, n_hidden) : NULL;
    if (hidden)
        visit(userdata, udpa_error_message(hidden));
    udpai_replica_visit_own(status, visit, userdata);
    if (status->hold)
        udpai_replica_visit_hold(status->hold, visit, userdata);
}

/* The first time, and when they are others. */
static void
log_problems(udpai_replica *replica)
{
    uint64_t digest = udpai_replica_members_digest(&replica->status);
    if (digest != replica->logged)
        udpai_replica_visit_problems(replica, udpai_replica_log_problem, NULL);
    replica->logged = digest;
}

/* ---- what is reported ---- */

static void
take_members(udpai_replica *replica, udpai_replicated *event)
{
    replica->status.members = event->members;
    replica->status.n_members = event->n_members;
    replica->status.membership = event->membership;
    const udpai_replica_member *own = udpai_replica_status_own(&replica->status);
    replica->context->place = own ? own->place : 0;
    replica->context->n_replicas = own ? (unsigned)event->n_members : 0;
    udpai_replicated_free(replica->members);
    replica->members = event;
    udpai_janitor_take_members(replica->janitor, &replica->status);
    replica->context->is_janitor = udpai_janitor_is_on(replica->janitor);
    udpai_agreement_take_members(replica->agreement, &replica->status);
    if (replica->mesh)
        udpai_mesh_take_members(replica->mesh, &replica->status);
    log_problems(replica);
}

udpai_replicated *
udpai_replica_next(udpai_replica *replica)
{
    while (!udpai_list_empty(&replica->events)) {
        udpai_replicated *event = UDPAI_LIST_ENTRY(replica->events.next, udpai_replicated, node);
        if (event->kind == UDPAI_REPLICATED_CHANGE && !apply(replica, event))
            return NULL;
        udpai_list_remove(&event->node);
        replica->status.n_given_up += event->kind == UDPAI_REPLICATED_BARRIER && !event->is_current;
        if (event->kind == UDPAI_REPLICATED_STATE)
            take_state(replica, event);
        else if (event->kind == UDPAI_REPLICATED_MEMBERS)
            take_members(replica, event);
        else if (event->kind == UDPAI_REPLICATED_HOLD && is_news(replica, event))
            set_hold(replica, event);
        else if (event->kind == UDPAI_REPLICATED_REBALANCE)
            udpai_replica_status_take_rebalance(&replica->status, event);
        else if (event->kind == UDPAI_REPLICATED_ETCD)
            udpai_replica_status_take_etcd(&replica->status, event);
        else if (event->kind == UDPAI_REPLICATED_KEYS)
            take_keys(replica, event);
        else if (event->kind != UDPAI_REPLICATED_CHANGE && event->kind != UDPAI_REPLICATED_HOLD)
            return event;
        else
            udpai_replicated_free(event);
    }
    return NULL;
}

/* ---- what is done once for all ---- */

bool
udpai_replica_is_janitor(const udpai_replica *replica)
{
    return udpai_janitor_is_on(replica->janitor);
}

udpai_durable_batch *
udpai_replica_next_removals(udpai_replica *replica)
{
    return udpai_janitor_next_removals(replica->janitor);
}
