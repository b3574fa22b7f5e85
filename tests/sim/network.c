/* SPDX-License-Identifier: Apache-2.0 */
#include "network.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

typedef struct sim_end sim_end;

struct sim_message {
    udpai_list node;
    uint64_t number; /* in the order of sending */
    udpa_bytes *bytes;
};

/* One end of a stream: what its node reads from and writes to. */
struct sim_end {
    udpai_list in_node;
    sim_stream *stream;
    sim_node *node; /* NULL: its machine has gone */
    sim_side *side; /* of it */
    unsigned epoch;
    udpai_session *session; /* NULL: closed */
    udpai_list inbox;       /* messages that have arrived, or are under way, in order */
    uint64_t last_arrival_us;
    bool is_reading, is_closing, is_writing;
};

struct sim_stream {
    udpai_list in_world;
    sim_end ends[2]; /* 0: the one that dialled */
    uint64_t slow_until_us, opened_us;
    const sim_protocol *protocol; /* NULL: UDPA */
    unsigned n_events;            /* that still point here */
};

/* ---- latency ---- */

static bool
is_slow(const sim_world *world, const sim_stream *stream)
{
    return world->now_us < world->slow_until_us ||
           (stream && world->now_us < stream->slow_until_us);
}

/* stream: NULL: of none yet. */
static uint64_t
latency_us(sim_world *world, const sim_stream *stream)
{
    return 50 + sim_below(&world->random, is_slow(world, stream) ? 400000 : 4000);
}

static sim_end *
other_end(sim_end *end)
{
    return end == &end->stream->ends[0] ? &end->stream->ends[1] : &end->stream->ends[0];
}

static void
drop_inbox(sim_end *end)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&end->inbox))) {
        struct sim_message *message = UDPAI_LIST_ENTRY(at, struct sim_message, node);
        udpa_bytes_unref(message->bytes);
        udpai_free(message);
    }
}

static void
free_if_done(sim_stream *stream)
{
    if (stream->n_events || stream->ends[0].session || stream->ends[1].session)
        return;
    for (size_t i = 0; i < 2; i++) {
        drop_inbox(&stream->ends[i]);
        udpai_list_remove(&stream->ends[i].in_node);
    }
    udpai_list_remove(&stream->in_world);
    udpai_free(stream);
}

/* ---- events of an end ---- */

struct end_event {
    sim_end *end;
    void (*action)(sim_end *end);
};

static void
run_end_event(sim_world *world, void *userdata)
{
    (void)world;
    struct end_event *event = userdata;
    sim_end *end = event->end;
    end->stream->n_events--;
    if (end->session)
        event->action(end);
    free_if_done(end->stream);
    udpai_free(event);
}

static void
end_after(sim_end *end, sim_world *world, uint64_t delay_us, void (*action)(sim_end *end))
{
    struct end_event *event = udpai_alloc(sizeof(*event));
    if (!event)
        abort();
    *event = (struct end_event){end, action};
    end->stream->n_events++;
    sim_after(world, delay_us, run_end_event, event);
}

/* ---- closing ---- */

static void
close_end(sim_end *end)
{
    udpai_session *session = UDPAI_TAKE(end->session);
    udpai_list_remove(&end->in_node);
    end->node = NULL;
    udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "the stream was cut");
    sim_hub_begin(end->side);
    udpai_session_closed(session, error);
    sim_hub_end(end->side);
    udpa_error_unref(error);
}

static void
begin_close(sim_end *end, sim_world *world, uint64_t delay_us)
{
    if (!end->session || end->is_closing)
        return;
    end->is_closing = true;
    end_after(end, world, delay_us, close_end);
}

static void
count_lost(sim_world *world, sim_end *end)
{
    for (udpai_list *at = end->inbox.next; at != &end->inbox; at = at->next)
        world->counts[SIM_MESSAGES_LOST]++;
    drop_inbox(end);
}

/* Both ends notice, each in its own time; what was under way is lost. */
static void
cut(sim_world *world, sim_stream *stream)
{
    for (size_t i = 0; i < 2; i++) {
        count_lost(world, &stream->ends[i]);
        begin_close(&stream->ends[i], world, latency_us(world, stream));
    }
}

static sim_stream *
any_stream(sim_world *world)
{
    size_t n = 0;
    UDPAI_LIST_FOREACH (at, &world->streams)
        n++;
    size_t chosen = sim_below(&world->random, n);
    UDPAI_LIST_FOREACH (at, &world->streams)
        if (chosen-- == 0)
            return UDPAI_LIST_ENTRY(at, sim_stream, in_world);
    return NULL;
}

bool
sim_cut_something(sim_world *world)
{
    sim_stream *stream = any_stream(world);
    if (!stream)
        return false;
    cut(world, stream);
    world->counts[SIM_CUTS]++;
    return true;
}

bool
sim_slow_something(sim_world *world, uint64_t duration_us)
{
    sim_stream *stream = any_stream(world);
    if (!stream)
        return false;
    stream->slow_until_us = world->now_us + duration_us;
    world->counts[SIM_SLOW_LINKS]++;
    return true;
}

uint64_t
sim_stream_age_us(const sim_node *from, const sim_node *to)
{
    uint64_t age_us = 0;
    UDPAI_LIST_FOREACH (at, &from->streams) {
        sim_end *end = UDPAI_LIST_ENTRY(at, sim_end, in_node);
        const sim_stream *stream = end->stream;
        if (end == &stream->ends[0] && stream->ends[1].node == to && !end->is_closing &&
            from->world->now_us - stream->opened_us > age_us)
            age_us = from->world->now_us - stream->opened_us;
    }
    return age_us;
}

void
sim_cut_streams_of(sim_node *node)
{
    UDPAI_LIST_FOREACH_SAFE (at, &node->streams)
        cut(node->world, UDPAI_LIST_ENTRY(at, sim_end, in_node)->stream);
}

void
sim_end_streams_of(sim_node *node)
{
    while (!udpai_list_empty(&node->streams)) {
        sim_end *end = UDPAI_LIST_ENTRY(node->streams.next, sim_end, in_node);
        sim_stream *stream = end->stream;
        stream->n_events++; /* it must live until both ends are seen to */
        udpai_session *session = UDPAI_TAKE(end->session);
        udpai_list_remove(&end->in_node);
        end->node = NULL;
        if (session)
            udpai_session_closed(session, NULL);
        drop_inbox(end);
        begin_close(other_end(end), node->world, latency_us(node->world, stream));
        stream->n_events--;
        free_if_done(stream);
    }
}

/* ---- reading and writing ---- */

static void
deliver(sim_end *end)
{
    if (!end->is_reading || end->is_closing)
        return;
    udpai_list *at = udpai_list_pop(&end->inbox);
    if (!at)
        return;
    struct sim_message *message = UDPAI_LIST_ENTRY(at, struct sim_message, node);
    sim_node *node = end->node;
    if (!end->stream->protocol)
        sim_watch(other_end(end)->node, node, end == &end->stream->ends[0], message->bytes);
    if (message->number < node->world->latest_delivered)
        node->world->counts[SIM_REORDERS]++;
    else
        node->world->latest_delivered = message->number;
    sim_side *side = end->side;
    sim_hub_begin(side);
    udpai_session_receive(end->session, udpai_bytes_view(message->bytes));
    sim_hub_end(side);
    udpa_bytes_unref(message->bytes);
    udpai_free(message);
}

static void
written(sim_end *end)
{
    if (end->is_closing)
        return;
    sim_side *side = end->side;
    end->is_writing = false;
    sim_hub_begin(side);
    udpai_session_written(end->session);
    sim_hub_end(side);
}

static udpa_bytes *
join(const udpai_outgoing *message)
{
    size_t size = message->tail_len;
    for (size_t i = 0; i < message->n_parts; i++)
        size += udpa_bytes_size(message->parts[i]);
    uint8_t *at;
    udpa_bytes *bytes = udpai_bytes_make(size, &at);
    if (!bytes)
        abort();
    for (size_t i = 0; i < message->n_parts; i++) {
        memcpy(at, udpa_bytes_data(message->parts[i]), udpa_bytes_size(message->parts[i]));
        at += udpa_bytes_size(message->parts[i]);
    }
    memcpy(at, message->tail, message->tail_len);
    return bytes;
}

static void
on_write(udpai_stream *stream, const udpai_outgoing *message)
{
    sim_end *end = (sim_end *)stream, *peer = other_end(end);
    sim_world *world = end->node->world;
    if (end->is_writing)
        abort(); /* the hub broke its word: one message at a time */
    end->is_writing = true;
    uint64_t arrival = world->now_us + latency_us(world, end->stream);
    if (arrival <= peer->last_arrival_us)
        arrival = peer->last_arrival_us + 1;
    if (peer->node && !peer->is_closing) {
        struct sim_message *sent = udpai_alloc(sizeof(*sent));
        if (!sent)
            abort();
        sent->bytes = join(message);
        sent->number = ++world->n_sent;
        udpai_list_init(&sent->node);
        udpai_list_append(&peer->inbox, &sent->node);
        peer->last_arrival_us = arrival;
        world->counts[SIM_DELAYS] += is_slow(world, end->stream);
        end_after(peer, world, arrival - world->now_us, deliver);
    }
    end_after(end, world, sim_below(&world->random, 3000), written);
}

static void
on_set_reading(udpai_stream *stream, bool reading)
{
    sim_end *end = (sim_end *)stream;
    sim_world *world = end->node->world;
    end->is_reading = reading;
    if (!reading) {
        world->counts[SIM_PAUSES]++;
        return;
    }
    uint64_t delay = 0; /* what could not be delivered meanwhile comes now */
    UDPAI_LIST_FOREACH (at, &end->inbox)
        end_after(end, world, delay++, deliver);
}

static void
on_finish(udpai_stream *stream, const udpa_error *status)
{
    sim_end *end = (sim_end *)stream;
    sim_world *world = end->node->world;
    if (world->trace && status)
        fprintf(stderr, "%9llu %s finishes a stream: %s\n", (unsigned long long)sim_ms(world),
                end->node->id, udpa_error_message(status));
    begin_close(end, world, 1);
    begin_close(other_end(end), world, latency_us(world, end->stream));
}

static const udpai_stream_ops stream_ops = {on_write, on_set_reading, on_finish};

/* ---- dialling ---- */

struct dialling {
    sim_node *from, *to;
    unsigned epoch;
    uint64_t link;
    bool is_source;
};

static void
init_end(sim_stream *stream, size_t index, sim_side *side)
{
    sim_end *end = &stream->ends[index];
    sim_node *node = side->node;
    end->stream = stream;
    end->node = node;
    end->side = side;
    end->epoch = node->epoch;
    end->is_reading = true;
    udpai_list_init(&end->inbox);
    udpai_list_init(&end->in_node);
    udpai_list_append(&node->streams, &end->in_node);
}

static udpa_err
begin_session(sim_end *end, udpai_stream_info *info, bool dialled)
{
    const sim_protocol *protocol = end->stream->protocol;
    if (!protocol)
        return udpai_udpa_session_new(&end->session, end->side->hub, info);
    return (dialled ? protocol->dialled : protocol->accepted)(end->side, &end->session, info);
}

static void
open_session(sim_end *end, const struct dialling *dialling, bool dialled)
{
    sim_side *side = end->side;
    udpai_stream_info info = {
        .stream = (udpai_stream *)end,
        .ops = &stream_ops,
        .identity = dialled ? dialling->to->identity : dialling->from->identity,
        .link = dialled ? dialling->link : 0,
        .is_source = dialled && dialling->is_source,
    };
    sim_hub_begin(side);
    if (begin_session(end, &info, dialled) != UDPA_OK)
        abort();
    sim_hub_end(side);
}

static void
connect(const struct dialling *dialling)
{
    sim_stream *stream = udpai_alloc(sizeof(*stream));
    if (!stream)
        abort();
    udpai_list_init(&stream->in_world);
    udpai_list_append(&dialling->from->world->streams, &stream->in_world);
    stream->n_events = 1;
    stream->opened_us = dialling->from->world->now_us;
    stream->protocol = dialling->from->dials ? dialling->from->dials : dialling->to->speaks;
    init_end(stream, 0, &dialling->from->sides[0]);
    init_end(stream, 1, sim_accepting_side(dialling->to));
    open_session(&stream->ends[0], dialling, true);
    open_session(&stream->ends[1], dialling, false);
    dialling->from->world->counts[SIM_CONNECTS]++;
    dialling->from->world->counts[SIM_TO_WORKERS] += stream->ends[1].side->number > 0;
    stream->n_events--;
}

static bool
are(const sim_pair *pair, const sim_node *x, const sim_node *y)
{
    return (pair->a == x && pair->b == y) || (pair->a == y && pair->b == x);
}

static bool
is_partitioned(const sim_world *world, const sim_node *x, const sim_node *y)
{
    for (size_t i = 0; i < world->partitioned.n; i++)
        if (are(&world->partitioned.items[i], x, y))
            return true;
    return false;
}

static void
end_dial(sim_world *world, void *userdata)
{
    struct dialling *dialling = userdata;
    sim_node *from = dialling->from, *name = dialling->to;
    bool is_void = !from->is_up || from->epoch != dialling->epoch;
    sim_node *to = name->stands_for && !is_void ? name->stands_for(name, from) : name;
    bool reachable = to && to->is_serving && !is_partitioned(world, from, to);
    dialling->to = to;
    if (!is_void && reachable) {
        connect(dialling);
    } else if (!is_void && !dialling->link) {
        world->counts[SIM_DIALS_FAILED]++;
        from->not_reached(from);
    } else if (!is_void) {
        world->counts[SIM_DIALS_FAILED]++;
        udpai_report *report = udpai_report_new(UDPAI_REPORT_CLOSED);
        if (!report)
            abort();
        report->link = dialling->link;
        report->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "cannot reach %s", name->id);
        sim_report(&from->sides[0], report);
    }
    udpai_free(dialling);
}

static void
dial(sim_node *from, sim_node *to, uint64_t link, bool is_source)
{
    struct dialling *dialling = udpai_alloc(sizeof(*dialling));
    if (!dialling)
        abort();
    *dialling = (struct dialling){from, to, from->epoch, link, is_source};
    sim_after(from->world, latency_us(from->world, NULL), end_dial, dialling);
}

void
sim_on_dial(void *userdata, udpai_order *order)
{
    sim_side *side = userdata;
    dial(side->node, order->target, order->link, order->is_source);
    udpai_order_free(order);
}

void
sim_dial(sim_node *from, sim_node *to)
{
    dial(from, to, 0, false);
}

void
sim_on_stop_dialling(void *side, uint64_t link)
{
    /* The attempt ends by itself; its session, if one comes of it, is hung up on then. */
    (void)side;
    (void)link;
}

static void *
ref_target(void *target)
{
    return target;
}

static void
release_target(void *target)
{
    (void)target;
}

void
sim_target(sim_node *node, udpai_source_config *config)
{
    config->target = node;
    config->ref_target = ref_target;
    config->release_target = release_target;
    config->address = udpai_str_from(node->id);
}

static void
unite(sim_world *world, const sim_node *a, const sim_node *b)
{
    for (size_t i = world->partitioned.n; i-- > 0;)
        if (are(&world->partitioned.items[i], a, b))
            udpai_vector_remove_unordered(&world->partitioned, i);
}

void
sim_set_partition(sim_world *world, const sim_node *a, const sim_node *b, bool partitioned)
{
    const sim_pair pair = {a, b};
    unite(world, a, b);
    if (!partitioned)
        return;
    if (!udpai_vector_push(&world->partitioned, pair))
        abort();
    world->counts[SIM_PARTITIONS]++;
    UDPAI_LIST_FOREACH_SAFE (at, &world->streams) {
        sim_stream *stream = UDPAI_LIST_ENTRY(at, sim_stream, in_world);
        const sim_node *x = stream->ends[0].node, *y = stream->ends[1].node;
        if (x && y && are(&pair, x, y))
            cut(world, stream);
    }
}
