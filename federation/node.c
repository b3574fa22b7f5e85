/* SPDX-License-Identifier: Apache-2.0 */
/* The node: what comes in goes to its part, and what follows is carried out once, in flush(). */
#include "federation/node_internal.h"

#include "federation/access.h"
#include "federation/audit.h"
#include "federation/barriers.h"
#include "federation/clients.h"
#include "federation/demand.h"
#include "federation/dynamic.h"
#include "federation/egress.h"
#include "federation/epoch.h"
#include "federation/freezes.h"
#include "federation/interest.h"
#include "federation/lapse.h"
#include "federation/local.h"
#include "federation/outlived.h"
#include "federation/pending_publication.h"
#include "federation/provider.h"
#include "federation/replica.h"
#include "federation/report_targets.h"
#include "federation/reports.h"
#include "federation/signatures.h"
#include "federation/source.h"
#include "federation/stamp.h"
#include "federation/stamps.h"
#include "federation/sync.h"
#include "federation/take_back.h"
#include "model/client_type.h"
#include "store/freeze.h"

void
udpai_node_set_timing(udpai_node *node, const udpai_node_timing *timing)
{
    node->context.timing = *timing;
}

void
udpai_node_set_store_options(udpai_node *node, const udpai_store_options *options)
{
    udpai_store_set_options(node->context.store, options);
    udpai_receiver_set_max_withdrawal(node->parts.receiver, options->max_withdrawal);
}

void
udpai_node_set_max_clients(udpai_node *node, size_t max_clients)
{
    udpai_groups_set_max(node->parts.groups, max_clients);
}

/* What keys or rules have rejected is not sent again on this stream. Rules reject nothing of an xDS
 * server. */
static void
ask_again(udpai_node *node, bool is_for_rules)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_sources_next_link(node->parts.sources, &at)))
        if (!is_for_rules || !udpai_source_is_xds(source))
            udpai_source_ask_for_refused(source);
}

void
udpai_node_set_keyring(udpai_node *node, udpai_keyring *keyring)
{
    if (!udpai_signatures_would_change(node->parts.signatures, keyring))
        return;
    ask_again(node, false); /* before anything goes, for which the time to ask has not come */
    udpai_signatures_change(node->parts.signatures, keyring);
    udpai_commits_note_rules(node->commits);
    udpai_context_list_again(&node->context);
}

void
udpai_node_set_acl(udpai_node *node, udpai_acl *acl)
{
    ask_again(node, true); /* as with keys */
    udpai_access_set_acl(node->parts.access, acl);
    udpai_commits_note_rules(node->commits);
    udpai_context_list_again(&node->context);
}

void
udpai_node_start(udpai_node *node)
{
    node->context.is_started = true;
    udpai_epoch_start(node->parts.epoch);
    udpai_restore_end(node);
    udpai_lapse_start(node->parts.lapse);
    udpai_recovery_start(node->parts.sources);
    if (node->context.is_restored) {
        udpai_take_back_nothing(node->parts.receiver);
        udpai_node_audit(node, &(udpai_audit_record){
                                   .action = UDPAI_STR("restore"),
                                   .actor = UDPAI_STR(UDPAI_AUDIT_NODE),
                                   .is_proven = true,
                                   .reason = UDPAI_STR("it was started with --restored"),
                               });
    }
    udpai_signatures_start(node->parts.signatures);
    if (udpai_local_overlay(node->parts.local)) /* what those below have checked counts, too */
        udpai_interest_subscribe(node->parts.interest, UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH),
                                 UDPAI_STR("*"), true);
    udpai_context_touch(&node->context);
}

/* ---- reports ---- */

static void
take_publication(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_find(node->parts.peers, report->session);
    udpai_pending_publication *pending = udpai_pending_publication_new(node->parts.local, report);
    if (!pending && peer && udpai_peer_source(peer))
        udpai_source_lost_update(peer->source);
    if (!pending)
        return;
    if (peer)
        udpai_commits_take(node->commits, peer, pending);
    else
        udpai_publication_refuse_all(pending->publication, UDPA_ERR_NOMEM, "out of memory");
}

static void
take_subscription_error(udpai_node *node, const udpai_report *report)
{
    unsigned n_suppressed;
    const udpai_subscription_message *error = report->subscription;
    const udpai_peer *peer = udpai_peers_find(node->parts.peers, report->session);
    if (peer && udpai_peer_source(peer))
        udpai_source_refused(peer->source, error);
    else if (peer && peer->has_reports)
        udpai_reports_refused(node->parts.interest, peer, error);
    if (!udpai_log_allow(&node->context.refused_log, udpai_context_now(&node->context),
                         &n_suppressed))
        return;
    udpai_str name = peer ? udpai_peer_name(peer) : (udpai_str){0};
    udpai_log_about(UDPA_LOG_WARNING, "federation",
                    UDPAI_ABOUT({UDPAI_LOG_IDENTITY, name}, {UDPAI_LOG_TYPE, error->type_url}),
                    "subscription rejected by %.*s, of type %.*s: %.*s (%u more not shown)",
                    (int)name.len, name.data, (int)error->type_url.len, error->type_url.data,
                    (int)error->status_text.len, error->status_text.data, n_suppressed);
}

static void
take_interest(udpai_node *node, const udpai_report *report)
{
    const udpai_subscription_message *request = report->subscription;
    char room[UDPA_NAME_MAX + 1];
    udpai_str text = request->names[0];
    if (text.len == 0) {
        if (request->name_space.len > UDPA_NAME_MAX)
            return;
        text = udpai_wildcard_text(room, request->name_space);
    }
    if (report->kind == UDPAI_REPORT_PASSED_ON && !udpai_type_is_client(request->type_url))
        (void)udpai_interest_look_up(node->parts.interest, request->type_url, text);
    else if (report->kind == UDPAI_REPORT_PASSED_ON)
        udpai_reports_passed_on(node->parts.interest, report, text);
    else if (!node->context.is_endpoint && request->distance)
        udpai_interest_by_nodes(node->parts.interest, request->type_url, text, report->subscribed);
    else if (!node->context.is_endpoint)
        udpai_interest_subscribe(node->parts.interest, request->type_url, text, report->subscribed);
    else if (node->context.env.demand_changed) /* nothing is fetched for others */
        node->context.env.demand_changed(node->context.env.userdata, request->type_url, text,
                                         report->subscribed);
}

void
udpai_node_report(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_find(node->parts.peers, report->session);
    switch (report->kind) {
    case UDPAI_REPORT_APPLIED:
        udpai_outbox_applied(node->outbox);
        break;
    case UDPAI_REPORT_SETTLED:
        udpai_sync_applied(node->parts.sync);
        break;
    case UDPAI_REPORT_OPENED:
        udpai_node_session_opened(node, report);
        break;
    case UDPAI_REPORT_ALIVE:
        if (peer && peer->source)
            udpai_source_alive(peer->source);
        break;
    case UDPAI_REPORT_NODE:
        udpai_node_session_introduced(node, report);
        break;
    case UDPAI_REPORT_PUBLICATION:
        take_publication(node, report);
        break;
    case UDPAI_REPORT_SUBSCRIPTION_ERROR:
        take_subscription_error(node, report);
        break;
    case UDPAI_REPORT_RECEIPT:
        udpai_publishing_receipt(node->parts.egress, report);
        break;
    case UDPAI_REPORT_CLOSED:
        if (peer && udpai_commits_hold_end(node->commits, peer, report))
            return;
        udpai_node_session_closed(node, report);
        break;
    case UDPAI_REPORT_INTEREST:
    case UDPAI_REPORT_PASSED_ON:
        take_interest(node, report);
        break;
    case UDPAI_REPORT_CLIENTS:
        if (udpai_client_reports_receive(node->parts.groups, report))
            return;
        break;
    case UDPAI_REPORT_BARRIER:
        udpai_barriers_ask(node->barriers, report);
        break;
    case UDPAI_REPORT_STATUS:
    case UDPAI_REPORT_ACKNOWLEDGEMENTS:
    case UDPAI_REPORT_CENSUS:
    case UDPAI_REPORT_OWN_STATUS:
    case UDPAI_REPORT_EVENTS:
    case UDPAI_REPORT_EVENTS_TAKEN:
    case UDPAI_REPORT_EVENTS_DEMAND:
    case UDPAI_REPORT_DEMAND:
    case UDPAI_REPORT_MARK:
    case UDPAI_REPORT_KINDS:
        break;
    }
    udpai_report_free(report);
}

/* ---- flush ---- */

static void
evaluate(udpai_node *node)
{
    const udpai_parts *parts = &node->parts;
    node->context.is_dirty = false;
    udpai_providers_evaluate(parts->providers);
    udpai_groups_evaluate(parts->groups);
    udpai_report_targets_evaluate(parts->egress);
    udpai_settled *settled = udpai_providers_settled(parts->providers);
    if (!settled)
        udpai_context_touch(&node->context); /* without memory: again with the next flush */
    else if (udpai_sync_take(parts->sync, settled))
        udpai_store_recheck_removals(node->context.store);
}

static void
propose_stamps(udpai_node *node)
{
    udpai_durable_batch *batch;
    while ((batch = udpai_stamps_next_proposal(node->parts.stamps)))
        udpai_commits_propose_batch(node->commits, batch);
}

static void
propose_signed_anew(udpai_node *node)
{
    udpai_signed_anew anew;
    while (udpai_signatures_next_anew(node->parts.signatures, &anew)) {
        udpai_commits_propose_put(node->commits, anew.origin, anew.resource, anew.deadline_ms);
        udpa_resource_unref(anew.resource);
        udpai_origin_unref(node->context.store, anew.origin);
    }
}

/* False: not without memory, so it is kept with the next flush. */
static bool
note_ended(udpai_node *node)
{
    udpai_durable_batch *batch = udpai_store_durable(node->context.store);
    if (!batch || node->replica || udpai_audit_ended(&node->context, batch) == UDPA_OK)
        return true;
    udpai_context_touch(&node->context);
    return false;
}

static void
commit(udpai_node *node)
{
    udpai_durable_batch *batch = NULL;
    if (!note_ended(node))
        return;
    udpa_err err = udpai_store_take_durable(node->context.store, &batch);
    uint64_t ticket = 0;
    bool has_staged = !node->replica && udpai_commits_has_staged(node->commits);
    if (node->replica) {
        propose_signed_anew(node);
        udpai_commits_propose(node->commits);
        propose_stamps(node);
    }
    bool has_moved = node->replica && udpai_replica_has_moved(node->replica);
    if ((has_staged || has_moved) && !batch)
        batch = udpai_durable_batch_new();
    if (has_staged) /* behind what was done before it */
        udpai_commits_hand_over(node->commits, batch, node->last_ticket + 1);
    if (batch && node->context.env.commit) {
        udpai_stamp_expiry(&node->context, batch);
        udpai_lapse_commit(node->parts.lapse, batch);
        if (node->replica)
            udpai_replica_commit(node->replica, batch);
        ticket = ++node->last_ticket;
        udpai_epoch_commits(node->parts.epoch, batch, ticket);
        node->context.env.commit(node->context.env.userdata, batch, ticket);
    } else {
        udpai_durable_batch_free(batch);
    }
    udpai_pending_publications_commit(node->parts.local, ticket, err);
}

/* Publications that all subscribers in the process have answered, and that need not be kept, or
 * are. */
static void
answer(udpai_node *node)
{
    if (udpai_outbox_has_changes(node->outbox) && udpai_local_has_subscriptions(node->parts.local))
        return;
    udpai_pending_publications_delivered(node->parts.local);
}

/* What was published before other rules came is effective only now. */
static void
review(udpai_node *node)
{
    if (!udpai_commits_take_review(node->commits))
        return;
    udpai_access_review(node->parts.access);
    udpai_signatures_review(node->parts.signatures);
}

static void
propose_as_janitor(udpai_node *node)
{
    udpai_durable_op op;
    udpai_durable_batch *batch;
    while ((batch = udpai_replica_next_removals(node->replica)))
        udpai_commits_propose_batch(node->commits, batch);
    while (udpai_replica_is_janitor(node->replica) &&
           (batch = udpai_stamps_next_deletion(node->parts.stamps)))
        udpai_commits_propose_batch(node->commits, batch);
    while (udpai_replica_next_obsolete(node->replica, &op)) {
        udpai_commits_propose_delete(node->commits, &op);
        udpai_durable_op_done(&op);
    }
}

/* What was read here gets the generation that the set has given to it. */
static void
restamp(udpai_node *node)
{
    udpai_str type_url, name;
    while (udpai_stamps_next_changed(node->parts.stamps, &type_url, &name))
        udpai_intake_restamp(node->parts.receiver, type_url, name);
}

void
udpai_node_apply_replicated(udpai_node *node)
{
    udpai_replicated *event;
    while ((event = udpai_replica_next(node->replica))) {
        if (event->kind == UDPAI_REPLICATED_OUTCOME)
            udpai_commits_proposed(node->commits, event);
        else if (event->kind == UDPAI_REPLICATED_BARRIER)
            udpai_barriers_passed(node->barriers, event->ticket);
        udpai_replicated_free(event);
    }
    restamp(node);
    propose_as_janitor(node);
}

static void
apply_commits(udpai_node *node)
{
    udpai_report *end;
    if (node->replica)
        udpai_node_apply_replicated(node);
    udpai_node_use_agreed_files(node);
    udpai_node_use_marks(node);
    udpai_node_propose_shares(node);
    udpai_commits_go_on(node->commits);
    review(node);
    while ((end = udpai_commits_next_end(node->commits))) {
        udpai_node_session_closed(node, end);
        udpai_report_free(end);
    }
}

static void
flush(udpai_node *node)
{
    apply_commits(node);
    udpai_outlived_settle(node->parts.receiver);
    for (int i = 0; node->context.is_dirty && i < 2;
         i++) /* what a source is asked for, changes its state */
        evaluate(node);
    udpai_store_hold_frozen(node->context.store);
    commit(node); /* with it, which sources are eligible now */
    udpai_outbox_send_changes(node->outbox);
    udpai_outbox_send_settled(node->outbox);
    udpai_locals_notify_new(node->parts.local);
    if (udpai_outbox_has_changes(node->outbox))
        return;
    udpai_freezes_settle(node->parts.freezes, udpai_sync_settled(node->parts.sync));
    udpai_locals_notify_complete(node->parts.local);
    if (!udpai_sync_is_unsent(node->parts.sync)) /* else they could receive an uncertain absence */
        udpai_barriers_release(node->barriers);
}

void
udpai_node_flush(udpai_node *node)
{
    flush(node);
    bool has_changed = udpai_outbox_take_lookups(node->outbox);
    has_changed |= udpai_dynamic_catch_up(node->parts.dynamic);
    if (has_changed)
        flush(node); /* what was sent is carried out before it is answered */
    answer(node);
}
