/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that a peer has ended itself: it sends no more of them. Frames of a stream that we have
 * reset may have been under way, and nghttp2, which forgets both, ignores them; of DATA it does not
 * even notify us. So the heads of frames are read here, too. */
#include "transport/door/door_internal.h"

#define HEAD_BYTES 9

void
udpai_door_ended_add(udpai_door_connection *connection, int32_t id)
{
    connection->ended[connection->next_ended++ % UDPAI_DOOR_ENDED] = id;
}

bool
udpai_door_ended_has(const udpai_door_connection *connection, int32_t id)
{
    for (size_t i = 0; i < UDPAI_DOOR_ENDED; i++)
        if (connection->ended[i] == id && id)
            return true;
    return false;
}

bool
udpai_door_scan_next(udpai_door_scan *scan, udpai_str bytes, size_t *at)
{
    while (*at < bytes.len) {
        if (scan->left) {
            size_t n = udpai_min_size(scan->left, bytes.len - *at);
            scan->left -= (uint32_t)n;
            *at += n;
            continue;
        }
        scan->head[scan->n_head++] = (uint8_t)bytes.data[(*at)++];
        if (scan->n_head < HEAD_BYTES)
            continue;
        const uint8_t *head = scan->head;
        scan->n_head = 0;
        scan->left = (uint32_t)head[0] << 16 | (uint32_t)head[1] << 8 | head[2];
        scan->type = head[3];
        scan->id = (int32_t)((uint32_t)(head[5] & 0x7f) << 24 | (uint32_t)head[6] << 16 |
                             (uint32_t)head[7] << 8 | head[8]);
        return true;
    }
    return false;
}
