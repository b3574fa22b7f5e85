/* SPDX-License-Identifier: Apache-2.0 */
/* What the services of an endpoint use of it: its halves, and its next turn. */
#include "endpoint/endpoint_internal.h"

static void
on_soon(udpai_timer *timer)
{
    (void)timer; /* what there is to do is done after every tick of the wheel */
}

void
udpai_endpoint_turn_init(udpa_endpoint *endpoint)
{
    udpai_timer_init(&endpoint->soon, on_soon);
}

void
udpai_endpoint_touch(udpa_endpoint *endpoint)
{
    udpai_wheel *wheel = udpai_loop_wheel_get(endpoint->wheel);
    if (!udpai_timer_is_set(&endpoint->soon))
        udpai_timer_set(wheel, &endpoint->soon, wheel->now_ms);
    udpai_loop_wheel_arm(endpoint->wheel);
}

void
udpai_endpoint_order(udpa_endpoint *endpoint, udpai_order *order)
{
    if (endpoint->pool)
        udpai_worker_pool_order(endpoint->pool, order);
    else
        udpai_stream_thread_order(endpoint->streams, order);
}

udpai_node *
udpai_endpoint_node(udpa_endpoint *endpoint)
{
    return endpoint->node;
}

udpai_stream_thread *
udpai_endpoint_streams(udpa_endpoint *endpoint)
{
    return endpoint->streams;
}
