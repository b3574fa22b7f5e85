/* SPDX-License-Identifier: Apache-2.0 */
/* The client's answers to what it was sent: an answer is about a whole response, and each type has
 * its own. */
#include "session/acknowledgement.h"
#include "xds/xds_internal.h"

/* Places are those of one subscription, which its type may have several of. */
static udpai_ack_position
find_unanswered(const udpai_xds_type *type,
                const udpai_subscription *subscription,
                int64_t *ret_since_us)
{
    udpai_ack_position place = udpai_lost_place(&type->lost);
    *ret_since_us = type->lost.sent_us;
    UDPAI_LIST_FOREACH (node, &type->in_flight) {
        const udpai_xds_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_xds_in_flight, node);
        if (flight->subscription != subscription)
            continue;
        place = udpai_ack_position_least(place, flight->place);
        if (*ret_since_us == 0)
            *ret_since_us = flight->sent_us;
    }
    return place;
}

bool
udpai_xds_unanswered(const udpai_session *session,
                     const udpai_subscription *subscription,
                     udpai_ack_position *ret_place)
{
    int64_t since_us;
    (void)session;
    *ret_place = find_unanswered(udpai_xds_type_of(subscription), subscription, &since_us);
    return true;
}

static bool
is_visible(const udpai_resource_ack *ack)
{
    const udpai_renderer *renderer = udpai_subscription_subscriber(ack->subscription)->renderer;
    const udpai_send_item item = {
        .subscription = ack->subscription, .resource = ack->resource, .seq = ack->seq};
    return !ack->resource || renderer->item_size(renderer, &item) > 0;
}

/* What came in a state that was accepted since was accepted with it. */
static bool
find_refusal(const udpai_xds_type *type, const udpai_resource_ack *ack, udpai_refused *ret_refused)
{
    const udpai_refused_range *removals = &type->refusals.removals;
    if (ack->resource)
        return ack->seq > type->accepted_seq &&
               udpai_refusals_find(&type->refusals, udpai_resource_name(ack->resource), ack->seq,
                                   ret_refused);
    *ret_refused = (udpai_refused){.error = removals->error, .at_us = removals->at_us};
    bool is_accepted = type->accepted_seq && ack->place <= type->accepted_seq;
    return !is_accepted && udpai_refused_range_meets(removals, ack->from, ack->place);
}

void
udpai_xds_ack_status(const udpai_session *session,
                     const udpai_resource_ack *ack,
                     udpai_acknowledgement *ret)
{
    const udpai_xds_type *type = udpai_xds_type_of(ack->subscription);
    udpai_refused refused;
    *ret = (udpai_acknowledgement){.state = UDPAI_ACKNOWLEDGEMENT_BEHIND};
    (void)session;
    if (!ack->is_sent)
        ret->error = udpai_xds_held(ack->subscription);
    if (!is_visible(ack)) {
        ret->state = UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN;
    } else if (ack->is_unreported) {
        ret->state = UDPAI_ACKNOWLEDGEMENT_UNTOLD;
    } else if (ack->is_sent && find_refusal(type, ack, &refused)) {
        ret->state =
            refused.is_certain ? UDPAI_ACKNOWLEDGEMENT_REFUSED : UDPAI_ACKNOWLEDGEMENT_DOUBTFUL;
        ret->since_us = refused.at_us;
        ret->error = refused.error;
        ret->good = refused.good;
    } else if (ack->is_sent) {
        int64_t since_us;
        udpai_ack_position unanswered = find_unanswered(type, ack->subscription, &since_us);
        bool is_answered = udpai_resource_ack_is_answered(ack, unanswered);
        ret->state = is_answered ? UDPAI_ACKNOWLEDGEMENT_GIVEN : UDPAI_ACKNOWLEDGEMENT_UNANSWERED;
        ret->since_us = is_answered ? 0 : since_us;
    }
}
