/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a subscriber to events. They come on the stream that has its configuration, whenever
 * there is nothing else to be sent, and are no part of the fan-out: of a topic it has a place in
 * the ring, and it is sent how many events were dropped from the ring before their turn. */
#include "session/udpa_internal.h"

#include "base/alloc.h"
#include "events/topics.h"
#include "model/name.h"

#define SUBSCRIPTIONS_MAX 256
/* Answers that wait for what was held when the question came. */
#define QUESTIONS_MAX 64

enum { /* field numbers of UdpaMessage and below */
    MESSAGE_PUBLISH = 3,
    PUBLISH_DELTA = 2,
    DELTA_RESOURCES = 1,
    DELTA_TYPE_URL = 5,
    RESOURCE_NAME = 1,
    RESOURCE_VERSION = 2,
    RESOURCE_ANY = 3,
    ANY_TYPE_URL = 1,
    ANY_VALUE = 2,
};

/* A name, or a prefix. */
typedef struct event_subscription {
    udpa_bytes *text;
    bool is_wildcard;
} event_subscription;

/* A topic, and the peer's place in it. */
typedef struct event_feed {
    udpai_topic_follower follower; /* first */
    udpai_udpa *udpa;
    udpai_topic *topic; /* NULL: it does not follow it */
    uint64_t head;      /* the last event there was when it subscribed */
    bool has_begun;     /* it was sent something */
} event_feed;

struct udpai_event_feeds {
    UDPAI_VECTOR(event_subscription) subscriptions;
    event_feed feeds[UDPAI_EVENT_KINDS];
    size_t turn;          /* the topic at which the search for the next event begins */
    udpai_list questions; /* udpai_control: answers, the oldest first */
    size_t n_questions;
    udpa_bytes *parts[2]; /* of what is being written; NULL: none */
};

static const udpai_topics *
topics_of(const udpai_udpa *udpa)
{
    return udpai_hub_settings(udpa->session.hub)->topics;
}

/* ---- what it follows ---- */

static void
on_wake(udpai_topic_follower *follower)
{
    udpai_session_ready(&UDPAI_CONTAINER_OF(follower, event_feed, follower)->udpa->session);
}

static bool
is_covered(const event_subscription *subscription, udpai_str name)
{
    udpai_str text = udpai_bytes_view(subscription->text);
    return subscription->is_wildcard ? udpai_prefix_covers(text, name) : udpai_str_eq(text, name);
}

static bool
is_subscribed(const udpai_udpa *udpa, udpai_str name)
{
    const udpai_event_feeds *feeds = udpa->events;
    const udpai_asked_for asked = {UDPAI_STR(UDPAI_TYPE_EVENT), name, false};
    for (size_t i = 0; i < feeds->subscriptions.n; i++)
        if (is_covered(&feeds->subscriptions.items[i], name))
            return udpai_session_may_ask(&udpa->session, udpa->peer, &asked);
    return false;
}

static udpa_err
begin_feed(event_feed *feed, udpai_topic *topic)
{
    udpa_err err = udpai_topic_follow(topic, &feed->follower);
    if (err != UDPA_OK)
        return err;
    feed->topic = topic;
    feed->has_begun = false;
    udpai_session_ready(&feed->udpa->session);
    return UDPA_OK;
}

static void
end_feed(event_feed *feed)
{
    if (feed->topic)
        udpai_topic_unfollow(feed->topic, &feed->follower);
    feed->topic = NULL;
}

/* Follows what the peer subscribes to and may see, and nothing else. UDPA_ERR_LIMIT: one of them
 * has too many followers. */
static udpa_err
follow(udpai_udpa *udpa)
{
    const udpai_topics *topics = topics_of(udpa);
    char room[UDPAI_TOPIC_NAME_ROOM];
    udpa_err result = UDPA_OK;
    for (size_t i = 0; topics && i < UDPAI_EVENT_KINDS; i++) {
        event_feed *feed = &udpa->events->feeds[i];
        udpai_topic *topic = udpai_hub_topic(udpa->session.hub, i);
        if (!topic)
            continue;
        bool subscribed =
            is_subscribed(udpa, udpai_topic_name(topics->node_id, (udpai_event_kind)i, room));
        if (!subscribed)
            end_feed(feed);
        udpa_err err = subscribed && !feed->topic ? begin_feed(feed, topic) : UDPA_OK;
        if (err != UDPA_OK)
            result = err;
    }
    return result;
}

/* ---- subscriptions ---- */

static udpai_event_feeds *
get_feeds(udpai_udpa *udpa)
{
    if (udpa->events)
        return udpa->events;
    udpai_event_feeds *feeds = udpai_alloc(sizeof(*feeds));
    if (!feeds)
        return NULL;
    udpai_list_init(&feeds->questions);
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++) {
        feeds->feeds[i].udpa = udpa;
        feeds->feeds[i].follower.wake = on_wake;
    }
    return udpa->events = feeds;
}

static size_t
find_subscription(const udpai_event_feeds *feeds, bool is_wildcard, udpai_str text)
{
    size_t i = 0;
    while (i < feeds->subscriptions.n &&
           (feeds->subscriptions.items[i].is_wildcard != is_wildcard ||
            !udpai_str_eq(udpai_bytes_view(feeds->subscriptions.items[i].text), text)))
        i++;
    return i;
}

static void
remove_subscription(udpai_event_feeds *feeds, size_t index)
{
    if (index >= feeds->subscriptions.n)
        return;
    udpa_bytes_unref(feeds->subscriptions.items[index].text);
    udpai_vector_remove_unordered(&feeds->subscriptions, index);
}

static udpa_err
add_subscription(udpai_event_feeds *feeds, bool is_wildcard, udpai_str text, udpa_error **ret_error)
{
    event_subscription subscription = {NULL, is_wildcard};
    if (feeds->subscriptions.n >= SUBSCRIPTIONS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "a stream has at most %d subscriptions to events: subscribe to a "
                          "namespace",
                          SUBSCRIPTIONS_MAX);
    udpa_err err = udpa_bytes_new(&subscription.text, text.data, text.len);
    if (err != UDPA_OK || udpai_vector_push(&feeds->subscriptions, subscription))
        return err;
    udpa_bytes_unref(subscription.text);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_udpa_subscribe_events(udpai_udpa *udpa,
                            bool is_wildcard,
                            udpai_str text,
                            udpa_error **ret_error)
{
    udpai_event_feeds *feeds = get_feeds(udpa);
    if (!feeds)
        return UDPA_ERR_NOMEM;
    if (find_subscription(feeds, is_wildcard, text) < feeds->subscriptions.n)
        return UDPA_OK;
    udpa_err err = add_subscription(feeds, is_wildcard, text, ret_error);
    if (err != UDPA_OK)
        return err;
    err = follow(udpa);
    if (err == UDPA_OK)
        return UDPA_OK;
    remove_subscription(feeds, find_subscription(feeds, is_wildcard, text));
    (void)follow(udpa);
    return udpai_fail(ret_error, err, "%d clients follow these events already",
                      UDPAI_TOPIC_FOLLOWERS_MAX);
}

/* An empty prefix: every wildcard. */
static void
drop_wildcards(udpai_event_feeds *feeds, udpai_str prefix)
{
    for (size_t i = feeds->subscriptions.n; i-- > 0;)
        if (feeds->subscriptions.items[i].is_wildcard &&
            (prefix.len == 0 ||
             udpai_str_eq(udpai_bytes_view(feeds->subscriptions.items[i].text), prefix)))
            remove_subscription(feeds, i);
}

void
udpai_udpa_unsubscribe_events(udpai_udpa *udpa, const udpai_subscription_message *message)
{
    udpai_event_feeds *feeds = udpa->events;
    if (!feeds)
        return;
    for (size_t i = 0; i < message->n_names; i++) {
        if (udpai_name_is_wildcard(message->names[i]))
            drop_wildcards(feeds, message->name_space);
        else
            remove_subscription(feeds, find_subscription(feeds, false, message->names[i]));
    }
    (void)follow(udpa);
}

void
udpai_udpa_review_events(udpai_udpa *udpa)
{
    if (udpa->events)
        (void)follow(udpa);
}

/* ---- going on where an earlier stream ended ---- */

static void
resume(const udpai_udpa *udpa, size_t kind, const udpai_subscription_message *message)
{
    const udpai_topics *topics = topics_of(udpa);
    event_feed *feed = &udpa->events->feeds[kind];
    char room[UDPAI_TOPIC_NAME_ROOM];
    udpai_event_place place;
    if (!feed->topic || feed->has_begun)
        return;
    udpai_str name = udpai_topic_name(topics->node_id, (udpai_event_kind)kind, room);
    for (size_t i = 0; i < message->n_versions; i++)
        if (udpai_str_eq(message->versions[i].name, name) &&
            udpai_event_version_read(message->versions[i].version, &place) &&
            place.begun_us == udpai_topic_begun_us(feed->topic))
            udpai_topic_skip(feed->topic, &feed->follower, place.sequence);
}

/* What was held when the question came is sent before its answer. */
static udpa_err
answer(udpai_udpa *udpa, const udpai_subscription_message *message)
{
    udpai_event_feeds *feeds = udpa->events;
    const udpai_publish_plan plan = {
        .type_url = message->type_url, .name_space = message->name_space, .complete = true};
    udpa_bytes *bytes = udpai_publish_compose_whole(&plan, ++udpa->last_nonce);
    if (!bytes || !feeds || feeds->n_questions >= QUESTIONS_MAX)
        return udpai_udpa_answer(udpa, bytes);
    udpai_control *control = udpai_udpa_control_new(udpa, bytes);
    if (!control) {
        udpa_bytes_unref(bytes);
        return UDPA_ERR_NOMEM;
    }
    udpai_list_append(&feeds->questions, &control->node);
    feeds->n_questions++;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (feeds->feeds[i].topic)
            feeds->feeds[i].head = udpai_topic_last(feeds->feeds[i].topic);
    udpai_session_ready(&udpa->session);
    return UDPA_OK;
}

udpa_err
udpai_udpa_begin_events(udpai_udpa *udpa, const udpai_subscription_message *message)
{
    for (size_t kind = 0; udpa->events && kind < UDPAI_EVENT_KINDS; kind++)
        resume(udpa, kind, message);
    return udpa->is_extended ? answer(udpa, message) : UDPA_OK;
}

/* ---- sending ---- */

typedef struct outgoing_event {
    const udpai_event *event;
    udpai_event_kind kind;
    uint64_t n_lost;
    udpai_str name, version;
    bool is_extended;
} outgoing_event;

static void
put_any(udpai_proto_writer *writer, const outgoing_event *outgoing)
{
    udpai_proto_writer size = {0};
    udpai_event_put(&size, outgoing->kind, outgoing->event, outgoing->n_lost);
    udpai_proto_put_bytes(writer, ANY_TYPE_URL, UDPAI_STR(UDPAI_TYPE_EVENT));
    udpai_proto_put_head(writer, ANY_VALUE, size.size + udpa_bytes_size(outgoing->event->message));
    udpai_event_put(writer, outgoing->kind, outgoing->event, outgoing->n_lost);
}

static void
put_resource(udpai_proto_writer *writer, const outgoing_event *outgoing)
{
    udpai_proto_writer size = {0};
    put_any(&size, outgoing);
    udpai_proto_put_bytes(writer, RESOURCE_NAME, outgoing->name);
    udpai_proto_put_bytes(writer, RESOURCE_VERSION, outgoing->version);
    udpai_proto_put_head(writer, RESOURCE_ANY,
                         size.size + udpa_bytes_size(outgoing->event->message));
    put_any(writer, outgoing);
}

/* Everything that encloses the client's message, so that its bytes can come at the end, with
 * nothing behind them but the nonce. */
static void
put_delta(udpai_proto_writer *writer, const outgoing_event *outgoing)
{
    udpai_proto_writer size = {0};
    put_resource(&size, outgoing);
    if (outgoing->is_extended)
        udpai_proto_put_bytes(writer, DELTA_TYPE_URL, UDPAI_STR(UDPAI_TYPE_EVENT));
    udpai_proto_put_head(writer, DELTA_RESOURCES,
                         size.size + udpa_bytes_size(outgoing->event->message));
    put_resource(writer, outgoing);
}

static void
put_message(udpai_proto_writer *writer, const void *what)
{
    const outgoing_event *outgoing = what;
    udpai_proto_writer size = {0};
    put_delta(&size, outgoing);
    size_t delta = size.size + udpa_bytes_size(outgoing->event->message) + UDPAI_NONCE_TAIL_LEN;
    udpai_proto_put_head(writer, MESSAGE_PUBLISH, udpai_proto_bytes_size(PUBLISH_DELTA, delta));
    udpai_proto_put_head(writer, PUBLISH_DELTA, delta);
    put_delta(writer, outgoing);
}

static udpa_err
compose(udpai_udpa *udpa, const outgoing_event *outgoing, udpai_outgoing *out)
{
    udpai_event_feeds *feeds = udpa->events;
    feeds->parts[0] = udpai_proto_encode(put_message, outgoing);
    if (!feeds->parts[0])
        return UDPA_ERR_NOMEM;
    feeds->parts[1] = udpa_bytes_ref(outgoing->event->message);
    out->parts = feeds->parts;
    out->n_parts = UDPAI_ARRAY_LEN(feeds->parts);
    udpai_nonce_tail(++udpa->last_nonce, UDPAI_PUBLISH_NONCE_FIELD, out->tail);
    out->tail_len = UDPAI_NONCE_TAIL_LEN;
    return UDPA_OK;
}

static void
drop_parts(udpai_event_feeds *feeds)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(feeds->parts); i++)
        feeds->parts[i] = udpa_bytes_unref(feeds->parts[i]);
}

/* Of one topic; *ret_any false: it has nothing. */
static udpa_err
send_of(udpai_udpa *udpa, size_t kind, udpai_outgoing *out, bool *ret_any)
{
    const udpai_topics *topics = topics_of(udpa);
    event_feed *feed = &udpa->events->feeds[kind];
    char name[UDPAI_TOPIC_NAME_ROOM], version[UDPAI_EVENT_VERSION_ROOM];
    outgoing_event outgoing = {.kind = (udpai_event_kind)kind, .is_extended = udpa->is_extended};
    if (!feed->topic)
        return UDPA_OK;
    outgoing.event = udpai_topic_next(feed->topic, &feed->follower, &outgoing.n_lost);
    if (!outgoing.event)
        return UDPA_OK;
    feed->has_begun = true;
    const udpai_event_place place = {udpai_topic_begun_us(feed->topic), outgoing.event->sequence};
    outgoing.name = udpai_topic_name(topics->node_id, outgoing.kind, name);
    outgoing.version = udpai_event_version(place, version);
    *ret_any = true;
    return compose(udpa, &outgoing, out);
}

static bool
is_behind(const udpai_event_feeds *feeds)
{
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        if (feeds->feeds[i].topic && (feeds->feeds[i].follower.expected <= feeds->feeds[i].head ||
                                      !udpai_topic_is_current(feeds->feeds[i].topic)))
            return true;
    return false;
}

static void
send_answer(udpai_udpa *udpa, udpai_outgoing *out)
{
    udpai_event_feeds *feeds = udpa->events;
    udpai_control *control =
        UDPAI_LIST_ENTRY(udpai_list_pop(&feeds->questions), udpai_control, node);
    feeds->n_questions--;
    feeds->parts[0] = udpai_udpa_control_take(udpa, control);
    out->parts = feeds->parts;
    out->n_parts = 1;
}

udpa_err
udpai_udpa_next_event(udpai_udpa *udpa, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_event_feeds *feeds = udpa->events;
    udpa_err err = UDPA_OK;
    if (!feeds)
        return UDPA_OK;
    drop_parts(feeds);
    if (feeds->n_questions && !is_behind(feeds)) {
        send_answer(udpa, out);
        *ret_any = true;
        return UDPA_OK;
    }
    for (size_t i = 0; i < UDPAI_EVENT_KINDS && !*ret_any && err == UDPA_OK; i++) {
        feeds->turn = (feeds->turn + 1) % UDPAI_EVENT_KINDS;
        err = send_of(udpa, feeds->turn, out, ret_any);
    }
    return udpai_fail_code(ret_error, err);
}

void
udpai_udpa_free_events(udpai_udpa *udpa)
{
    udpai_event_feeds *feeds = UDPAI_TAKE(udpa->events);
    udpai_list *node;
    if (!feeds)
        return;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++)
        end_feed(&feeds->feeds[i]);
    while ((node = udpai_list_pop(&feeds->questions))) {
        udpa_bytes_unref(
            udpai_udpa_control_take(udpa, UDPAI_LIST_ENTRY(node, udpai_control, node)));
    }
    while (feeds->subscriptions.n)
        remove_subscription(feeds, feeds->subscriptions.n - 1);
    udpai_vector_done(&feeds->subscriptions);
    drop_parts(feeds);
    udpai_free(feeds);
}
