/* SPDX-License-Identifier: Apache-2.0 */
/* Who here wants what: the stream side as a whole, and each subscriber in the process. */
#include "federation/node_internal.h"

#include "base/alloc.h"

#define KEY_MAX (UDPAI_TYPE_URL_MAX + 1 + UDPA_NAME_MAX + 1)

static udpai_str
make_key(char room[KEY_MAX], udpai_str type_url, udpai_str text)
{
    memcpy(room, type_url.data, type_url.len);
    room[type_url.len] = ' ';
    memcpy(room + type_url.len + 1, text.data, text.len);
    return (udpai_str){room, type_url.len + 1 + text.len};
}

void
udpai_interest_change(udpai_node *node, udpai_str type_url, udpai_str text, bool wanted)
{
    char room[KEY_MAX];
    if (type_url.len > UDPAI_TYPE_URL_MAX || text.len > UDPA_NAME_MAX + 1)
        return;
    udpai_str key = make_key(room, type_url, text);
    udpai_interest *interest = udpai_map_get(&node->interests, key);
    if (!interest && wanted) {
        interest = udpai_alloc(sizeof(*interest) + key.len);
        if (!interest)
            return;
        interest->type_len = (uint32_t)type_url.len;
        interest->len = (uint32_t)key.len;
        memcpy(interest->key, key.data, key.len);
        if (!udpai_map_add(&node->interests, interest)) {
            udpai_free(interest);
            return;
        }
    }
    if (!interest)
        return;
    interest->n += wanted ? 1 : (size_t)-1;
    if (wanted ? interest->n == 1 : interest->n == 0)
        udpai_providers_interest(node, type_url, text, wanted);
    if (interest->n == 0)
        udpai_free(udpai_map_remove(&node->interests, key));
}

void
udpai_interests_visit(const udpai_node *node,
                      udpai_str type_url,
                      udpai_interest_visit_fn visit,
                      void *userdata)
{
    size_t at = 0;
    const udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at))) {
        size_t skip = (size_t)interest->type_len + 1;
        if (udpai_str_eq((udpai_str){interest->key, interest->type_len}, type_url))
            visit(userdata, (udpai_str){interest->key + skip, interest->len - skip});
    }
}

void
udpai_interests_visit_types(const udpai_node *node, udpai_interest_visit_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at)))
        visit(userdata, (udpai_str){interest->key, interest->type_len});
}

void
udpai_interests_free(udpai_node *node)
{
    size_t at = 0;
    udpai_interest *interest;
    while ((interest = udpai_map_next(&node->interests, &at)))
        udpai_free(interest);
    udpai_map_done(&node->interests);
}
