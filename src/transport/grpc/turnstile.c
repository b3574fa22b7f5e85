/* SPDX-License-Identifier: Apache-2.0 */
/* How much is read at a time. Once a read is outstanding, this gRPC takes all of a message into
 * memory, however large, and a read cannot be taken back; without one it takes
 * UDPAI_LOOKAHEAD_BYTES of the stream, and the peer waits. So while many clients come with much to
 * send, as after a restart, they are read one after the other.
 *
 * For the first message of a stream as many bytes are reserved as it may have. A stream that finds
 * no room waits, and as long as any does, so do those that had their first message read. One with a
 * small message does not wait for long: what has come by its connection is looked at, and if it is
 * little and nothing follows, it is read without a reservation. So the reservation of a stream that
 * sends nothing is given back, too. Of those that may not have sent anything yet, few are tried so
 * at a time while others wait; one that begins to send much after that has its bytes reserved, room
 * or not.
 *
 * The reads of streams that are idle are outstanding. What those begin to send is found by surge.c,
 * and reserved, too; if all that is not complete is more than twice what may be reserved, the one
 * of them that has sent most is ended, and so on. */
#include "loop/clock.h"
#include "transport/grpc/grpc_internal.h"

#define LOOK_MS 20
#define LOOK_BUSY_MS                                                                               \
    2 /* so long one look at those that wait takes; the next one goes on from there */
#define LOOK_AT_ONCE 16                  /* before it is seen how long that was */
#define SMALL_BYTES ((uint64_t)64 << 10) /* so much may be all of a message */
#define AROUND_PART 8                    /* of a message comes beside it */
#define ROUND_TRIPS 2                    /* without anything new: nothing follows */
#define LONGEST_ROUND_MS 300             /* that is waited for so */
#define FIRST_MS 1000             /* so long those that have been read before let others go first */
#define TRIED_MAX 4               /* that may begin to send much */
#define TRIED_MS 400              /* so long that is expected */
#define HEADERS_BYTES 1024        /* beyond that, it is not headers alone that have come */
#define SILENT_MS 10000           /* so long a message may stop, if room is needed */
#define LEAVING_MS 500            /* so long one that is ended may take to be over */
#define OVER_MAX 2                /* times what may be reserved may be in memory */
#define SLACK ((uint64_t)1 << 20) /* beyond the largest message, before its end is seen */

static udpai_call *
call_of(udpai_list *at)
{
    return UDPAI_CONTAINER_OF(UDPAI_LIST_ENTRY(at, udpai_turn, node), udpai_call, turn);
}

static bool
is_ending(const udpai_call *call)
{
    return call->is_finishing || call->is_broken || call->peer_has_ended;
}

static bool
is_any_waiting(const udpai_turnstile *turnstile)
{
    return !udpai_list_empty(&turnstile->waiting) || !udpai_list_empty(&turnstile->waiting_again);
}

/* From now on, and not from when this turn of the loop began: on a busy machine the thread would do
 * nothing but look. */
static void
look_soon(udpai_stream_thread *thread)
{
    udpai_turnstile *turnstile = &thread->turnstile;
    bool is_needed = is_any_waiting(turnstile) || !udpai_list_empty(&turnstile->holding) ||
                     !udpai_list_empty(&turnstile->tried);
    if (!is_needed)
        udpai_timer_cancel(&turnstile->look);
    else if (!udpai_timer_is_set(&turnstile->look))
        udpai_timer_set(&thread->wheel, &turnstile->look, udpai_monotonic_ms() + LOOK_MS);
}

/* ---- reservations ---- */

static void
count_reserved(udpai_stream_thread *thread)
{
    size_t reserved = thread->admission.reserved;
    if (reserved > atomic_load_explicit(&thread->stat_reserved, memory_order_relaxed))
        atomic_store_explicit(&thread->stat_reserved, reserved, memory_order_relaxed);
}

static udpai_reservation
reserve(udpai_call *call)
{
    udpai_stream_thread *thread = call->stream.thread;
    udpai_reservation answer =
        udpai_admission_reserve(&thread->admission, call->stream.admitted, call->max_message_bytes);
    if (answer == UDPAI_NO_ROOM)
        thread->turnstile.is_full = true;
    return answer;
}

static void
hold(udpai_call *call)
{
    udpai_stream_thread *thread = call->stream.thread;
    udpai_turn *turn = &call->turn;
    turn->reserved = call->max_message_bytes;
    turn->may_read = true;
    turn->arrived_ms = thread->wheel.now_ms;
    udpai_list_append(&thread->turnstile.holding, &turn->node);
    udpai_connection_count_reserved(call->connection, true);
    count_reserved(thread);
    look_soon(thread);
}

static bool
release(udpai_call *call)
{
    size_t reserved = call->turn.reserved;
    if (!reserved)
        return false;
    call->turn.reserved = 0;
    if (call->turn.is_leaving)
        call->stream.thread->turnstile.leaving -= reserved;
    call->turn.is_leaving = false;
    udpai_connection_count_reserved(call->connection, false);
    call->turn.is_anyway = false;
    udpai_list_remove(&call->turn.node);
    udpai_admission_release(&call->stream.thread->admission, call->stream.admitted, reserved);
    call->stream.thread->turnstile.is_full = false;
    return true;
}

/* ---- trying ---- */

static void
begin_to_try(udpai_call *call)
{
    udpai_turnstile *turnstile = &call->stream.thread->turnstile;
    call->turn.is_tried = call->turn.may_read = true;
    call->turn.tried_ms = call->stream.thread->wheel.now_ms;
    udpai_list_append(&turnstile->tried, &call->turn.node);
    turnstile->n_tried++;
}

static void
try_no_more(udpai_call *call)
{
    if (!call->turn.is_tried)
        return;
    call->turn.is_tried = false;
    call->stream.thread->turnstile.n_tried--;
    udpai_list_remove(&call->turn.node);
}

static bool
may_try(const udpai_stream_thread *thread)
{
    const udpai_turnstile *turnstile = &thread->turnstile;
    return turnstile->n_tried < TRIED_MAX || !is_any_waiting(turnstile);
}

/* ---- waiting ---- */

/* A stream with a last read that was outstanding for a while had sent nothing else before. */
static void
note_what_was_read(udpai_call *call)
{
    const udpai_turn *turn = &call->turn;
    udpai_arrived arrived;
    bool was_idle = turn->has_read && call->stream.thread->wheel.now_ms - turn->read_ms >= LOOK_MS;
    if (was_idle && !udpai_connection_has_waiting(call->connection) &&
        udpai_connection_look(call->stream.thread, call->connection, &arrived))
        udpai_connection_is_read(call->connection, &arrived);
}

static void
wait(udpai_call *call)
{
    udpai_stream_thread *thread = call->stream.thread;
    note_what_was_read(call);
    call->turn.is_waiting = true;
    call->turn.wait_ms = thread->wheel.now_ms;
    call->turn.arrived_ms = thread->wheel.now_ms;
    udpai_connection_count_waiting(call->connection, true);
    udpai_list_append(call->turn.has_read ? &thread->turnstile.waiting_again
                                          : &thread->turnstile.waiting,
                      &call->turn.node);
    atomic_fetch_add_explicit(&thread->stat_waited, 1, memory_order_relaxed);
    look_soon(thread);
}

static void
wait_no_more(udpai_call *call)
{
    if (!call->turn.is_waiting)
        return;
    udpai_turnstile *turnstile = &call->stream.thread->turnstile;
    if (turnstile->next_look == &call->turn.node)
        turnstile->next_look = call->turn.node.next;
    call->turn.is_waiting = false;
    udpai_connection_count_waiting(call->connection, false);
    udpai_list_remove(&call->turn.node);
}

/* True: there is no room for the others either. A stream of an identity without room lets others go
 * first. */
static bool
let_in_one(udpai_call *call)
{
    if (is_ending(call))
        return false;
    udpai_reservation answer = reserve(call);
    if (answer == UDPAI_RESERVED) {
        wait_no_more(call);
        hold(call);
        udpai_call_arm(call);
    }
    return answer == UDPAI_NO_ROOM;
}

/* Up to those that have not waited for so long. */
static bool
let_in_those(udpai_stream_thread *thread, udpai_list *waiting, uint64_t waited_ms)
{
    UDPAI_LIST_FOREACH_SAFE (at, waiting) {
        udpai_call *call = call_of(at);
        if (thread->wheel.now_ms - call->turn.wait_ms < waited_ms)
            return false;
        if (let_in_one(call))
            return true;
    }
    return false;
}

/* One that was never read has certainly sent a message, or will soon. Others mostly are idle, and
 * would be found to be that one after the other. */
static void
let_in(udpai_stream_thread *thread)
{
    udpai_turnstile *turnstile = &thread->turnstile;
    bool is_full = let_in_those(thread, &turnstile->waiting_again, FIRST_MS);
    if (!is_full)
        is_full = let_in_those(thread, &turnstile->waiting, 0);
    if (!is_full)
        (void)let_in_those(thread, &turnstile->waiting_again, 0);
}

static bool
may_read_at_once(udpai_call *call)
{
    const udpai_turnstile *turnstile = &call->stream.thread->turnstile;
    const udpai_turn *turn = &call->turn;
    if (turn->may_read || !call->stream.admitted)
        return true;
    if (turn->is_waiting)
        return false;
    if (turn->has_read)
        return !is_any_waiting(turnstile);
    if (turnstile->is_full || reserve(call) != UDPAI_RESERVED)
        return false;
    hold(call);
    return true;
}

bool
udpai_turn_has_come(udpai_call *call)
{
    bool has_come = may_read_at_once(call);
    if (has_come)
        call->turn.read_ms = call->stream.thread->wheel.now_ms;
    else if (!call->turn.is_waiting)
        wait(call);
    return has_come;
}

void
udpai_turn_over(udpai_call *call, size_t size)
{
    udpai_connection_took(call->connection, size);
    call->turn.has_read |= size > 0;
    call->turn.may_read = false;
    wait_no_more(call);
    try_no_more(call);
    if (release(call))
        let_in(call->stream.thread);
    look_soon(call->stream.thread);
}

/* ---- looking what has come ---- */

/* What has come by the connection may belong to those of its streams that wait. If a stream that is
 * read and idle seemed busy for that, it would keep what they wait for. */
static uint64_t
without_waiting(const udpai_arrived *arrived)
{
    uint64_t waiting = arrived->n_waiting * (uint64_t)UDPAI_LOOKAHEAD_BYTES;
    return arrived->unread > waiting ? arrived->unread - waiting : 0;
}

static bool
look_at(udpai_call *call, udpai_arrived *ret_arrived)
{
    udpai_turn *turn = &call->turn;
    if (!udpai_connection_look(call->stream.thread, call->connection, ret_arrived))
        return false;
    if (ret_arrived->bytes != turn->arrived) {
        turn->has_grown |= turn->arrived > 0;
        turn->arrived_ms = call->stream.thread->wheel.now_ms;
    }
    turn->arrived = ret_arrived->bytes;
    if (!turn->is_waiting)
        ret_arrived->unread = without_waiting(ret_arrived);
    turn->unread = ret_arrived->unread / (ret_arrived->n_reserved ? ret_arrived->n_reserved : 1);
    return true;
}

/* Nothing came for so long that nothing is on its way. */
static bool
is_all(const udpai_call *call, const udpai_arrived *arrived)
{
    uint64_t silent_ms = call->stream.thread->wheel.now_ms - call->turn.arrived_ms;
    uint64_t round_ms = arrived->rtt_ms < LONGEST_ROUND_MS ? arrived->rtt_ms : LONGEST_ROUND_MS;
    return silent_ms >= LOOK_MS + ROUND_TRIPS * round_ms;
}

static bool
is_little(const udpai_call *call, const udpai_arrived *arrived)
{
    return arrived->unread < SMALL_BYTES && is_all(call, arrived);
}

/* gRPC would report it when it has all of it, and that may be gigabytes. */
static bool
is_too_much(const udpai_call *call, const udpai_arrived *arrived)
{
    uint64_t max = call->max_message_bytes;
    return arrived->n_streams == 1 && arrived->unread > max + max / AROUND_PART + SLACK;
}

/* Somebody waits, or more is reserved than may be; but for what is given back anyhow. A peer that
 * does not even read its end gives nothing back for a while, and nobody waits for that. */
static bool
is_room_needed(const udpai_stream_thread *thread)
{
    const udpai_admission *admission = &thread->admission;
    const udpai_turnstile *turnstile = &thread->turnstile;
    bool is_coming = turnstile->leaving && thread->wheel.now_ms - turnstile->left_ms < LEAVING_MS;
    return admission->reserved - turnstile->leaving > admission->max_reserved ||
           (!is_coming && is_any_waiting(turnstile));
}

/* What has come of a message is in memory, and stays there. */
static void
look_at_silent(udpai_call *call)
{
    udpai_turn *turn = &call->turn;
    if (turn->unread < SLACK) {
        (void)release(call);
    } else if (!turn->is_leaving && is_room_needed(call->stream.thread)) {
        turn->is_leaving = true;
        call->stream.thread->turnstile.leaving += turn->reserved;
        call->stream.thread->turnstile.left_ms = call->stream.thread->wheel.now_ms;
        udpai_call_refuse_stall(call, turn->unread, SILENT_MS / 1000);
    }
}

static void
look_at_holder(udpai_call *call)
{
    udpai_arrived arrived;
    bool is_known = look_at(call, &arrived);
    uint64_t silent_ms = call->stream.thread->wheel.now_ms - call->turn.arrived_ms;
    if (!call->read_tag.is_out) { /* it is not to be read, for the time being */
        call->turn.may_read = false;
        (void)release(call);
    } else if (silent_ms >= SILENT_MS) {
        look_at_silent(call);
    } else if (!is_known) {
        return;
    } else if (is_too_much(call, &arrived)) {
        udpai_call_refuse_size(call, arrived.unread);
    } else if (is_little(call, &arrived) && may_try(call->stream.thread)) {
        (void)release(call);
        begin_to_try(call);
    }
}

static void
look_at_waiting(udpai_call *call)
{
    udpai_arrived arrived;
    const udpai_turn *turn = &call->turn;
    if (!look_at(call, &arrived) || !is_little(call, &arrived))
        return;
    bool has_sent_something = turn->has_read || turn->has_grown || arrived.unread >= HEADERS_BYTES;
    if (!has_sent_something && !may_try(call->stream.thread))
        return;
    wait_no_more(call);
    begin_to_try(call);
    udpai_call_arm(call);
}

static void
look_at_tried(udpai_call *call)
{
    udpai_arrived arrived;
    bool is_over = call->stream.thread->wheel.now_ms - call->turn.tried_ms >= TRIED_MS;
    bool has_sent_much = look_at(call, &arrived) && arrived.unread >= SMALL_BYTES;
    if (is_over || has_sent_much)
        try_no_more(call);
    if (has_sent_much)
        udpai_turn_begins_anyway(call);
}

void
udpai_turn_begins_anyway(udpai_call *call)
{
    udpai_admission_reserve_anyway(&call->stream.thread->admission, call->stream.admitted,
                                   call->max_message_bytes);
    call->turn.is_anyway = true;
    hold(call);
}

/* ---- more than there is room for ---- */

/* What has come in all of messages that are not complete; and of those that were not let in, which
 * has sent most. */
static uint64_t
count_unread(udpai_stream_thread *thread, udpai_call **ret_most)
{
    uint64_t sum = 0;
    *ret_most = NULL;
    UDPAI_LIST_FOREACH (at, &thread->turnstile.holding) {
        udpai_call *call = call_of(at);
        if (is_ending(call))
            continue;
        sum += call->turn.unread;
        if (call->turn.is_anyway && (!*ret_most || call->turn.unread > (*ret_most)->turn.unread))
            *ret_most = call;
    }
    return sum;
}

static void
end_what_is_too_much(udpai_stream_thread *thread)
{
    udpai_call *most;
    while (count_unread(thread, &most) > OVER_MAX * thread->admission.max_reserved && most) {
        uint64_t size = most->turn.unread;
        most->turn.unread = 0;
        most->turn.is_anyway = false;
        udpai_call_refuse_load(most, size);
    }
}

/* Each look goes on where the last one has ended. */
static void
look_at_those_that_wait(udpai_stream_thread *thread)
{
    udpai_turnstile *turnstile = &thread->turnstile;
    uint64_t until_ms = udpai_monotonic_ms() + LOOK_BUSY_MS;
    if (!turnstile->next_look)
        turnstile->next_look = turnstile->waiting.next;
    for (unsigned n = 1; n % LOOK_AT_ONCE || udpai_monotonic_ms() < until_ms; n++) {
        udpai_list *at = turnstile->next_look;
        if (at == &turnstile->waiting)
            at = turnstile->waiting_again.next;
        if (at == &turnstile->waiting_again) {
            turnstile->next_look = NULL;
            return;
        }
        turnstile->next_look = at->next;
        look_at_waiting(call_of(at));
    }
}

static void
on_look(udpai_timer *timer)
{
    udpai_stream_thread *thread = UDPAI_CONTAINER_OF(timer, udpai_stream_thread, turnstile.look);
    UDPAI_LIST_FOREACH_SAFE (at, &thread->turnstile.tried)
        look_at_tried(call_of(at));
    UDPAI_LIST_FOREACH_SAFE (at, &thread->turnstile.holding)
        look_at_holder(call_of(at));
    end_what_is_too_much(thread);
    look_at_those_that_wait(thread);
    let_in(thread);
    look_soon(thread);
}

void
udpai_turnstile_init(udpai_stream_thread *thread)
{
    udpai_list_init(&thread->turnstile.waiting);
    udpai_list_init(&thread->turnstile.waiting_again);
    udpai_list_init(&thread->turnstile.holding);
    udpai_list_init(&thread->turnstile.tried);
    udpai_timer_init(&thread->turnstile.look, on_look);
}

void
udpai_turn_init(udpai_turn *turn)
{
    udpai_list_init(&turn->node);
}
