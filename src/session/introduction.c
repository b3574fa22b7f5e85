/* SPDX-License-Identifier: Apache-2.0 */
#include "session/introduction.h"

#include <inttypes.h>
#include <stdio.h>

#include "wire/compose.h"

void
udpai_introduction_done(udpai_introduction *introduction)
{
    introduction->epoch = udpa_bytes_unref(introduction->epoch);
    introduction->twins = udpa_bytes_unref(introduction->twins);
}

static void
take_over(udpa_bytes **field, udpa_bytes *announced)
{
    udpa_bytes_unref(*field);
    *field = announced ? udpa_bytes_ref(announced) : NULL;
}

void
udpai_introduction_note(udpai_introduction *introduction, const udpai_order *order)
{
    if (order->commit > introduction->commit)
        introduction->commit = order->commit;
    if (order->kind == UDPAI_ORDER_TWINS)
        take_over(&introduction->twins, order->announced);
    if (order->kind != UDPAI_ORDER_EPOCH)
        return;
    take_over(&introduction->epoch, order->announced);
    introduction->is_whole = order->is_set;
}

udpa_bytes *
udpai_introduction_compose(const udpai_introduction *introduction,
                           const udpai_node_info *info,
                           bool is_source)
{
    char commit[24];
    udpai_node_metadata metadata[4];
    size_t n = 0;
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *introduced = NULL;
    int len = snprintf(commit, sizeof(commit), "%" PRIu64, introduction->commit);
    if (introduction->epoch) {
        metadata[n++] =
            (udpai_node_metadata){UDPAI_NODE_KEY_EPOCH, udpai_bytes_view(introduction->epoch)};
        metadata[n++] = (udpai_node_metadata){UDPAI_NODE_KEY_COMMIT, {commit, (size_t)len}};
        if (introduction->is_whole)
            metadata[n++] = (udpai_node_metadata){UDPAI_NODE_KEY_WHOLE, UDPAI_STR("true")};
    }
    if (introduction->twins && is_source)
        metadata[n++] =
            (udpai_node_metadata){UDPAI_NODE_KEY_TWINS, udpai_bytes_view(introduction->twins)};
    if (n == 0)
        return udpai_node_compose(info);
    return udpai_node_info_with_metadata(&introduced, info, metadata, n) == UDPA_OK
               ? udpai_node_compose(introduced)
               : NULL;
}
