/* SPDX-License-Identifier: Apache-2.0 */
/* The Node of a peer that the bed plays. */
#ifndef UDPAI_TESTS_PEER_INFO_H
#define UDPAI_TESTS_PEER_INFO_H

#include "tests/unit/federation/federation_test.h"

static inline udpai_node_info *
fed_make_info(const udpai_node_parts *parts, const fed_peer *peer)
{
    const udpai_node_metadata said[] = {
        {UDPAI_NODE_KEY_INSTANCE, udpai_str_from(peer->instance ? peer->instance : "")},
        {UDPAI_NODE_KEY_RUN, udpai_str_from(peer->run ? peer->run : "")},
        {UDPAI_NODE_KEY_EPOCH, udpai_str_from(peer->epoch ? peer->epoch : "")},
        {UDPAI_NODE_KEY_COMMIT, udpai_str_from(peer->commit ? peer->commit : "")},
        {UDPAI_NODE_KEY_REPLICA, udpai_str_from(peer->replica ? peer->replica : "")},
        {UDPAI_NODE_KEY_TWINS, udpai_str_from(peer->twins ? peer->twins : "")},
        {UDPAI_NODE_KEY_WHOLE, udpai_str_from(peer->is_whole ? "true" : "")},
    };
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *bare = NULL;
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&bare, parts));
    assert_ok(udpai_node_info_with_metadata(&info, bare, said, UDPAI_ARRAY_LEN(said)));
    return info;
}

#endif
