/* SPDX-License-Identifier: Apache-2.0 */
#include "session/owed.h"

#include "session/hub.h"

#define TICK_MS 1000

static void
on_tick(udpai_timer *timer)
{
    udpai_debts *debts = UDPAI_CONTAINER_OF(timer, udpai_debts, tick);
    uint64_t now_ms = debts->wheel->now_ms;
    bool has_any = !udpai_list_empty(&debts->open);
    uint64_t since_ms =
        has_any ? UDPAI_LIST_ENTRY(debts->open.next, udpai_owed, node)->since_ms : now_ms;
    udpai_meter_set(debts->oldest, (now_ms - since_ms) / 1000);
    if (has_any)
        udpai_timer_set(debts->wheel, timer, now_ms + TICK_MS);
}

void
udpai_debts_init(udpai_debts *debts, udpai_wheel *wheel, udpai_meters *meters)
{
    debts->wheel = wheel;
    udpai_list_init(&debts->open);
    debts->streams = udpai_meters_get(meters, UDPAI_METRIC_UNANSWERED_STREAMS, (udpai_str){0});
    debts->oldest = udpai_meters_get(meters, UDPAI_METRIC_OLDEST_UNANSWERED, (udpai_str){0});
    udpai_timer_init(&debts->tick, on_tick);
}

void
udpai_debts_done(udpai_debts *debts)
{
    udpai_timer_cancel(&debts->tick);
}

void
udpai_owed_begin(udpai_owed *owed, udpai_session *session)
{
    udpai_list_init(&owed->node);
    owed->session = session->ops->unanswered ? session : NULL;
    if (!owed->session)
        return;
    udpai_debts *debts = udpai_hub_debts(session->hub);
    owed->since_ms = debts->wheel->now_ms;
    udpai_list_append(&debts->open, &owed->node);
    if (session->n_owed++ == 0)
        udpai_meter_add(debts->streams, 1);
    if (!udpai_timer_is_set(&debts->tick))
        udpai_timer_set(debts->wheel, &debts->tick, debts->wheel->now_ms + TICK_MS);
}

void
udpai_owed_end(udpai_owed *owed)
{
    if (!owed->session)
        return;
    udpai_list_remove(&owed->node);
    if (--owed->session->n_owed == 0)
        udpai_meter_subtract(udpai_hub_debts(owed->session->hub)->streams, 1);
    owed->session = NULL;
}
