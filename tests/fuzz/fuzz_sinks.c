/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of events, and one that reads them. The first byte chooses the kind; then commands: a
 * byte that says what, and what belongs to it. Whatever comes, the ring keeps its bounds, a message
 * that is held is well-formed and has no identifier, and a reader is told of each or that it is
 * lost. */
#include "base/bytes.h"
#include "sinks/message.h"
#include "sinks/sinks.h"
#include "tests/fuzz/fuzz.h"
#include "tests/harness/fake_stream.h"
#include "udpa/service/events/v1/events.pb-c.h"

#define STREAMS 3
#define MAX_ENTRIES 8
#define MAX_BYTES 200

typedef struct bed {
    fake_hub hub;
    udpai_topics sinks;
    udpai_topic *topic;
    fake_stream streams[STREAMS];
    fake_stream reader;
    uint64_t n_told; /* of events, as sent or as lost */
} bed;

static void
open_stream(bed *self, size_t i)
{
    udpa_bytes *address = NULL;
    FUZZ_CHECK(udpa_bytes_new(&address, i ? "b:1" : "a:1", 3) == UDPA_OK);
    const udpai_stream_info info = {.address = address, .context = self->topic};
    fake_stream_close(&self->streams[i]);
    fake_stream_open(&self->streams[i], &self->hub, udpai_sink_session_new, &info);
    udpa_bytes_unref(address);
}

static void
check_held(const bed *self, udpai_str message)
{
    udpai_event_identifier identifier;
    FUZZ_CHECK(message.len && message.len <= MAX_BYTES);
    FUZZ_CHECK(udpai_event_message_read(udpai_topic_kind(self->topic), message, &identifier,
                                        NULL) == UDPA_OK);
    FUZZ_CHECK(!identifier.is_there);
}

static void
take_answers(bed *self)
{
    udpa_bytes *bytes;
    fake_stream_run(&self->reader, &self->hub);
    while ((bytes = fake_stream_take(&self->reader))) {
        Udpa__Service__Events__V1__FollowResponse *response =
            udpa__service__events__v1__follow_response__unpack(NULL, udpa_bytes_size(bytes),
                                                               udpa_bytes_data(bytes));
        FUZZ_CHECK(response && response->event);
        const Udpa__Service__Events__V1__Event *event = response->event;
        FUZZ_CHECK(event->sequence == self->n_told + response->n_lost + 1);
        self->n_told = event->sequence;
        check_held(self, (udpai_str){(const char *)event->message.data, event->message.len});
        udpa__service__events__v1__follow_response__free_unpacked(response, NULL);
        udpa_bytes_unref(bytes);
    }
}

static void
check(const bed *self)
{
    udpai_topic_facts facts;
    udpai_topic_facts_get(self->topic, &facts);
    FUZZ_CHECK(facts.n_held <= MAX_ENTRIES && facts.held_bytes <= MAX_BYTES);
    FUZZ_CHECK(facts.n_dropped <= facts.n_accepted);
    for (size_t i = 0; i < STREAMS; i++)
        FUZZ_CHECK(!self->streams[i].status || *udpa_error_message(self->streams[i].status));
}

static void
do_one(bed *self, udpai_str *input)
{
    uint8_t what = fuzz_take_byte(input);
    fake_stream *stream = &self->streams[what % STREAMS];
    udpai_str message;
    switch (what / STREAMS % 6) {
    case 0:
        open_stream(self, what % STREAMS);
        break;
    case 1:
        fake_hub_advance(&self->hub, UDPAI_TOPIC_TURN_MS);
        break;
    case 2:
        take_answers(self);
        break;
    case 3:
        if (stream->session && !stream->is_finished)
            udpai_session_ended(stream->session);
        fake_stream_run(stream, &self->hub);
        break;
    default:
        message = fuzz_take_text(input);
        if (stream->session && !stream->is_finished)
            fake_stream_receive(stream, message.data, message.len);
        break;
    }
}

static void
open_reader(bed *self)
{
    const udpai_stream_info info = {.context = &self->sinks};
    const char *word = udpai_event_facts_of(udpai_topic_kind(self->topic))->word;
    uint8_t request[64];
    udpai_proto_writer writer = {request, 0};
    udpai_proto_put_bytes(&writer, 1, udpai_str_from(word));
    udpai_proto_put_varint(&writer, 2, 1);
    fake_stream_open(&self->reader, &self->hub, udpai_events_session_new, &info);
    fake_stream_receive(&self->reader, request, writer.size);
    FUZZ_CHECK(!self->reader.is_finished);
}

/* The rest of the input, as a request of a reader's own. */
static void
try_request(bed *self, udpai_str input)
{
    const udpai_stream_info info = {.context = &self->sinks};
    fake_stream other = {0};
    fake_stream_open(&other, &self->hub, udpai_events_session_new, &info);
    fake_stream_receive(&other, input.data, input.len);
    fake_stream_run(&other, &self->hub);
    FUZZ_CHECK(!other.status || *udpa_error_message(other.status));
    fake_stream_close(&other);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_hub_options options = fake_hub_options();
    const udpai_topic_options topic = {
        .kind = (udpai_event_kind)(fuzz_take_byte(&input) % UDPAI_EVENT_SINKS),
        .max_entries = MAX_ENTRIES,
        .max_bytes = MAX_BYTES,
    };
    bed self = {.sinks = {.node_id = UDPAI_STR("node")}};
    FUZZ_CHECK(udpai_topic_new(&self.topic, &topic) == UDPA_OK);
    self.sinks.topics[topic.kind] = self.topic;
    options.topics = &self.sinks;
    fake_hub_init(&self.hub, &options);
    open_reader(&self);
    open_stream(&self, 0);
    try_request(&self, input);
    while (input.len) {
        do_one(&self, &input);
        check(&self);
    }
    take_answers(&self);
    udpai_topic_facts facts;
    udpai_topic_facts_get(self.topic, &facts);
    FUZZ_CHECK(self.n_told == facts.n_accepted);
    for (size_t i = 0; i < STREAMS; i++)
        fake_stream_close(&self.streams[i]);
    fake_stream_close(&self.reader);
    udpai_topic_free(self.topic);
    fake_hub_done(&self.hub);
    return 0;
}
