/* SPDX-License-Identifier: Apache-2.0 */
/* A publication between being applied and being answered: it waits for subscribers in the process,
 * which may refuse, and for the durable engine, so that what is receipted is safe.
 *
 * Each is answered, with a receipt or without: the session has room for so many that are not. The
 * answer comes with the publication, for it needs memory. */
#include "federation/pending_publication.h"

#include "base/alloc.h"
#include "federation/local_internal.h"

static void
on_deadline(udpai_timer *timer)
{
    udpai_pending_publication *pending =
        UDPAI_CONTAINER_OF(timer, udpai_pending_publication, deadline);
    for (size_t i = 0; i < pending->publication->entries.n; i++)
        udpai_publication_refuse(
            &pending->publication->entries.items[i].error,
            udpa_error_new(UDPA_ERR_DEADLINE, NULL, "no answer from the application in time"));
    pending->n_deferred = 0;
    udpai_pending_publication_check(pending);
}

/* Both are consumed. */
static void
give(udpai_local *local, udpai_order *answer, udpai_publication *publication)
{
    answer->publication = publication;
    udpai_context_order(local->context, answer);
}

udpai_pending_publication *
udpai_pending_publication_new(udpai_local *local, udpai_report *report)
{
    udpai_order *answer = UDPAI_TAKE(report->answer);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    udpai_pending_publication *pending = udpai_alloc(sizeof(*pending));
    answer->session = report->session;
    if (!pending) {
        udpai_publication_refuse_all(publication, UDPA_ERR_NOMEM, "out of memory");
        give(local, answer, publication);
        return NULL;
    }
    pending->owner = local;
    pending->answer = answer;
    pending->publication = publication;
    udpai_timer_init(&pending->deadline, on_deadline);
    udpai_list_init(&pending->node);
    udpai_list_append(&local->undelivered, &pending->node);
    return pending;
}

void
udpai_pending_publication_free(udpai_pending_publication *pending)
{
    udpai_local_updates_forget(pending->owner, pending);
    udpai_list_remove(&pending->node);
    udpai_timer_cancel(&pending->deadline);
    udpai_publication_free(pending->publication);
    udpai_order_free(pending->answer);
    udpai_free(pending);
}

/* Answers it if nothing is waited for any more. */
void
udpai_pending_publication_check(udpai_pending_publication *pending)
{
    if (!pending->is_delivered || pending->n_deferred || pending->ticket)
        return;
    give(pending->owner, UDPAI_TAKE(pending->answer), UDPAI_TAKE(pending->publication));
    udpai_pending_publication_free(pending);
}

/* ---- on the way to the engine ---- */

void
udpai_pending_publication_hold(udpai_pending_publication *pending)
{
    udpai_list_remove(&pending->node);
}

void
udpai_pending_publication_resume(udpai_pending_publication *pending)
{
    udpai_list_append(&pending->owner->undelivered, &pending->node);
}

/* Before all for which a batch is still to be handed over. */
void
udpai_pending_publication_kept(udpai_pending_publication *pending)
{
    pending->is_committed = true;
    udpai_list_remove(&pending->node);
    udpai_list_prepend(&pending->owner->undelivered, &pending->node);
}

void
udpai_pending_publication_refuse(udpai_pending_publication *pending, udpa_err err, const char *why)
{
    pending->publication->receipt_required = true;
    udpai_publication_refuse_all(pending->publication, err, why);
    udpai_pending_publication_kept(pending);
}

/* ---- all of a node ---- */

static void
refuse_unsafe(udpai_pending_publication *pending)
{
    pending->publication->receipt_required = true;
    udpai_publication_refuse_all(pending->publication, UDPA_ERR_UNAVAILABLE,
                                 "this is in force, but could not be kept: publish it again");
}

/* Those that are not handed over yet come after all others. */
void
udpai_pending_publications_commit(udpai_local *local, uint64_t ticket, udpa_err result)
{
    for (udpai_list *at = local->undelivered.prev; at != &local->undelivered; at = at->prev) {
        udpai_pending_publication *pending = UDPAI_LIST_ENTRY(at, udpai_pending_publication, node);
        if (pending->is_committed)
            return;
        pending->is_committed = true;
        pending->ticket = ticket;
        if (result != UDPA_OK)
            refuse_unsafe(pending);
    }
}

void
udpai_pending_publications_delivered(udpai_local *local)
{
    udpai_list delivered, *at;
    udpai_list_init(&delivered);
    udpai_list_splice(&delivered, &local->undelivered);
    while ((at = udpai_list_pop(&delivered))) {
        udpai_pending_publication *pending = UDPAI_LIST_ENTRY(at, udpai_pending_publication, node);
        pending->is_delivered = true;
        udpai_list_append(pending->ticket ? &local->unsafe : &local->unanswered, at);
        udpai_pending_publication_check(pending);
    }
}

static void
end_ticket(udpai_pending_publication *pending, udpa_err result)
{
    pending->ticket = 0;
    if (result != UDPA_OK)
        refuse_unsafe(pending);
}

/* Tickets rise: those of the delivered are in order, and of the others there are few. */
void
udpai_pending_publications_committed(udpai_local *local, uint64_t ticket, udpa_err result)
{
    UDPAI_LIST_FOREACH (at, &local->undelivered) {
        udpai_pending_publication *pending = UDPAI_LIST_ENTRY(at, udpai_pending_publication, node);
        if (pending->ticket && pending->ticket <= ticket)
            end_ticket(pending, result);
    }
    while (!udpai_list_empty(&local->unsafe)) {
        udpai_pending_publication *pending =
            UDPAI_LIST_ENTRY(local->unsafe.next, udpai_pending_publication, node);
        if (pending->ticket > ticket)
            return;
        end_ticket(pending, result);
        udpai_list_remove(&pending->node);
        udpai_list_append(&local->unanswered, &pending->node);
        udpai_pending_publication_check(pending);
    }
}
