/* SPDX-License-Identifier: Apache-2.0 */
#include "session/marks.h"

#include "base/alloc.h"
#include "session/acknowledgement.h"
#include "session/hub.h"

/* When a mark is looked at, in milliseconds after its change. */
static const uint64_t looks_ms[] = {1,   2,   5,    10,   25,    50,    100,
                                    250, 500, 1000, 5000, 15000, 30000, UDPAI_MARK_PATIENCE_MS};

/* One of a trace, for which a whole time is noted, is looked at at least as often. */
#define TRACED_LOOK_MS 250

typedef struct mark {
    udpai_list node;
    udpai_marks *marks;
    udpai_timer next;
    udpai_report *report; /* made in time */
    udpa_resource *resource;
    uint64_t since_ms, last_session;
    uint64_t place; /* of the fan-out, with the change and all that came with it */
    bool is_removal, is_traced;
} mark;

typedef struct look {
    const mark *mark;
    size_t n_acknowledged, n_rejected;
    bool is_open;
    const udpai_session *waits_for; /* while it is open */
} look;

static void
free_mark(mark *one)
{
    udpai_list_remove(&one->node);
    udpai_timer_cancel(&one->next);
    udpai_report_free(one->report);
    udpa_resource_unref(one->resource);
    udpai_free(one);
}

void
udpai_marks_done(udpai_marks *marks)
{
    while (!udpai_list_empty(&marks->open))
        free_mark(UDPAI_LIST_ENTRY(marks->open.next, mark, node));
}

/* ---- looking ---- */

static void
judge(look *self, const udpai_session *session, const udpai_resource_ack *ack, bool has_answered)
{
    udpai_acknowledgement status;
    session->ops->ack_status(session, ack, &status);
    switch (status.state) {
    case UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN:
    case UDPAI_ACKNOWLEDGEMENT_UNTOLD:
        break;
    case UDPAI_ACKNOWLEDGEMENT_REFUSED:
    case UDPAI_ACKNOWLEDGEMENT_DOUBTFUL:
        self->n_rejected++;
        break;
    case UDPAI_ACKNOWLEDGEMENT_GIVEN:
        self->n_acknowledged++;
        break;
    default:
        self->n_acknowledged += has_answered;
        self->is_open = !has_answered;
        break;
    }
}

/* What was set and is removed now, or the other way round, is another change: of that the answer to
 * what there is now must do. */
static bool
on_ack(void *userdata, const udpai_resource_ack *ack)
{
    look *self = userdata;
    const mark *one = self->mark;
    const udpai_session *session = udpai_subscription_subscriber(ack->subscription)->userdata;
    udpai_ack_position unanswered;
    bool has_say = session && !session->is_finishing && session->id <= one->last_session &&
                   session->ops->unanswered &&
                   session->ops->unanswered(session, ack->subscription, &unanswered);
    if (!has_say)
        return true;
    bool is_same = one->is_removal == !ack->resource;
    self->waits_for = session;
    judge(self, session, ack,
          is_same && udpai_subscription_has_answered(ack->subscription, unanswered, one->place,
                                                     one->is_removal));
    return !self->is_open;
}

static look
look_at(const mark *one)
{
    look self = {.mark = one};
    (void)udpai_fanout_visit_acks(one->marks->fanout, udpai_resource_type_url(one->resource),
                                  udpai_resource_name(one->resource), on_ack, &self);
    return self;
}

/* The one that was waited for last was the last one. */
static void
note_last(mark *one, const udpai_session *session)
{
    const udpai_node_info *peer = session->ops->peer ? session->ops->peer(session) : NULL;
    udpai_str id = peer ? udpai_node_info_parts(peer)->id : (udpai_str){0};
    udpa_bytes *text = NULL;
    if (id.len == 0 || udpa_bytes_new(&text, id.data, id.len) != UDPA_OK)
        return;
    udpa_bytes_unref(one->report->address);
    one->report->address = text;
}

static void
end(mark *one, udpai_mark_outcome outcome)
{
    udpai_marks *marks = one->marks;
    udpai_report *report = UDPAI_TAKE(one->report);
    report->outcome = outcome;
    report->took_ms =
        marks->wheel->now_ms > one->since_ms ? marks->wheel->now_ms - one->since_ms : 0;
    free_mark(one);
    marks->report(marks->userdata, report);
}

static void
set_next(mark *one)
{
    size_t i = 0;
    uint64_t now_ms = one->marks->wheel->now_ms;
    while (i + 1 < UDPAI_ARRAY_LEN(looks_ms) && one->since_ms + looks_ms[i] <= now_ms)
        i++;
    uint64_t due_ms = one->since_ms + looks_ms[i];
    if (one->is_traced && due_ms > now_ms + TRACED_LOOK_MS)
        due_ms = now_ms + TRACED_LOOK_MS;
    udpai_timer_set(one->marks->wheel, &one->next, due_ms);
}

static void
on_next(udpai_timer *timer)
{
    mark *one = UDPAI_CONTAINER_OF(timer, mark, next);
    const look now = look_at(one);
    if (now.is_open && one->is_traced)
        note_last(one, now.waits_for);
    if (now.is_open && one->marks->wheel->now_ms < one->since_ms + UDPAI_MARK_PATIENCE_MS)
        set_next(one);
    else if (now.is_open)
        end(one, UDPAI_MARK_OPEN);
    else if (now.n_rejected)
        end(one, UDPAI_MARK_NACKED);
    else
        end(one, now.n_acknowledged ? UDPAI_MARK_ACKNOWLEDGED : UDPAI_MARK_GONE);
}

/* ---- beginning ---- */

static mark *
new_mark(udpai_marks *marks, const udpai_change_mark *what)
{
    mark *one = udpai_alloc(sizeof(*one));
    if (!one)
        return NULL;
    udpai_list_init(&one->node);
    udpai_timer_init(&one->next, on_next);
    one->marks = marks;
    one->report = udpai_report_new(UDPAI_REPORT_MARK);
    if (!one->report) {
        free_mark(one);
        return NULL;
    }
    one->report->ticket = what->number;
    return one;
}

/* Now all that have a say have not answered: whether there is one is all there is to see. */
static void
begin(udpai_marks *marks,
      const udpai_order *order,
      const udpai_change_mark *what,
      uint64_t last_session)
{
    const udpai_change *change = udpai_change_set_at(order->changes, what->change);
    mark *one = new_mark(marks, what);
    if (!one)
        return;
    udpai_list_append(&marks->open, &one->node);
    one->resource = udpa_resource_ref(change->resource);
    one->is_removal = change->kind == UDPAI_CHANGE_REMOVE;
    one->since_ms = order->since_ms;
    one->last_session = last_session;
    one->place = udpai_fanout_place(marks->fanout);
    one->is_traced = udpai_trace_is_set(&what->trace);
    const look now = look_at(one);
    if (now.is_open && one->is_traced)
        note_last(one, now.waits_for);
    if (now.is_open)
        set_next(one);
    else
        end(one, UDPAI_MARK_UNSUBSCRIBED);
}

void
udpai_marks_begin(udpai_marks *marks, const udpai_order *order, uint64_t last_session)
{
    for (size_t i = 0; i < order->marks.n; i++)
        begin(marks, order, &order->marks.items[i], last_session);
}
