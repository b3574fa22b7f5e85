/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that do not come by a stream: files, and what the node reports of itself. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "federation/absence.h"
#include "federation/agreement.h"
#include "federation/directories.h"
#include "federation/ending.h"
#include "federation/held.h"
#include "federation/node_internal.h"
#include "federation/receiver.h"
#include "federation/signatures.h"
#include "federation/source.h"
#include "federation/sync.h"

#define MAX_WITHDRAWAL 50 /* percent */

struct listed {
    udpa_resource *const *resources;
    size_t n;
    bool is_partial;         /* there may be more */
    unsigned max_withdrawal; /* percent that may go at once; 0: as many as there are */
};

static int
compare_resources(const udpa_resource *a, const udpa_resource *b)
{
    int order = udpai_str_cmp(udpai_resource_name(a), udpai_resource_name(b));
    return order ? order : udpai_str_cmp(udpai_resource_type_url(a), udpai_resource_type_url(b));
}

static int
compare_items(const void *a, const void *b)
{
    return compare_resources(*(udpa_resource *const *)a, *(udpa_resource *const *)b);
}

static bool
is_listed(void *userdata, const udpa_resource *resource)
{
    const struct listed *listed = userdata;
    return listed->n && bsearch(&resource, listed->resources, listed->n, sizeof(udpa_resource *),
                                compare_items) != NULL;
}

/* What a reading leaves out, but for what is held of its type. */
struct others {
    const struct listed *listed;
    const udpai_origin *origin;
};

static bool
stays(void *userdata, const udpa_resource *resource)
{
    const struct others *others = userdata;
    return is_listed((void *)(uintptr_t)others->listed, resource) ||
           udpai_origin_n_absent(others->origin, udpai_resource_type_url(resource),
                                 UDPAI_ABSENCE_HELD) > 0;
}

/* What a file does not sign may be signed here. */
static bool
is_signed_alike(const udpai_node *node, const udpa_resource *held, const udpa_resource *resource)
{
    if (udpai_resource_signature(resource))
        return udpai_resource_same_signed(held, resource);
    return !udpai_resource_signature(held) || udpai_signatures_is_own(node->parts.signatures, held);
}

/* Is a ttl what it was, and renewed by the store? */
static bool
is_kept_alike(const udpai_contribution *held, const udpa_resource *resource)
{
    uint64_t ttl_ms = udpa_resource_ttl_ms(resource);
    return ttl_ms == udpa_resource_ttl_ms(held->resource) &&
           (ttl_ms == 0 || udpai_origin_keeps_alive(held->origin));
}

/* Would putting it change nothing? */
static bool
is_held(const udpai_node *node,
        const udpai_contribution *held,
        const udpa_resource *resource,
        udpai_str authority)
{
    udpai_str own = udpai_resource_authority(resource);
    return is_signed_alike(node, held->resource, resource) &&
           udpai_resource_same_payload(held->resource, resource) &&
           udpai_str_eq(udpai_resource_authority(held->resource), own.len ? own : authority) &&
           udpai_resource_is_lazy(held->resource) == udpai_resource_is_lazy(resource) &&
           udpai_resource_do_not_cache(held->resource) == udpai_resource_do_not_cache(resource) &&
           udpai_resource_same_aliases(held->resource, resource) && is_kept_alike(held, resource);
}

/* What has not changed is not published again. */
static udpa_err
put_if_changed(udpai_node *node,
               udpai_origin *origin,
               udpa_resource *resource,
               udpai_str authority,
               udpa_error **ret_error)
{
    udpai_contribution held;
    bool same = udpai_store_get(node->context.store, origin, udpai_resource_type_url(resource),
                                udpai_resource_name(resource), &held) &&
                is_held(node, &held, resource, authority);
    if (same) {
        (void)udpai_store_set_absence(node->context.store, origin,
                                      udpai_resource_type_url(resource),
                                      udpai_resource_name(resource), UDPAI_ABSENCE_NONE);
        return UDPA_OK;
    }
    const udpai_put_options options = {
        .authority = authority,
        .keeps_generation = udpai_resource_signature(resource) != NULL,
    };
    udpa_err err = udpai_intake_put(node->parts.receiver, origin, resource, &options, ret_error);
    if (err == UDPA_ERR_DENIED) /* what it was before does not stay either */
        udpai_store_withdraw(node->context.store, origin, udpai_resource_type_url(resource),
                             udpai_resource_name(resource));
    return err;
}

/* Removals from a directory are believed within bounds; of what the node reports of itself, always.
 */
static udpa_err
withdraw_others(udpai_node *node,
                udpai_origin *origin,
                udpai_str type_url,
                const struct listed *listed)
{
    struct others others = {listed, origin};
    const udpai_store_scope scope = {.type_url = type_url, .keep = stays, .userdata = &others};
    udpa_err err = listed->max_withdrawal ? udpai_absence_of_files(&node->context, origin, &scope,
                                                                   listed->max_withdrawal)
                                          : UDPA_OK;
    if (err == UDPA_OK)
        udpai_ending_own(node->parts.receiver, origin, type_url, stays, &others);
    return err;
}

/* Makes the origin hold these, and, if they are all there is, nothing else. */
static udpa_err
set_all(udpai_node *node,
        udpai_origin *origin,
        udpai_str type_url,
        udpai_str authority,
        const struct listed *list,
        udpa_error **ret_error)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_alloc_array(list->n, sizeof(*sorted));
    if (!sorted)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (list->n)
        memcpy(sorted, list->resources, list->n * sizeof(*sorted));
    if (list->n > 1)
        qsort(sorted, list->n, sizeof(*sorted), compare_items);
    const struct listed listed = {sorted, list->n, list->is_partial, list->max_withdrawal};
    udpa_err first =
        list->is_partial
            ? UDPA_OK
            : udpai_fail_code(ret_error, withdraw_others(node, origin, type_url, &listed));
    for (size_t i = 0; i < list->n; i++) {
        udpa_error **room = first == UDPA_OK ? ret_error : NULL;
        udpa_err err = put_if_changed(node, origin, list->resources[i], authority, room);
        first = first == UDPA_OK ? err : first;
    }
    return first;
}

/* All of it has been read. This is kept: what was read goes on counting while the node is down. */
static void
directory_was_read(udpai_node *node, udpai_origin *origin, udpai_str root)
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

static udpa_err
set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    udpai_source *source =
        directory->source.len ? udpai_sources_get(node->parts.sources, directory->source) : NULL;
    udpai_origin *origin =
        source ? udpai_source_origin(source)
               : udpai_directory_origin(udpai_sources_directories(node->parts.sources),
                                        directory->root);
    if (!origin)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_str authority =
        directory->authority.len ? directory->authority : udpai_bytes_view(node->context.authority);
    const struct listed list = {
        .resources = directory->resources,
        .n = directory->n_resources,
        .is_partial = directory->is_partial,
        .max_withdrawal = source                      ? udpai_source_max_withdrawal(source)
                          : directory->max_withdrawal ? directory->max_withdrawal
                                                      : MAX_WITHDRAWAL,
    };
    udpa_err err = set_all(node, origin, (udpai_str){0}, authority, &list, ret_error);
    if (source)
        udpai_held_log_read(source);
    else
        udpai_held_log_directory(node->parts.sources, directory->root, origin);
    if (source)
        udpai_source_was_read(source, directory);
    else if (directory->is_partial)
        directory_was_read_in_part(node, directory);
    else
        directory_was_read(node, origin, directory->root);
    return err;
}

udpa_err
udpai_node_set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    bool waits = false;
    udpa_err err = node->parts.agreement
                       ? udpai_agreement_take(node->parts.agreement, directory, &waits)
                       : UDPA_OK;
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    return waits ? UDPA_OK : set_files(node, directory, ret_error);
}

void
udpai_node_use_agreed_files(udpai_node *node)
{
    const udpai_directory *directory;
    while (node->parts.agreement && (directory = udpai_agreement_next(node->parts.agreement))) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (set_files(node, directory, &error) != UDPA_OK)
            udpai_log(UDPA_LOG_ERROR, "file", "directory %.*s: rejected in part: %s",
                      UDPAI_SHOWN(directory->root), udpa_error_message(error));
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
    const struct listed list = {.resources = resources, .n = n_resources};
    return set_all(node, origin, type_url, udpai_bytes_view(node->context.authority), &list, NULL);
}
