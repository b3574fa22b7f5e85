/* SPDX-License-Identifier: Apache-2.0 */
#include "events/topics.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/name.h"
#include "wire/entry.h"

udpai_str
udpai_topic_name(udpai_str node_id, udpai_event_kind kind, char room[UDPAI_TOPIC_NAME_ROOM])
{
    int len = snprintf(room, UDPAI_TOPIC_NAME_ROOM, "%s/%.*s/events/%s", UDPAI_NODE_NAMESPACE,
                       (int)udpai_min_size(node_id.len, UDPAI_AUTHORITY_MAX), node_id.data,
                       udpai_event_facts_of(kind)->word);
    return (udpai_str){room, (size_t)len};
}

/* ---- versions ---- */

udpai_str
udpai_event_version(udpai_event_place place, char room[UDPAI_EVENT_VERSION_ROOM])
{
    int len = snprintf(room, UDPAI_EVENT_VERSION_ROOM, "%" PRIu64 ".%" PRIu64, place.begun_us,
                       place.sequence);
    return (udpai_str){room, (size_t)len};
}

bool
udpai_event_version_read(udpai_str version, udpai_event_place *ret_place)
{
    const char *dot = version.len ? memchr(version.data, '.', version.len) : NULL;
    udpai_event_place place;
    if (!dot)
        return false;
    size_t len = (size_t)(dot - version.data);
    if (!udpai_str_number((udpai_str){version.data, len}, &place.begun_us) ||
        !udpai_str_number((udpai_str){dot + 1, version.len - len - 1}, &place.sequence))
        return false;
    *ret_place = place;
    return true;
}

/* ---- events ---- */

void
udpai_event_put(udpai_proto_writer *writer,
                udpai_event_kind kind,
                const udpai_event *event,
                uint64_t n_lost)
{
    const udpai_event_source *source = event->source;
    udpai_str type_url = udpai_str_from(udpai_event_facts_of(kind)->type_url);
    size_t size = udpa_bytes_size(event->message);
    udpai_proto_put_varint_opt(writer, 1, n_lost);
    udpai_proto_put_varint(writer, 2, event->sequence);
    udpai_timestamp_put(writer, 3, event->time_us);
    udpai_proto_put_bytes_opt(writer, 4, source->node_id);
    udpai_proto_put_bytes_opt(writer, 5, source->identity);
    udpai_proto_put_bytes_opt(writer, 6, source->name);
    udpai_proto_put_head(writer, 7,
                         udpai_proto_bytes_size(1, type_url.len) + udpai_proto_bytes_size(2, size));
    udpai_proto_put_bytes(writer, 1, type_url);
    udpai_proto_put_head(writer, 2, size);
}

uint64_t
udpai_event_n_lost(udpai_str event)
{
    udpai_proto_reader reader = udpai_proto_read(event);
    udpai_proto_field field;
    uint64_t n_lost = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == 1 && field.type == UDPAI_WIRE_VARINT)
            n_lost = field.value;
    return reader.failed ? 0 : n_lost;
}
