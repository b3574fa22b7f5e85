/* SPDX-License-Identifier: Apache-2.0 */
#include "session/introduction.h"

#include <inttypes.h>
#include <stdio.h>

#include "wire/compose.h"

void
udpai_introduction_done(udpai_introduction *introduction)
{
    introduction->epoch = udpa_bytes_unref(introduction->epoch);
}

void
udpai_introduction_note(udpai_introduction *introduction, const udpai_order *order)
{
    if (order->commit > introduction->commit)
        introduction->commit = order->commit;
    if (order->kind != UDPAI_ORDER_EPOCH)
        return;
    udpa_bytes_unref(introduction->epoch);
    introduction->epoch = udpa_bytes_ref(order->epoch);
    introduction->is_whole = order->is_wanted;
}

udpa_bytes *
udpai_introduction_compose(const udpai_introduction *introduction, const udpai_node_info *info)
{
    char commit[24];
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *saying = NULL;
    if (!introduction->epoch)
        return udpai_node_compose(info);
    int len = snprintf(commit, sizeof(commit), "%" PRIu64, introduction->commit);
    const udpai_node_said said[] = {
        {UDPAI_NODE_KEY_EPOCH, udpai_bytes_view(introduction->epoch)},
        {UDPAI_NODE_KEY_COMMIT, {commit, (size_t)len}},
        {UDPAI_NODE_KEY_WHOLE, UDPAI_STR("true")},
    };
    size_t n_said = UDPAI_ARRAY_LEN(said) - !introduction->is_whole;
    return udpai_node_info_saying(&saying, info, said, n_said) == UDPA_OK
               ? udpai_node_compose(saying)
               : NULL;
}
