/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/sync.h"

#include "base/alloc.h"

struct udpai_sync {
    udpai_settled *settled;
    udpai_settled_groups *groups;
    udpai_settled_names *names;
    uint64_t names_digest;
    bool is_unsent; /* it has changed since the stream side was sent one … */
    bool is_ahead;  /* … which has not applied that yet */
    uint64_t n_evaluations;
    UDPAI_VECTOR(udpa_bytes *) expected_own; /* type URLs */
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
