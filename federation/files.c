/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that do not come by a stream: files, and what the node reports of itself. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "federation/absence.h"
#include "federation/agreement.h"
#include "federation/directories.h"
#include "federation/ending.h"
#include "federation/fault.h"
#include "federation/held.h"
#include "federation/node_internal.h"
#include "federation/receiver.h"
#include "federation/replica.h"
#include "federation/shares.h"
#include "federation/signatures.h"
#include "federation/source.h"
#include "federation/sync.h"
#include "model/client_type.h"

#define MAX_WITHDRAWAL 50 /* percent */

struct listed {
    udpa_resource *const *resources;
    size_t n;
    bool is_partial;         /* there may be more */
    bool is_bounded;         /* else as many may go at once as there are */
    unsigned max_withdrawal; /* percent that may; 0: none */
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
is_listed(const struct listed *listed, const udpa_resource *resource)
{
    return listed->n && bsearch(&resource, listed->resources, listed->n, sizeof(udpa_resource *),
                                compare_items) != NULL;
}

/* What a reading leaves out, but for what is held of its type, and what was rejected. */
struct others {
    const struct listed *listed, *rejected;
    const udpai_origin *origin;
};

static bool
stays(void *userdata, const udpa_resource *resource)
{
    const struct others *others = userdata;
    return is_listed(others->listed, resource) || is_listed(others->rejected, resource) ||
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

/* How what is listed becomes contributions. */
struct setting {
    udpai_node *node;
    udpai_origin *origin;
    const udpai_directory *directory; /* NULL: the node itself */
    udpai_str authority;              /* of what has none */
    udpai_staging *staging;           /* NULL: at once */
    bool is_anew;                     /* what is held already is staged, too */
    struct listed rejected;           /* sorted; goes without being counted */
};

/* What another node does not have any more is not removed by its authority. */
static bool
is_of_others(const struct setting *setting)
{
    return setting->directory && setting->directory->keeps_generations;
}

/* Is its generation its authority's? */
static bool
has_generation(const struct setting *setting, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) || is_of_others(setting);
}

/* Would putting it change nothing? */
static bool
is_held(const struct setting *setting,
        const udpai_contribution *held,
        const udpa_resource *resource)
{
    udpai_str own = udpai_resource_authority(resource);
    bool is_alike = !has_generation(setting, resource) ||
                    udpa_resource_generation(held->resource) == udpa_resource_generation(resource);
    return is_alike && is_signed_alike(setting->node, held->resource, resource) &&
           udpai_resource_same_payload(held->resource, resource) &&
           udpai_str_eq(udpai_resource_authority(held->resource),
                        own.len ? own : setting->authority) &&
           udpai_resource_is_lazy(held->resource) == udpai_resource_is_lazy(resource) &&
           udpai_resource_do_not_cache(held->resource) == udpai_resource_do_not_cache(resource) &&
           udpai_resource_same_aliases(held->resource, resource) && is_kept_alike(held, resource);
}

/* What is held stays as it is. */
static udpa_err
keep_held(const struct setting *setting, const udpai_contribution *held)
{
    udpai_store *store = setting->node->context.store;
    udpa_resource *resource = held->resource;
    (void)udpai_store_set_absence(store, setting->origin, udpai_resource_type_url(resource),
                                  udpai_resource_name(resource), UDPAI_ABSENCE_NONE);
    return setting->is_anew
               ? udpai_staging_put(setting->staging, store, setting->origin, resource, 0, NULL)
               : UDPA_OK;
}

/* What clients report is kept by none, and so is of no use to all. */
static udpa_err
check_kind(const struct setting *setting, const udpa_resource *resource, udpa_error **ret_error)
{
    if (!setting->staging || !udpai_type_is_client(udpai_resource_type_url(resource)))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is of a type that clients report: a directory with 'replicas: SHARED' "
                      "cannot have it",
                      udpa_resource_name(resource));
}

/* What has not changed is not published again. */
static udpa_err
put_if_changed(const struct setting *setting, udpa_resource *resource, udpa_error **ret_error)
{
    udpai_contribution held;
    udpai_node *node = setting->node;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpa_err err = check_kind(setting, resource, ret_error);
    if (err != UDPA_OK)
        return err;
    if (udpai_store_get(node->context.store, setting->origin, type_url, name, &held) &&
        is_held(setting, &held, resource))
        return udpai_fail_code(ret_error, keep_held(setting, &held));
    const udpai_put_options options = {
        .authority = setting->authority,
        .keeps_generation = has_generation(setting, resource),
        .is_stamped = setting->directory && setting->directory->is_received,
        .staging = setting->staging,
    };
    err = udpai_intake_put(node->parts.receiver, setting->origin, resource, &options, ret_error);
    if (err == UDPA_ERR_DENIED) /* what it was before does not stay either */
        udpai_staging_withdraw(setting->staging, node->context.store, setting->origin, type_url,
                               name);
    return err;
}

/* What its authority has removed ends here, too, also where others have it. */
static udpa_err
end_removed(const struct setting *setting, const struct listed *listed)
{
    const udpai_directory *directory = setting->directory;
    udpai_store *store = setting->node->context.store;
    udpai_contribution held;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < directory->n_removals && err == UDPA_OK; i++) {
        udpa_resource *removal = directory->removals[i];
        bool ends = !is_listed(listed, removal) &&
                    udpai_store_get(store, setting->origin, udpai_resource_type_url(removal),
                                    udpai_resource_name(removal), &held) &&
                    udpai_str_eq(udpai_resource_authority(held.resource),
                                 udpai_resource_authority(removal)) &&
                    udpa_resource_generation(held.resource) <= udpa_resource_generation(removal);
        if (ends)
            err = udpai_staging_end(setting->staging, store, removal, NULL);
    }
    return err;
}

static void
withdraw_rejected(const struct setting *setting, const struct listed *listed)
{
    udpai_store *store = setting->node->context.store;
    for (size_t i = 0; i < setting->rejected.n; i++) {
        const udpa_resource *one = setting->rejected.resources[i];
        udpai_str type_url = udpai_resource_type_url(one), name = udpai_resource_name(one);
        if (is_listed(listed, one))
            continue;
        (void)udpai_store_set_absence(store, setting->origin, type_url, name, UDPAI_ABSENCE_NONE);
        udpai_staging_withdraw(setting->staging, store, setting->origin, type_url, name);
    }
}

/* Removals from a directory are believed within bounds; of what the node reports of itself, always.
 */
static udpa_err
withdraw_others(const struct setting *setting, udpai_str type_url, const struct listed *listed)
{
    udpai_node *node = setting->node;
    struct others others = {listed, &setting->rejected, setting->origin};
    const udpai_store_scope scope = {.type_url = type_url, .keep = stays, .userdata = &others};
    withdraw_rejected(setting, listed);
    udpa_err err = listed->is_bounded ? udpai_absence_of_files(&node->context, setting->origin,
                                                               &scope, listed->max_withdrawal)
                                      : UDPA_OK;
    if (err != UDPA_OK)
        return err;
    if (!is_of_others(setting))
        return udpai_ending_own(node->parts.receiver, setting->origin, &scope, setting->staging);
    err = end_removed(setting, listed);
    udpai_staging_leave_all(setting->staging, node->context.store, setting->origin, &scope);
    return err;
}

/* NULL: there is no memory. */
static udpa_resource **
sort(udpa_resource *const *resources, size_t n)
{
    udpa_resource **sorted = udpai_alloc_array(n, sizeof(*sorted));
    if (sorted && n)
        memcpy(sorted, resources, n * sizeof(*sorted));
    if (sorted && n > 1)
        qsort(sorted, n, sizeof(*sorted), compare_items);
    return sorted;
}

/* Makes the origin hold these, and, if they are all there is, nothing else. */
static udpa_err
set_all(const struct setting *setting,
        udpai_str type_url,
        const struct listed *list,
        udpa_error **ret_error)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = sort(list->resources, list->n);
    if (!sorted)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    struct listed listed = *list;
    listed.resources = sorted;
    udpa_err first = list->is_partial
                         ? UDPA_OK
                         : udpai_fail_code(ret_error, withdraw_others(setting, type_url, &listed));
    for (size_t i = 0; i < list->n; i++) {
        udpa_error **room = first == UDPA_OK ? ret_error : NULL;
        udpa_err err = put_if_changed(setting, list->resources[i], room);
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

static unsigned
max_withdrawal_of(const udpai_directory *directory, const udpai_source *source)
{
    if (directory->doubt)
        return 0;
    if (source)
        return udpai_source_max_withdrawal(source);
    return directory->max_withdrawal ? directory->max_withdrawal : MAX_WITHDRAWAL;
}

static struct listed
list_of(const udpai_directory *directory, const udpai_source *source)
{
    return (struct listed){
        .resources = directory->resources,
        .n = directory->n_resources,
        .is_partial = directory->is_partial,
        .is_bounded = true,
        .max_withdrawal = max_withdrawal_of(directory, source),
    };
}

static udpai_str
authority_of(const udpai_node *node, const udpai_directory *directory)
{
    return directory->authority.len ? directory->authority
                                    : udpai_bytes_view(node->context.authority);
}

static void
log_held(udpai_node *node,
         udpai_source *source,
         const udpai_directory *directory,
         const udpai_origin *origin)
{
    if (source)
        udpai_held_log_read(source, directory->doubt ? directory->doubt : UDPAI_HELD_TOO_MANY);
    else
        udpai_held_log_directory(node->parts.sources, directory->root, origin);
}

static udpai_source *
source_of(const udpai_node *node, udpai_str name)
{
    return name.len ? udpai_sources_get(node->parts.sources, name) : NULL;
}

static udpa_err
set_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    udpai_source *source = source_of(node, directory->source);
    udpai_origin *origin =
        source ? udpai_source_origin(source)
               : udpai_directory_origin(udpai_sources_directories(node->parts.sources),
                                        directory->root);
    if (!origin)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const struct setting setting = {
        .node = node,
        .origin = origin,
        .directory = directory,
        .authority = authority_of(node, directory),
    };
    const struct listed list = list_of(directory, source);
    udpa_err err = set_all(&setting, (udpai_str){0}, &list, ret_error);
    log_held(node, source, directory, origin);
    if (source)
        udpai_source_was_read(source, directory);
    else if (directory->is_partial)
        directory_was_read_in_part(node, directory);
    else
        directory_was_read(node, origin, directory->root);
    return err;
}

/* What was read before, and is not any more. Without memory it counts as missing. */
static void
note_rejected(udpai_share *share, const udpai_directory *directory)
{
    const udpai_directory *before = share->reading ? udpai_reading_directory(share->reading) : NULL;
    UDPAI_AUTO_FREE udpa_resource **sorted = sort(directory->resources, directory->n_resources);
    const struct listed now = {.resources = sorted, .n = directory->n_resources};
    for (size_t i = 0; before && sorted && i < before->n_resources; i++) {
        udpa_resource *one = before->resources[i];
        if (!is_listed(&now, one) && udpai_vector_push(&share->rejections, one))
            (void)udpa_resource_ref(one);
    }
    if (share->rejections.n > 1)
        qsort(share->rejections.items, share->rejections.n, sizeof(udpa_resource *), compare_items);
}

/* It counts here. Of what is shared, that is not enough. */
static udpa_err
use_files(udpai_node *node, const udpai_directory *directory, udpa_error **ret_error)
{
    udpai_share *share = udpai_shares_of(node->parts.shares, directory);
    udpai_source *source = directory->is_received ? source_of(node, directory->source) : NULL;
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

/* ---- what one replica reads for all ---- */

udpa_err
udpai_node_share_files(udpai_node *node, udpai_str root, udpai_str source_name)
{
    const udpai_source *source = source_of(node, source_name);
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
        note_elsewhere(source_of(node, source));
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
stage_rest(const struct setting *setting)
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
    udpai_source *source = source_of(node, directory->source);
    const struct setting setting = {
        .node = node,
        .origin = share->origin,
        .directory = directory,
        .authority = authority_of(node, directory),
        .staging = staging,
        .is_anew = !share->is_marked,
        .rejected = {.resources = share->rejections.items, .n = share->rejections.n},
    };
    struct listed list = list_of(directory, source);
    if (share->accepts)
        list.max_withdrawal = 100;
    udpa_err err = set_all(&setting, (udpai_str){0}, &list, &error);
    if (err != UDPA_OK && err != UDPA_ERR_NOMEM && share->is_new)
        udpai_log(UDPA_LOG_ERROR, udpai_share_part(share),
                  UDPAI_SHARE_TEXT ": rejected in part: %s", UDPAI_SHARE_SHOWN(share),
                  error ? udpa_error_message(error) : "out of memory");
    if (err != UDPA_ERR_NOMEM && setting.is_anew)
        err = stage_rest(&setting);
    log_held(node, source, directory, share->origin);
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
    udpai_source *source = source_of(node, udpai_bytes_view(share->source));
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
        directory_was_read(node, share->origin, root);
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
    const struct setting setting = {
        .node = node,
        .origin = origin,
        .authority = udpai_bytes_view(node->context.authority),
    };
    const struct listed list = {.resources = resources, .n = n_resources};
    return set_all(&setting, type_url, &list, NULL);
}
