/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker_counts.h"

#include "base/proto.h"

size_t
udpai_worker_counts_encode(const udpai_stream_counts *counts,
                           uint8_t room[UDPAI_WORKER_COUNTS_BYTES])
{
    udpai_proto_writer writer = {.at = room};
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        udpai_proto_put_bare_number(&writer, counts->n[i]);
    udpai_proto_put_bare_number(&writer, counts->n_clients);
    return writer.size;
}

udpa_err
udpai_worker_counts_decode(udpai_str bytes, udpai_stream_counts *ret_counts)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    for (size_t i = 0; i < UDPAI_STREAM_COUNTERS; i++)
        if (!udpai_proto_take_number(&reader, &ret_counts->n[i]))
            return UDPA_ERR_MALFORMED;
    if (!udpai_proto_take_number(&reader, &ret_counts->n_clients))
        return UDPA_ERR_MALFORMED;
    return reader.at == reader.end ? UDPA_OK : UDPA_ERR_MALFORMED;
}
