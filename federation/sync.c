/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/sync.h"

#include "base/alloc.h"

/* More names than these are not looked at one by one. */
#define LOCKED_NAMES_MAX 64

struct udpai_sync {
    udpai_settled *settled;
    udpai_settled_groups *groups;
    udpai_settled_names *names;
    uint64_t names_digest;
    bool is_unsent; /* it has changed since the stream side was sent one … */
    bool is_ahead;  /* … which has not applied that yet */
    uint64_t n_evaluations;
    UDPAI_VECTOR(udpa_bytes *) expected_own; /* type URLs */
    const udpai_durable_batch *locked;       /* NULL: nothing */
};

udpa_err
udpai_sync_new(udpai_sync **ret_sync)
{
    udpai_sync *sync = udpai_alloc(sizeof(*sync));
    if (!sync)
        return UDPA_ERR_NOMEM;
    *ret_sync = sync;
    return UDPA_OK;
}

void
udpai_sync_free(udpai_sync *sync)
{
    if (!sync)
        return;
    udpai_settled_unref(sync->settled);
    udpai_settled_groups_unref(sync->groups);
    udpai_settled_names_unref(sync->names);
    for (size_t i = 0; i < sync->expected_own.n; i++)
        udpa_bytes_unref(sync->expected_own.items[i]);
    udpai_vector_done(&sync->expected_own);
    udpai_free(sync);
}

/* ---- the snapshot ---- */

udpai_settled *
udpai_sync_settled(const udpai_sync *sync)
{
    return sync->settled;
}

bool
udpai_sync_take(udpai_sync *sync, udpai_settled *settled)
{
    sync->n_evaluations++;
    if (udpai_settled_equal(settled, sync->settled)) {
        udpai_settled_unref(settled);
        return false;
    }
    udpai_settled_unref(sync->settled);
    sync->settled = settled;
    sync->is_unsent = true;
    return true;
}

bool
udpai_sync_is_due(const udpai_sync *sync)
{
    return sync->is_unsent && !sync->is_ahead;
}

bool
udpai_sync_is_unsent(const udpai_sync *sync)
{
    return sync->is_unsent;
}

void
udpai_sync_sent(udpai_sync *sync)
{
    sync->is_unsent = false;
    sync->is_ahead = true;
}

void
udpai_sync_applied(udpai_sync *sync)
{
    sync->is_ahead = false;
}

uint64_t
udpai_sync_n_evaluations(const udpai_sync *sync)
{
    return sync->n_evaluations;
}

bool
udpai_sync_is_applied_since(const udpai_sync *sync, uint64_t n_evaluations)
{
    return sync->n_evaluations > n_evaluations && !sync->is_unsent && !sync->is_ahead;
}

/* ---- what it is made of ---- */

udpai_settled_groups *
udpai_sync_groups(const udpai_sync *sync)
{
    return sync->groups;
}

void
udpai_sync_set_groups(udpai_sync *sync, udpai_settled_groups *groups)
{
    udpai_settled_groups_unref(sync->groups);
    sync->groups = groups;
}

udpai_settled_names *
udpai_sync_names(const udpai_sync *sync)
{
    return sync->names;
}

uint64_t
udpai_sync_names_digest(const udpai_sync *sync)
{
    return sync->names_digest;
}

void
udpai_sync_set_names(udpai_sync *sync, udpai_settled_names *names, uint64_t digest)
{
    udpai_settled_names_unref(sync->names);
    sync->names = names;
    sync->names_digest = digest;
}

/* SIZE_MAX: it is none of them. */
static size_t
find_own(const udpai_sync *sync, udpai_str type_url)
{
    for (size_t i = 0; i < sync->expected_own.n; i++)
        if (udpai_str_eq(udpai_bytes_view(sync->expected_own.items[i]), type_url))
            return i;
    return SIZE_MAX;
}

udpa_err
udpai_sync_expect_own(udpai_sync *sync, udpai_str type_url)
{
    udpa_bytes *copy = NULL;
    if (find_own(sync, type_url) != SIZE_MAX)
        return UDPA_OK;
    udpa_err err = udpa_bytes_new(&copy, type_url.data, type_url.len);
    if (err == UDPA_OK && !udpai_vector_push(&sync->expected_own, copy)) {
        udpa_bytes_unref(copy);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

void
udpai_sync_expect_own_no_more(udpai_sync *sync, udpai_str type_url)
{
    size_t at = find_own(sync, type_url);
    if (at == SIZE_MAX)
        return;
    udpa_bytes_unref(sync->expected_own.items[at]);
    udpai_vector_remove_unordered(&sync->expected_own, at);
}

bool
udpai_sync_next_own(const udpai_sync *sync, size_t *at, udpai_str *ret_type_url)
{
    if (*at >= sync->expected_own.n)
        return false;
    *ret_type_url = udpai_bytes_view(sync->expected_own.items[(*at)++]);
    return true;
}

/* ---- what cannot be decrypted ---- */

void
udpai_sync_set_locked(udpai_sync *sync, const udpai_durable_batch *locked)
{
    sync->locked = locked;
}

/* Kept with a NUL behind it. */
static udpai_str
type_of(const udpai_durable_op *op)
{
    return (udpai_str){udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1};
}

bool
udpai_sync_is_locked(const udpai_sync *sync, udpai_str type_url, udpai_str name)
{
    for (size_t i = 0; sync->locked && i < sync->locked->ops.n; i++) {
        const udpai_durable_op *op = &sync->locked->ops.items[i];
        if (udpai_str_eq(udpai_bytes_view(op->name), name) &&
            (type_url.len == 0 || udpai_str_eq(type_of(op), type_url)))
            return true;
    }
    return false;
}

static bool
is_first_of_type(const udpai_durable_batch *locked, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (udpai_str_eq(type_of(&locked->ops.items[i]), type_of(&locked->ops.items[at])))
            return false;
    return true;
}

bool
udpai_sync_next_locked(const udpai_sync *sync,
                       size_t *at,
                       udpai_str *ret_type_url,
                       udpai_str *ret_prefix)
{
    const udpai_durable_batch *locked = sync->locked;
    bool has_names = locked && locked->ops.n <= LOCKED_NAMES_MAX;
    while (locked && !has_names && *at < locked->ops.n && !is_first_of_type(locked, *at))
        ++*at;
    if (!locked || *at >= locked->ops.n)
        return false;
    const udpai_durable_op *op = &locked->ops.items[(*at)++];
    *ret_type_url = type_of(op);
    *ret_prefix = has_names ? udpai_bytes_view(op->name) : (udpai_str){0};
    return true;
}
