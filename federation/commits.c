/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/commits_internal.h"

#include "base/alloc.h"
#include "federation/provider.h"
#include "federation/source.h"
#include "federation/trial.h"
#include "model/client_type.h"

/* A publication, or the end of its stream. */
typedef struct turn {
    udpai_list node;
    udpai_pending_publication *pending;
    udpai_report *end;
} turn;

/* A name that is staged; all types have it together. */
typedef struct staged_name {
    udpa_bytes *name;
    size_t n;
} staged_name;

static udpai_str
queue_key(const void *item)
{
    return udpai_origin_key(((const udpai_commit_queue *)item)->origin);
}

static udpai_str
name_key(const void *item)
{
    return udpai_bytes_view(((const staged_name *)item)->name);
}

udpa_err
udpai_commits_new(udpai_commits **ret_commits, const udpai_parts *parts)
{
    udpai_commits *commits = udpai_alloc(sizeof(*commits));
    if (!commits)
        return UDPA_ERR_NOMEM;
    commits->context = parts->context;
    commits->peers = parts->peers;
    commits->receiver = parts->receiver;
    commits->providers = parts->providers;
    commits->shares = parts->shares;
    udpai_map_init(&commits->queues, queue_key);
    udpai_map_init(&commits->names, name_key);
    udpai_list_init(&commits->waiting);
    udpai_list_init(&commits->staged);
    udpai_list_init(&commits->sent);
    udpai_list_init(&commits->ends);
    *ret_commits = commits;
    return UDPA_OK;
}

/* ---- names ---- */

static void
unlock(udpai_commits *commits, udpai_str name)
{
    staged_name *one = udpai_map_get(&commits->names, name);
    if (!one || --one->n)
        return;
    udpai_map_remove(&commits->names, name);
    udpa_bytes_unref(one->name);
    udpai_free(one);
}

static bool
lock(udpai_commits *commits, udpai_str name)
{
    staged_name *one = udpai_map_get(&commits->names, name);
    if (!one) {
        one = udpai_alloc(sizeof(*one));
        if (!one)
            return false;
        if (udpa_bytes_new(&one->name, name.data, name.len) != UDPA_OK ||
            !udpai_map_add(&commits->names, one)) {
            udpa_bytes_unref(one->name);
            udpai_free(one);
            return false;
        }
    }
    one->n++;
    return true;
}

bool
udpai_commits_have_name(const udpai_commits *commits, udpai_str name)
{
    return udpai_map_get(&commits->names, name) != NULL;
}

/* The first `n` of them. */
static void
unlock_names(udpai_commits *commits, const udpai_staging *staging, size_t n)
{
    size_t at = 0;
    while (at < n) {
        udpai_str name = udpai_staging_next_name(staging, &at);
        if (name.len == 0)
            return;
        unlock(commits, name);
    }
}

static bool
lock_names(udpai_commits *commits, const udpai_staging *staging)
{
    size_t at = 0;
    udpai_str name;
    while ((name = udpai_staging_next_name(staging, &at)).len)
        if (!lock(commits, name)) {
            unlock_names(commits, staging, at - 1);
            return false;
        }
    return true;
}

/* ---- queues ---- */

static udpai_commit_queue *
find_queue(const udpai_commits *commits, const udpai_origin *origin)
{
    return udpai_map_get(&commits->queues, udpai_origin_key(origin));
}

udpai_commit_queue *
udpai_commit_queue_get(udpai_commits *commits, udpai_origin *origin)
{
    udpai_commit_queue *of = find_queue(commits, origin);
    if (of)
        return of;
    of = udpai_alloc(sizeof(*of));
    if (!of)
        return NULL;
    of->origin = origin;
    udpai_list_init(&of->waiting);
    udpai_list_init(&of->node);
    if (!udpai_map_add(&commits->queues, of)) {
        udpai_free(of);
        return NULL;
    }
    udpai_origin_ref(origin);
    return of;
}

void
udpai_commit_queue_release(udpai_commits *commits, udpai_commit_queue *of)
{
    if (of->n_staged || !udpai_list_empty(&of->waiting))
        return;
    udpai_list_remove(&of->node);
    udpai_map_remove(&commits->queues, queue_key(of));
    udpai_origin_unref(commits->context->store, of->origin);
    udpai_free(of);
}

static bool
add_turn(udpai_commits *commits,
         udpai_commit_queue *of,
         udpai_pending_publication *pending,
         udpai_report *end)
{
    turn *one = udpai_alloc(sizeof(*one));
    if (!one)
        return false;
    one->pending = pending;
    one->end = end;
    udpai_list_init(&one->node);
    udpai_list_append(&of->waiting, &one->node);
    if (!udpai_list_linked(&of->node))
        udpai_list_append(&commits->waiting, &of->node);
    return true;
}

/* ---- the life of a transaction ---- */

static void
drop(udpai_commits *commits, udpai_transaction *ended)
{
    if (ended->staging)
        unlock_names(commits, ended->staging, SIZE_MAX);
    udpai_list_remove(&ended->node);
    udpai_staging_free(ended->staging);
    udpai_vector_done(&ended->refreshes);
    ended->queue->n_staged--;
    ended->queue->n_states -= ended->is_state;
    ended->queue->n_void -= ended->is_void;
    commits->n_scarce -= ended->is_scarce;
    udpai_free(ended);
}

void
udpai_transaction_end(udpai_commits *commits, udpai_transaction *ended)
{
    udpai_commit_queue *of = ended->queue;
    drop(commits, ended);
    udpai_commit_queue_release(commits, of);
}

static void
refuse(udpai_pending_publication *pending, udpa_err err)
{
    if (err == UDPA_ERR_NOMEM)
        udpai_pending_publication_refuse(pending, err, "out of memory");
    else
        udpai_pending_publication_refuse(pending, UDPA_ERR_UNAVAILABLE,
                                         "this could not be kept, and changes nothing: publish it "
                                         "again");
}

void
udpai_transaction_unstage(udpai_commits *commits, udpai_transaction *staged)
{
    unlock_names(commits, staged->staging, SIZE_MAX);
    udpai_list_remove(&staged->node);
    staged->staging = udpai_staging_free(staged->staging);
    staged->refreshes.n = 0;
    staged->queue->n_void -= staged->is_void;
    staged->is_void = false;
}

bool
udpai_transaction_stage(udpai_commits *commits, udpai_transaction *begun)
{
    if (!lock_names(commits, begun->staging)) {
        begun->staging = udpai_staging_free(begun->staging);
        return false;
    }
    begun->position = commits->context->position;
    udpai_list_append(&commits->staged, &begun->node);
    return true;
}

udpai_transaction *
udpai_transaction_new(udpai_commit_queue *of, udpai_pending_publication *pending)
{
    udpai_transaction *begun = udpai_alloc(sizeof(*begun));
    if (!begun)
        return NULL;
    begun->queue = of;
    begun->pending = pending;
    udpai_list_init(&begun->node);
    begun->is_state = pending && pending->publication->state_of_the_world;
    of->n_staged++;
    of->n_states += begun->is_state;
    return begun;
}

static bool
is_rejected(const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        if (!publication->entries.items[i].error)
            return false;
    for (size_t i = 0; i < publication->removals.n; i++)
        if (!publication->removals.items[i].error)
            return false;
    return publication->entries.n || publication->removals.n;
}

/* Another replica may have given a receipt for what has not arrived here: one that changes nothing,
 * or not all that it is about, is decided once more when all of that has. Only what it changes is
 * compared in etcd. */
static bool
must_be_certain(const udpai_commits *commits, const udpai_transaction *begun)
{
    return udpai_context_is_replicated(commits->context) && begun->n_lost == 0 &&
           (udpai_staging_has_unchanged(begun->staging) || begun->is_scarce) &&
           !is_rejected(begun->pending->publication);
}

/* Where little is left of a limit, each replica decides one at a time, by what all have committed:
 * so no replica goes beyond it by more than that one. The others may have as much on their way. */
static void
note_scarce(udpai_commits *commits, udpai_transaction *begun)
{
    const udpai_context *context = commits->context;
    bool is_scarce =
        udpai_context_is_replicated(context) &&
        udpai_staging_is_scarce(begun->staging,
                                context->n_replicas ? context->n_replicas : UDPAI_REPLICAS_MAX);
    commits->n_scarce += is_scarce - begun->is_scarce;
    begun->is_scarce = is_scarce;
}

/* What it would change is not proposed yet. False: without memory. */
static bool
wait_for_certainty(udpai_commits *commits, udpai_transaction *begun)
{
    udpai_staging_free(begun->staging);
    begun->staging = udpai_staging_new(commits->context->store);
    begun->is_void = true;
    begun->queue->n_void++;
    return begun->staging != NULL;
}

bool
udpai_transaction_decide(udpai_commits *commits, udpai_transaction *begun, udpai_peer *peer)
{
    begun->staging = udpai_staging_new(commits->context->store);
    begun->place = commits->context->place;
    if (!begun->staging) {
        refuse(begun->pending, UDPA_ERR_NOMEM);
        return false;
    }
    udpai_publication_decide(begun->pending->publication);
    udpai_intake_take(commits->receiver, peer, begun->pending->publication, begun->staging);
    note_scarce(commits, begun);
    bool is_uncertain = must_be_certain(commits, begun);
    if (udpai_staging_is_empty(begun->staging) && !is_uncertain)
        return false;
    if ((is_uncertain && !wait_for_certainty(commits, begun)) ||
        !udpai_transaction_stage(commits, begun)) {
        refuse(begun->pending, UDPA_ERR_NOMEM);
        return false;
    }
    udpai_pending_publication_hold(begun->pending);
    return true;
}

static void
begin(udpai_commits *commits,
      udpai_commit_queue *of,
      udpai_peer *peer,
      udpai_pending_publication *pending)
{
    udpai_transaction *begun = udpai_transaction_new(of, pending);
    if (!begun)
        refuse(pending, UDPA_ERR_NOMEM);
    else if (!udpai_transaction_decide(commits, begun, peer))
        drop(commits, begun);
}

/* ---- what waits ---- */

/* Is all of it what clients report, which is not kept? */
static bool
is_of_clients(const udpai_publication *publication)
{
    if (publication->type_url.len)
        return udpai_type_is_client(publication->type_url);
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        if (!resource || !udpai_type_is_client(udpai_resource_type_url(resource)))
            return false;
    }
    return publication->removals.n == 0 && !publication->state_of_the_world;
}

static bool
is_about_staged(const udpai_commits *commits, const udpai_publication *publication)
{
    if (commits->names.n == 0)
        return false;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        if (resource && udpai_commits_have_name(commits, udpai_resource_name(resource)))
            return true;
    }
    for (size_t i = 0; i < publication->removals.n; i++)
        if (udpai_commits_have_name(commits, publication->removals.items[i].name))
            return true;
    return false;
}

static bool
must_wait(const udpai_commits *commits,
          const udpai_commit_queue *of,
          const udpai_publication *publication)
{
    bool may_be_decided_again =
        (of->n_states || of->n_void) && udpai_context_is_replicated(commits->context);
    return commits->n_scarce || (publication->state_of_the_world && of->n_staged) ||
           may_be_decided_again || is_about_staged(commits, publication);
}

void
udpai_commits_take(udpai_commits *commits, udpai_peer *peer, udpai_pending_publication *pending)
{
    const udpai_context *context = commits->context;
    udpai_publication *publication = pending->publication;
    if (publication->is_trial) {
        udpai_trial_take(commits->receiver, peer, publication);
        return;
    }
    if (!context->is_durable || !context->env.commit || udpai_peer_source(peer) ||
        peer->is_replaced || is_of_clients(publication)) {
        udpai_intake_take(commits->receiver, peer, publication, NULL);
        return;
    }
    udpai_origin *origin = udpai_intake_origin(commits->receiver, peer);
    udpai_commit_queue *of = origin ? udpai_commit_queue_get(commits, origin) : NULL;
    if (!of) {
        refuse(pending, UDPA_ERR_NOMEM);
        return;
    }
    bool waits = !udpai_list_empty(&of->waiting) || must_wait(commits, of, publication);
    if (!waits)
        begin(commits, of, peer, pending);
    else if (add_turn(commits, of, pending, NULL))
        udpai_pending_publication_hold(pending);
    else
        refuse(pending, UDPA_ERR_NOMEM);
    udpai_commit_queue_release(commits, of);
}

/* Its publisher may have published something newer by now, at another replica. On a single node
 * that would come behind. */
static void
drop_undecided(udpai_commit_queue *of, uint64_t session)
{
    UDPAI_LIST_FOREACH_SAFE (at, &of->waiting) {
        turn *one = UDPAI_LIST_ENTRY(at, turn, node);
        if (!one->pending || one->pending->answer->session != session)
            continue;
        udpai_pending_publication_free(one->pending);
        udpai_list_remove(&one->node);
        udpai_free(one);
    }
}

bool
udpai_commits_hold_end(udpai_commits *commits, const udpai_peer *peer, udpai_report *report)
{
    udpai_commit_queue *of = peer->origin ? find_queue(commits, peer->origin) : NULL;
    if (!of)
        return false;
    if (udpai_context_is_replicated(commits->context))
        drop_undecided(of, report->session);
    bool waits = !udpai_list_empty(&of->waiting) || (report->is_disowned && of->n_staged);
    bool is_held = waits && add_turn(commits, of, NULL, report);
    udpai_commit_queue_release(commits, of);
    return is_held;
}

bool
udpai_commit_queue_has_end(const udpai_commit_queue *queue, uint64_t session)
{
    UDPAI_LIST_FOREACH (at, &queue->waiting) {
        const turn *one = UDPAI_LIST_ENTRY(at, turn, node);
        if (one->end && one->end->session == session)
            return true;
    }
    return false;
}

udpai_report *
udpai_commits_next_end(udpai_commits *commits)
{
    udpai_list *at = udpai_list_pop(&commits->ends);
    if (!at)
        return NULL;
    turn *one = UDPAI_LIST_ENTRY(at, turn, node);
    udpai_report *end = one->end;
    udpai_free(one);
    return end;
}

/* An end that takes away what was published comes when all of that is applied. */
static bool
take_turn(udpai_commits *commits, udpai_commit_queue *of, turn *next)
{
    if (next->end && next->end->is_disowned && of->n_staged)
        return false;
    if (next->end) {
        udpai_list_remove(&next->node);
        udpai_list_append(&commits->ends, &next->node);
        return true;
    }
    if (must_wait(commits, of, next->pending->publication))
        return false;
    udpai_list_remove(&next->node);
    udpai_peer *peer = udpai_peers_find(commits->peers, next->pending->answer->session);
    udpai_pending_publication_resume(next->pending);
    if (peer) /* it is there as long as its end is not */
        begin(commits, of, peer, next->pending);
    else
        refuse(next->pending, UDPA_ERR_UNAVAILABLE);
    udpai_free(next);
    return true;
}

static void
go_on_with(udpai_commits *commits, udpai_commit_queue *of)
{
    while (!udpai_list_empty(&of->waiting) &&
           take_turn(commits, of, UDPAI_LIST_ENTRY(of->waiting.next, turn, node)))
        ;
}

static void
take_turns(udpai_commits *commits)
{
    UDPAI_LIST_FOREACH_SAFE (at, &commits->waiting) {
        udpai_commit_queue *of = UDPAI_LIST_ENTRY(at, udpai_commit_queue, node);
        go_on_with(commits, of);
        if (udpai_list_empty(&of->waiting))
            udpai_list_remove(&of->node);
        udpai_commit_queue_release(commits, of);
    }
}

/* ---- the engine ---- */

bool
udpai_commits_has_staged(const udpai_commits *commits)
{
    return !udpai_list_empty(&commits->staged);
}

/* With its records, or not at all. */
static udpa_err
add_to(const udpai_commits *commits, const udpai_transaction *one, udpai_durable_batch *batch)
{
    size_t from = batch->ops.n;
    udpa_err err = udpai_staging_commit(one->staging, batch);
    if (err == UDPA_OK)
        err = udpai_transaction_audit(commits, one, batch, from);
    if (err != UDPA_OK)
        udpai_durable_batch_cut(batch, from);
    return err;
}

void
udpai_commits_hand_over(udpai_commits *commits, udpai_durable_batch *batch, uint64_t ticket)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&commits->staged))) {
        udpai_transaction *one = UDPAI_LIST_ENTRY(at, udpai_transaction, node);
        udpai_list_append(&commits->sent, &one->node);
        one->ticket = ticket;
        udpa_err err = batch ? add_to(commits, one, batch) : UDPA_ERR_NOMEM;
        if (err == UDPA_OK)
            continue;
        refuse(one->pending, err);
        udpai_transaction_end(commits, one);
        commits->has_ended = true;
    }
}

/* False: not without memory. */
static bool
apply(udpai_commits *commits, udpai_transaction *kept)
{
    if (udpai_staging_apply(kept->staging) != UDPA_OK)
        return false;
    commits->must_review |= kept->has_old_rules;
    udpai_pending_publication_kept(kept->pending);
    udpai_transaction_end(commits, kept);
    return true;
}

/* In their order: one that is stuck holds back what was kept after it. */
void
udpai_commits_go_on(udpai_commits *commits)
{
    bool is_any = commits->has_ended;
    UDPAI_LIST_FOREACH_SAFE (at, &commits->sent) {
        udpai_transaction *kept = UDPAI_LIST_ENTRY(at, udpai_transaction, node);
        if (!kept->is_kept)
            break;
        if (!apply(commits, kept)) {
            udpai_context_touch(commits->context);
            break;
        }
        is_any = true;
    }
    commits->has_ended = false;
    if (!is_any)
        return;
    take_turns(commits);
    if (udpai_providers_named_are_waiting(commits->providers))
        udpai_context_touch(commits->context);
}

void
udpai_commits_committed(udpai_commits *commits, uint64_t ticket, udpa_err result)
{
    UDPAI_LIST_FOREACH_SAFE (at, &commits->sent) {
        udpai_transaction *one = UDPAI_LIST_ENTRY(at, udpai_transaction, node);
        if (one->ticket > ticket)
            return;
        if (one->is_kept)
            continue;
        if (result == UDPA_OK) {
            one->is_kept = true;
            continue;
        }
        refuse(one->pending, result);
        udpai_transaction_end(commits, one);
        commits->has_ended = true;
    }
}

/* ---- rules ---- */

static void
note_rules(udpai_list *transactions)
{
    UDPAI_LIST_FOREACH (at, transactions)
        UDPAI_LIST_ENTRY(at, udpai_transaction, node)->has_old_rules = true;
}

void
udpai_commits_note_rules(udpai_commits *commits)
{
    note_rules(&commits->staged);
    note_rules(&commits->sent);
}

bool
udpai_commits_take_review(udpai_commits *commits)
{
    bool must_review = commits->must_review;
    commits->must_review = false;
    return must_review;
}

/* ---- the end ---- */

static void
free_transactions(udpai_commits *commits, udpai_list *list)
{
    while (!udpai_list_empty(list)) {
        udpai_transaction *one = UDPAI_LIST_ENTRY(list->next, udpai_transaction, node);
        if (one->pending)
            udpai_pending_publication_free(one->pending);
        udpai_transaction_end(commits, one);
    }
}

static void
free_turns(udpai_list *list)
{
    udpai_list *at;
    while ((at = udpai_list_pop(list))) {
        turn *one = UDPAI_LIST_ENTRY(at, turn, node);
        if (one->pending)
            udpai_pending_publication_free(one->pending);
        udpai_report_free(one->end);
        udpai_free(one);
    }
}

void
udpai_commits_free(udpai_commits *commits)
{
    if (!commits)
        return;
    UDPAI_LIST_FOREACH_SAFE (at, &commits->waiting) {
        udpai_commit_queue *of = UDPAI_LIST_ENTRY(at, udpai_commit_queue, node);
        free_turns(&of->waiting);
        udpai_commit_queue_release(commits, of);
    }
    free_turns(&commits->ends);
    free_transactions(commits, &commits->staged);
    free_transactions(commits, &commits->sent);
    udpai_map_done(&commits->queues);
    udpai_map_done(&commits->names);
    udpai_free(commits);
}
