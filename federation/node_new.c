/* SPDX-License-Identifier: Apache-2.0 */
/* Making a node of its parts, from the ground up. */
#include "federation/node_internal.h"

#include "base/alloc.h"
#include "federation/access.h"
#include "federation/agreement.h"
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
#include "federation/mesh.h"
#include "federation/peers.h"
#include "federation/provider.h"
#include "federation/publishers.h"
#include "federation/receiver.h"
#include "federation/replica.h"
#include "federation/reports.h"
#include "federation/shares.h"
#include "federation/signatures.h"
#include "federation/sources.h"
#include "federation/stamps.h"
#include "federation/sync.h"
#include "federation/traces.h"
#include "model/client_type.h"
#include "model/replica_id.h"

#define LIST_PART 2000 /* a few milliseconds */

/* A client that has vanished is not believed for as long as some source is away. */
static bool
is_certain(void *userdata, const udpa_resource *last)
{
    const udpai_node *node = userdata;
    return udpai_type_is_client(udpai_resource_type_url(last)) ||
           (node->context.is_endpoint && udpai_reports_is_own(&node->context, last)) ||
           !udpai_settled_is_awaited(udpai_sync_settled(node->parts.sync), last);
}

/* Among replicas, what is over ends for all of them together: each proposes it, one is first. While
 * etcd is away nothing ends. */
static bool
stays(void *userdata, udpai_origin *origin, const udpa_resource *resource)
{
    udpai_node *node = userdata;
    if (!udpai_publisher_is_key(udpai_origin_key(origin)) ||
        udpai_type_is_client(udpai_resource_type_url(resource)))
        return false;
    if (udpai_replica_state(node->replica) == UDPAI_REPLICATION_CURRENT &&
        udpai_replica_is_janitor(node->replica))
        udpai_commits_propose_end(node->commits, origin, udpai_resource_type_url(resource),
                                  udpai_resource_name(resource));
    return true;
}

/* ---- the ground ---- */

static udpa_err
copy_text(udpa_bytes **ret_copy, udpai_str text)
{
    return udpa_bytes_new(ret_copy, text.data, text.len);
}

/* Replicas have one id, but not in reports: their subscribers must distinguish them. */
static udpa_err
make_reporter(udpai_context *context, udpai_str replica)
{
    context->reporter_id = udpai_replica_id(udpai_bytes_view(context->id), replica);
    if (!context->reporter_id)
        return UDPA_ERR_NOMEM;
    return copy_text(&context->reporter_instance,
                     replica.len ? replica : udpai_bytes_view(context->instance));
}

static udpa_err
make_context(udpai_node *node, udpai_wheel *wheel, const udpai_node_config *config)
{
    udpai_context *context = &node->context;
    context->wheel = wheel;
    context->timing = config->timing;
    context->is_durable = config->is_durable;
    context->has_audit = config->is_durable && config->has_audit;
    context->is_endpoint = config->is_endpoint;
    context->list_part = config->list_part ? config->list_part : LIST_PART;
    context->peers_are_anonymous = config->peers_are_anonymous;
    context->is_restored = config->is_restored;
    context->is_of_set = config->replica.len > 0;
    context->is_dirty = true;
    udpa_err err = udpai_meters_new(&context->meters);
    if (err == UDPA_OK)
        err = copy_text(&context->id, config->id);
    if (err == UDPA_OK)
        err = copy_text(&context->authority, config->authority);
    if (err == UDPA_OK)
        err = copy_text(&context->instance, config->instance.len ? config->instance : config->id);
    if (err == UDPA_OK)
        err = make_reporter(context, config->replica);
    if (err == UDPA_OK)
        err = udpai_store_new(&context->store, wheel, &config->store);
    if (err != UDPA_OK)
        return err;
    udpai_store_set_certain(context->store, is_certain, node);
    udpai_store_set_keeps_removals(context->store, context->is_durable);
    return UDPA_OK;
}

static udpa_err
make_ground(udpai_parts *parts, const udpai_node_config *config)
{
    udpa_err err = udpai_peers_new(&parts->peers, parts->context);
    if (err == UDPA_OK)
        err = udpai_epoch_new(&parts->epoch, parts->context);
    if (err == UDPA_OK)
        err = udpai_lapse_new(&parts->lapse, parts->context);
    if (err == UDPA_OK)
        err = udpai_freezes_new(&parts->freezes, parts->context);
    if (err == UDPA_OK)
        err = udpai_traces_new(&parts->traces, parts->context, &config->traces);
    if (err == UDPA_OK)
        err = udpai_demand_new(&parts->demand);
    if (err == UDPA_OK)
        err = udpai_sync_new(&parts->sync);
    if (err == UDPA_OK && udpai_context_is_replicated(parts->context))
        err = udpai_stamps_new(&parts->stamps, parts->context);
    if (err == UDPA_OK && udpai_context_is_replicated(parts->context))
        err = udpai_agreement_new(&parts->agreement, parts->context);
    if (err == UDPA_OK && udpai_context_is_replicated(parts->context))
        err = udpai_shares_new(&parts->shares, parts->context);
    if (err == UDPA_OK)
        err = udpai_sources_new(&parts->sources, parts);
    return err;
}

/* ---- parts ---- */

static udpa_err
make_local(udpai_parts *parts, udpai_health_policy policy)
{
    const udpai_context *context = parts->context;
    udpai_health_overlay *overlay = NULL;
    const udpai_health_overlay_config config = {
        .policy = policy,
        .authority = udpai_bytes_view(udpa_bytes_size(context->authority) ? context->authority
                                                                          : context->id),
        .store = context->store,
        .wheel = context->wheel,
    };
    udpa_err err = UDPA_OK;
    if (policy != UDPAI_HEALTH_NONE)
        err = udpai_health_overlay_new(&overlay, &config);
    if (err == UDPA_OK)
        err = udpai_local_new(&parts->local, parts, overlay);
    if (err != UDPA_OK)
        udpai_health_overlay_free(overlay);
    return err;
}

static udpa_err
make_parts(udpai_parts *parts, const udpai_node_config *config)
{
    udpa_err err = make_ground(parts, config);
    if (err == UDPA_OK)
        err = udpai_access_new(&parts->access, parts, config->acl);
    if (err == UDPA_OK)
        err = udpai_signatures_new(&parts->signatures, parts, config->keyring);
    if (err == UDPA_OK)
        err = udpai_providers_new(&parts->providers, parts);
    if (err == UDPA_OK)
        err = udpai_groups_new(&parts->groups, parts, config->max_clients);
    if (err == UDPA_OK)
        err = udpai_interest_new(&parts->interest, parts);
    if (err == UDPA_OK)
        err = make_local(parts, config->health);
    if (err == UDPA_OK)
        err = udpai_receiver_new(&parts->receiver, parts, config->store.max_withdrawal);
    if (err == UDPA_OK)
        err = udpai_egress_new(&parts->egress, parts);
    if (err == UDPA_OK)
        err = udpai_dynamic_new(&parts->dynamic, parts, config);
    return err;
}

static udpa_err
make_replica(udpai_node *node, const udpai_node_config *config)
{
    if (!udpai_context_is_replicated(&node->context))
        return UDPA_OK;
    udpa_err err = UDPA_OK;
    if (config->replica.len)
        err = udpai_mesh_new(&node->parts.mesh, &node->parts, &config->mesh);
    if (err == UDPA_OK)
        err = udpai_replica_new(&node->replica, &node->parts);
    if (err == UDPA_OK)
        err = udpai_epoch_set(node->parts.epoch, config->set_id);
    udpai_store_set_expired(node->context.store, stays, node);
    return err;
}

/* ---- what is configured ---- */

static udpa_err
add_sources(udpai_sources *sources, const udpai_node_config *config, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_sources && err == UDPA_OK; i++)
        err = udpai_sources_add(sources, &config->sources[i], true, ret_error);
    for (size_t i = 0; i < config->n_dials && err == UDPA_OK; i++) {
        const udpai_dial_config *dial = &config->dials[i];
        const udpai_source_config as_source = {
            .name = dial->name,
            .kind = UDPAI_SOURCE_UDPA,
            .target = dial->target,
            .ref_target = dial->ref_target,
            .release_target = dial->release_target,
        };
        err = udpai_sources_add(sources, &as_source, false, ret_error);
    }
    return err;
}

udpa_err
udpai_node_new(udpai_node **ret_node,
               udpai_wheel *wheel,
               const udpai_node_config *config,
               const udpai_node_env *env,
               udpa_error **ret_error)
{
    UDPA_AUTO(udpai_node_free) udpai_node *node = udpai_alloc(sizeof(*node));
    if (!node)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    node->context.env = *env;
    node->parts.context = &node->context;
    udpa_err err = make_context(node, wheel, config);
    if (err == UDPA_OK)
        err = make_parts(&node->parts, config);
    if (err == UDPA_OK)
        err = udpai_commits_new(&node->commits, &node->parts);
    if (err == UDPA_OK)
        err = make_replica(node, config);
    if (err == UDPA_OK && !(node->barriers = udpai_barriers_new(&node->context)))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_outbox_new(&node->outbox, &node->parts, config->max_changes_ahead);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    err = add_sources(node->parts.sources, config, ret_error);
    if (err == UDPA_OK)
        err = udpai_providers_configure(node->parts.providers, config, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, udpai_dynamic_start(node->parts.dynamic));
    if (err == UDPA_OK)
        *ret_node = UDPAI_TAKE(node);
    return err;
}

/* ---- the end ---- */

/* What lies on others goes before them. */
static void
free_parts(udpai_parts *parts)
{
    udpai_dynamic_free(parts->dynamic);
    udpai_receiver_free(parts->receiver);
    udpai_local_free(parts->local);
    udpai_peers_free(parts->peers);
    udpai_interest_free(parts->interest);
    udpai_providers_free(parts->providers);
    udpai_groups_free(parts->groups);
    udpai_sources_free(parts->sources);
    udpai_demand_free(parts->demand);
    udpai_lapse_free(parts->lapse);
    udpai_epoch_free(parts->epoch);
    udpai_access_free(parts->access);
    udpai_signatures_free(parts->signatures); /* which the store asks, as it does the next one */
    udpai_egress_free(parts->egress);
}

udpai_node *
udpai_node_free(udpai_node *node)
{
    if (!node)
        return NULL;
    udpai_outbox_free(node->outbox);
    udpai_commits_free(node->commits);
    udpai_replica_free(node->replica);
    udpai_mesh_free(node->parts.mesh);
    udpai_barriers_free(node->barriers);
    free_parts(&node->parts);
    for (size_t i = 0; i < node->forgotten.n; i++)
        udpa_bytes_unref(node->forgotten.items[i]);
    udpai_vector_done(&node->forgotten);
    udpai_durable_batch_free(node->over);
    udpai_store_free(node->context.store);
    udpai_freezes_free(node->parts.freezes);
    udpai_traces_free(node->parts.traces);
    udpai_agreement_free(node->parts.agreement);
    udpai_shares_free(node->parts.shares);
    udpai_stamps_free(node->parts.stamps);
    udpai_sync_free(node->parts.sync);
    udpa_bytes_unref(node->context.id);
    udpa_bytes_unref(node->context.authority);
    udpa_bytes_unref(node->context.instance);
    udpa_bytes_unref(node->context.reporter_id);
    udpa_bytes_unref(node->context.reporter_instance);
    udpai_meters_free(node->context.meters);
    udpai_free(node);
    return NULL;
}
