/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/receiver.h"

#include "base/alloc.h"
#include "federation/events.h"
#include "federation/intake.h"
#include "federation/outlived.h"
#include "federation/twins.h"

#define MAX_WITHDRAWAL 50 /* percent, if nothing is configured */

udpa_err
udpai_receiver_new(udpai_receiver **ret_receiver, const udpai_parts *parts, unsigned max_withdrawal)
{
    udpai_receiver *receiver = udpai_alloc(sizeof(*receiver));
    if (!receiver)
        return UDPA_ERR_NOMEM;
    receiver->context = parts->context;
    receiver->lapse = parts->lapse;
    receiver->sources = parts->sources;
    receiver->freezes = parts->freezes;
    receiver->traces = parts->traces;
    receiver->access = parts->access;
    receiver->signatures = parts->signatures;
    receiver->providers = parts->providers;
    receiver->interest = parts->interest;
    receiver->local = parts->local;
    receiver->sync = parts->sync;
    receiver->stamps = parts->stamps;
    receiver->shares = parts->shares;
    udpai_events_init(receiver);
    udpai_receiver_set_max_withdrawal(receiver, max_withdrawal);
    udpa_err err = udpai_twins_new(&receiver->twins, parts);
    if (err != UDPA_OK)
        udpai_receiver_free(receiver);
    else
        *ret_receiver = receiver;
    return err;
}

void
udpai_receiver_free(udpai_receiver *receiver)
{
    if (!receiver)
        return;
    udpai_events_free(receiver);
    udpai_outlived_free(receiver);
    udpai_twins_free(receiver->twins);
    udpai_hop_path_unref(receiver->last_hop_path);
    udpai_refreshes_done(&receiver->refreshes);
    udpai_free(receiver);
}

void
udpai_receiver_set_max_withdrawal(udpai_receiver *receiver, unsigned percent)
{
    receiver->max_withdrawal = percent ? percent : MAX_WITHDRAWAL;
}

uint64_t
udpai_receiver_n_loops(const udpai_receiver *receiver)
{
    return receiver->n_loops;
}

udpai_twins *
udpai_receiver_twins(const udpai_receiver *receiver)
{
    return receiver->twins;
}

udpai_refreshes *
udpai_receiver_refreshes(udpai_receiver *receiver)
{
    return &receiver->refreshes;
}
