/* SPDX-License-Identifier: Apache-2.0 */
#include "session/spread.h"

#include "base/proto.h"

#define NEWS_STREAMS 20
/* Streams that are ended come back by a balancer, which does not know where there is room: of seven
 * replicas only one may have some. So more are ended than there are too many, but not without end.
 */
#define MOST_ENDED 3

/* ---- shares ---- */

uint64_t
udpai_spread_share(uint64_t sum, size_t n_replicas)
{
    return n_replicas ? sum / n_replicas + (sum % n_replicas != 0) : 0;
}

uint64_t
udpai_spread_limit(uint64_t share)
{
    uint64_t fifth = share / 5;
    return share + (fifth > UDPAI_SPREAD_SLACK ? fifth : UDPAI_SPREAD_SLACK);
}

bool
udpai_spread_is_news(uint64_t written, uint64_t now)
{
    uint64_t change = now > written ? now - written : written - now;
    return change >= NEWS_STREAMS || change > written / 10;
}

uint64_t
udpai_spread_jitter(uint64_t age_ms, uint64_t random)
{
    uint64_t tenth = age_ms / 10;
    return age_ms - tenth + random % (2 * tenth + 1);
}

/* ---- orders ---- */

/* Nothing else is in it, so that no field needs a number. */
udpa_bytes *
udpai_spread_encode(const udpai_spread_order *order)
{
    const uint64_t numbers[] = {order->n_streams, order->share, order->above, order->reject_ms,
                                order->over_ms};
    uint8_t room[10 * UDPAI_ARRAY_LEN(numbers)];
    udpai_proto_writer writer = {.at = room};
    udpa_bytes *bytes = NULL;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        udpai_proto_put_bare_number(&writer, numbers[i]);
    return udpa_bytes_new(&bytes, room, writer.size) == UDPA_OK ? bytes : NULL;
}

udpa_err
udpai_spread_decode(udpai_str bytes, udpai_spread_order *ret_order)
{
    udpai_spread_order order;
    uint64_t *const numbers[] = {&order.n_streams, &order.share, &order.above, &order.reject_ms,
                                 &order.over_ms};
    udpai_proto_reader reader = udpai_proto_read(bytes);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        if (!udpai_proto_take_number(&reader, numbers[i]) || *numbers[i] > UINT32_MAX)
            return UDPA_ERR_MALFORMED;
    if (reader.at != reader.end)
        return UDPA_ERR_MALFORMED;
    *ret_order = order;
    return UDPA_OK;
}

/* ---- a stream side ---- */

/* Of a number of the replica, what falls to @p n of its streams; rounded up. */
static uint64_t
part_of(uint64_t number, uint64_t n, const udpai_spread_order *order)
{
    if (n >= order->n_streams)
        return number;
    uint64_t product = number * n; /* both have 32 bits */
    return product / order->n_streams + (product % order->n_streams != 0);
}

void
udpai_spread_begin(udpai_spread_side *side,
                   const udpai_spread_order *order,
                   uint64_t now_ms,
                   uint64_t n)
{
    memset(side, 0, sizeof(*side));
    side->order = *order;
    side->begun_ms = now_ms;
    side->n_begun = n;
    side->share = part_of(order->share, n, order);
    side->above = part_of(order->above, n, order);
    if (order->over_ms && n > side->share)
        side->n_left = MOST_ENDED * (n - side->share);
}

/* It has streams to end until the last that come back have done so. */
static bool
is_ending(const udpai_spread_side *side, uint64_t now_ms)
{
    return side->n_left && now_ms - side->begun_ms < side->order.over_ms + UDPAI_SPREAD_AFTER_MS;
}

static bool
is_rejecting(const udpai_spread_side *side, uint64_t now_ms)
{
    return now_ms - side->begun_ms < side->order.reject_ms;
}

bool
udpai_spread_is_busy(const udpai_spread_side *side, uint64_t now_ms)
{
    return is_ending(side, now_ms) || is_rejecting(side, now_ms);
}

/* Beside the hash, how often in a row. Where another client has the place, that is not known, and
 * the client is served: so none is rejected more often. */
static bool
has_its_turn(udpai_spread_side *side, uint64_t client)
{
    const uint64_t mask = 3;
    uint64_t *place = &side->rejected[(client >> 8) % UDPAI_SPREAD_MEMORY];
    uint64_t n = *place & mask;
    if (n && (*place & ~mask) != (client & ~mask))
        return true;
    bool is_served = n >= UDPAI_SPREAD_REJECTIONS;
    *place = is_served ? 0 : (client & ~mask) | (n + 1);
    return is_served;
}

bool
udpai_spread_rejects(udpai_spread_side *side, uint64_t now_ms, uint64_t n, uint64_t client)
{
    return is_rejecting(side, now_ms) && n >= side->above && !has_its_turn(side, client);
}

/* A straight line from what there was to the share. */
static uint64_t
target_at(const udpai_spread_side *side, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - side->begun_ms, over_ms = side->order.over_ms;
    uint64_t share = side->share;
    if (passed_ms >= over_ms || side->n_begun <= share)
        return share;
    return share + (side->n_begun - share) * (over_ms - passed_ms) / over_ms;
}

uint64_t
udpai_spread_take_due(udpai_spread_side *side, uint64_t now_ms, uint64_t n)
{
    uint64_t target = target_at(side, now_ms);
    if (!is_ending(side, now_ms) || n <= target)
        return 0;
    uint64_t due = n - target < side->n_left ? n - target : side->n_left;
    side->n_left -= due;
    return due;
}
