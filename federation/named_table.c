/* SPDX-License-Identifier: Apache-2.0 */
/* The table of single names that have sources of their own, by type and name. */
#include "federation/named.h"

static udpai_str
key_of(const void *item)
{
    return udpai_bytes_view(((const udpai_named *)item)->key);
}

void
udpai_named_init(udpai_node *node)
{
    udpai_map_init(&node->named, key_of);
}

udpai_str
udpai_named_make_key(char room[UDPAI_NAMED_KEY_MAX], udpai_str type_url, udpai_str name)
{
    memcpy(room, type_url.data, type_url.len);
    room[type_url.len] = ' ';
    memcpy(room + type_url.len + 1, name.data, name.len);
    return (udpai_str){room, type_url.len + 1 + name.len};
}

udpai_named *
udpai_named_find(const udpai_node *node, udpai_str type_url, udpai_str name)
{
    char room[UDPAI_NAMED_KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || name.len > UDPAI_NAME_MAX)
        return NULL;
    return udpai_map_get(&node->named, udpai_named_make_key(room, type_url, name));
}
