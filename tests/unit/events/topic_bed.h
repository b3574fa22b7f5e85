/* SPDX-License-Identifier: Apache-2.0 */
/* A topic with clients, and a writer whose batches are done when a test says so. */
#ifndef UDPAI_TESTS_TOPIC_BED_H
#define UDPAI_TESTS_TOPIC_BED_H

#include "base/bytes.h"
#include "base/vector.h"
#include "events/topic.h"
#include "tests/harness/test.h"

#define BED_STREAMS 8

typedef struct bed_stream {
    udpai_topic_stream stream; /* first */
    bool is_paused;
    unsigned n_changes;
} bed_stream;

typedef struct topic_bed {
    udpai_wheel wheel;
    udpai_topic *topic;
    udpai_event_source *source;
    bed_stream streams[BED_STREAMS];
    udpai_list batches;             /* that were handed over, and are not done */
    UDPAI_VECTOR(uint64_t) written; /* their sequence numbers */
} topic_bed;

static inline void
bed_write(void *userdata, udpai_event_batch *batch)
{
    topic_bed *bed = userdata;
    for (size_t i = 0; i < batch->n; i++)
        assert_true(udpai_vector_push(&bed->written, batch->events[i]->sequence));
    udpai_list_append(&bed->batches, &batch->node);
}

static inline void
bed_pause(udpai_topic_stream *stream, bool pause)
{
    bed_stream *self = (bed_stream *)stream;
    assert_int_not_equal(self->is_paused, pause); /* it is told of changes only */
    self->is_paused = pause;
    self->n_changes++;
}

static inline void
bed_init(topic_bed *bed, size_t max_entries, size_t max_bytes, bool is_written)
{
    const udpai_topic_options options = {UDPAI_EVENT_TAP, max_entries, max_bytes, 0};
    *bed = (topic_bed){0};
    udpai_wheel_init(&bed->wheel, 1000);
    udpai_list_init(&bed->batches);
    assert_ok(udpai_topic_new(&bed->topic, &options));
    if (is_written)
        udpai_topic_set_writer(bed->topic, bed_write, bed);
    bed->source = udpai_event_source_new(UDPAI_STR("edge"), (udpai_str){0}, (udpai_str){0});
    assert_non_null(bed->source);
    for (size_t i = 0; i < BED_STREAMS; i++)
        bed->streams[i].stream.pause = bed_pause;
}

/* One batch is done; false: none was handed over. */
static inline bool
bed_done_one(topic_bed *bed)
{
    udpai_list *node = udpai_list_pop(&bed->batches);
    if (!node)
        return false;
    udpai_event_batch *batch = UDPAI_LIST_ENTRY(node, udpai_event_batch, node);
    size_t n = batch->n;
    udpai_event_batch_free(batch);
    udpai_topic_written(bed->topic, n, 0);
    return true;
}

static inline void
bed_advance(topic_bed *bed, uint64_t ms)
{
    udpai_wheel_advance(&bed->wheel, bed->wheel.now_ms + ms);
}

/* Until nothing waits any more. */
static inline void
bed_drain(topic_bed *bed)
{
    do
        bed_advance(bed, UDPAI_TOPIC_TURN_MS);
    while (bed_done_one(bed));
}

static inline void
bed_join(topic_bed *bed, size_t stream, const char *name)
{
    assert_ok(udpai_topic_join(bed->topic, &bed->wheel, udpai_str_from(name),
                               &bed->streams[stream].stream));
}

static inline udpa_err
bed_add(topic_bed *bed, size_t stream, size_t size)
{
    uint8_t *room;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = udpai_bytes_make(size, &room);
    if (!message)
        return UDPA_ERR_NOMEM;
    memset(room, 'm', size);
    return udpai_topic_add(bed->topic, &bed->streams[stream].stream, bed->source, message, 5);
}

static inline void
bed_add_many(topic_bed *bed, size_t stream, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        assert_ok(bed_add(bed, stream, size));
}

static inline udpai_topic_facts
bed_facts(const topic_bed *bed)
{
    udpai_topic_facts facts;
    udpai_topic_facts_get(bed->topic, &facts);
    return facts;
}

static inline void
bed_done(topic_bed *bed)
{
    for (size_t i = 0; i < BED_STREAMS; i++)
        udpai_topic_leave(bed->topic, &bed->streams[i].stream);
    while (bed_done_one(bed))
        continue;
    bed->topic = udpai_topic_free(bed->topic);
    udpai_event_source_unref(bed->source);
    udpai_vector_done(&bed->written);
}

#endif
