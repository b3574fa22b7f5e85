/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/directories.h"

#include "federation/node_internal.h"

static void
put_key(udpai_strbuf *key, udpai_str root)
{
    udpai_strbuf_puts(key, "path:");
    udpai_strbuf_str(key, root);
}

const udpai_origin *
udpai_directory_find_origin(const udpai_node *node, udpai_str root)
{
    udpai_strbuf key = {0};
    put_key(&key, root);
    const udpai_origin *origin =
        udpai_strbuf_failed(&key)
            ? NULL
            : udpai_store_find_origin(node->context.store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    return origin;
}

udpai_origin *
udpai_directory_origin(udpai_node *node, udpai_str root)
{
    udpai_strbuf key = {0};
    put_key(&key, root);
    udpai_origin *origin = udpai_strbuf_failed(&key)
                               ? NULL
                               : udpai_store_origin(node->context.store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    if (origin) {
        udpai_origin_set_rank(node->context.store, origin, UDPAI_ORIGIN_FILES, 0);
        udpai_origin_set_durable(origin, node->context.is_durable);
        udpai_origin_set_keeps_alive(origin, true);
    }
    return origin;
}

udpai_expected *
udpai_directory_find(const udpai_node *node, udpai_str root)
{
    for (size_t i = 0; i < node->expected_files.n; i++)
        if (udpai_str_eq(udpai_bytes_view(node->expected_files.items[i].root), root))
            return &node->expected_files.items[i];
    return NULL;
}
