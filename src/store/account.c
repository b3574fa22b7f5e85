/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes how much room: each namespace, each origin, all publishers, and all there is. Every
 * contribution is counted in each of them; what would go beyond a limit of one is refused. */
#include "store/store_internal.h"

#include "base/error.h"
#include "model/name.h"

/* One of the limits that a contribution meets. */
struct limit {
    const char *kind; /* of whom it is, … */
    udpai_str name;   /* … and which; empty: there is but one */
    udpai_use used;
    uint64_t max_resources, max_bytes;
    const char *option; /* what their names in the configuration end with */
};

static void
add(udpai_use *use, const udpa_resource *resource)
{
    use->n++;
    use->bytes += udpai_resource_footprint(resource);
}

static void
subtract(udpai_use *use, const udpa_resource *resource)
{
    use->n--;
    use->bytes -= udpai_resource_footprint(resource);
}

static bool
is_publisher(const udpai_origin *origin)
{
    return origin->rank == UDPAI_ORIGIN_PUBLISHER;
}

/* ---- accounts of namespaces ---- */

static udpai_namespace_use *
find_account(const udpai_store *store, const udpa_resource *resource)
{
    return udpai_map_get(&store->namespaces, udpai_name_namespace(udpai_resource_name(resource)));
}

static udpai_namespace_use *
open_account(udpai_store *store, const udpa_resource *resource)
{
    udpai_str name_space = udpai_name_namespace(udpai_resource_name(resource));
    udpai_namespace_use *account = find_account(store, resource);
    if (account)
        return account;
    account = udpai_alloc(sizeof(*account));
    if (account && udpa_bytes_new(&account->name, name_space.data, name_space.len) == UDPA_OK) {
        if (udpai_map_add(&store->namespaces, account))
            return account;
        udpa_bytes_unref(account->name);
    }
    udpai_free(account);
    return NULL;
}

void
udpai_store_close_account(udpai_store *store, const udpa_resource *resource)
{
    udpai_namespace_use *account = find_account(store, resource);
    if (!account || account->use.n)
        return;
    udpai_map_remove(&store->namespaces, udpai_bytes_view(account->name));
    udpa_bytes_unref(account->name);
    udpai_free(account);
}

/* ---- limits ---- */

static udpa_err
refuse(const struct limit *limit,
       const udpa_resource *resource,
       const char *unit,
       const uint64_t used_max_more[3],
       udpa_error **ret_error)
{
    const char *quote = limit->name.len ? "'" : "";
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "'%s' finds no room: %s%s%.*s%s is full: %llu %s of %llu, and this takes "
                      "%llu more (limits.max_%s%s): take something away, or raise the limit",
                      udpa_resource_name(resource), limit->kind, quote, (int)limit->name.len,
                      limit->name.len ? limit->name.data : "", quote,
                      (unsigned long long)used_max_more[0], unit,
                      (unsigned long long)used_max_more[1], (unsigned long long)used_max_more[2],
                      unit, limit->option);
}

/* Only what grows is stopped: what is too much already may be replaced by no more. */
static udpa_err
check(const struct limit *limit,
      const udpa_resource *resource,
      const udpa_resource *old,
      udpa_error **ret_error)
{
    udpai_use after = limit->used;
    add(&after, resource);
    if (old)
        subtract(&after, old);
    uint64_t n[] = {limit->used.n, limit->max_resources, after.n - limit->used.n};
    uint64_t bytes[] = {limit->used.bytes, limit->max_bytes, after.bytes - limit->used.bytes};
    if (after.n > limit->used.n && after.n > limit->max_resources)
        return refuse(limit, resource, "resources", n, ret_error);
    if (after.bytes > limit->used.bytes && after.bytes > limit->max_bytes)
        return refuse(limit, resource, "bytes", bytes, ret_error);
    return UDPA_OK;
}

static struct limit
limit_of_namespace(const udpai_store *store, const udpai_namespace_use *account)
{
    return (struct limit){
        .kind = "namespace ",
        .name = udpai_bytes_view(account->name),
        .used = account->use,
        .max_resources = store->options.max_resources_per_namespace,
        .max_bytes = store->options.max_bytes_per_namespace,
        .option = "_per_namespace",
    };
}

static struct limit
limit_of_publisher(const udpai_store *store, const udpai_origin *origin)
{
    return (struct limit){
        .kind = "origin ",
        .name = udpai_origin_key(origin),
        .used = origin->use,
        .max_resources = store->options.max_resources_per_publisher,
        .max_bytes = store->options.max_bytes_per_publisher,
        .option = "_per_publisher",
    };
}

/* Publishers have what the others leave, and none of the others finds less room for what publishers
 * hold: what is configured here does not pay for what anybody sends. */
static struct limit
limit_of_node(const udpai_store *store, const udpai_origin *origin)
{
    struct limit limit = {
        .kind = "this node",
        .used = store->use,
        .max_resources = store->options.max_resources,
        .max_bytes = store->options.max_bytes,
        .option = "",
    };
    if (!is_publisher(origin)) {
        limit.kind = "this node, publishers left out,";
        limit.used.n -= store->publishers.n;
        limit.used.bytes -= store->publishers.bytes;
    }
    return limit;
}

static udpa_err
check_all(const udpai_store *store,
          const udpai_origin *origin,
          const udpa_resource *resource,
          const udpa_resource *old,
          udpa_error **ret_error)
{
    struct limit limit = limit_of_namespace(store, find_account(store, resource));
    udpa_err err = check(&limit, resource, old, ret_error);
    if (err == UDPA_OK && is_publisher(origin)) {
        limit = limit_of_publisher(store, origin);
        err = check(&limit, resource, old, ret_error);
    }
    limit = limit_of_node(store, origin);
    return err == UDPA_OK ? check(&limit, resource, old, ret_error) : err;
}

udpa_err
udpai_store_make_room(udpai_store *store,
                      const udpai_origin *origin,
                      const udpa_resource *resource,
                      const udpa_resource *old,
                      udpa_error **ret_error)
{
    if (!open_account(store, resource))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    /* What was kept had been let in; limits that are lower now do not take it away. */
    udpa_err err = store->loading ? UDPA_OK : check_all(store, origin, resource, old, ret_error);
    if (err != UDPA_OK)
        udpai_store_close_account(store, resource);
    return err;
}

/* ---- counting ---- */

void
udpai_store_charge(udpai_store *store, udpai_origin *origin, const udpa_resource *resource)
{
    add(&find_account(store, resource)->use, resource);
    add(&origin->use, resource);
    add(&store->use, resource);
    if (is_publisher(origin))
        add(&store->publishers, resource);
}

void
udpai_store_discharge(udpai_store *store, udpai_origin *origin, const udpa_resource *resource)
{
    subtract(&find_account(store, resource)->use, resource);
    udpai_store_close_account(store, resource);
    subtract(&origin->use, resource);
    subtract(&store->use, resource);
    if (is_publisher(origin))
        subtract(&store->publishers, resource);
}

void
udpai_store_change_rank(udpai_store *store, udpai_origin *origin, udpai_origin_class rank)
{
    bool was_publisher = is_publisher(origin);
    origin->rank = rank;
    if (was_publisher && !is_publisher(origin)) {
        store->publishers.n -= origin->use.n;
        store->publishers.bytes -= origin->use.bytes;
    } else if (!was_publisher && is_publisher(origin)) {
        store->publishers.n += origin->use.n;
        store->publishers.bytes += origin->use.bytes;
    }
}
