/* SPDX-License-Identifier: Apache-2.0 */
/* What one replica reads for all: the elected one proposes it, and all have what etcd has. */
#include "federation/files_internal.h"

#include "federation/directories.h"
#include "federation/fault.h"
#include "federation/listing.h"
#include "federation/node_internal.h"
#include "federation/replica.h"
#include "federation/shares.h"
#include "federation/traces.h"

udpa_err
udpai_node_share_files(udpai_node *node, udpai_str root, udpai_str source_name)
{
    const udpai_source *source = udpai_files_source(node, source_name);
    udpai_origin *origin =
        source ? udpai_source_origin(source)
               : udpai_directory_origin(udpai_sources_directories(node->parts.sources), root);
    if (!node->parts.shares || (source_name.len && !source))
        return UDPA_ERR_INVAL;
    return origin ? udpai_shares_add(node->parts.shares, origin, root, source_name)
                  : UDPA_ERR_NOMEM;
}

/* The replica that is connected to it knows more. */
static void
note_elsewhere(udpai_source *source)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why =
        udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                       "the elected replica, which is connected to it for all, cannot reach it, or "
                       "has lost it");
    udpai_fault_of_connection(source, why);
}

void
udpai_node_forget_files(udpai_node *node, udpai_str source)
{
    udpai_share *share = udpai_shares_of(node->parts.shares, &(udpai_directory){.source = source});
    if (share)
        udpai_shares_forget_reading(node->parts.shares, share);
    if (share && share->is_failing)
        note_elsewhere(udpai_files_source(node, source));
}

bool
udpai_node_is_elected(const udpai_node *node)
{
    return node->replica && udpai_replica_is_janitor(node->replica);
}

/* What stays though the reading does not have it: etcd is to have it, too. */
struct rest {
    UDPAI_VECTOR(udpa_resource *) resources;
    bool has_failed;
};

static bool
note_rest(void *userdata, const udpai_contribution *held)
{
    struct rest *rest = userdata;
    if (held->absence != UDPAI_ABSENCE_HELD)
        return true;
    rest->has_failed = !udpai_vector_push(&rest->resources, held->resource);
    return !rest->has_failed;
}

static udpa_err
stage_rest(const udpai_listing *setting)
{
    struct rest rest = {0};
    udpai_store *store = setting->node->context.store;
    udpai_store_visit_origin(store, setting->origin, (udpai_str){0}, note_rest, &rest);
    udpa_err err = rest.has_failed ? UDPA_ERR_NOMEM : UDPA_OK;
    for (size_t i = 0; i < rest.resources.n && err == UDPA_OK; i++)
        err = udpai_staging_put(setting->staging, store, setting->origin, rest.resources.items[i],
                                0, NULL);
    udpai_vector_done(&rest.resources);
    return err;
}

/* With errors, what was read before stays, which is whole only if it was once. As with any source,
 * one that comes back with less does not count again. */
static void
choose_mark(udpai_share *share, const udpai_directory *directory)
{
    bool is_less = share->is_failing && udpai_origin_has_absent(share->origin);
    bool has_errors = directory->is_partial || directory->has_errors || is_less;
    share->next_failing = has_errors && directory->source.len;
    share->writes_mark = share->is_marked ? share->next_failing != share->is_failing : !has_errors;
}

/* What the reading makes of what all have. False: there is no memory. */
static bool
stage_share(udpai_node *node, udpai_share *share, udpai_staging *staging)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_directory *directory = udpai_reading_directory(share->reading);
    udpai_source *source = udpai_files_source(node, directory->source);
    udpai_listing setting = udpai_listing_of(node, share->origin, directory);
    setting.staging = staging;
    setting.is_anew = !share->is_marked;
    setting.rejected =
        (udpai_listed){.resources = share->rejections.items, .n = share->rejections.n};
    udpai_listed list = udpai_listed_of(directory, source);
    if (share->accepts)
        list.max_withdrawal = 100;
    udpai_traces_begin(node->parts.traces, NULL, udpai_origin_key(share->origin));
    udpa_err err = udpai_listing_set(&setting, (udpai_str){0}, &list, &error);
    udpai_traces_end(node->parts.traces);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM && share->is_new)
        udpai_log(UDPA_LOG_ERROR, udpai_share_part(share),
                  UDPAI_SHARE_TEXT ": rejected in part: %s", UDPAI_SHARE_SHOWN(share),
                  error ? udpa_error_message(error) : "out of memory");
    if (err != UDPA_ERR_NOMEM && setting.is_anew)
        err = stage_rest(&setting);
    udpai_files_log_held(node, source, directory, share->origin);
    choose_mark(share, directory);
    return err != UDPA_ERR_NOMEM;
}

static void
propose_share(udpai_node *node, udpai_share *share)
{
    uint64_t now = udpai_context_now(&node->context);
    UDPA_AUTO(udpai_staging_free)
    udpai_staging *staging = udpai_staging_new(node->context.store);
    share->due_ms = UINT64_MAX;
    bool has_memory = staging && stage_share(node, share, staging);
    bool is_any = has_memory && (share->writes_mark || !udpai_staging_is_empty(staging));
    bool is_done = has_memory && (!is_any || udpai_commits_propose_share(node->commits, share,
                                                                         UDPAI_TAKE(staging)));
    if (!is_done)
        udpai_shares_compare_at(node->parts.shares, share, now + UDPAI_SHARES_AGAIN_MS);
    share->is_new &= !has_memory;
    share->was_accepted = is_any && is_done && share->accepts;
    share->n_proposed_rejections = share->rejections.n;
    if (is_done && !is_any)
        udpai_shares_end_rejections(share);
    share->accepts &= !is_done;
}

static void
note_elected(const udpai_node *node, udpai_share *share, bool is_elected)
{
    if (is_elected && !share->is_elected)
        udpai_log(UDPA_LOG_INFO, udpai_share_part(share),
                  UDPAI_SHARE_TEXT ": this replica is the elected one, and writes what it reads "
                                   "for all",
                  UDPAI_SHARE_SHOWN(share));
    if (!is_elected && share->is_elected)
        udpai_shares_resign(node->parts.shares, share);
    if (is_elected != share->is_elected)
        udpai_shares_compare_at(node->parts.shares, share, udpai_context_now(&node->context));
    share->is_elected = is_elected;
}

/* What was effective before a restart is so again, until it is known what etcd has. */
static void
use_mark(udpai_node *node, udpai_share *share)
{
    udpai_str root = udpai_bytes_view(share->root);
    udpai_source *source = udpai_files_source(node, udpai_bytes_view(share->source));
    const udpai_directory read = {
        .root = root,
        .source = udpai_bytes_view(share->source),
        .has_errors = share->is_failing,
    };
    bool is_read = share->is_marked || (share->was_read && !share->is_failing);
    if (!is_read)
        return;
    if (source && share->is_failing && root.len == 0 && !share->is_elected)
        note_elsewhere(source);
    if (source)
        udpai_source_was_read(source, &read);
    else
        udpai_files_were_read(node, share->origin, root);
}

void
udpai_node_use_marks(udpai_node *node)
{
    size_t at = 0;
    udpai_share *share;
    while ((share = udpai_shares_next(node->parts.shares, &at))) {
        if (share->has_news)
            use_mark(node, share);
        share->has_news = false;
    }
}

void
udpai_node_propose_shares(udpai_node *node)
{
    size_t at = 0;
    udpai_share *share;
    if (!node->replica)
        return;
    bool is_elected = udpai_node_is_elected(node);
    bool may_propose = is_elected && node->context.is_current &&
                       udpai_replica_get_status(node->replica)->has_listed;
    while ((share = udpai_shares_next(node->parts.shares, &at))) {
        note_elected(node, share, is_elected);
        if (may_propose && share->reading && !share->is_proposed &&
            share->due_ms <= udpai_context_now(&node->context))
            propose_share(node, share);
    }
}
