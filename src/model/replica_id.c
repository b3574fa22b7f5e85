/* SPDX-License-Identifier: Apache-2.0 */
#include "model/replica_id.h"

#include "base/strbuf.h"

udpa_bytes *
udpai_replica_id(udpai_str node_id, udpai_str replica)
{
    udpai_strbuf id = {0};
    udpai_strbuf_str(&id, node_id);
    if (replica.len >= UDPAI_REPLICA_DIGITS) {
        udpai_strbuf_putc(&id, '~');
        udpai_strbuf_append(&id, replica.data, UDPAI_REPLICA_DIGITS);
    }
    return udpai_bytes_of(&id);
}

static bool
is_digit(char one)
{
    return (one >= '0' && one <= '9') || (one >= 'a' && one <= 'z');
}

udpai_str
udpai_replica_id_node(udpai_str id)
{
    if (id.len <= UDPAI_REPLICA_DIGITS + 1)
        return id;
    const udpai_str node = {id.data, id.len - UDPAI_REPLICA_DIGITS - 1};
    bool is_replica = id.data[node.len] == '~';
    for (size_t i = node.len + 1; i < id.len; i++)
        is_replica = is_replica && is_digit(id.data[i]);
    return is_replica ? node : id;
}

bool
udpai_replica_id_is_of(udpai_str id, udpai_str node_id)
{
    return id.len > node_id.len && udpai_str_eq(udpai_replica_id_node(id), node_id);
}
