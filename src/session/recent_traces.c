/* SPDX-License-Identifier: Apache-2.0 */
#include "session/recent_traces.h"

static void
drop_oldest(udpai_recent_traces *traces)
{
    udpa_resource_unref(traces->items[0].resource);
    traces->n--;
    memmove(traces->items, traces->items + 1, traces->n * sizeof(*traces->items));
}

void
udpai_recent_traces_done(udpai_recent_traces *traces)
{
    while (traces->n)
        drop_oldest(traces);
}

void
udpai_recent_traces_add(udpai_recent_traces *traces, const udpai_recent_trace *added)
{
    if (traces->n == UDPAI_RECENT_TRACES)
        drop_oldest(traces);
    traces->items[traces->n] = *added;
    udpa_resource_ref(added->resource);
    traces->n++;
}

static bool
is_sent(const udpai_recent_trace *one, const udpai_render *what)
{
    if (!udpai_str_eq(udpai_resource_type_url(one->resource), what->type_url))
        return false;
    for (size_t i = 0; i < what->n_items && !one->is_removal; i++)
        if (what->items[i].resource == one->resource)
            return true;
    for (size_t i = 0; i < what->n_removed && one->is_removal; i++)
        if (udpai_str_eq(what->removed[i], udpai_resource_name(one->resource)))
            return true;
    return false;
}

const udpai_trace *
udpai_recent_traces_find(udpai_recent_traces *traces, const udpai_render *what, uint64_t now_ms)
{
    while (traces->n && now_ms - traces->items[0].since_ms > UDPAI_RECENT_TRACES_MS)
        drop_oldest(traces);
    for (size_t i = traces->n; i > 0; i--)
        if (is_sent(&traces->items[i - 1], what))
            return &traces->items[i - 1].trace;
    return NULL;
}
