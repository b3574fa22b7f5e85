/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/comparison.h"

#include "base/alloc.h"
#include "model/client_type.h"
#include "model/digest.h"
#include "replica/locks.h"
#include "store/store.h"

/* What ends is refreshed, and its time is rounded on the way. */
#define EXPIRES_ALIKE_US 1000000

static udpai_str
record_key(const void *item)
{
    return udpai_bytes_view(((const udpai_compared *)item)->record);
}

/* ---- what it has ---- */

/* Neither a contribution nor a removal: what replicas remember of what each of them reads by
 * itself. */
static bool
is_note(const udpai_durable_op *op)
{
    return op->resource && udpai_resource_value(op->resource).len == 0 &&
           !udpai_store_is_removal_key(udpai_bytes_view(op->origin));
}

static uint64_t
digest_of(const udpai_compared *item)
{
    const udpa_resource *resource = item->op->resource;
    uint64_t generation = udpa_resource_generation(resource);
    uint64_t digest = udpai_digest_behind(0, udpai_bytes_view(item->record));
    digest = udpai_digest_behind(digest, udpai_resource_authority(resource));
    digest = udpai_digest_behind(digest, udpai_resource_version(resource));
    digest = udpai_digest_behind(digest, udpai_resource_value(resource));
    return udpai_digest_behind(digest, (udpai_str){(const char *)&generation, sizeof(generation)});
}

/* Takes the item. UDPA_ERR_NOMEM */
static udpa_err
add_item(udpai_comparison *comparison, const udpai_compared *item)
{
    comparison->items[comparison->n] = *item;
    if (item->record && udpai_map_add(&comparison->by_record, &comparison->items[comparison->n])) {
        comparison->n++;
        return UDPA_OK;
    }
    udpa_bytes_unref(item->record);
    udpa_bytes_unref(item->sealed);
    return UDPA_ERR_NOMEM;
}

/* UDPA_ERR_LIMIT, …: it has no key, so it was never in etcd. */
static udpa_err
add(udpai_comparison *comparison, const udpai_durable_op *op)
{
    const udpai_record_place place = udpai_record_place_of(op);
    udpai_strbuf text = {0};
    udpa_err err = udpai_record_put_key(&text, &place, NULL);
    if (err != UDPA_OK) {
        udpai_strbuf_done(&text);
        return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
    }
    const udpai_compared item = {.op = op, .record = udpai_bytes_of(&text)};
    err = add_item(comparison, &item);
    if (err == UDPA_OK && !udpai_store_is_removal_key(udpai_bytes_view(op->origin)) && !is_note(op))
        comparison->digest += digest_of(&item);
    return err;
}

/* One secret is as good as all. */
static udpa_err
try_to_seal(udpai_comparison *comparison)
{
    const udpai_record_seals *seals = &comparison->seals;
    for (size_t i = 0; i < comparison->n; i++) {
        const udpai_durable_op *op = comparison->items[i].op;
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *value = NULL;
        if (udpai_store_is_removal_key(udpai_bytes_view(op->origin)) || is_note(op) ||
            !seals->is_secret(seals->userdata, udpai_resource_type_url(op->resource)))
            continue;
        udpa_err err = udpai_record_value(op, (udpai_str){0}, seals, &value, NULL);
        comparison->cannot_seal = err == UDPA_ERR_PRECONDITION;
        return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
    }
    return UDPA_OK;
}

/* In the place of what the replica had before, or of nothing. */
static udpa_err
add_unread(udpai_comparison *comparison, const udpai_unread_record *unread)
{
    udpai_str key = udpai_bytes_view(unread->key);
    udpai_compared *known = udpai_map_get(&comparison->by_record, key);
    udpai_durable_op op = {0};
    if (known) {
        known->sealed = udpa_bytes_ref(unread->value);
        return UDPA_OK;
    }
    udpa_err err = udpai_record_read(&comparison->reader, key, NULL, &op, NULL);
    if (err == UDPA_OK)
        err = udpai_durable_batch_add(comparison->locked, &op);
    udpai_durable_op_done(&op);
    const udpai_compared item = {
        .record = udpa_bytes_ref(unread->key),
        .sealed = udpa_bytes_ref(unread->value),
    };
    return err == UDPA_OK ? add_item(comparison, &item) : err;
}

static udpa_err
add_all_unread(udpai_comparison *comparison, const udpai_unread *unread)
{
    size_t n_before = comparison->n, at = 0;
    const udpai_unread_record *record;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && (record = udpai_map_next(&unread->records, &at)))
        err = add_unread(comparison, record);
    for (size_t i = n_before; err == UDPA_OK && i < comparison->n; i++)
        comparison->items[i].op = &comparison->locked->ops.items[i - n_before];
    return err;
}

static udpa_err
add_all(udpai_comparison *comparison, const udpai_unread *unread)
{
    const udpai_durable_batch *batch = comparison->holdings->batch;
    size_t n = batch->ops.n + unread->records.n;
    udpa_err err = UDPA_OK;
    if (n == 0)
        return UDPA_OK;
    comparison->items = udpai_alloc_array(n, sizeof(*comparison->items));
    if (!comparison->items || !udpai_map_reserve(&comparison->by_record, n))
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < batch->ops.n && err == UDPA_OK; i++)
        err = add(comparison, &batch->ops.items[i]);
    if (err == UDPA_OK)
        err = try_to_seal(comparison);
    return err == UDPA_OK ? add_all_unread(comparison, unread) : err;
}

udpa_err
udpai_comparison_new(udpai_comparison **ret_comparison,
                     udpai_holdings *holdings,
                     const udpai_record_seals *seals,
                     const udpai_unread *unread)
{
    udpai_comparison *comparison = udpai_alloc(sizeof(*comparison));
    if (!comparison) {
        udpai_holdings_free(holdings);
        return UDPA_ERR_NOMEM;
    }
    comparison->holdings = holdings;
    comparison->seals = *seals;
    udpai_map_init(&comparison->by_record, record_key);
    udpai_record_reader_init(&comparison->reader, &comparison->seals);
    comparison->locked = udpai_durable_batch_new();
    udpa_err err = comparison->locked ? add_all(comparison, unread) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        *ret_comparison = comparison;
    else
        udpai_comparison_free(comparison);
    return err;
}

static void
clear_rests(udpai_comparison *comparison)
{
    for (size_t i = 0; i < comparison->rests.n; i++)
        udpa_bytes_unref(comparison->rests.items[i].key);
    comparison->rests.n = 0;
}

udpai_comparison *
udpai_comparison_free(udpai_comparison *comparison)
{
    if (!comparison)
        return NULL;
    clear_rests(comparison);
    udpai_vector_done(&comparison->rests);
    udpai_map_done(&comparison->by_record);
    for (size_t i = 0; i < comparison->n; i++) {
        udpa_bytes_unref(comparison->items[i].record);
        udpa_bytes_unref(comparison->items[i].sealed);
    }
    udpai_free(comparison->items);
    udpai_durable_batch_free(comparison->locked);
    udpai_record_reader_done(&comparison->reader);
    udpai_strbuf_done(&comparison->room);
    udpai_holdings_free(comparison->holdings);
    udpai_free(comparison);
    return NULL;
}

/* ---- what etcd has ---- */

void
udpai_comparison_begin(udpai_comparison *comparison)
{
    for (size_t i = 0; i < comparison->n; i++) {
        comparison->items[i].mod_revision = 0;
        comparison->items[i].state = UDPAI_COMPARED_MISSING;
    }
    comparison->n_returned = comparison->n_locked = 0;
    clear_rests(comparison);
}

static udpai_compared_state
compare(const udpai_durable_op *here, const udpai_durable_op *there)
{
    uint64_t own = udpa_resource_generation(here->resource);
    uint64_t other = udpa_resource_generation(there->resource);
    int64_t longer_us = here->expires_us - there->expires_us;
    if (other != own)
        return other < own ? UDPAI_COMPARED_OLDER : UDPAI_COMPARED_NEWER;
    if (!udpai_resource_is_same(here->resource, there->resource))
        return UDPAI_COMPARED_OTHER;
    bool is_alike = longer_us <= EXPIRES_ALIKE_US && longer_us >= -EXPIRES_ALIKE_US;
    bool ends_both = here->expires_us && there->expires_us;
    if (here->expires_us == there->expires_us || (ends_both && is_alike))
        return UDPAI_COMPARED_SAME;
    bool is_longer = !here->expires_us || (ends_both && longer_us > 0);
    return is_longer ? UDPAI_COMPARED_OLDER : UDPAI_COMPARED_NEWER;
}

/* Whatever is there alone ends, if this replica knows a removal of it. */
static udpa_err
is_removed(udpai_comparison *comparison, const udpa_resource *resource, bool *ret_is_removed)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = udpai_store_removal_key(resource);
    if (!origin)
        return UDPA_ERR_NOMEM;
    const udpai_record_place place = {
        .origin = udpai_bytes_view(origin),
        .type_url = udpai_resource_type_url(resource),
        .name = udpai_resource_name(resource),
    };
    comparison->room.len = 0;
    udpa_err err = udpai_record_put_key(&comparison->room, &place, NULL);
    if (err == UDPA_ERR_NOMEM)
        udpai_strbuf_done(&comparison->room);
    if (err != UDPA_OK)
        return err;
    const udpai_compared *removal =
        udpai_map_get(&comparison->by_record, udpai_strbuf_view(&comparison->room));
    *ret_is_removed = removal && udpa_resource_generation(removal->op->resource) >
                                     udpa_resource_generation(resource);
    return UDPA_OK;
}

static udpa_err
add_rest(udpai_comparison *comparison, udpai_str key, int64_t mod_revision)
{
    udpai_compared_rest rest = {.mod_revision = mod_revision};
    if (udpa_bytes_new(&rest.key, key.data, key.len) == UDPA_OK &&
        udpai_vector_push(&comparison->rests, rest))
        return UDPA_OK;
    udpa_bytes_unref(rest.key);
    return UDPA_ERR_NOMEM;
}

static udpa_err
take_unknown(udpai_comparison *comparison,
             const udpai_durable_op *there,
             udpai_str key,
             int64_t mod_revision)
{
    bool is_over = false;
    if (udpai_store_is_removal_key(udpai_bytes_view(there->origin)) || is_note(there) ||
        udpai_type_is_client(udpai_resource_type_url(there->resource)))
        return UDPA_OK;
    udpa_err err = is_removed(comparison, there->resource, &is_over);
    if (err == UDPA_OK && is_over)
        return add_rest(comparison, key, mod_revision);
    comparison->n_returned++;
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

/* @p there: NULL: it cannot be read. */
static udpai_compared_state
state_of(const udpai_compared *item, udpai_str value, const udpai_durable_op *there, bool is_locked)
{
    if (item->sealed && udpai_str_eq(value, udpai_bytes_view(item->sealed)))
        return UDPAI_COMPARED_SAME;
    if (is_locked)
        return UDPAI_COMPARED_LOCKED;
    return there && !item->sealed ? compare(item->op, there) : UDPAI_COMPARED_OTHER;
}

static udpa_err
take_record(udpai_comparison *comparison, udpai_str key, udpai_str value, int64_t mod_revision)
{
    udpai_compared *item = udpai_map_get(&comparison->by_record, key);
    udpai_durable_op there = {0};
    char key_id[UDPAI_RECORD_KEY_ID_MAX];
    udpa_err err = udpai_record_read(&comparison->reader, key, &value, &there, NULL);
    bool is_locked =
        err != UDPA_OK && err != UDPA_ERR_NOMEM &&
        udpai_record_find_key(&comparison->seals, value, key_id) == UDPAI_RECORD_LOCKED;
    if (item) {
        item->mod_revision = mod_revision;
        item->state = state_of(item, value, err == UDPA_OK ? &there : NULL, is_locked);
    } else if (err == UDPA_OK) {
        err = take_unknown(comparison, &there, key, mod_revision);
    }
    comparison->n_locked += is_locked && (!item || item->state == UDPAI_COMPARED_LOCKED);
    udpai_durable_op_done(&there);
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

udpa_err
udpai_comparison_take(udpai_comparison *comparison,
                      udpai_str key,
                      udpai_str value,
                      int64_t mod_revision)
{
    if (udpai_record_is_key(key))
        return take_record(comparison, key, value, mod_revision);
    return udpai_locks_is_key(key) ? add_rest(comparison, key, mod_revision) : UDPA_OK;
}

/* ---- for people ---- */

static udpa_bytes *
describe(const udpai_compared *item)
{
    const udpai_record_place place = udpai_record_place_of(item->op);
    udpai_str type = place.type_url;
    bool is_removal = udpai_store_is_removal_key(udpai_bytes_view(item->op->origin));
    udpai_strbuf text = {0};
    for (size_t i = type.len; i-- > 0;)
        if (type.data[i] == '.' || type.data[i] == '/') {
            type = (udpai_str){type.data + i + 1, type.len - i - 1};
            break;
        }
    udpai_strbuf_printf(&text, "%s%.*s %.*s", is_removal ? "the removal of " : "",
                        UDPAI_SHOWN(type), UDPAI_SHOWN(place.name));
    return udpai_bytes_of(&text);
}

static void
add_name(udpai_hold *hold, const udpai_compared *item)
{
    if (hold->n_names < UDPAI_HOLD_NAMES_MAX && (hold->names[hold->n_names] = describe(item)))
        hold->n_names++;
}

void
udpai_comparison_describe(const udpai_comparison *comparison, udpai_hold *hold)
{
    size_t n[UDPAI_COMPARED_STATES] = {0};
    for (size_t i = 0; i < comparison->n; i++) {
        const udpai_compared *item = &comparison->items[i];
        if (is_note(item->op))
            continue;
        n[item->state]++;
        if (item->state == UDPAI_COMPARED_MISSING || item->state == UDPAI_COMPARED_OLDER)
            add_name(hold, item);
    }
    hold->difference = (udpai_hold_difference){
        .n_missing = n[UDPAI_COMPARED_MISSING],
        .n_older = n[UDPAI_COMPARED_OLDER],
        .n_newer = n[UDPAI_COMPARED_NEWER],
        .n_other = n[UDPAI_COMPARED_OTHER],
        .n_returned = comparison->n_returned,
        .n_locked = comparison->n_locked,
    };
}
