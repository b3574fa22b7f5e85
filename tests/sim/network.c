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
    unsigned epoch;
    udpai_session *session; /* NULL: closed */
    udpai_list inbox;       /* messages that have arrived, or are under way, in order */
    uint64_t last_arrival_us;
    bool is_reading, is_closing, is_writing;
};

struct sim_stream {
    udpai_list in_world;
    sim_end ends[2];   /* 0: the one that dialled */
    unsigned n_events; /* that still point here */
};

/* ---- latency ---- */

static bool
is_slow(const sim_world *world)
{
    return world->now_us < world->slow_until_us;
}

static uint64_t
latency_us(sim_world *world)
{
    return 50 + sim_below(&world->random, is_slow(world) ? 400000 : 4000);
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
    sim_node *node = end->node;
    udpai_list_remove(&end->in_node);
    end->node = NULL;
    udpa_error *error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "the stream was cut");
    sim_hub_begin(node);
    udpai_session_closed(session, error);
    sim_hub_end(node);
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
        begin_close(&stream->ends[i], world, latency_us(world));
    }
}

bool
sim_cut_something(sim_world *world)
{
    size_t n = 0;
    UDPAI_LIST_FOREACH (at, &world->streams)
        n++;
    if (n == 0)
        return false;
    size_t chosen = sim_below(&world->random, n);
    UDPAI_LIST_FOREACH (at, &world->streams) {
        if (chosen-- == 0) {
            cut(world, UDPAI_LIST_ENTRY(at, sim_stream, in_world));
            world->counts[SIM_CUTS]++;
            return true;
        }
    }
    return false;
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
        begin_close(other_end(end), node->world, latency_us(node->world));
        stream->n_events--;
        free_if_done(stream);
    }
}

/* ---- showing ---- */

static void
show_subscription(const char *kind, const udpai_subscription_message *message)
{
    fprintf(stderr, " %s %.*s in '%.*s':", kind, (int)message->type_url.len, message->type_url.data,
            (int)message->name_space.len, message->name_space.data);
    for (size_t i = 0; i < message->n_names; i++)
        fprintf(stderr, " '%.*s'", (int)message->names[i].len, message->names[i].data);
    fprintf(stderr, " holds %zu %zu", message->n_versions, message->n_digests);
}

static void
show_publication(const udpai_publication *publication)
{
    fprintf(stderr, " publish%s%s %.*s:", publication->complete ? " complete" : "",
            publication->state_of_the_world ? " state" : "", (int)publication->type_url.len,
            publication->type_url.data);
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpa_resource *resource = publication->entries.items[i].resource;
        fprintf(stderr, " %s%s@%s#%llu", publication->entries.items[i].is_refresh ? "~" : "+",
                udpa_resource_name(resource), udpa_resource_authority(resource),
                (unsigned long long)udpa_resource_generation(resource) % 100000000);
        for (size_t k = 0; k < udpa_resource_n_hops(resource); k++)
            fprintf(stderr, "/%s", udpai_resource_hop(resource, k).node_id.data);
    }
    for (size_t i = 0; i < publication->removals.n; i++)
        fprintf(stderr, " -%s", publication->removals.items[i].name.data);
}

static void
sim_show_message(const udpai_message *message)
{
    switch (message->kind) {
    case UDPAI_MESSAGE_SUBSCRIBE:
        show_subscription("subscribe", &message->subscription);
        break;
    case UDPAI_MESSAGE_UNSUBSCRIBE:
        show_subscription("unsubscribe", &message->subscription);
        break;
    case UDPAI_MESSAGE_SUBSCRIPTION_ERROR:
        show_subscription("subscription error", &message->subscription);
        break;
    case UDPAI_MESSAGE_PUBLISH:
        show_publication(message->publication);
        break;
    case UDPAI_MESSAGE_RECEIPT:
        fprintf(stderr, " receipt");
        break;
    default:
        break;
    }
}

/* ---- reading and writing ---- */

static void
count_publication(sim_world *world, const udpai_publication *publication)
{
    world->counts[SIM_PUBLISHES]++;
    world->counts[SIM_COMPLETES] += publication->complete;
    world->counts[SIM_REMOVALS] += publication->removals.n;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        world->counts[SIM_REFRESHES] += entry->is_refresh;
        world->counts[SIM_NODES] +=
            udpai_str_eq(udpai_resource_type_url(entry->resource), UDPAI_STR(UDPAI_TYPE_NODE));
    }
}

static void
count_message(sim_world *world, const udpai_message *message)
{
    switch (message->kind) {
    case UDPAI_MESSAGE_SUBSCRIBE:
        world->counts[SIM_SUBSCRIBES]++;
        break;
    case UDPAI_MESSAGE_UNSUBSCRIBE:
        world->counts[SIM_UNSUBSCRIBES]++;
        break;
    case UDPAI_MESSAGE_SUBSCRIPTION_ERROR:
        world->counts[SIM_SUBSCRIPTION_ERRORS]++;
        break;
    case UDPAI_MESSAGE_PUBLISH:
        count_publication(world, message->publication);
        break;
    case UDPAI_MESSAGE_RECEIPT:
        world->counts[message->receipt.n_statuses ? SIM_RECEIPTS_REFUSED : SIM_RECEIPTS_OK]++;
        break;
    default:
        break;
    }
}

static void
show(const sim_end *end, const udpai_message *message)
{
    const sim_end *from = other_end((sim_end *)(uintptr_t)end);
    fprintf(stderr, "%9llu %s -> %s:", (unsigned long long)sim_ms(end->node->world),
            from->node ? from->node->id : "?", end->node->id);
    sim_show_message(message);
    fprintf(stderr, "\n");
}

static void
look_at(const sim_end *end, const struct sim_message *sent)
{
    sim_world *world = end->node->world;
    udpai_message message = {0};
    udpa_error *error = NULL;
    if (udpai_message_decode(&world->decoder, udpai_bytes_view(sent->bytes), true, &message,
                             &error) != UDPA_OK) {
        fprintf(stderr, "FAIL: %s is sent what cannot be read: %s\n", end->node->id,
                udpa_error_message(error));
        exit(EXIT_FAILURE);
    }
    count_message(world, &message);
    if (world->trace)
        show(end, &message);
    udpai_message_done(&message);
    if (sent->number < world->latest_delivered)
        world->counts[SIM_REORDERS]++;
    else
        world->latest_delivered = sent->number;
}

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
    look_at(end, message);
    sim_hub_begin(node);
    udpai_session_receive(end->session, udpai_bytes_view(message->bytes));
    sim_hub_end(node);
    udpa_bytes_unref(message->bytes);
    udpai_free(message);
}

static void
written(sim_end *end)
{
    if (end->is_closing)
        return;
    sim_node *node = end->node;
    end->is_writing = false;
    sim_hub_begin(node);
    udpai_session_written(end->session);
    sim_hub_end(node);
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
    uint64_t arrival = world->now_us + latency_us(world);
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
        world->counts[SIM_DELAYS] += is_slow(world);
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
    begin_close(other_end(end), world, latency_us(world));
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
init_end(sim_stream *stream, size_t index, sim_node *node)
{
    sim_end *end = &stream->ends[index];
    end->stream = stream;
    end->node = node;
    end->epoch = node->epoch;
    end->is_reading = true;
    udpai_list_init(&end->inbox);
    udpai_list_init(&end->in_node);
    udpai_list_append(&node->streams, &end->in_node);
}

static void
open_session(sim_end *end, const struct dialling *dialling, bool dialled)
{
    sim_node *node = end->node;
    udpai_stream_info info = {
        .stream = (udpai_stream *)end,
        .ops = &stream_ops,
        .link = dialled ? dialling->link : 0,
        .is_source = dialled && dialling->is_source,
    };
    sim_hub_begin(node);
    if (udpai_udpa_session_new(&end->session, node->hub, &info) != UDPA_OK)
        abort();
    sim_hub_end(node);
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
    init_end(stream, 0, dialling->from);
    init_end(stream, 1, dialling->to);
    open_session(&stream->ends[0], dialling, true);
    open_session(&stream->ends[1], dialling, false);
    dialling->from->world->counts[SIM_CONNECTS]++;
    stream->n_events--;
}

static void
end_dial(sim_world *world, void *userdata)
{
    struct dialling *dialling = userdata;
    sim_node *from = dialling->from, *to = dialling->to;
    bool is_void = !from->is_up || from->epoch != dialling->epoch;
    bool reachable =
        to->is_up && !world->partitioned[from->index * world->partition_stride + to->index];
    if (!is_void && reachable) {
        connect(dialling);
    } else if (!is_void) {
        world->counts[SIM_DIALS_FAILED]++;
        udpai_report *report = udpai_report_new(UDPAI_REPORT_CLOSED);
        if (!report)
            abort();
        report->link = dialling->link;
        report->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "cannot reach %s", to->id);
        sim_report(from, report);
    }
    udpai_free(dialling);
}

void
sim_on_dial(void *userdata, udpai_order *order)
{
    sim_node *node = userdata;
    struct dialling *dialling = udpai_alloc(sizeof(*dialling));
    if (!dialling)
        abort();
    *dialling = (struct dialling){node, order->target, node->epoch, order->link, order->is_source};
    udpai_order_free(order);
    sim_after(node->world, latency_us(node->world), end_dial, dialling);
}

void
sim_on_stop_dialling(void *node, uint64_t link)
{
    /* The attempt ends by itself; its session, if one comes of it, is hung up on then. */
    (void)node;
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

void
sim_set_partition(sim_world *world, const sim_node *a, const sim_node *b, bool partitioned)
{
    world->partitioned[a->index * world->partition_stride + b->index] = partitioned;
    world->partitioned[b->index * world->partition_stride + a->index] = partitioned;
    if (!partitioned)
        return;
    world->counts[SIM_PARTITIONS]++;
    UDPAI_LIST_FOREACH_SAFE (at, &world->streams) {
        sim_stream *stream = UDPAI_LIST_ENTRY(at, sim_stream, in_world);
        const sim_node *x = stream->ends[0].node, *y = stream->ends[1].node;
        if ((x == a && y == b) || (x == b && y == a))
            cut(world, stream);
    }
}
