/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/nested.h"

void
udpai_load_put_nested(udpai_proto_writer *writer,
                      uint32_t number,
                      udpai_load_put_fn put,
                      const void *from)
{
    udpai_proto_writer counter = {0};
    put(&counter, from);
    udpai_proto_put_head(writer, number, counter.size);
    put(writer, from);
}
