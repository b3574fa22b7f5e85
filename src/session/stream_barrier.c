/* SPDX-License-Identifier: Apache-2.0 */
#include "session/stream_barrier.h"

/* Longer than the loop side takes in any case. */
#define WAIT_MAX_MS 3000

void
udpai_stream_barrier_init(udpai_stream_barrier *barrier, udpai_wheel *wheel)
{
    barrier->wheel = wheel;
    udpai_list_init(&barrier->waiting);
}

static void
set_end(udpai_stream_barrier *barrier, uint64_t ms)
{
    barrier->ends = barrier->last;
    udpai_timer_set(barrier->wheel, &barrier->end, barrier->wheel->now_ms + ms);
}

bool
udpai_stream_barrier_add(udpai_stream_barrier *barrier, udpai_session *session)
{
    bool was_asking = barrier->is_asking;
    session->barrier = barrier->last + 1;
    udpai_list_append(&barrier->waiting, &session->in_barrier);
    barrier->is_asking = true;
    return !was_asking;
}

udpai_report *
udpai_stream_barrier_report(udpai_stream_barrier *barrier, uint64_t session)
{
    if (!barrier->is_asking)
        return NULL;
    udpai_report *report = udpai_report_new(UDPAI_REPORT_BARRIER);
    barrier->is_asking = false;
    barrier->last++;
    if (!report || !udpai_timer_is_set(&barrier->end))
        set_end(barrier, report ? WAIT_MAX_MS : 0);
    if (!report)
        return NULL;
    report->session = session;
    report->ticket = barrier->last;
    return report;
}

udpai_session *
udpai_stream_barrier_next(udpai_stream_barrier *barrier, uint64_t ticket)
{
    if (udpai_list_empty(&barrier->waiting)) {
        udpai_timer_cancel(&barrier->end);
        return NULL;
    }
    udpai_session *session = UDPAI_LIST_ENTRY(barrier->waiting.next, udpai_session, in_barrier);
    if (session->barrier > ticket)
        return NULL;
    udpai_list_remove(&session->in_barrier);
    return session;
}

void
udpai_stream_barrier_ended(udpai_stream_barrier *barrier)
{
    if (!udpai_list_empty(&barrier->waiting) && barrier->last > barrier->ends)
        set_end(barrier, WAIT_MAX_MS);
}
