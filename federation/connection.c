/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling a source, backing off, and ending its stream. */
#include "federation/connection.h"
#include "federation/backoff.h"

void
udpai_source_set_state(udpai_source *source, udpai_source_state state)
{
    if (source->state == state)
        return;
    source->state = state;
    source->since_us = udpai_context_wall_us(source->owner->context);
    udpai_source_touch(source);
}

/* Doubles from base to max with the number of failures; the actual wait lies anywhere between half
 * of it and all of it, so that nodes that lost one peer together do not come back together. */
static uint64_t
backoff_ms(const udpai_source *source)
{
    uint64_t wait =
        udpai_backoff_ms(&source->owner->context->timing, udpai_servers_n_rounds(source));
    return wait / 2 + udpai_context_random(source->owner->context) % (wait / 2 + 1);
}

static void
dial_later(udpai_source *source, uint64_t wait_ms)
{
    udpai_source_set_state(source, UDPAI_SOURCE_WAITING);
    udpai_timer_set(source->owner->context->wheel, &source->retry,
                    udpai_context_now(source->owner->context) + wait_ms);
}

void
udpai_source_back_off(udpai_source *source)
{
    dial_later(source, backoff_ms(source));
}

void
udpai_source_dial(udpai_source *source)
{
    if (source->owner->context->is_silent) {
        udpai_source_set_state(source, UDPAI_SOURCE_WAITING);
        return;
    }
    udpai_order *order = udpai_order_new(UDPAI_ORDER_DIAL);
    if (!order) { /* as if it had failed */
        source->n_failures++;
        udpai_source_back_off(source);
        return;
    }
    order->link = source->link;
    order->is_source = source->serves_us;
    order->server = (unsigned)source->servers.at;
    order->is_hurried = udpai_servers_are_untried(source);
    order->target = source->ref_target ? source->ref_target(source->target) : NULL;
    order->release_target = source->release_target;
    udpai_source_set_state(source, UDPAI_SOURCE_CONNECTING);
    udpai_context_order(source->owner->context, order);
}

static void
on_retry(udpai_timer *timer)
{
    udpai_source_dial(UDPAI_CONTAINER_OF(timer, udpai_source, retry));
}

void
udpai_source_dial_now(udpai_source *source)
{
    if (source->state != UDPAI_SOURCE_WAITING)
        return;
    udpai_timer_cancel(&source->retry);
    udpai_source_dial(source);
}

/* A lost source is lost by all nodes that had it: they do not dial the next one in its place
 * together. */
void
udpai_source_dial_first(udpai_source *source)
{
    const udpai_sources *sources = source->owner;
    uint64_t spread_ms = sources->context->timing.fail_over_spread_ms;
    bool is_fail_over = sources->lost_ms == udpai_context_now(sources->context);
    if (is_fail_over && spread_ms)
        dial_later(source, udpai_context_random(sources->context) % (spread_ms + 1));
    else
        udpai_source_dial(source);
}

static void
hang_up_by(const udpai_source *source, udpai_order *order)
{
    order->session = source->session;
    order->link = source->link;
    udpai_context_order(source->owner->context, order);
}

bool
udpai_source_hang_up(udpai_source *source)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    if (order)
        hang_up_by(source, order);
    return order != NULL;
}

void
udpai_source_disconnect_by(udpai_source *source, udpai_order *order)
{
    if (udpai_source_has_connection(source))
        hang_up_by(source, order);
    else
        udpai_order_free(order);
}

bool
udpai_source_disconnect(udpai_source *source)
{
    return !udpai_source_has_connection(source) || udpai_source_hang_up(source);
}

void
udpai_source_disown_stream(udpai_source *source)
{
    udpai_peer *peer = udpai_peers_find(source->owner->peers, source->session);
    if (!peer)
        return;
    peer->source = NULL;
    peer->is_replaced = true;
}

void
udpai_source_hang_up_in_the_end(udpai_source *source)
{
    source->must_hang_up = !udpai_source_hang_up(source);
    if (source->must_hang_up)
        udpai_source_touch(source);
}

void
udpai_source_lost_update(udpai_source *source)
{
    if (source->has_lost_update)
        return;
    source->has_lost_update = true;
    udpai_log_about(UDPA_LOG_ERROR, "federation",
                    UDPAI_ABOUT({UDPAI_LOG_SOURCE, udpai_bytes_view(source->name)}),
                    "source %.*s: reconnecting: out of memory for what it has sent, which its next "
                    "stream brings again",
                    (int)udpa_bytes_size(source->name),
                    (const char *)udpa_bytes_data(source->name));
    udpai_source_hang_up_in_the_end(source);
}

void
udpai_source_keep_place(udpai_source *source)
{
    const udpai_sources *sources = source->owner;
    source->is_decided = false;
    udpai_timer_set(sources->context->wheel, &source->grace,
                    udpai_context_now(sources->context) +
                        sources->context->timing.connect_grace_ms);
}

static void
begin_anew(udpai_source *source)
{
    if (!udpai_source_has_connection(source) || source->is_renewed)
        return;
    if (udpai_source_is_active(source))
        udpai_source_keep_place(source);
    source->is_renewed = true;
    udpai_source_hang_up_in_the_end(source);
}

static void
on_anew(udpai_timer *timer)
{
    begin_anew(UDPAI_CONTAINER_OF(timer, udpai_source, anew));
}

void
udpai_source_begin_anew(udpai_source *source, uint64_t within_ms)
{
    const udpai_sources *sources = source->owner;
    uint64_t wait_ms = within_ms ? udpai_context_random(sources->context) % (within_ms + 1) : 0;
    if (wait_ms == 0)
        begin_anew(source);
    else if (!udpai_timer_is_set(&source->anew))
        udpai_timer_set(sources->context->wheel, &source->anew,
                        udpai_context_now(sources->context) + wait_ms);
}

void
udpai_source_put_target(udpai_source *source, void *target)
{
    if (source->target)
        source->release_target(source->target);
    source->target = target;
}

void
udpai_source_set_target(udpai_source *source, void *target)
{
    udpai_source_put_target(source, target);
    udpai_source_begin_anew(source, 0);
}

void
udpai_source_connection_init(udpai_source *source)
{
    udpai_timer_init(&source->retry, on_retry);
    udpai_timer_init(&source->anew, on_anew);
}

void
udpai_source_connection_done(udpai_source *source)
{
    udpai_timer_cancel(&source->retry);
    udpai_timer_cancel(&source->anew);
}
