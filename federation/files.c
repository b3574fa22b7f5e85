/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that do not come by a stream: files, and what the node reports of itself. */
#include "federation/files_internal.h"

#include "federation/agreement.h"
#include "federation/directories.h"
#include "federation/fault.h"
#include "federation/held.h"
#include "federation/listing.h"
#include "federation/node_internal.h"
#include "federation/shares.h"
#include "federation/sync.h"
#include "federation/traces.h"

/* ---- what was read ---- */

void
udpai_files_were_read(udpai_node *node, udpai_origin *origin, udpai_str root)
{
    udpai_expected *expected =
        udpai_directory_find(udpai_sources_directories(node->parts.sources), root);
    if (!expected || expected->is_known)
        return;
    expected->is_known = true;
    if (node->context.is_durable &&
        udpai_store_note(node->context.store, UDPAI_DURABLE_MARK, origin, (udpai_str){0},
                         (udpai_str){0}) != UDPA_OK)
        udpai_log(UDPA_LOG_WARNING, "federation",
                  "directory %.*s: read, but the store could not note it: %s", (int)root.len,
                  root.data, udpa_err_text(UDPA_ERR_NOMEM));
    udpai_context_touch(&node->context);
}

static void
directory_was_read_in_part(udpai_node *node, const udpai_directory *directory)
{
    udpai_expected *expected =
        udpai_directory_find(udpai_sources_directories(node->parts.sources), directory->root);
    if (expected && !expected->is_known)
        udpai_directory_note_unread(&node->context, &expected->unread, directory->unread);
}

udpa_err
udpai_node_expect_files(udpai_node *node, udpai_str root)
{
    udpa_err err = udpai_roots_expect(udpai_sources_directories(node->parts.sources), root);
    udpai_context_touch(&node->context);
    return err;
}

void
udpai_node_expect_files_no_more(udpai_node *node, udpai_str root)
{
    udpai_roots *roots = udpai_sources_directories(node->parts.sources);
    udpai_roots_forget(roots, udpai_directory_find(roots, root));
    udpai_context_touch(&node->context);
}

/* Of a directory that ends. */
struct leaving {
    const udpai_store *store;
    const udpai_origin *origin;
    bool has_other;
};

static bool
note_other(void *userdata, const udpai_contribution *contribution)
{
    struct leaving *self = userdata;
    self->has_other = contribution->origin != self->origin;
    return !self->has_other;
}

static bool
is_alone(void *userdata, const udpa_resource *resource)
{
    struct leaving *self = userdata;
    self->has_other = false;
    udpai_store_visit_name(self->store, udpai_resource_type_url(resource),
                           udpai_resource_name(resource), note_other, self);
    return !self->has_other;
}

/* What other origins have of it has moved there, or was there before: this node, its authority,
 * does not remove it. */
static void
leave_to_others(udpai_node *node, udpai_origin *origin)
{
    udpai_store *store = node->context.store;
    struct leaving leaving = {.store = store, .origin = origin};
    udpai_store_withdraw_all(store, origin, (udpai_str){0}, (udpai_str){0}, is_alone, &leaving);
}

udpa_err
udpai_node_end_files(udpai_node *node, udpai_str root)
{
    udpai_roots *roots = udpai_sources_directories(node->parts.sources);
    udpai_origin *origin = udpai_directory_origin(roots, root);
    const udpai_directory directory = {.root = root};
    const udpai_listing setting = udpai_listing_of(node, origin, &directory);
    const udpai_listed nothing = {0};
    if (!origin)
        return UDPA_ERR_NOMEM;
    leave_to_others(node, origin);
    udpa_err err = udpai_listing_set(&setting, (udpai_str){0}, &nothing, NULL);
    udpai_node_expect_files_no_more(node, root);
    return err;
}

struct visit {
    udpai_node_file_fn visit;
    void *userdata;
};

static bool
visit_effective(void *userdata, const udpai_contribution *contribution)
{
    const struct visit *self = userdata;
    return !contribution->effective || self->visit(self->userdata, contribution->resource);
}

void
udpai_node_visit_files(const udpai_node *node,
                       udpai_str root,
                       udpai_str source_name,
                       udpai_node_file_fn visit,
                       void *userdata)
{
    struct visit self = {visit, userdata};
    const udpai_source *source = udpai_files_source(node, source_name);
    const udpai_origin *origin =
        source ? udpai_source_origin(source)
               : udpai_directory_find_origin(udpai_sources_directories(node->parts.sources), root);
    if (origin)
        udpai_store_visit_origin(node->context.store, origin, (udpai_str){0}, visit_effective,
                                 &self);
}

void
udpai_files_log_held(udpai_node *node,
                     udpai_source *source,
                     const udpai_directory *directory,
                     const udpai_origin *origin)
{
    if (source)
        udpai_held_log_read(source, directory->doubt ? directory->doubt : UDPAI_HELD_TOO_MANY);
    else
        udpai_held_log_directory(node->parts.sources, directory->root, origin);
}

udpai_source *
udpai_files_source(const udpai_node *node, udpai_str name)
{
    return name.len ? udpai_sources_get(node->parts.sources, name) : NULL;
}

static udpa_err
set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    udpai_source *source = udpai_files_source(node, directory->source);
    udpai_origin *origin =
        source ? udpai_source_origin(source)
               : udpai_directory_origin(udpai_sources_directories(node->parts.sources),
                                        directory->root);
    if (!origin)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_listing setting = udpai_listing_of(node, origin, directory);
    const udpai_listed list = udpai_listed_of(directory, source);
    udpai_traces_begin(node->parts.traces, NULL, source ? directory->source : directory->root);
    udpa_err err = udpai_listing_set(&setting, (udpai_str){0}, &list, ret_error);
    udpai_traces_end(node->parts.traces);
    udpai_files_log_held(node, source, directory, origin);
    if (source)
        udpai_source_was_read(source, directory);
    else if (directory->is_partial)
        directory_was_read_in_part(node, directory);
    else
        udpai_files_were_read(node, origin, directory->root);
    return err;
}

/* What was read before, and is not any more. Without memory it counts as missing. */
static void
note_rejected(udpai_share *share, const udpai_directory *directory)
{
    const udpai_directory *before = share->reading ? udpai_reading_directory(share->reading) : NULL;
    UDPAI_AUTO_FREE udpa_resource **sorted =
        udpai_listed_sort(directory->resources, directory->n_resources);
    const udpai_listed now = {.resources = sorted, .n = directory->n_resources};
    for (size_t i = 0; before && sorted && i < before->n_resources; i++) {
        udpa_resource *one = before->resources[i];
        if (!udpai_listed_has(&now, one) && udpai_vector_push(&share->rejections, one))
            (void)udpa_resource_ref(one);
    }
    udpai_listed_order(share->rejections.items, share->rejections.n);
}

/* It counts here. Of what is shared, that is not enough. */
static udpa_err
use_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    udpai_share *share = udpai_shares_of(node->parts.shares, directory);
    udpai_source *source =
        directory->is_received ? udpai_files_source(node, directory->source) : NULL;
    if (source)
        udpai_fault_of_connection(source, directory->fault);
    if (share && directory->is_reviewed)
        note_rejected(share, directory);
    return share
               ? udpai_fail_code(ret_error, udpai_shares_read(node->parts.shares, share, directory))
               : set_files(node, directory, ret_error);
}

udpa_err
udpai_node_set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    bool waits = false;
    udpai_directory read = *directory;
    read.is_shared = udpai_shares_of(node->parts.shares, directory) != NULL;
    udpa_err err = node->parts.agreement && !directory->is_received
                       ? udpai_agreement_take(node->parts.agreement, &read, &waits)
                       : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    return waits ? UDPA_OK : use_files(node, &read, ret_error);
}

static void
log_rejected(udpai_str root, const udpa_error *error)
{
    udpai_log(UDPA_LOG_ERROR, "file", "directory %.*s: rejected in part: %s", UDPAI_SHOWN(root),
              error ? udpa_error_message(error) : "out of memory");
}

void
udpai_node_use_agreed_files(udpai_node *node)
{
    const udpai_directory *directory;
    while (node->parts.agreement && (directory = udpai_agreement_next(node->parts.agreement))) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (use_files(node, directory, &error) != UDPA_OK)
            log_rejected(directory->root, error);
    }
}

udpa_err
udpai_node_expect_own(udpai_node *node, udpai_str type_url, bool expected)
{
    udpai_context_touch(&node->context);
    if (expected)
        return udpai_sync_expect_own(node->parts.sync, type_url);
    udpai_sync_expect_own_no_more(node->parts.sync, type_url);
    return UDPA_OK;
}

udpa_err
udpai_node_set_own(udpai_node *node,
                   udpai_str type_url,
                   udpa_resource *const *resources,
                   size_t n_resources)
{
    udpai_origin *origin = udpai_store_origin(node->context.store, UDPAI_STR("node"));
    if (!origin)
        return UDPA_ERR_NOMEM;
    udpai_origin_set_rank(node->context.store, origin, UDPAI_ORIGIN_NODE, 0);
    const udpai_listing setting = {
        .node = node,
        .origin = origin,
        .authority = udpai_bytes_view(node->context.authority),
    };
    const udpai_listed list = {.resources = resources, .n = n_resources};
    return udpai_listing_set(&setting, type_url, &list, NULL);
}
