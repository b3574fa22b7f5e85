/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/delete_origin.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "federation/access.h"
#include "federation/ending.h"
#include "federation/node_internal.h"
#include "federation/peers.h"
#include "federation/signatures.h"
#include "model/client_type.h"
#include "model/name.h"

typedef struct found {
    const udpai_deletion *deletion;
    UDPAI_VECTOR(udpai_contribution) items; /* with a reference to each resource */
    bool failed;
} found;

static bool
is_meant(const udpai_deletion *deletion, const udpai_contribution *contribution)
{
    const udpa_resource *resource = contribution->resource;
    udpai_str type_url = udpai_resource_type_url(resource);
    if (udpai_origin_rank(contribution->origin) != UDPAI_ORIGIN_SOURCE ||
        udpa_resource_n_hops(resource) == 0 || udpai_type_is_client(type_url))
        return false;
    const udpai_hop first = udpai_resource_hop(resource, 0);
    return udpai_str_eq(first.node_id, deletion->node_id) && first.authority.len == 0 &&
           (deletion->type_url.len == 0 || udpai_str_eq(deletion->type_url, type_url)) &&
           udpai_prefix_covers(deletion->prefix, udpai_resource_name(resource));
}

static bool
note(void *userdata, const udpai_contribution *contribution)
{
    found *all = userdata;
    if (!is_meant(all->deletion, contribution))
        return true;
    if (udpai_vector_push(&all->items, *contribution))
        udpa_resource_ref(contribution->resource);
    else
        all->failed = true;
    return !all->failed;
}

static int
compare_names(const udpa_resource *a, const udpa_resource *b)
{
    int order = udpai_str_cmp(udpai_resource_type_url(a), udpai_resource_type_url(b));
    if (order == 0)
        order = udpai_str_cmp(udpai_resource_name(a), udpai_resource_name(b));
    return order ? order : udpai_str_cmp(udpai_resource_authority(a), udpai_resource_authority(b));
}

static int
compare(const void *a, const void *b)
{
    return compare_names(((const udpai_contribution *)a)->resource,
                         ((const udpai_contribution *)b)->resource);
}

static udpa_err
check(udpai_node *node, const udpai_deletion *deletion, udpa_error **ret_error)
{
    size_t at = 0;
    const udpai_peer *peer;
    if (udpai_str_eq(deletion->node_id, udpai_bytes_view(node->context.id)))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "'%.*s' is this node: what it reads goes where it reads it",
                          UDPAI_SHOWN(deletion->node_id));
    while ((peer = udpai_peers_next(node->parts.peers, &at)))
        if (peer->info && udpai_str_eq(udpai_node_info_parts(peer->info)->id, deletion->node_id))
            return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                              "'%.*s' is connected: what it still reads it would bring again",
                              UDPAI_SHOWN(deletion->node_id));
    return UDPA_OK;
}

static udpa_err
end(udpai_node *node,
    const udpai_deletion *deletion,
    const udpai_contribution *held,
    udpa_error **ret_error)
{
    const udpai_acl_question question = {
        .action = UDPAI_ACL_ADMIN,
        .type_url = udpai_resource_type_url(held->resource),
        .name = udpai_resource_name(held->resource),
    };
    udpa_err err = UDPA_OK;
    if (deletion->subject)
        err = udpai_access_check(node->parts.access, deletion->subject, &question, ret_error);
    if (err != UDPA_OK || deletion->is_dry_run)
        return err;
    UDPA_AUTO(udpa_resource_unref)
    udpa_resource *removal = udpai_ending_stamp(node->parts.receiver, held->origin, held->resource);
    if (!removal)
        return udpai_fail(ret_error, UDPA_ERR_DENIED,
                          "'%s': its removal must be signed, and this node has no key for that",
                          udpa_resource_name(held->resource));
    err = udpai_store_end(node->context.store, removal, NULL);
    return err == UDPA_OK ? err : udpai_fail_code(ret_error, err);
}

/* Of several peers that have sent one, the best gives the generation that is ended. */
static void
end_all(udpai_node *node, const udpai_deletion *deletion, const found *all)
{
    size_t n_ended = 0;
    for (size_t i = 0; i < all->items.n; i++) {
        const udpai_contribution *held = &all->items.items[i];
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        if (i && compare_names(held[-1].resource, held->resource) == 0)
            continue;
        n_ended += end(node, deletion, held, &error) == UDPA_OK && !deletion->is_dry_run;
        deletion->notify(deletion->userdata, held->resource, error);
    }
    if (n_ended == 0)
        return;
    udpai_log(UDPA_LOG_INFO, "federation", "deleted %zu resources that node '%.*s' has read",
              n_ended, UDPAI_SHOWN(deletion->node_id));
    udpai_context_touch(&node->context);
}

udpa_err
udpai_node_delete_origin(udpai_node *node, const udpai_deletion *deletion, udpa_error **ret_error)
{
    found all = {.deletion = deletion};
    udpa_err err = check(node, deletion, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_store_visit_all(node->context.store, note, &all);
    if (all.items.n > 1)
        qsort(all.items.items, all.items.n, sizeof(all.items.items[0]), compare);
    if (all.failed)
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    else
        end_all(node, deletion, &all);
    for (size_t i = 0; i < all.items.n; i++)
        udpa_resource_unref(all.items.items[i].resource);
    udpai_vector_done(&all.items);
    return err;
}
