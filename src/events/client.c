/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of a topic, and what each has of the ring. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "events/topic_internal.h"

#define PARTS ((uint64_t)1 << 20) /* of the ring */

static udpai_str
name_key(const void *item)
{
    return udpai_bytes_view(((const udpai_topic_client *)item)->name);
}

void
udpai_topic_clients_init(udpai_topic *topic)
{
    udpai_map_init(&topic->clients, name_key);
    for (size_t i = 0; i < UDPAI_TOPIC_BUCKETS; i++)
        udpai_list_init(&topic->buckets[i]);
}

/* ---- shares ---- */

static size_t
bucket_of(const udpai_topic *topic, const udpai_topic_client *client)
{
    uint64_t entries = client->n * PARTS / topic->max_entries;
    uint64_t bytes = client->bytes * PARTS / topic->max_bytes;
    uint64_t part = entries > bytes ? entries : bytes;
    size_t bucket = 0;
    while (part >>= 1)
        bucket++;
    return udpai_min_size(bucket, UDPAI_TOPIC_BUCKETS - 1);
}

static void
leave_bucket(udpai_topic *topic, udpai_topic_client *client)
{
    udpai_list *next = client->in_bucket.next;
    if (!udpai_list_linked(&client->in_bucket))
        return;
    udpai_list_remove(&client->in_bucket);
    if (udpai_list_empty(next)) /* then it is the head */
        topic->occupied &= ~(1U << (next - topic->buckets));
}

static void
choose_bucket(udpai_topic *topic, udpai_topic_client *client)
{
    leave_bucket(topic, client);
    if (client->n == 0)
        return;
    size_t bucket = bucket_of(topic, client);
    udpai_list_append(&topic->buckets[bucket], &client->in_bucket);
    topic->occupied |= 1U << bucket;
}

udpai_topic_client *
udpai_topic_heaviest(const udpai_topic *topic)
{
    size_t bucket = 31 - (size_t)__builtin_clz(topic->occupied);
    return UDPAI_LIST_ENTRY(topic->buckets[bucket].next, udpai_topic_client, in_bucket);
}

/* Has it more waiting than one part of so many of its share? */
static bool
has_more_than(const udpai_topic *topic, const udpai_topic_client *client, size_t parts)
{
    size_t n_sharing = udpai_max_size(topic->n_connected, 1) * parts;
    return client->n > topic->max_entries / n_sharing ||
           client->bytes > topic->max_bytes / n_sharing;
}

static void
set_paused(udpai_topic_client *client, bool is_paused)
{
    client->is_paused = is_paused;
    UDPAI_LIST_FOREACH (node, &client->streams) {
        udpai_topic_stream *stream = UDPAI_LIST_ENTRY(node, udpai_topic_stream, node);
        stream->pause(stream, is_paused);
    }
}

static void
consider_pause(const udpai_topic *topic, udpai_topic_client *client)
{
    if (!client->is_paused && client->n && has_more_than(topic, client, 2))
        set_paused(client, true);
    else if (client->is_paused && (client->n == 0 || !has_more_than(topic, client, 4)))
        set_paused(client, false);
}

/* ---- coming and going ---- */

static void
free_if_unused(udpai_topic *topic, udpai_topic_client *client)
{
    if (client->n || !udpai_list_empty(&client->streams))
        return;
    udpai_map_remove(&topic->clients, name_key(client));
    udpa_bytes_unref(client->name);
    udpai_free(client);
}

void
udpai_topic_client_add(udpai_topic *topic, udpai_topic_entry *entry)
{
    udpai_topic_client *client = entry->client;
    udpai_list_append(&client->waiting, &entry->in_client);
    client->n++;
    client->bytes += udpa_bytes_size(entry->event->message);
    choose_bucket(topic, client);
    consider_pause(topic, client);
}

void
udpai_topic_client_remove(udpai_topic *topic, udpai_topic_entry *entry)
{
    udpai_topic_client *client = UDPAI_TAKE(entry->client);
    udpai_list_remove(&entry->in_client);
    client->n--;
    client->bytes -= udpa_bytes_size(entry->event->message);
    choose_bucket(topic, client);
    consider_pause(topic, client);
    free_if_unused(topic, client);
}

static udpai_topic_client *
add_client(udpai_topic *topic, udpai_str name)
{
    udpai_topic_client *client = udpai_alloc(sizeof(*client));
    if (!client)
        return NULL;
    udpai_list_init(&client->waiting);
    udpai_list_init(&client->streams);
    udpai_list_init(&client->in_bucket);
    if (udpa_bytes_new(&client->name, name.data, name.len) == UDPA_OK &&
        udpai_map_add(&topic->clients, client))
        return client;
    udpa_bytes_unref(client->name);
    udpai_free(client);
    return NULL;
}

static void
count_connected(udpai_topic *topic, size_t n)
{
    topic->n_connected = n;
    if (!topic->has_others)
        atomic_store_explicit(&topic->counters.n_clients, n, memory_order_relaxed);
}

udpa_err
udpai_topic_join(udpai_topic *topic, udpai_wheel *wheel, udpai_str name, udpai_topic_stream *stream)
{
    udpai_topic_client *client = udpai_map_get(&topic->clients, name);
    if (!client)
        client = add_client(topic, name);
    if (!client)
        return UDPA_ERR_NOMEM;
    topic->wheel = wheel;
    if (udpai_list_empty(&client->streams))
        count_connected(topic, topic->n_connected + 1);
    udpai_list_init(&stream->node);
    udpai_list_append(&client->streams, &stream->node);
    stream->client = client;
    if (client->is_paused)
        stream->pause(stream, true);
    return UDPA_OK;
}

void
udpai_topic_leave(udpai_topic *topic, udpai_topic_stream *stream)
{
    udpai_topic_client *client = UDPAI_TAKE(stream->client);
    if (!client)
        return;
    udpai_list_remove(&stream->node);
    if (udpai_list_empty(&client->streams))
        count_connected(topic, topic->n_connected - 1);
    free_if_unused(topic, client);
}
