/* SPDX-License-Identifier: Apache-2.0 */
/* There is a note of each cluster from the response that brings it until it is found to be warm.
 * Whether it is is found when somebody asks. */
#include "xds/hold.h"

#include "base/alloc.h"

typedef struct udpai_warming {
    udpai_list node;
    udpa_resource *cluster;
    uint64_t seq;
    udpai_hold_response response;
    bool is_answered, has_needs; /* all that it needs was answered; since when: */
    uint64_t answered_ms, needs_ms;
    bool is_awaited, is_given_up;
    uint64_t awaited_ms; /* since when somebody waits for it */
} udpai_warming;

static udpai_str
key_of(const void *item)
{
    return udpai_resource_name(((const udpai_warming *)item)->cluster);
}

void
udpai_hold_init(udpai_hold *hold, udpai_memory *memory)
{
    *hold = (udpai_hold){.memory = memory};
    udpai_map_init_in(&hold->by_name, key_of, memory);
    udpai_list_init(&hold->oldest_first);
}

static void
drop(udpai_hold *hold, udpai_warming *warming)
{
    if (hold->blocker == warming)
        hold->blocker = NULL;
    udpai_map_remove(&hold->by_name, key_of(warming));
    udpai_list_remove(&warming->node);
    udpa_resource_unref(warming->cluster);
    udpai_free_in(hold->memory, warming, sizeof(*warming));
    if (hold->by_name.n == 0)
        udpai_map_done(&hold->by_name);
}

void
udpai_hold_done(udpai_hold *hold)
{
    UDPAI_LIST_FOREACH_SAFE (node, &hold->oldest_first)
        drop(hold, UDPAI_LIST_ENTRY(node, udpai_warming, node));
}

bool
udpai_hold_is_empty(const udpai_hold *hold)
{
    return hold->by_name.n == 0;
}

/* ---- what was sent, and answered ---- */

void
udpai_hold_add(udpai_hold *hold,
               udpa_resource *cluster,
               uint64_t seq,
               const udpai_hold_response *response)
{
    udpai_warming *old = udpai_map_get(&hold->by_name, udpai_resource_name(cluster));
    if (old)
        drop(hold, old);
    udpai_warming *warming =
        hold->by_name.n < UDPAI_HOLD_MAX ? udpai_alloc_in(hold->memory, sizeof(*warming)) : NULL;
    if (!warming)
        return;
    warming->cluster = cluster;
    warming->seq = seq;
    warming->response = *response;
    if (!udpai_map_add(&hold->by_name, warming)) {
        udpai_free_in(hold->memory, warming, sizeof(*warming));
        return;
    }
    udpa_resource_ref(cluster);
    udpai_list_append(&hold->oldest_first, &warming->node);
    hold->blocker = NULL;
}

/* What it was may need something else than what it is. */
static void
renew(udpai_warming *warming, udpa_resource *cluster, const udpai_hold_response *response)
{
    udpa_resource *before = warming->cluster;
    warming->cluster = udpa_resource_ref(cluster); /* of the same name */
    warming->response = *response;
    warming->is_answered = warming->has_needs = false;
    udpa_resource_unref(before);
}

void
udpai_hold_change(udpai_hold *hold,
                  udpa_resource *cluster,
                  uint64_t seq,
                  const udpai_hold_response *response)
{
    udpai_warming *warming = udpai_map_get(&hold->by_name, udpai_resource_name(cluster));
    if (!warming)
        return;
    if (warming->is_given_up)
        udpai_hold_add(hold, cluster, seq, response);
    else
        renew(warming, cluster, response);
}

void
udpai_hold_answer(udpai_hold *hold, const udpai_hold_response *response, uint64_t now_ms)
{
    UDPAI_LIST_FOREACH (node, &hold->oldest_first) {
        udpai_warming *warming = UDPAI_LIST_ENTRY(node, udpai_warming, node);
        if (warming->response.stream != response->stream ||
            warming->response.nonce > response->nonce || warming->is_answered)
            continue;
        warming->is_answered = true;
        warming->answered_ms = now_ms;
    }
    hold->blocker = NULL;
}

void
udpai_hold_forget(udpai_hold *hold, const void *stream)
{
    UDPAI_LIST_FOREACH_SAFE (node, &hold->oldest_first) {
        udpai_warming *warming = UDPAI_LIST_ENTRY(node, udpai_warming, node);
        if (warming->response.stream == stream)
            drop(hold, warming);
    }
}

/* ---- is it warm? ---- */

/* It counts as warm so long after this. */
static bool
is_over(bool has_begun, uint64_t since_ms, uint64_t now_ms, uint64_t *ret_until_ms)
{
    if (has_begun)
        *ret_until_ms = since_ms + UDPAI_HOLD_GRACE_MS;
    return has_begun && now_ms >= *ret_until_ms;
}

/* In *ret_until_ms, when it may be though nothing happens. */
static bool
is_warm(udpai_warming *warming, const udpai_hold_question *question, uint64_t *ret_until_ms)
{
    uint64_t now_ms = question->now_ms, needs_ms = 0, since_ms = warming->answered_ms;
    *ret_until_ms = UINT64_MAX;
    switch (question->needs(question->userdata, warming->cluster, &needs_ms)) {
    case UDPAI_HOLD_HOPELESS:
        return true;
    case UDPAI_HOLD_NEEDLESS:
        return warming->is_answered;
    case UDPAI_HOLD_UNASKED:
        return is_over(warming->is_answered, needs_ms > since_ms ? needs_ms : since_ms, now_ms,
                       ret_until_ms);
    case UDPAI_HOLD_COMING:
        break;
    case UDPAI_HOLD_ANSWERED:
        if (!warming->has_needs)
            warming->needs_ms = needs_ms;
        warming->has_needs = true;
        return warming->is_answered || is_over(true, warming->needs_ms, now_ms, ret_until_ms);
    }
    warming->has_needs = false;
    *ret_until_ms = now_ms + UDPAI_HOLD_LOOK_MS;
    return false;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Is it still waited for by what has changed up to the last of it? */
static bool
waits_for(udpai_warming *warming, const udpai_hold_question *question, uint64_t *until_ms)
{
    if (warming->seq > question->last)
        return false;
    if (!warming->is_awaited)
        warming->awaited_ms = question->now_ms;
    warming->is_awaited = true;
    uint64_t end_ms = warming->awaited_ms + question->timeout_ms;
    warming->is_given_up = question->now_ms >= end_ms;
    *until_ms = least(*until_ms, end_ms);
    return !warming->is_given_up;
}

/* What blocked the first of it when that was asked last, and still does. The others need not be
 * looked at: clients that are slow ask often, and have many clusters. */
static bool
is_blocked_still(udpai_hold *hold, const udpai_hold_question *question, uint64_t *ret_until_ms)
{
    return hold->blocker && hold->blocker->seq <= question->first &&
           hold->blocked_last >= question->last &&
           !is_warm(hold->blocker, question, ret_until_ms) &&
           waits_for(hold->blocker, question, ret_until_ms);
}

static void
look_at(udpai_hold *hold,
        udpai_warming *warming,
        const udpai_hold_question *question,
        udpai_hold_verdict *verdict)
{
    uint64_t until_ms;
    if (is_warm(warming, question, &until_ms)) {
        drop(hold, warming);
        return;
    }
    if (warming->is_given_up || !waits_for(warming, question, &until_ms))
        return;
    verdict->limit = least(verdict->limit, warming->seq - 1);
    verdict->until_ms = least(verdict->until_ms, until_ms);
    verdict->cluster = warming->cluster;
    if (warming->seq <= question->first)
        hold->blocker = warming;
}

udpai_hold_verdict
udpai_hold_ask(udpai_hold *hold, const udpai_hold_question *question)
{
    udpai_hold_verdict verdict = {.limit = UINT64_MAX, .until_ms = UINT64_MAX};
    uint64_t until_ms;
    if (is_blocked_still(hold, question, &until_ms))
        return (udpai_hold_verdict){question->first - 1, until_ms, hold->blocker->cluster};
    hold->blocker = NULL;
    UDPAI_LIST_FOREACH_SAFE (node, &hold->oldest_first)
        look_at(hold, UDPAI_LIST_ENTRY(node, udpai_warming, node), question, &verdict);
    if (hold->blocker)
        verdict.cluster = hold->blocker->cluster;
    hold->blocked_last = question->last;
    return verdict;
}
