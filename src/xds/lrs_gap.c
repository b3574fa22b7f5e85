/* SPDX-License-Identifier: Apache-2.0 */
/* The first message of a stream. Envoy reports there what has come since the last report of the
 * stream before, and reports it once. If this node has begun anew, subscribers may come after the
 * client; so the message waits for them, for as long as their earlier subscriptions would go on. */
#include "base/alloc.h"
#include "xds/lrs_internal.h"

#define GAP_PATIENCE_MS 60000

static void
forget(udpai_lrs_gap *gap)
{
    udpai_timer_cancel(&gap->patience);
    gap->message = udpa_bytes_unref(gap->message);
    udpai_vector_done(&gap->is_taken);
}

static void
on_patience_end(udpai_timer *timer)
{
    forget(UDPAI_CONTAINER_OF(timer, udpai_lrs_gap, patience));
}

void
udpai_lrs_gap_init(udpai_lrs *lrs)
{
    udpai_timer_init(&lrs->gap.patience, on_patience_end);
}

void
udpai_lrs_gap_done(udpai_lrs *lrs)
{
    forget(&lrs->gap);
}

udpa_err
udpai_lrs_gap_hold(udpai_lrs *lrs, udpai_str message, size_t n_stats)
{
    udpai_lrs_gap *gap = &lrs->gap;
    udpai_wheel *wheel = udpai_hub_wheel(lrs->session.hub);
    if (n_stats == 0)
        return UDPA_OK;
    if (!udpai_vector_reserve(&gap->is_taken, n_stats))
        return UDPA_ERR_NOMEM;
    memset(gap->is_taken.items, 0, n_stats * sizeof(gap->is_taken.items[0]));
    gap->is_taken.n = n_stats;
    udpai_timer_set(wheel, &gap->patience, wheel->now_ms + GAP_PATIENCE_MS);
    return udpa_bytes_new(&gap->message, message.data, message.len);
}

/* Takes what is subscribed of it now, once. */
static udpa_err
take(udpai_lrs *lrs, const udpai_lrs_request *request)
{
    udpai_lrs_gap *gap = &lrs->gap;
    UDPAI_VECTOR(Envoy__Config__Endpoint__V3__ClusterStats *) requested = {0};
    if (!udpai_vector_reserve(&requested, request->n_cluster_stats))
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < request->n_cluster_stats; i++) {
        if (gap->is_taken.items[i] || !udpai_lrs_asks_for(lrs, request->cluster_stats[i]))
            continue;
        gap->is_taken.items[i] = true;
        requested.items[requested.n++] = request->cluster_stats[i];
    }
    udpa_err err = requested.n ? udpai_lrs_take(lrs, requested.items, requested.n, false) : UDPA_OK;
    udpai_vector_done(&requested);
    return err;
}

udpa_err
udpai_lrs_gap_take(udpai_lrs *lrs)
{
    const udpai_lrs_request *request = NULL;
    if (!lrs->gap.message)
        return UDPA_OK;
    udpai_arena *arena = &udpai_hub_decoder(lrs->session.hub)->arena;
    udpa_err err = udpai_lrs_unpack(arena, udpai_bytes_view(lrs->gap.message), &request, NULL);
    if (err == UDPA_OK)
        err = take(lrs, request);
    udpai_arena_reset(arena);
    return err;
}
