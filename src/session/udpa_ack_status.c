/* SPDX-License-Identifier: Apache-2.0 */
/* What the peer has answered to what it was sent: a receipt has each resource by itself. */
#include "base/utf8.h"
#include "session/acknowledgement.h"
#include "session/client_log.h"
#include "session/udpa_internal.h"

/* What is kept of a status, for display. */
#define TEXT_KEPT_MAX 1024

udpa_error *
udpai_status_error(const udpai_status_message *status, size_t text_max)
{
    if (status->code == 0)
        return NULL;
    udpai_str text = udpai_utf8_cut(status->text, text_max);
    return udpa_error_new(udpa_err_from_grpc(status->code), NULL, "%.*s", (int)text.len, text.data);
}

/* ---- noting ---- */

/* Consumes the error. */
static void
note_refused(udpai_sent *sent, const udpai_in_flight *flight, size_t index, udpa_error *error)
{
    udpai_had room;
    udpai_refused refused = {
        .error = error,
        .name = flight->listing->resources[index].name,
        .version = flight->listing->resources[index].version,
        .seq = flight->listing->resources[index].seq,
        .at_us = sent->refused_us,
        .is_certain = true,
    };
    udpai_refusals_find_good(&sent->refusals, flight->subscription, flight->place, &refused, &room);
    udpai_refusals_add(&sent->refusals, &refused);
    udpa_error_unref(sent->last_error);
    sent->last_error = error;
}

/* Behind the entries, refused removals alone have a status. */
static void
note_refused_removals(udpai_sent *sent,
                      const udpai_in_flight *flight,
                      const udpai_receipt_message *receipt,
                      int64_t now_us)
{
    for (size_t i = flight->listing->n; i < receipt->n_statuses; i++) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = udpai_status_error(&receipt->statuses[i], TEXT_KEPT_MAX);
        const udpai_refused_range range = {flight->place.removals, flight->head, error, now_us};
        if (!error)
            continue;
        udpai_refused_range_add(&sent->refusals.removals, &range);
        sent->refused_us = now_us;
    }
}

/* A receipt is one NACK, whatever it rejects. False: it is none. */
static bool
log_nack(udpai_udpa *udpa, const udpai_in_flight *flight, const udpai_receipt_message *receipt)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    udpai_client_nack nack = {.nonce = flight->nonce};
    size_t n = 0;
    for (size_t i = 0; i < receipt->n_statuses; i++) {
        if (receipt->statuses[i].code == 0 || n++)
            continue;
        why = udpai_status_error(&receipt->statuses[i], TEXT_KEPT_MAX);
        if (i >= flight->listing->n) /* a removal */
            continue;
        nack.name = flight->listing->resources[i].name;
        nack.version = flight->listing->resources[i].version;
    }
    if (n == 0)
        return false;
    nack.type_url = udpai_subscription_type_url(flight->subscription);
    nack.n_more = n - (nack.name.len > 0);
    nack.why = why;
    udpai_client_log_nack(&udpa->session, udpa->peer, &nack);
    return true;
}

void
udpai_udpa_note_receipt(udpai_udpa *udpa,
                        const udpai_in_flight *flight,
                        const udpai_receipt_message *receipt)
{
    udpai_sent *sent = udpai_udpa_sent(flight->subscription);
    if (!sent)
        return;
    int64_t now_us = udpai_hub_wall_us(udpa->session.hub);
    udpai_lost_answered(&sent->lost, flight->nonce);
    for (size_t i = 0; i < flight->listing->n; i++) {
        bool refused = i < receipt->n_statuses && receipt->statuses[i].code != 0;
        *(refused ? &sent->refused_us : &sent->acknowledged_us) = now_us;
        sent->n_acknowledged += !refused;
        sent->n_refused += refused;
        if (refused)
            note_refused(sent, flight, i, udpai_status_error(&receipt->statuses[i], TEXT_KEPT_MAX));
        else
            udpai_refusals_accept(&sent->refusals, flight->listing->resources[i].name,
                                  flight->listing->resources[i].seq);
    }
    note_refused_removals(sent, flight, receipt, now_us);
    bool is_nack = log_nack(udpa, flight, receipt);
    if (sent->traffic)
        udpai_meter_add(is_nack ? sent->traffic->nacks : sent->traffic->acks, 1);
}

void
udpai_udpa_note_lost(const udpai_in_flight *flight)
{
    udpai_sent *sent = udpai_udpa_sent(flight->subscription);
    if (sent)
        udpai_lost_add(&sent->lost, flight->nonce, flight->place, flight->sent_us);
}

/* ---- judging ---- */

static udpai_ack_position
find_unanswered(const udpai_udpa *udpa,
                const udpai_subscription *subscription,
                const udpai_sent *sent,
                int64_t *ret_since_us)
{
    udpai_ack_position place = udpai_lost_place(&sent->lost);
    *ret_since_us = sent->lost.sent_us;
    UDPAI_LIST_FOREACH (node, &udpa->in_flight) {
        const udpai_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_in_flight, node);
        if (flight->subscription != subscription)
            continue;
        place = udpai_ack_position_least(place, flight->place);
        if (*ret_since_us == 0)
            *ret_since_us = flight->sent_us;
    }
    return place;
}

bool
udpai_udpa_unanswered(const udpai_session *session,
                      const udpai_subscription *subscription,
                      udpai_ack_position *ret_place)
{
    const udpai_udpa *udpa = UDPAI_CONTAINER_OF(session, const udpai_udpa, session);
    const udpai_sent *sent = udpai_subscription_userdata(subscription);
    int64_t since_us;
    if (!udpa->asks_receipts)
        return false;
    *ret_place = UDPAI_ACK_POSITION_NONE;
    if (sent)
        *ret_place = find_unanswered(udpa, subscription, sent, &since_us);
    return true;
}

static bool
find_refusal(const udpai_sent *sent, const udpai_resource_ack *ack, udpai_acknowledgement *ret)
{
    const udpai_refused_range *removals = &sent->refusals.removals;
    udpai_refused refused = {.error = removals->error, .at_us = removals->at_us};
    bool found = ack->resource
                     ? udpai_refusals_find(&sent->refusals, udpai_resource_name(ack->resource),
                                           ack->seq, &refused)
                     : udpai_refused_range_meets(removals, ack->from, ack->place);
    if (found)
        *ret = (udpai_acknowledgement){
            .state =
                refused.is_certain ? UDPAI_ACKNOWLEDGEMENT_REFUSED : UDPAI_ACKNOWLEDGEMENT_DOUBTFUL,
            .since_us = refused.at_us,
            .error = refused.error,
            .good = refused.good,
        };
    return found;
}

/* Nodes are sent what they asked for, and ask not to be asked for a receipt. */
void
udpai_udpa_ack_status(const udpai_session *session,
                      const udpai_resource_ack *ack,
                      udpai_acknowledgement *ret)
{
    static const udpai_sent none;
    const udpai_udpa *udpa = UDPAI_CONTAINER_OF(session, const udpai_udpa, session);
    const udpai_sent *sent = udpai_subscription_userdata(ack->subscription);
    *ret = (udpai_acknowledgement){.state = UDPAI_ACKNOWLEDGEMENT_BEHIND};
    if (!sent)
        sent = &none;
    if (!ack->is_sent || find_refusal(sent, ack, ret))
        return;
    if (!udpa->asks_receipts) {
        ret->state = UDPAI_ACKNOWLEDGEMENT_SENT;
        return;
    }
    int64_t since_us;
    udpai_ack_position unanswered = find_unanswered(udpa, ack->subscription, sent, &since_us);
    ret->state = UDPAI_ACKNOWLEDGEMENT_GIVEN;
    if (udpai_resource_ack_is_answered(ack, unanswered))
        return;
    *ret = (udpai_acknowledgement){.state = UDPAI_ACKNOWLEDGEMENT_UNANSWERED, .since_us = since_us};
}
