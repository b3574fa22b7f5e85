/* SPDX-License-Identifier: Apache-2.0 */
/* The node: what comes in goes to its room, and what follows is carried out once, in flush(). */
#include <assert.h>

#include "federation/epoch.h"
#include "federation/events.h"
#include "federation/interest.h"
#include "federation/lapse.h"
#include "federation/outlived.h"
#include "federation/pending_publication.h"
#include "federation/provider.h"
#include "federation/recovery.h"
#include "federation/reports.h"
#include "federation/take_back.h"
#include "federation/twins.h"

#include "base/alloc.h"
#include "federation/connection.h"
#include "federation/delegation.h"
#include "federation/dynamic_sources.h"
#include "federation/report_targets.h"
#include "federation/sources.h"
#include "model/client_type.h"
#include "reports/health.h"

static udpa_err
add_sources(udpai_node *node, const udpai_node_config *config, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_sources && err == UDPA_OK; i++)
        err = udpai_sources_add(node, &config->sources[i], true, ret_error);
    for (size_t i = 0; i < config->n_dials && err == UDPA_OK; i++) {
        const udpai_dial_config *dial = &config->dials[i];
        const udpai_source_config as_source = {
            .name = dial->name,
            .kind = UDPAI_SOURCE_UDPA,
            .target = dial->target,
            .ref_target = dial->ref_target,
            .release_target = dial->release_target,
        };
        err = udpai_sources_add(node, &as_source, false, ret_error);
    }
    return err;
}

static void
init_tables(udpai_node *node)
{
    udpai_sources_init(node);
    udpai_clients_init(node);
    udpai_named_init(node);
    udpai_demand_init(node);
    udpai_reports_init(node);
    udpai_events_init(node);
    udpai_list_init(&node->undelivered);
    udpai_list_init(&node->unsafe);
    udpai_list_init(&node->unanswered);
    udpai_list_init(&node->published);
    udpai_list_init(&node->locals);
    udpai_list_init(&node->updates);
}

/* A client that has vanished is not believed for as long as some source is away. */
static bool
is_certain(void *userdata, const udpa_resource *last)
{
    const udpai_node *node = userdata;
    return udpai_type_is_client(udpai_resource_type_url(last)) ||
           (node->context.is_endpoint && udpai_reports_is_own(node, last)) ||
           !udpai_settled_is_awaited(node->settled, last);
}

static udpa_err
make_verdicts(udpai_node *node, udpai_health_policy policy)
{
    const udpai_health_overlay_config config = {
        .policy = policy,
        .authority = udpai_bytes_view(
            udpa_bytes_size(node->context.authority) ? node->context.authority : node->context.id),
        .store = node->context.store,
        .wheel = node->context.wheel,
    };
    return policy == UDPAI_HEALTH_NONE ? UDPA_OK
                                       : udpai_health_overlay_new(&node->health_overlay, &config);
}

static udpa_err
set_instance(udpai_node *node, udpai_str instance)
{
    return udpa_bytes_new(&node->context.instance, instance.data, instance.len);
}

static unsigned
max_withdrawal_of(const udpai_store_options *options)
{
    return options->max_withdrawal ? options->max_withdrawal : 50;
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
    node->context.wheel = wheel;
    node->context.env = *env;
    node->context.timing = config->timing;
    node->context.is_durable = config->is_durable;
    node->context.is_endpoint = config->is_endpoint;
    node->context.peers_are_anonymous = config->peers_are_anonymous;
    node->is_restored = config->is_restored;
    node->max_changes_ahead = config->max_changes_ahead;
    node->acl = udpai_acl_ref(config->acl);
    node->max_clients = config->max_clients;
    node->max_withdrawal = max_withdrawal_of(&config->store);
    node->context.is_dirty = true;
    node->lost_ms = UINT64_MAX;
    init_tables(node);
    udpai_epoch_init(node);
    udpa_err err = udpa_bytes_new(&node->context.id, config->id.data, config->id.len);
    if (err == UDPA_OK)
        err =
            udpa_bytes_new(&node->context.authority, config->authority.data, config->authority.len);
    if (err == UDPA_OK)
        err = udpai_store_new(&node->context.store, wheel, &config->store);
    if (err == UDPA_OK)
        err = udpai_peers_new(&node->peers, &node->context);
    if (err == UDPA_OK)
        err = make_verdicts(node, config->health);
    if (err == UDPA_OK)
        err = set_instance(node, config->instance.len ? config->instance : config->id);
    if (err == UDPA_OK)
        err = udpai_twins_new(node);
    if (err == UDPA_OK)
        err = udpai_report_targets_new(node);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    udpai_store_set_certain(node->context.store, is_certain, node);
    udpai_store_set_keeps_said(node->context.store, node->context.is_durable);
    udpai_signatures_init(node, config->keyring);
    err = add_sources(node, config, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(
            ret_error, udpai_dynamic_sources_new(&node->dynamic_sources, node, &config->delivery));
    if (err == UDPA_OK)
        err = udpai_providers_new(node, config, ret_error);
    if (err == UDPA_OK)
        err = udpai_named_configure(node, config, ret_error);
    if (err == UDPA_OK)
        err = udpai_recovery_check(node, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error,
                              udpai_delegations_new(&node->delegations, node, &config->delegation));
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, udpai_dynamic_sources_follow(node->dynamic_sources));
    if (err == UDPA_OK)
        *ret_node = UDPAI_TAKE(node);
    return err;
}

void
udpai_node_set_timing(udpai_node *node, const udpai_node_timing *timing)
{
    node->context.timing = *timing;
}

void
udpai_node_set_store_options(udpai_node *node, const udpai_store_options *options)
{
    udpai_store_set_options(node->context.store, options);
    node->max_withdrawal = max_withdrawal_of(options);
}

/* What was refused for want of a key is not sent again on this stream. */
static void
ask_again(udpai_node *node)
{
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_map_next(&node->links, &at)))
        if (source->has_refused)
            udpai_source_begin_anew(source, 0);
}

void
udpai_node_set_keyring(udpai_node *node, udpai_keyring *keyring)
{
    if (!udpai_signatures_would_change(node, keyring))
        return;
    ask_again(node); /* before anything goes, for which the time to ask has not come */
    udpai_signatures_change(node, keyring);
}

static void
free_judgements_and_receipts(udpai_node *node)
{
    udpai_list *const lists[] = {&node->undelivered, &node->unsafe, &node->unanswered};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(lists); i++)
        while (!udpai_list_empty(lists[i]))
            udpai_pending_publication_free(
                UDPAI_LIST_ENTRY(lists[i]->next, udpai_pending_publication, node));
    udpai_list *at;
    while ((at = udpai_list_pop(&node->published)))
        udpai_free(UDPAI_LIST_ENTRY(at, udpai_published, node));
}

udpai_node *
udpai_node_free(udpai_node *node)
{
    if (!node)
        return NULL;
    udpai_delegations_free(node->delegations);
    udpai_dynamic_sources_free(node->dynamic_sources);
    udpai_locals_free(node);
    free_judgements_and_receipts(node);
    udpai_peers_free(node->peers);
    udpai_demand_free(node);
    udpai_reports_free(node);
    udpai_events_free(node);
    udpai_providers_free(node);
    udpai_named_free_all(node);
    udpai_clients_free_all(node);
    size_t at = 0;
    udpai_source *source;
    while ((source = udpai_map_next(&node->links, &at))) {
        udpai_dynamic_source_free(source->dynamic);
        udpai_source_free(source);
    }
    udpai_map_done(&node->links);
    udpai_map_done(&node->sources);
    for (size_t i = 0; i < node->expected_files.n; i++) {
        udpa_bytes_unref(node->expected_files.items[i].root);
        udpa_bytes_unref(node->expected_files.items[i].unread);
    }
    udpai_vector_done(&node->expected_files);
    for (size_t i = 0; i < node->expected_own.n; i++)
        udpa_bytes_unref(node->expected_own.items[i]);
    udpai_vector_done(&node->expected_own);
    for (size_t i = 0; i < node->forgotten.n; i++)
        udpa_bytes_unref(node->forgotten.items[i]);
    udpai_vector_done(&node->forgotten);
    udpai_signatures_done(node);
    udpai_health_overlay_free(node->health_overlay);
    udpai_change_set_unref(node->late);
    udpai_change_set_unref(node->unrouted);
    udpai_report_targets_free(node);
    udpai_store_free(node->context.store);
    udpai_settled_unref(node->settled);
    udpai_acl_unref(node->acl);
    udpa_bytes_unref(node->context.id);
    udpa_bytes_unref(node->context.authority);
    udpa_bytes_unref(node->context.instance);
    udpai_twins_free(node);
    udpai_outlived_free(node);
    udpai_epoch_done(node);
    udpai_way_unref(node->last_way);
    udpai_free(node);
    return NULL;
}

void
udpai_node_start(udpai_node *node)
{
    node->context.is_started = true;
    udpai_epoch_start(node);
    udpai_restore_end(node);
    udpai_recovery_start(node);
    if (node->is_restored)
        udpai_take_back_nothing(node);
    udpai_signatures_start(node);
    if (node->health_overlay) /* what those below have checked counts, too */
        udpai_interest_want(node, UDPAI_STR(UDPAI_TYPE_ENDPOINT_HEALTH), UDPAI_STR("*"), true);
    udpai_context_touch(&node->context);
}

/* ---- reports ---- */

static void
take_publication(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_find(node->peers, report->session);
    udpai_pending_publication *pending = udpai_pending_publication_new(node, report);
    if (!pending && peer && peer->source && peer->source->serves_us)
        udpai_source_lost_update(peer->source);
    if (!pending)
        return;
    if (peer)
        udpai_intake_take(node, peer, pending->publication);
    else
        udpai_publication_refuse_all(pending->publication, UDPA_ERR_NOMEM, "out of memory");
}

static void
take_subscription_error(udpai_node *node, const udpai_report *report)
{
    unsigned n_suppressed;
    const udpai_subscription_message *error = report->subscription;
    const udpai_peer *peer = udpai_peers_find(node->peers, report->session);
    if (peer && peer->source && peer->source->serves_us)
        udpai_source_refused(peer->source, error);
    else if (peer && peer->has_reports)
        udpai_reports_refused(node, peer, error);
    if (!udpai_log_allow(&node->refused_log, udpai_context_now(&node->context), &n_suppressed))
        return;
    udpai_str name = peer ? udpai_peer_name(peer) : (udpai_str){0};
    udpai_log(UDPA_LOG_WARNING, "federation",
              "%.*s refuses a subscription of type %.*s: %.*s (%u more not shown)", (int)name.len,
              name.data, (int)error->type_url.len, error->type_url.data,
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
        (void)udpai_interest_look_up(node, request->type_url, text);
    else if (report->kind == UDPAI_REPORT_PASSED_ON)
        udpai_reports_passed_on(node, report, text);
    else if (!node->context.is_endpoint && request->distance)
        udpai_interest_by_nodes(node, request->type_url, text, report->wanted);
    else if (!node->context.is_endpoint)
        udpai_interest_want(node, request->type_url, text, report->wanted);
    else if (node->context.env.wanted) /* nothing is fetched for others */
        node->context.env.wanted(node->context.env.userdata, request->type_url, text,
                                 report->wanted);
}

void
udpai_node_report(udpai_node *node, udpai_report *report)
{
    udpai_peer *peer = udpai_peers_find(node->peers, report->session);
    switch (report->kind) {
    case UDPAI_REPORT_APPLIED:
        assert(node->n_changes_ahead > 0); /* each answers a CHANGES of this node */
        node->n_changes_ahead--;
        break;
    case UDPAI_REPORT_SETTLED:
        node->is_settled_ahead = false;
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
        udpai_publishing_receipt(node, report);
        break;
    case UDPAI_REPORT_CLOSED:
        udpai_node_session_closed(node, report);
        break;
    case UDPAI_REPORT_INTEREST:
    case UDPAI_REPORT_PASSED_ON:
        take_interest(node, report);
        break;
    case UDPAI_REPORT_CLIENTS:
        if (udpai_client_reports_receive(node, report))
            return;
        break;
    case UDPAI_REPORT_STATUS:
    case UDPAI_REPORT_ACKNOWLEDGEMENTS:
    case UDPAI_REPORT_CENSUS:
    case UDPAI_REPORT_OWN_STATUS:
    case UDPAI_REPORT_EVENTS:
    case UDPAI_REPORT_EVENTS_TAKEN:
    case UDPAI_REPORT_EVENTS_WANTED:
    case UDPAI_REPORT_WANTED:
    case UDPAI_REPORT_KINDS:
        break;
    }
    udpai_report_free(report);
}

/* ---- flush ---- */

static void
evaluate(udpai_node *node)
{
    node->context.is_dirty = false;
    udpai_providers_evaluate(node);
    udpai_report_targets_evaluate(node);
    udpai_settled *settled = udpai_providers_settled(node);
    if (!settled)
        node->context.is_dirty = true; /* without memory: again with the next flush */
    node->n_evaluations += settled != NULL;
    if (!settled || udpai_settled_equal(settled, node->settled)) {
        udpai_settled_unref(settled);
        return;
    }
    udpai_settled_unref(node->settled);
    node->settled = settled;
    node->is_settled_unsent = true;
    udpai_store_recheck_removals(node->context.store);
}

/* Is there anything that was not told yet? */
static bool
has_changes(const udpai_node *node)
{
    return node->late || node->unrouted || udpai_store_has_changes(node->context.store) ||
           udpai_report_targets_have_news(node) ||
           (node->health_overlay && udpai_health_overlay_have_news(node->health_overlay));
}

/* It speaks of what was told before it, so all of that goes first. An endpoint says nothing
 * negative to peers: what it does not publish now it may have published before. One at a time: with
 * each, all who wait there look again, and when thousands come at once, few must do for all. */
static void
tell_settled(udpai_node *node)
{
    if (!node->is_settled_unsent || node->is_settled_ahead || node->context.is_endpoint ||
        has_changes(node))
        return;
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SETTLED);
    if (!order)
        return;
    order->settled = udpai_settled_ref(node->settled);
    node->is_settled_unsent = false;
    node->is_settled_ahead = true;
    udpai_context_order(&node->context, order);
}

/* With what checkers say of it. Of what the store has handed out nothing is given up: without
 * memory it is told later. NULL: nothing is told now. */
static udpai_change_set *
take_changes(udpai_node *node)
{
    if (node->unrouted)
        return UDPAI_TAKE(node->unrouted);
    udpai_change_set *changes = UDPAI_TAKE(node->late), *merged = NULL;
    if (!changes && udpai_store_take_changes(node->context.store, &changes) != UDPA_OK)
        return NULL;
    if (!node->health_overlay)
        return changes;
    if (udpai_health_overlay_apply(node->health_overlay, changes,
                                   udpai_context_wall_us(&node->context), &merged) == UDPA_OK)
        udpai_change_set_unref(changes);
    else
        node->late = changes;
    return merged;
}

/* What peers are told of the changes: of an endpoint's, what it reports itself. *ret_told NULL:
 * nothing. After UDPA_ERR_NOMEM the next call is with the same changes. */
static udpa_err
offer(udpai_node *node, udpai_change_set *changes, udpai_change_set **ret_told)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *picked = NULL;
    udpa_err err = UDPA_OK;
    if (!node->context.is_endpoint)
        return udpai_report_targets_apply(node, changes, ret_told);
    if (changes)
        err = udpai_reports_pick(node, changes, &picked);
    return err == UDPA_OK ? udpai_report_targets_apply(node, picked, ret_told) : err;
}

/* What a name's own subscribers are not told to have gone before its sources are asked by name: it
 * may be lazy now. What comes of a later source instead may be what an earlier one has as a lazy
 * one. The same of names that led to it. */
static void
look_up_change(udpai_node *node, const udpai_change *change)
{
    bool is_removal = change->kind == UDPAI_CHANGE_REMOVE;
    udpa_resource *was = is_removal ? change->resource : change->before;
    if (change->resource && (is_removal || node->sources.n > 1))
        node->has_lookups |= udpai_interest_look_up(node, udpai_resource_type_url(change->resource),
                                                    udpai_resource_name(change->resource));
    if (was && udpa_resource_n_aliases(was))
        node->has_lookups |= udpai_interest_look_up_aliases(node, was);
}

static void
look_up_changed(udpai_node *node, const udpai_change_set *changes)
{
    for (size_t i = 0; i < udpai_change_set_size(changes) && node->demand.n; i++)
        look_up_change(node, udpai_change_set_at(changes, i));
}

/* While the stream side has enough before it, changes wait in the store, where those of one
 * resource become one. */
static void
tell_changes(udpai_node *node)
{
    if (!has_changes(node) || node->n_changes_ahead >= node->max_changes_ahead)
        return;
    UDPA_AUTO(udpai_order_free) udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
    if (!order)
        return;
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *changes = take_changes(node);
    if (offer(node, changes, &order->changes) != UDPA_OK) {
        node->unrouted = UDPAI_TAKE(changes);
        return;
    }
    if (changes) {
        look_up_changed(node, changes);
        udpai_locals_tell(node, changes);
    }
    if (!order->changes)
        return;
    node->n_changes_ahead++;
    udpai_context_order(&node->context, UDPAI_TAKE(order));
}

/* Wall-clock times, which alone mean something after a restart. */
static void
set_expiry(const udpai_node *node, udpai_durable_batch *batch)
{
    int64_t wall = udpai_context_wall_us(&node->context);
    for (size_t i = 0; i < batch->ops.n; i++) {
        udpai_durable_op *op = &batch->ops.items[i];
        if (op->deadline_ms)
            op->expires_us =
                wall +
                ((int64_t)op->deadline_ms - (int64_t)udpai_context_now(&node->context)) * 1000;
    }
}

static void
commit(udpai_node *node)
{
    udpai_durable_batch *batch = NULL;
    udpa_err err = udpai_store_take_durable(node->context.store, &batch);
    uint64_t ticket = 0;
    if (batch && node->context.env.commit) {
        set_expiry(node, batch);
        udpai_lapse_commit(node, batch);
        ticket = ++node->last_ticket;
        udpai_epoch_commits(node, batch, ticket);
        node->context.env.commit(node->context.env.userdata, batch, ticket);
    } else {
        udpai_durable_batch_free(batch);
    }
    udpai_pending_publications_commit(node, ticket, err);
}

/* Publications whose effects everybody in the process has seen, and that need not be kept, or are.
 */
static void
answer(udpai_node *node)
{
    if (has_changes(node) && !udpai_list_empty(&node->locals))
        return;
    udpai_pending_publications_delivered(node);
}

static void
flush(udpai_node *node)
{
    udpai_outlived_settle(node);
    for (int i = 0; node->context.is_dirty && i < 2;
         i++) /* what a source is asked for, changes its state */
        evaluate(node);
    commit(node); /* with it, whose word counts now */
    tell_changes(node);
    tell_settled(node);
    udpai_locals_tell_new(node);
    if (!has_changes(node)) /* else it is not all that was told */
        udpai_locals_tell_complete(node);
}

void
udpai_node_flush(udpai_node *node)
{
    flush(node);
    bool has_news = node->has_lookups;
    node->has_lookups = false;
    has_news |= node->dynamic_sources && udpai_dynamic_sources_catch_up(node->dynamic_sources);
    has_news |= node->delegations && udpai_delegations_catch_up(node->delegations);
    if (has_news)
        flush(node); /* what was told is followed before it is answered */
    answer(node);
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
    return node->settled;
}

uint64_t
udpai_node_n_loops(const udpai_node *node)
{
    return node->n_loops;
}

uint64_t
udpai_node_n_denied(const udpai_node *node)
{
    return node->n_denied;
}

uint64_t
udpai_node_n_bad_signatures(const udpai_node *node)
{
    return node->signatures.n_refused;
}

uint64_t
udpai_node_n_signed(const udpai_node *node)
{
    return node->signatures.n_signed;
}
