/* SPDX-License-Identifier: Apache-2.0 */
/* A publication between being applied and being answered: it waits for subscribers in the process,
 * who may refuse, and for the durable engine, so that what is receipted is safe.
 *
 * Each is answered, with a receipt or without: the session has room for so many that are not. The
 * answer comes with the publication, for it needs memory. */
#include "federation/node_internal.h"

#include "base/alloc.h"

static void
on_deadline(udpai_timer *timer)
{
    udpai_judgement *judgement = UDPAI_CONTAINER_OF(timer, udpai_judgement, deadline);
    for (size_t i = 0; i < judgement->publication->entries.n; i++)
        udpai_publication_refuse(
            &judgement->publication->entries.items[i].error,
            udpa_error_new(UDPA_ERR_DEADLINE, NULL, "no answer from the application in time"));
    judgement->n_deferred = 0;
    udpai_judgement_check(judgement);
}

/* Both are consumed. */
static void
give(udpai_node *node, udpai_order *answer, udpai_publication *publication)
{
    answer->publication = publication;
    udpai_node_order(node, answer);
}

udpai_judgement *
udpai_judgement_new(udpai_node *node, udpai_report *report)
{
    udpai_order *answer = UDPAI_TAKE(report->answer);
    udpai_publication *publication = UDPAI_TAKE(report->publication);
    udpai_judgement *judgement = udpai_alloc(sizeof(*judgement));
    answer->session = report->session;
    if (!judgement) {
        udpai_publication_refuse_all(publication, UDPA_ERR_NOMEM, "out of memory");
        give(node, answer, publication);
        return NULL;
    }
    judgement->owner = node;
    judgement->answer = answer;
    judgement->publication = publication;
    udpai_timer_init(&judgement->deadline, on_deadline);
    udpai_list_init(&judgement->node);
    udpai_list_append(&node->judgements, &judgement->node);
    return judgement;
}

void
udpai_judgement_free(udpai_judgement *judgement)
{
    udpai_local_updates_forget(judgement->owner, judgement);
    udpai_list_remove(&judgement->node);
    udpai_timer_cancel(&judgement->deadline);
    udpai_publication_free(judgement->publication);
    udpai_order_free(judgement->answer);
    udpai_free(judgement);
}

/* Answers it if nothing is waited for any more. */
void
udpai_judgement_check(udpai_judgement *judgement)
{
    if (!judgement->is_told || judgement->n_deferred || judgement->ticket)
        return;
    give(judgement->owner, UDPAI_TAKE(judgement->answer), UDPAI_TAKE(judgement->publication));
    udpai_judgement_free(judgement);
}
