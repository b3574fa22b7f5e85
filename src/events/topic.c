/* SPDX-License-Identifier: Apache-2.0 */
#include "events/topic.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "events/topic_internal.h"

#define LOG "sinks"

static void on_timer(udpai_timer *timer);

udpa_err
udpai_topic_new(udpai_topic **ret_topic, const udpai_topic_options *options)
{
    udpai_topic *topic = udpai_alloc(sizeof(*topic));
    if (!topic)
        return UDPA_ERR_NOMEM;
    topic->kind = options->kind;
    topic->begun_us = options->begun_us;
    topic->max_entries = options->max_entries ? options->max_entries : UDPAI_TOPIC_ENTRIES_DEFAULT;
    topic->max_bytes = options->max_bytes ? options->max_bytes : UDPAI_TOPIC_BYTES_DEFAULT;
    udpai_list_init(&topic->entries);
    udpai_list_init(&topic->followers);
    topic->next = &topic->entries;
    udpai_topic_clients_init(topic);
    udpai_timer_init(&topic->timer, on_timer);
    atomic_init(&topic->is_writing, false);
    *ret_topic = topic;
    return UDPA_OK;
}

udpai_event_kind
udpai_topic_kind(const udpai_topic *topic)
{
    return topic->kind;
}

uint64_t
udpai_topic_begun_us(const udpai_topic *topic)
{
    return topic->begun_us;
}

void
udpai_topic_set_writer(udpai_topic *topic,
                       void (*write)(void *userdata, udpai_event_batch *batch),
                       void *userdata)
{
    topic->write = write;
    topic->userdata = userdata;
}

/* ---- counting ---- */

static void
count(atomic_uint_fast64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

static void
count_held(udpai_topic *topic)
{
    atomic_store_explicit(&topic->counters.n_held, topic->n, memory_order_relaxed);
    atomic_store_explicit(&topic->counters.held_bytes, topic->bytes, memory_order_relaxed);
}

static uint64_t
read_counter(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void
udpai_topic_facts_get(const udpai_topic *topic, udpai_topic_facts *ret_facts)
{
    const udpai_topic_counters *counters = &topic->counters;
    *ret_facts = (udpai_topic_facts){
        .n_accepted = read_counter(&counters->n_accepted),
        .n_bytes = read_counter(&counters->n_bytes),
        .n_dropped = read_counter(&counters->n_dropped),
        .n_refused = read_counter(&counters->n_refused),
        .n_clients = read_counter(&counters->n_clients),
        .n_held = read_counter(&counters->n_held),
        .held_bytes = read_counter(&counters->held_bytes),
        .n_written = read_counter(&counters->n_written),
        .n_failed = read_counter(&counters->n_failed),
        .n_readers = read_counter(&counters->n_readers),
        .n_missed = read_counter(&counters->n_missed),
    };
}

void
udpai_topic_count_others(udpai_topic *topic, const udpai_topic_facts *more)
{
    if (!topic->has_others)
        atomic_store_explicit(&topic->counters.n_clients, 0, memory_order_relaxed);
    topic->has_others = true;
    count(&topic->counters.n_clients, more->n_clients);
    count(&topic->counters.n_dropped, more->n_dropped);
    count(&topic->counters.n_refused, more->n_refused);
    count(&topic->counters.n_missed, more->n_missed);
}

void
udpai_topic_lose(udpai_topic *topic, uint64_t n)
{
    topic->last_sequence += n;
}

void
udpai_topic_refused(udpai_topic *topic)
{
    count(&topic->counters.n_refused, 1);
}

void
udpai_topic_written(udpai_topic *topic, size_t n_lines, size_t n_failed)
{
    count(&topic->counters.n_written, n_lines);
    count(&topic->counters.n_failed, n_failed);
    atomic_store_explicit(&topic->is_writing, false, memory_order_release);
}

/* ---- the ring ---- */

static udpai_topic_entry *
entry_of(udpai_list *node)
{
    return UDPAI_LIST_ENTRY(node, udpai_topic_entry, node);
}

/* A follower that was about to read it goes on with the next one, and will see that it is missing.
 */
static void
remove_entry(udpai_topic *topic, udpai_topic_entry *entry)
{
    udpai_list *next = entry->node.next;
    if (topic->next == &entry->node)
        topic->next = next;
    UDPAI_LIST_FOREACH (node, &topic->followers) {
        udpai_topic_follower *follower = UDPAI_LIST_ENTRY(node, udpai_topic_follower, node);
        if (follower->at == &entry->node)
            follower->at = next;
    }
    topic->n--;
    topic->bytes -= udpa_bytes_size(entry->event->message);
    udpai_list_remove(&entry->node);
    if (entry->client)
        udpai_topic_client_remove(topic, entry);
    udpai_event_unref(entry->event);
    udpai_free(entry);
}

static void
log_dropped(udpai_topic *topic, udpai_topic_client *client)
{
    unsigned n_suppressed;
    client->n_dropped++;
    count(&topic->counters.n_dropped, 1);
    if (!udpai_log_allow(&topic->log, topic->wheel->now_ms, &n_suppressed))
        return;
    udpai_str name = udpai_bytes_view(client->name);
    udpai_log_about(
        UDPA_LOG_WARNING, LOG, UDPAI_ABOUT({UDPAI_LOG_PEER, name}),
        "%s: client '%.*s' streams more than can be kept: %llu of its messages were dropped so far "
        "(%u more not shown)",
        udpai_event_facts_of(topic->kind)->word, UDPAI_SHOWN(name),
        (unsigned long long)client->n_dropped, n_suppressed);
}

static void
drop_one(udpai_topic *topic)
{
    udpai_topic_entry *oldest = entry_of(topic->entries.next);
    if (oldest->client) { /* so all of it waits */
        udpai_topic_client *client = udpai_topic_heaviest(topic);
        oldest = UDPAI_LIST_ENTRY(client->waiting.next, udpai_topic_entry, in_client);
        log_dropped(topic, client);
    }
    remove_entry(topic, oldest);
}

udpai_topic *
udpai_topic_free(udpai_topic *topic)
{
    if (!topic)
        return NULL;
    udpai_timer_cancel(&topic->timer);
    while (!udpai_list_empty(&topic->entries))
        remove_entry(topic, entry_of(topic->entries.next));
    udpai_map_done(&topic->clients);
    udpai_free(topic);
    return NULL;
}

/* ---- handing over ---- */

udpai_event_batch *
udpai_event_batch_free(udpai_event_batch *batch)
{
    if (!batch)
        return NULL;
    for (size_t i = 0; i < batch->n; i++)
        udpai_event_unref(batch->events[i]);
    udpai_free(batch);
    return NULL;
}

static size_t
size_of_batch(const udpai_topic *topic)
{
    size_t n = 0, bytes = 0;
    for (udpai_list *at = topic->next; at != &topic->entries && n < UDPAI_TOPIC_BATCH_EVENTS;
         at = at->next) {
        bytes += udpa_bytes_size(entry_of(at)->event->message);
        if (n && bytes > UDPAI_TOPIC_BATCH_BYTES)
            break;
        n++;
    }
    return n;
}

/* The first that waits does not any more. */
static udpai_event *
take_next(udpai_topic *topic)
{
    udpai_topic_entry *entry = entry_of(topic->next);
    topic->next = entry->node.next;
    udpai_topic_client_remove(topic, entry);
    return entry->event;
}

/* Without memory it waits until the next time. */
static void
write_batch(udpai_topic *topic)
{
    size_t n = size_of_batch(topic);
    udpai_event_batch *batch = udpai_alloc(sizeof(*batch) + n * sizeof(batch->events[0]));
    if (!batch)
        return;
    udpai_list_init(&batch->node);
    batch->topic = topic;
    while (batch->n < n)
        batch->events[batch->n++] = udpai_event_ref(take_next(topic));
    atomic_store_explicit(&topic->is_writing, true, memory_order_relaxed);
    topic->write(topic->userdata, batch);
}

static bool
is_waiting(const udpai_topic *topic)
{
    return topic->next != &topic->entries;
}

/* Now, or when it may be. */
static void
hand_over(udpai_topic *topic)
{
    bool may_write =
        topic->write && !atomic_load_explicit(&topic->is_writing, memory_order_acquire);
    if (may_write && is_waiting(topic))
        write_batch(topic);
    if (is_waiting(topic) && !udpai_timer_is_set(&topic->timer))
        udpai_timer_set(topic->wheel, &topic->timer,
                        topic->wheel->now_ms +
                            (topic->write ? UDPAI_TOPIC_LOOK_MS : UDPAI_TOPIC_TURN_MS));
}

static void
on_timer(udpai_timer *timer)
{
    udpai_topic *topic = UDPAI_CONTAINER_OF(timer, udpai_topic, timer);
    while (!topic->write && is_waiting(topic))
        (void)take_next(topic);
    hand_over(topic);
}

void
udpai_topic_flush(udpai_topic *topic)
{
    udpai_timer_init(&topic->timer, on_timer); /* its wheel has ended with the thread */
    while (topic->write && is_waiting(topic)) {
        udpai_list *first = topic->next;
        write_batch(topic);
        if (topic->next == first)
            return; /* there is no memory */
    }
}

void
udpai_topic_stop(udpai_topic *topic)
{
    udpai_timer_cancel(&topic->timer);
    topic->write = NULL;
}

/* ---- adding ---- */

/* Takes the event; NULL: none. */
static udpai_topic_entry *
make_entry(udpai_event *event)
{
    udpai_topic_entry *entry = event ? udpai_alloc(sizeof(*entry)) : NULL;
    if (!entry) {
        udpai_event_unref(event);
        return NULL;
    }
    udpai_list_init(&entry->node);
    udpai_list_init(&entry->in_client);
    entry->event = event;
    return entry;
}

/* Makes room for it, at the end. */
static void
append(udpai_topic *topic, udpai_topic_entry *entry)
{
    size_t size = udpa_bytes_size(entry->event->message);
    while (topic->n >= topic->max_entries || topic->bytes + size > topic->max_bytes)
        drop_one(topic);
    udpai_list_append(&topic->entries, &entry->node);
    topic->n++;
    topic->bytes += size;
    count(&topic->counters.n_accepted, 1);
    count(&topic->counters.n_bytes, size);
}

static void
wake_followers(udpai_topic *topic, udpai_topic_entry *added)
{
    UDPAI_LIST_FOREACH (node, &topic->followers) {
        udpai_topic_follower *follower = UDPAI_LIST_ENTRY(node, udpai_topic_follower, node);
        if (follower->at != &topic->entries)
            continue;
        follower->at = &added->node;
        follower->wake(follower);
    }
}

udpa_err
udpai_topic_add(udpai_topic *topic,
                udpai_topic_stream *stream,
                udpai_event_source *source,
                udpa_bytes *message,
                int64_t time_us)
{
    size_t size = udpa_bytes_size(message);
    if (size > topic->max_bytes)
        return UDPA_ERR_LIMIT;
    udpai_topic_entry *entry = make_entry(udpai_event_new(source, message));
    if (!entry)
        return UDPA_ERR_NOMEM;
    append(topic, entry);
    entry->event->sequence = ++topic->last_sequence;
    entry->event->time_us = time_us;
    entry->client = stream->client;
    if (!is_waiting(topic))
        topic->next = &entry->node;
    udpai_topic_client_add(topic, entry);
    wake_followers(topic, entry);
    hand_over(topic);
    count_held(topic);
    return UDPA_OK;
}

/* ---- copies ---- */

void
udpai_topic_make_copy(udpai_topic *topic,
                      void (*demand_changed)(void *userdata, udpai_topic *topic, bool subscribed),
                      void *userdata)
{
    topic->is_stale = true;
    topic->demand_changed = demand_changed;
    topic->demand_userdata = userdata;
}

void
udpai_topic_end_copy(udpai_topic *topic)
{
    topic->demand_changed = NULL;
}

void
udpai_topic_expect(udpai_topic *topic, uint64_t sequence)
{
    UDPAI_LIST_FOREACH (node, &topic->followers) {
        udpai_topic_follower *follower = UDPAI_LIST_ENTRY(node, udpai_topic_follower, node);
        if (follower->expected == 0)
            follower->expected = sequence;
    }
}

udpa_err
udpai_topic_put(udpai_topic *topic, udpai_event *event)
{
    if (event->sequence <= topic->last_sequence ||
        udpa_bytes_size(event->message) > topic->max_bytes)
        return UDPA_OK;
    udpai_topic_entry *entry = make_entry(udpai_event_ref(event));
    if (!entry)
        return UDPA_ERR_NOMEM;
    append(topic, entry);
    topic->last_sequence = event->sequence;
    wake_followers(topic, entry);
    count_held(topic);
    return UDPA_OK;
}

void
udpai_topic_set_current(udpai_topic *topic, bool is_current, uint64_t begun_us)
{
    bool was_stale = topic->is_stale;
    topic->is_stale = !is_current;
    if (begun_us)
        topic->begun_us = begun_us;
    UDPAI_LIST_FOREACH (node, &topic->followers) {
        udpai_topic_follower *follower = UDPAI_LIST_ENTRY(node, udpai_topic_follower, node);
        if (was_stale && is_current)
            follower->wake(follower);
    }
}

bool
udpai_topic_is_current(const udpai_topic *topic)
{
    return !topic->is_stale;
}

/* ---- followers ---- */

static void
count_followers(udpai_topic *topic, size_t n)
{
    bool is_news = (n == 0) != (topic->n_followers == 0);
    topic->n_followers = n;
    atomic_store_explicit(&topic->counters.n_readers, n, memory_order_relaxed);
    if (is_news && topic->demand_changed)
        topic->demand_changed(topic->demand_userdata, topic, n > 0);
}

udpa_err
udpai_topic_follow(udpai_topic *topic, udpai_topic_follower *follower)
{
    if (topic->n_followers >= UDPAI_TOPIC_FOLLOWERS_MAX)
        return UDPA_ERR_LIMIT;
    count_followers(topic, topic->n_followers + 1);
    follower->at = topic->entries.next;
    if (follower->at != &topic->entries)
        follower->expected = entry_of(follower->at)->event->sequence;
    else
        follower->expected = topic->is_stale ? 0 : topic->last_sequence + 1;
    udpai_list_init(&follower->node);
    udpai_list_append(&topic->followers, &follower->node);
    return UDPA_OK;
}

void
udpai_topic_skip(const udpai_topic *topic, udpai_topic_follower *follower, uint64_t sequence)
{
    if (sequence > topic->last_sequence)
        return;
    while (follower->at != &topic->entries && entry_of(follower->at)->event->sequence <= sequence)
        follower->at = follower->at->next;
    follower->expected = sequence + 1;
}

bool
udpai_topic_follower_is_done(const udpai_topic *topic, const udpai_topic_follower *follower)
{
    return follower->at == &topic->entries;
}

uint64_t
udpai_topic_last(const udpai_topic *topic)
{
    return topic->last_sequence;
}

void
udpai_topic_unfollow(udpai_topic *topic, udpai_topic_follower *follower)
{
    if (!follower->at)
        return;
    follower->at = NULL;
    udpai_list_remove(&follower->node);
    count_followers(topic, topic->n_followers - 1);
}

const udpai_event *
udpai_topic_next(udpai_topic *topic, udpai_topic_follower *follower, uint64_t *ret_n_lost)
{
    *ret_n_lost = 0;
    if (follower->at == &topic->entries)
        return NULL; /* the last one that was added is always held */
    const udpai_event *event = entry_of(follower->at)->event;
    *ret_n_lost = event->sequence - follower->expected;
    count(&topic->counters.n_missed, *ret_n_lost);
    follower->expected = event->sequence + 1;
    follower->at = follower->at->next;
    return event;
}
