/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker_counts.h"

#include "base/proto.h"

static void
put_counts(udpai_proto_writer *writer, const udpai_stream_counts *counts)
{
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        udpai_proto_put_bare_number(writer, counts->n[i]);
    udpai_proto_put_bare_number(writer, counts->n_clients);
    udpai_proto_put_bare_number(writer, counts->n_served);
}

void
udpai_worker_counts_encode(const udpai_stream_counts *counts, udpai_strbuf *bytes)
{
    udpai_proto_writer writer = {0};
    put_counts(&writer, counts);
    writer = (udpai_proto_writer){udpai_strbuf_extend(bytes, writer.size), 0};
    if (writer.at)
        put_counts(&writer, counts);
}

static void
ignore(void *userdata, const udpai_reading *reading)
{
    (void)userdata;
    (void)reading;
}

udpa_err
udpai_worker_counts_decode(udpai_str bytes,
                           udpai_stream_counts *ret_counts,
                           udpai_str *ret_readings)
{
    udpai_stream_counts counts;
    udpai_proto_reader reader = udpai_proto_read(bytes);
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        if (!udpai_proto_take_number(&reader, &counts.n[i]))
            return UDPA_ERR_MALFORMED;
    if (!udpai_proto_take_number(&reader, &counts.n_clients) ||
        !udpai_proto_take_number(&reader, &counts.n_served))
        return UDPA_ERR_MALFORMED;
    const udpai_str readings = {(const char *)reader.at, (size_t)(reader.end - reader.at)};
    udpa_err err = udpai_readings_decode(readings, ignore, NULL);
    if (err == UDPA_OK) {
        *ret_counts = counts;
        *ret_readings = readings;
    }
    return err;
}
