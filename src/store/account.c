/* SPDX-License-Identifier: Apache-2.0 */
/* How much room is taken by each namespace, each origin, all publishers, and all there is. Every
 * contribution is counted in each of them, and so is what was reported and has no contribution any
 * more until its removal is reported; what would go beyond a limit of one is rejected. */
#include "store/fill.h"
#include "store/store_internal.h"

#include <stdio.h>

#include "base/error.h"
#include "model/name.h"

/* A resource that comes, and what goes for it; NULL: nothing. */
struct exchange {
    const udpai_origin *origin;
    const udpa_resource *comes, *old;
    const udpa_resource *reported; /* what was held back of the name, if this takes its place */
    const udpai_origin *reported_by;
};

/* One of the limits that a contribution meets. */
struct limit {
    const char *kind; /* of what it is, … */
    udpai_str name;   /* … and which; empty: there is but one */
    udpai_use used, freed;
    udpai_staged_use staged; /* of what is used */
    uint64_t max_resources, max_bytes;
    const char *option; /* what their names in the configuration end with */
};

typedef void (*count_fn)(udpai_use *use, const udpa_resource *resource);

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

static void
add_held(udpai_use *use, const udpa_resource *resource)
{
    add(use, resource);
    use->n_held++;
}

static void
subtract_held(udpai_use *use, const udpa_resource *resource)
{
    subtract(use, resource);
    use->n_held--;
}

static void
add_all(udpai_use *use, const udpai_use *other)
{
    use->n += other->n;
    use->n_held += other->n_held;
    use->bytes += other->bytes;
}

static void
subtract_all(udpai_use *use, const udpai_use *other)
{
    use->n -= other->n;
    use->n_held -= other->n_held;
    use->bytes -= other->bytes;
}

/* Of what is used with what is staged, which may be less: what is staged to go may be gone already.
 */
static void
take_off(udpai_use *use, const udpai_use *other)
{
    use->n -= other->n < use->n ? other->n : use->n;
    use->n_held -= other->n_held < use->n_held ? other->n_held : use->n_held;
    use->bytes -= other->bytes < use->bytes ? other->bytes : use->bytes;
}

/* With what stagings will make of it. */
static udpai_use
with_staged(const udpai_use *use, const udpai_staged_use *staged)
{
    udpai_use sum = *use;
    int64_t n = (int64_t)use->n + staged->n, bytes = (int64_t)use->bytes + staged->bytes;
    sum.n = n > 0 ? (size_t)n : 0;
    sum.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    return sum;
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
    account = udpai_alloc_in(&store->memory, sizeof(*account));
    if (account && udpa_bytes_new(&account->name, name_space.data, name_space.len) == UDPA_OK) {
        if (udpai_map_add(&store->namespaces, account))
            return account;
        udpa_bytes_unref(account->name);
    }
    udpai_free_in(&store->memory, account, sizeof(*account));
    return NULL;
}

void
udpai_store_close_account(udpai_store *store, const udpa_resource *resource)
{
    udpai_namespace_use *account = find_account(store, resource);
    if (!account || account->use.n || account->n_staged)
        return;
    udpai_map_remove(&store->namespaces, udpai_bytes_view(account->name));
    udpa_bytes_unref(account->name);
    udpai_free_in(&store->memory, account, sizeof(*account));
}

/* ---- limits ---- */

/* Used, at most, and what more is needed. */
struct amount {
    uint64_t used, max, more;
    const char *unit;
};

static udpa_err
refuse(const struct limit *limit,
       const struct exchange *exchange,
       const struct amount *amount,
       udpa_error **ret_error)
{
    char held[128] = "";
    const char *quote = limit->name.len ? "'" : "";
    if (limit->used.n_held)
        (void)snprintf(held, sizeof(held),
                       "; this counts %zu removed resources, which stay until every source that "
                       "may have them has synchronized",
                       limit->used.n_held);
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "'%s' finds no room: %s%s%.*s%s is full: %llu %s of %llu, and this takes "
                      "%llu more (limits.max_%s%s)%s: take something away, or raise the limit",
                      udpa_resource_name(exchange->comes), limit->kind, quote, (int)limit->name.len,
                      limit->name.len ? limit->name.data : "", quote,
                      (unsigned long long)amount->used, amount->unit,
                      (unsigned long long)amount->max, (unsigned long long)amount->more,
                      amount->unit, limit->option, held);
}

/* Only what grows is stopped: what is too much already may be replaced by no more. */
static udpa_err
check(const struct limit *limit, const struct exchange *exchange, udpa_error **ret_error)
{
    udpai_use after = limit->used;
    add(&after, exchange->comes);
    take_off(&after, &limit->freed);
    const struct amount amounts[] = {
        {limit->used.n, limit->max_resources, after.n - limit->used.n, "resources"},
        {limit->used.bytes, limit->max_bytes, after.bytes - limit->used.bytes, "bytes"},
    };
    if (after.n > limit->used.n && after.n > limit->max_resources)
        return refuse(limit, exchange, &amounts[0], ret_error);
    if (after.bytes > limit->used.bytes && after.bytes > limit->max_bytes)
        return refuse(limit, exchange, &amounts[1], ret_error);
    return UDPA_OK;
}

static udpai_use
freed(const struct exchange *exchange, bool with_reported)
{
    udpai_use use = {0};
    if (exchange->old)
        add(&use, exchange->old);
    if (exchange->reported && with_reported)
        add(&use, exchange->reported);
    return use;
}

static struct limit
limit_of_namespace(const udpai_store *store, const struct exchange *exchange)
{
    const udpai_namespace_use *account = find_account(store, exchange->comes);
    return (struct limit){
        .kind = "namespace ",
        .name = udpai_bytes_view(account->name),
        .used = with_staged(&account->use, &account->staged),
        .staged = account->staged,
        .freed = freed(exchange, true),
        .max_resources = store->options.max_resources_per_namespace,
        .max_bytes = store->options.max_bytes_per_namespace,
        .option = "_per_namespace",
    };
}

static struct limit
limit_of_publisher(const udpai_store *store, const struct exchange *exchange)
{
    return (struct limit){
        .kind = "origin ",
        .name = udpai_origin_key(exchange->origin),
        .used = with_staged(&exchange->origin->use, &exchange->origin->staged),
        .staged = exchange->origin->staged,
        .freed = freed(exchange, exchange->reported_by == exchange->origin),
        .max_resources = store->options.max_resources_per_publisher,
        .max_bytes = store->options.max_bytes_per_publisher,
        .option = "_per_publisher",
    };
}

/* What the node states of itself takes no room: it is there while a client subscribes to it. */
static void
leave_out_status(const udpai_store *store, struct limit *limit)
{
    const udpai_namespace_use *status =
        udpai_map_get(&store->namespaces, UDPAI_STR(UDPAI_NODE_NAMESPACE));
    if (status)
        take_off(&limit->used, &status->use);
}

/* Publishers have what the others leave, and none of the others finds less room for what publishers
 * hold: what is configured here does not pay for what anybody sends. */
static struct limit
limit_of_node(const udpai_store *store, const struct exchange *exchange)
{
    struct limit limit = {
        .kind = "this node",
        .used = with_staged(&store->use, &store->staged),
        .staged = store->staged,
        .freed = freed(exchange, true),
        .max_resources = store->options.max_resources,
        .max_bytes = store->options.max_bytes,
        .option = "",
    };
    if (is_publisher(exchange->origin)) {
        leave_out_status(store, &limit);
    } else {
        limit.kind = "this node, publishers left out,";
        const udpai_use publishers = with_staged(&store->publishers, &store->staged);
        take_off(&limit.used, &publishers);
        limit.freed = freed(exchange, exchange->reported && !is_publisher(exchange->reported_by));
    }
    return limit;
}

static double
share(uint64_t used, uint64_t max)
{
    return max ? (double)used / (double)max : 0;
}

udpai_store_fill
udpai_store_fill_of(const udpai_store *store)
{
    struct limit limit = {.used = with_staged(&store->use, &store->staged)};
    leave_out_status(store, &limit);
    return (udpai_store_fill){
        .resources = share(limit.used.n, store->options.max_resources),
        .bytes = share(limit.used.bytes, store->options.max_bytes),
        .name_space = udpai_fullest_percent(&store->fullest_namespace) / 100.0,
        .publisher = udpai_fullest_percent(&store->fullest_publisher) / 100.0,
    };
}

static size_t
count_publishers(const udpai_store_entry *entry)
{
    size_t at = 0, n = 0;
    const udpai_stored *stored;
    while ((stored = udpai_store_next(entry, &at)))
        n += is_publisher(stored->origin);
    return n;
}

/* One more origin that states it. Sources and directories are as many as the configuration has. */
static udpa_err
check_name(const udpai_store *store,
           const udpai_store_entry *entry,
           const udpai_origin *origin,
           udpa_error **ret_error)
{
    size_t max = store->options.max_publishers_per_name;
    max = max ? max : UDPAI_PUBLISHERS_PER_NAME;
    if (!is_publisher(origin) || count_publishers(entry) < max)
        return UDPA_OK;
    udpai_str name = udpai_store_entry_name(entry);
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "'%.*s' is published by %zu peers already, which is the limit "
                      "(limits.max_publishers_per_name): publish it from fewer, under other names, "
                      "or raise the limit",
                      UDPAI_SHOWN(name), max);
}

static udpa_err
check_all(const udpai_store *store, const struct exchange *exchange, udpa_error **ret_error)
{
    struct limit limit = limit_of_namespace(store, exchange);
    udpa_err err = check(&limit, exchange, ret_error);
    if (err == UDPA_OK && is_publisher(exchange->origin)) {
        limit = limit_of_publisher(store, exchange);
        err = check(&limit, exchange, ret_error);
    }
    if (err != UDPA_OK)
        return err;
    limit = limit_of_node(store, exchange);
    return check(&limit, exchange, ret_error);
}

static udpa_err
make_room(udpai_store *store,
          const udpai_store_entry *entry,
          const struct exchange *exchange,
          bool is_one_more,
          udpa_error **ret_error)
{
    if (!open_account(store, exchange->comes))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    /* What was kept had been let in; limits that are lower now do not take it away. */
    bool is_let_in = store->loading || store->applying != UDPAI_APPLYING_NONE;
    udpa_err err = is_let_in ? UDPA_OK : check_all(store, exchange, ret_error);
    if (err == UDPA_OK && is_one_more && !is_let_in)
        err = check_name(store, entry, exchange->origin, ret_error);
    if (err != UDPA_OK)
        udpai_store_close_account(store, exchange->comes);
    return err;
}

static struct exchange
exchange_of(const udpai_store_entry *entry,
            const udpai_origin *origin,
            const udpa_resource *resource,
            const udpa_resource *old)
{
    struct exchange exchange = {origin, resource, old, NULL, NULL};
    if (entry->reported_is_held && udpai_store_would_count(entry, origin, resource)) {
        exchange.reported = entry->reported;
        exchange.reported_by = entry->reported_by;
    }
    return exchange;
}

udpa_err
udpai_store_make_room(udpai_store *store,
                      const udpai_store_entry *entry,
                      const udpai_origin *origin,
                      const udpa_resource *resource,
                      udpa_error **ret_error)
{
    const udpai_stored *stored = udpai_store_entry_of_origin(entry, origin);
    const struct exchange exchange =
        exchange_of(entry, origin, resource, stored ? stored->resource : NULL);
    return make_room(store, entry, &exchange, !stored, ret_error);
}

/* ---- what is staged ---- */

/* The account of the resource's namespace is open, and stays so while anything is staged there. */
static void
change_staged(udpai_store *store,
              udpai_origin *origin,
              const udpa_resource *resource,
              const udpai_staged_use *use)
{
    udpai_namespace_use *account = find_account(store, resource);
    udpai_staged_use *const all[] = {&account->staged, &origin->staged, &store->staged};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        all[i]->n += use->n;
        all[i]->bytes += use->bytes;
    }
}

static void
stage(udpai_store *store,
      udpai_origin *origin,
      const udpa_resource *resource,
      const udpai_staged_use *use)
{
    find_account(store, resource)->n_staged++;
    change_staged(store, origin, resource, use);
}

udpa_err
udpai_store_stage_put(udpai_store *store,
                      udpai_origin *origin,
                      udpa_resource *resource,
                      const udpa_resource *before,
                      udpai_staged_use *ret_use,
                      udpa_error **ret_error)
{
    udpai_store_entry *entry = udpai_store_make_entry(store, resource);
    if (!entry)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const struct exchange exchange = exchange_of(entry, origin, resource, before);
    bool is_one_more = !udpai_store_entry_of_origin(entry, origin);
    udpa_err err = make_room(store, entry, &exchange, is_one_more, ret_error);
    if (err == UDPA_OK) {
        ret_use->n = before ? 0 : 1;
        ret_use->bytes = (int64_t)udpai_resource_footprint(resource) -
                         (before ? (int64_t)udpai_resource_footprint(before) : 0);
        stage(store, origin, resource, ret_use);
    }
    udpai_store_release_entry(store, entry); /* if it was made for this */
    return err;
}

/* So much of a limit in ten parts, and little is left. */
#define SCARCE_ABOVE 9

/* If each of so many has as much on its way, is there room for all of it? */
static bool
has_room_for_all(uint64_t used, int64_t staged, uint64_t max, unsigned n_replicas)
{
    if (staged <= 0 || n_replicas < 2)
        return true;
    uint64_t own = (uint64_t)staged, kept = used > own ? used - own : 0;
    return kept <= max && own <= (max - kept) / n_replicas;
}

static bool
is_scarce(const struct limit *limit, unsigned n_replicas)
{
    const udpai_use *used = &limit->used;
    return used->n > limit->max_resources / 10 * SCARCE_ABOVE ||
           used->bytes > limit->max_bytes / 10 * SCARCE_ABOVE ||
           !has_room_for_all(used->n, limit->staged.n, limit->max_resources, n_replicas) ||
           !has_room_for_all(used->bytes, limit->staged.bytes, limit->max_bytes, n_replicas);
}

bool
udpai_store_is_scarce(const udpai_store *store,
                      const udpai_origin *origin,
                      const udpa_resource *staged,
                      unsigned n_replicas)
{
    const struct exchange exchange = {.origin = origin, .comes = staged};
    const struct limit name_space = limit_of_namespace(store, &exchange);
    const struct limit publisher = limit_of_publisher(store, &exchange);
    const struct limit node = limit_of_node(store, &exchange);
    return is_scarce(&name_space, n_replicas) ||
           (is_publisher(origin) && is_scarce(&publisher, n_replicas)) ||
           is_scarce(&node, n_replicas);
}

void
udpai_store_stage_removal(udpai_store *store,
                          udpai_origin *origin,
                          const udpa_resource *held,
                          udpai_staged_use *ret_use)
{
    *ret_use = (udpai_staged_use){-1, -(int64_t)udpai_resource_footprint(held)};
    stage(store, origin, held, ret_use);
}

void
udpai_store_unstage(udpai_store *store,
                    udpai_origin *origin,
                    const udpa_resource *resource,
                    const udpai_staged_use *use)
{
    const udpai_staged_use back = {-use->n, -use->bytes};
    change_staged(store, origin, resource, &back);
    find_account(store, resource)->n_staged--;
    udpai_store_close_account(store, resource);
}

/* ---- counting ---- */

static void
count(udpai_store *store, udpai_origin *origin, const udpa_resource *resource, count_fn change)
{
    udpai_namespace_use *account = find_account(store, resource);
    change(&account->use, resource);
    change(&origin->use, resource);
    change(&store->use, resource);
    if (is_publisher(origin))
        change(&store->publishers, resource);
    udpai_store_note_fill_of_namespace(store, account);
    udpai_store_note_fill_of_origin(store, origin);
}

void
udpai_store_charge(udpai_store *store, udpai_origin *origin, const udpa_resource *resource)
{
    count(store, origin, resource, add);
}

void
udpai_store_discharge(udpai_store *store, udpai_origin *origin, const udpa_resource *resource)
{
    count(store, origin, resource, subtract);
    udpai_store_close_account(store, resource);
}

static bool
is_contributed(const udpai_store_entry *entry, const udpa_resource *resource)
{
    size_t at = 0;
    const udpai_stored *stored;
    while ((stored = udpai_store_next(entry, &at)))
        if (stored->resource == resource)
            return true;
    return false;
}

udpa_err
udpai_store_hold_reported(udpai_store *store, udpai_store_entry *entry)
{
    if (is_contributed(entry, entry->reported)) {
        udpai_store_let_go_reported(store, entry);
        return UDPA_OK;
    }
    if (entry->reported_is_held)
        return UDPA_OK;
    if (!open_account(store, entry->reported))
        return UDPA_ERR_NOMEM;
    count(store, entry->reported_by, entry->reported, add_held);
    entry->reported_is_held = true;
    return UDPA_OK;
}

void
udpai_store_let_go_reported(udpai_store *store, udpai_store_entry *entry)
{
    if (!entry->reported_is_held)
        return;
    count(store, entry->reported_by, entry->reported, subtract_held);
    udpai_store_close_account(store, entry->reported);
    entry->reported_is_held = false;
}

void
udpai_store_change_rank(udpai_store *store, udpai_origin *origin, udpai_origin_class rank)
{
    bool was_publisher = is_publisher(origin);
    origin->rank = rank;
    if (was_publisher && !is_publisher(origin)) {
        subtract_all(&store->publishers, &origin->use);
    } else if (!was_publisher && is_publisher(origin)) {
        add_all(&store->publishers, &origin->use);
    }
    udpai_store_note_fill_of_origin(store, origin);
}
