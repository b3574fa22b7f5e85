/* SPDX-License-Identifier: Apache-2.0 */
/* What the node is asked for that one of its parts does alone. */
#include "federation/absence.h"
#include "federation/accept.h"
#include "federation/access.h"
#include "federation/clients.h"
#include "federation/egress.h"
#include "federation/epoch.h"
#include "federation/freezes.h"
#include "federation/held.h"
#include "federation/local.h"
#include "federation/mesh.h"
#include "federation/node_internal.h"
#include "federation/pending_publication.h"
#include "federation/problems.h"
#include "federation/receiver.h"
#include "federation/replica.h"
#include "federation/reporting.h"
#include "federation/reports.h"
#include "federation/signatures.h"
#include "federation/source.h"
#include "federation/sync.h"
#include "federation/twins.h"

/* ---- rules ---- */

udpa_err
udpai_node_check_access(udpai_node *node,
                        const udpai_acl_subject *subject,
                        const udpai_acl_question *question,
                        udpa_error **ret_error)
{
    return udpai_access_check(node->parts.access, subject, question, ret_error);
}

/* ---- what is kept ---- */

void
udpai_node_committed(udpai_node *node, uint64_t ticket, udpa_err result)
{
    udpai_epoch_committed(node->parts.epoch, ticket, result);
    udpai_pending_publications_committed(node->parts.local, ticket, result);
    if (!node->replica)
        udpai_commits_committed(node->commits, ticket, result);
}

void
udpai_node_replicated(udpai_node *node, udpai_replicated *event)
{
    udpai_replica_take(node->replica, event);
}

const udpai_replica_status *
udpai_node_replica_status(const udpai_node *node)
{
    return node->replica ? udpai_replica_get_status(node->replica) : NULL;
}

const udpai_replication_proof *
udpai_node_position_proof(const udpai_node *node)
{
    return udpai_replica_proof(node->replica);
}

void
udpai_node_assume_position(udpai_node *node)
{
    node->context.position = (udpai_durable_position){.cluster_id = 1, .revision = 1};
}

udpai_durable_position
udpai_node_position(const udpai_node *node)
{
    return node->context.position;
}

udpa_err
udpai_node_accept_as_source(udpai_node *node, udpai_str id, udpa_error **ret_error)
{
    return udpai_epoch_accept(node->parts.epoch, id, ret_error);
}

bool
udpai_node_accept_absences(udpai_node *node, udpai_str name, size_t *ret_n)
{
    return udpai_held_accept(node->parts.sources, name, ret_n);
}

void
udpai_node_visit_held(const udpai_node *node, udpai_held_count_fn visit, void *userdata)
{
    udpai_held_visit(node->parts.sources, visit, userdata);
}

udpa_err
udpai_node_expect_clients(udpai_node *node, udpai_str name_space, udpai_node_info *client)
{
    return udpai_groups_expect(node->parts.groups, name_space, client);
}

/* ---- subscribing in the process ---- */

udpa_err
udpai_node_subscribe(udpai_node *node,
                     const udpai_selection *selection,
                     const udpai_local_ops *ops,
                     udpai_local_subscription **ret_subscription)
{
    return udpai_local_subscribe(node->parts.local, selection, ops, ret_subscription);
}

void
udpai_node_unsubscribe(udpai_node *node, udpai_local_subscription *subscription)
{
    udpai_local_unsubscribe(node->parts.local, subscription);
}

/* ---- publishing ---- */

bool
udpai_node_has_source(const udpai_node *node, udpai_str source)
{
    return udpai_egress_has_source(node->parts.egress, source);
}

bool
udpai_node_only_source(const udpai_node *node, udpai_str *ret_name)
{
    return udpai_egress_only_source(node->parts.egress, ret_name);
}

const udpa_error *
udpai_node_source_error(const udpai_node *node, udpai_str source)
{
    return udpai_egress_source_error(node->parts.egress, source);
}

const udpa_error *
udpai_node_source_fault(const udpai_node *node, udpai_str source)
{
    return udpai_egress_source_fault(node->parts.egress, source);
}

bool
udpai_node_source_has_failed(const udpai_node *node, udpai_str name)
{
    const udpai_source *source = udpai_sources_get(node->parts.sources, name);
    return source && udpai_source_is_decided(source) && !udpai_source_is_active(source);
}

const char *
udpai_node_take_doubt(udpai_node *node, udpai_str name)
{
    udpai_source *source = udpai_sources_get(node->parts.sources, name);
    return source ? udpai_absence_take_doubt(source) : NULL;
}

const char *
udpai_node_source_server(const udpai_node *node, udpai_str source)
{
    return udpai_egress_source_server(node->parts.egress, source);
}

bool
udpai_node_may_publish_to(const udpai_node *node, udpai_str source)
{
    return udpai_egress_may_publish_to(node->parts.egress, source);
}

uint64_t
udpai_node_publish(udpai_node *node, udpai_str source, udpai_publication *publication)
{
    return udpai_egress_publish(node->parts.egress, source, publication);
}

udpa_err
udpai_node_report_own(udpai_node *node, udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_reports_publish_own(node->parts.egress, resource, ret_error);
}

udpa_err
udpai_node_report_load(udpai_node *node, udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_reports_publish_load(node->parts.egress, resource,
                                      !udpai_outbox_is_late(node->outbox), ret_error);
}

void
udpai_node_withdraw_own_report(udpai_node *node, udpai_str type_url, udpai_str name)
{
    udpai_reports_withdraw_own(node->parts.egress, type_url, name);
}

udpa_err
udpai_node_load_audience(const udpai_node *node, udpai_str name, udpai_audience *ret_audience)
{
    return udpai_report_targets_load_audience(node->parts.egress, name, ret_audience);
}

bool
udpai_node_reports_to(const udpai_node *node, const udpa_resource *report, udpai_str *ret_name)
{
    return udpai_report_targets_only(node->parts.egress, report, ret_name);
}

bool
udpai_node_next_replica(const udpai_node *node,
                        size_t *at,
                        udpai_str *ret_id,
                        uint64_t *ret_session)
{
    return udpai_mesh_next(node->parts.mesh, at, ret_id, ret_session);
}

bool
udpai_node_is_of_set(const udpai_node *node, const udpa_resource *report)
{
    return udpai_reports_is_of_set(&node->context, report);
}

udpai_str
udpai_node_reporter_id(const udpai_node *node)
{
    return udpai_bytes_view(node->context.reporter_id);
}

bool
udpai_node_peer_since(const udpai_node *node, udpai_str id, uint64_t *ret_ms)
{
    return udpai_peers_since(node->parts.peers, id, ret_ms);
}

/* ---- looking ---- */

udpai_store *
udpai_node_store(udpai_node *node)
{
    return node->context.store;
}

const udpai_settled *
udpai_node_settled(const udpai_node *node)
{
    return udpai_sync_settled(node->parts.sync);
}

size_t
udpai_node_n_report_subscriptions(const udpai_node *node)
{
    return udpai_reports_n_subscriptions(node->parts.interest);
}

uint64_t
udpai_node_n_loops(const udpai_node *node)
{
    return udpai_receiver_n_loops(node->parts.receiver);
}

uint64_t
udpai_node_n_denied(const udpai_node *node)
{
    return udpai_access_n_denied(node->parts.access);
}

uint64_t
udpai_node_n_bad_signatures(const udpai_node *node)
{
    return udpai_signatures_n_refused(node->parts.signatures);
}

uint64_t
udpai_node_n_signed(const udpai_node *node)
{
    return udpai_signatures_n_signed(node->parts.signatures);
}

void
udpai_node_visit_problems(udpai_node *node, udpai_problem_fn visit, void *userdata)
{
    udpai_freezes_visit_problems(node->parts.freezes, visit, userdata);
    udpai_twins_visit_problems(udpai_receiver_twins(node->parts.receiver), visit, userdata);
    if (node->replica)
        udpai_replica_visit_problems(node->replica, visit, userdata);
    udpai_mesh_visit_problems(node->parts.mesh, visit, userdata);
}

udpa_err
udpai_node_visit_sources(const udpai_node *node,
                         void (*visit)(void *userdata, udpai_str name, udpa_bytes *status),
                         void *userdata)
{
    size_t at = 0;
    const udpai_source *source;
    while ((source = udpai_sources_next_link(node->parts.sources, &at))) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *status = udpai_source_describe(source);
        if (!status)
            return UDPA_ERR_NOMEM;
        visit(userdata, udpai_source_name(source), status);
    }
    return UDPA_OK;
}
