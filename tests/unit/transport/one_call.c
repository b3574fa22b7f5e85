/* SPDX-License-Identifier: Apache-2.0 */
#include "one_call.h"

#include "base/alloc.h"

struct world *
one_call_begin(const udpai_stream_thread_options *options, const char *words)
{
    struct world *world = udpai_alloc(sizeof(*world));
    bed_start(&world->bed, options);
    bed_listen(&world->bed, NULL);
    raw_connect(&world->client, world->bed.port, NULL, NULL);
    raw_begin(&world->client, &world->call, BED_PATH);
    assert_true(raw_say(&world->call, words));
    if (strncmp(words, "echo", 4) == 0)
        raw_expect(&world->call, words);
    udpai_report *alive = bed_report(&world->bed, UDPAI_REPORT_ALIVE);
    world->session = alive->session;
    udpai_report_free(alive);
    return world;
}

void
one_call_end(struct world *world)
{
    raw_end(&world->call);
    bed_wait_streams(&world->bed, 0, TAGS_OF_LISTENER);
    raw_disconnect(&world->client);
    bed_stop(&world->bed);
    udpai_free(world);
}

void
one_call_order_push(struct world *world)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE);
    order->session = world->session;
    udpai_stream_thread_order(world->bed.thread, order);
}

void
one_call_push(struct world *world)
{
    one_call_order_push(world);
    raw_expect(&world->call, "pushed");
}
