/* SPDX-License-Identifier: Apache-2.0 */
/* What acceptors count. Their threads are several, so what they add to is there before they are. */
#include "transport/door/door_internal.h"

static void
make(udpai_meters *all, udpai_metric metric, const char *const *reasons, size_t n, udpai_meter **to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = udpai_meters_get(all, metric, udpai_str_from(reasons[i]));
}

udpa_err
udpai_acceptor_meters_init(udpai_acceptor_meters *meters)
{
    static const char *const failed[UDPAI_HANDSHAKE_FAILURES] = {
        [UDPAI_HANDSHAKE_LATE] = "timeout",       [UDPAI_HANDSHAKE_CLOSED] = "closed",
        [UDPAI_HANDSHAKE_MALFORMED] = "protocol", [UDPAI_HANDSHAKE_UNTRUSTED] = "certificate",
        [UDPAI_HANDSHAKE_HEAD] = "proxy_head",
    };
    static const char *const refused[UDPAI_CONNECTION_REFUSALS] = {
        [UDPAI_CONNECTION_TOO_MANY] = "max_streams",
        [UDPAI_CONNECTION_TOO_MANY_OF_PEER] = "max_streams_per_identity",
        [UDPAI_CONNECTION_WITHOUT_MEMORY] = "memory",
    };
    udpa_err err = udpai_meters_new(&meters->all);
    if (err != UDPA_OK)
        return err;
    meters->handshakes = udpai_meters_get(meters->all, UDPAI_METRIC_HANDSHAKES, (udpai_str){0});
    meters->used = udpai_meters_get(meters->all, UDPAI_METRIC_LIMIT_USED, UDPAI_STR("connections"));
    meters->memory = udpai_meters_get(meters->all, UDPAI_METRIC_MEMORY, UDPAI_STR("connections"));
    make(meters->all, UDPAI_METRIC_HANDSHAKES_FAILED, failed, UDPAI_HANDSHAKE_FAILURES,
         meters->failed);
    make(meters->all, UDPAI_METRIC_CONNECTIONS_REFUSED, refused, UDPAI_CONNECTION_REFUSALS,
         meters->refused);
    return UDPA_OK;
}

void
udpai_acceptor_meters_done(udpai_acceptor_meters *meters)
{
    meters->all = udpai_meters_free(meters->all);
}

const udpai_meters *
udpai_door_meters(const udpai_door *door)
{
    return door->meters.all;
}
