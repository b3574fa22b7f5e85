/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/listing.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "federation/absence.h"
#include "federation/ending.h"
#include "federation/node_internal.h"
#include "federation/receiver.h"
#include "federation/signatures.h"
#include "federation/source.h"
#include "model/client_type.h"

#define MAX_WITHDRAWAL 50 /* percent */

/* ---- a list ---- */

static unsigned
max_withdrawal_of(const udpai_directory *directory, const udpai_source *source)
{
    if (directory->doubt)
        return 0;
    if (source)
        return udpai_source_max_withdrawal(source);
    return directory->max_withdrawal ? directory->max_withdrawal : MAX_WITHDRAWAL;
}

udpai_listed
udpai_listed_of(const udpai_directory *directory, const udpai_source *source)
{
    return (udpai_listed){
        .resources = directory->resources,
        .n = directory->n_resources,
        .is_partial = directory->is_partial,
        .is_bounded = true,
        .max_withdrawal = max_withdrawal_of(directory, source),
    };
}

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

bool
udpai_listed_has(const udpai_listed *listed, const udpa_resource *resource)
{
    return listed->n && bsearch(&resource, listed->resources, listed->n, sizeof(udpa_resource *),
                                compare_items) != NULL;
}

void
udpai_listed_order(udpa_resource **resources, size_t n)
{
    if (n > 1)
        qsort(resources, n, sizeof(*resources), compare_items);
}

udpa_resource **
udpai_listed_sort(udpa_resource *const *resources, size_t n)
{
    udpa_resource **sorted = udpai_alloc_array(n, sizeof(*sorted));
    if (sorted && n)
        memcpy(sorted, resources, n * sizeof(*sorted));
    if (sorted)
        udpai_listed_order(sorted, n);
    return sorted;
}

udpai_listing
udpai_listing_of(udpai_node *node, udpai_origin *origin, const udpai_directory *directory)
{
    return (udpai_listing){
        .node = node,
        .origin = origin,
        .directory = directory,
        .authority = directory->authority.len ? directory->authority
                                              : udpai_bytes_view(node->context.authority),
    };
}

/* ---- what it becomes ---- */

/* What a reading leaves out, but for what is held of its type, and what was rejected. */
struct others {
    const udpai_listed *listed, *rejected;
    const udpai_origin *origin;
};

static bool
stays(void *userdata, const udpa_resource *resource)
{
    const struct others *others = userdata;
    return udpai_listed_has(others->listed, resource) ||
           udpai_listed_has(others->rejected, resource) ||
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

/* What another node does not have any more is not removed by its authority. */
static bool
is_of_others(const udpai_listing *setting)
{
    return setting->directory && setting->directory->keeps_generations;
}

/* Is its generation its authority's? */
static bool
has_generation(const udpai_listing *setting, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) || is_of_others(setting);
}

/* Would putting it change nothing? */
static bool
is_held(const udpai_listing *setting, const udpai_contribution *held, const udpa_resource *resource)
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
keep_held(const udpai_listing *setting, const udpai_contribution *held)
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
check_kind(const udpai_listing *setting, const udpa_resource *resource, udpa_error **ret_error)
{
    if (!setting->staging || !udpai_type_is_client(udpai_resource_type_url(resource)))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "'%s' is of a type that clients report: a %s with 'replicas: SHARED' "
                      "cannot have it",
                      udpa_resource_name(resource),
                      setting->directory->source.len ? "source" : "directory");
}

/* What has not changed is not published again. */
static udpa_err
put_if_changed(const udpai_listing *setting, udpa_resource *resource, udpa_error **ret_error)
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
end_removed(const udpai_listing *setting, const udpai_listed *listed)
{
    const udpai_directory *directory = setting->directory;
    udpai_store *store = setting->node->context.store;
    udpai_contribution held;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < directory->n_removals && err == UDPA_OK; i++) {
        udpa_resource *removal = directory->removals[i];
        bool ends = !udpai_listed_has(listed, removal) &&
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
withdraw_rejected(const udpai_listing *setting, const udpai_listed *listed)
{
    udpai_store *store = setting->node->context.store;
    for (size_t i = 0; i < setting->rejected.n; i++) {
        const udpa_resource *one = setting->rejected.resources[i];
        udpai_str type_url = udpai_resource_type_url(one), name = udpai_resource_name(one);
        if (udpai_listed_has(listed, one))
            continue;
        (void)udpai_store_set_absence(store, setting->origin, type_url, name, UDPAI_ABSENCE_NONE);
        udpai_staging_withdraw(setting->staging, store, setting->origin, type_url, name);
    }
}

/* Removals from a directory are believed within bounds; of what the node reports of itself, always.
 */
static udpa_err
withdraw_others(const udpai_listing *setting, udpai_str type_url, const udpai_listed *listed)
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

/* What is not in the list. */
static udpa_err
withdraw_unlisted(const udpai_listing *setting, udpai_str type_url, const udpai_listed *list)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_listed_sort(list->resources, list->n);
    udpai_listed listed = *list;
    listed.resources = sorted;
    return sorted ? withdraw_others(setting, type_url, &listed) : UDPA_ERR_NOMEM;
}

udpa_err
udpai_listing_set(const udpai_listing *setting,
                  udpai_str type_url,
                  const udpai_listed *list,
                  udpa_error **ret_error)
{
    udpa_err first = list->is_partial
                         ? UDPA_OK
                         : udpai_fail_code(ret_error, withdraw_unlisted(setting, type_url, list));
    for (size_t i = 0; i < list->n; i++) {
        udpa_error **room = first == UDPA_OK ? ret_error : NULL;
        udpa_err err = put_if_changed(setting, list->resources[i], room);
        first = first == UDPA_OK ? err : first;
    }
    return first;
}
