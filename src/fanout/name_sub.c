/* SPDX-License-Identifier: Apache-2.0 */
/* A name of a subscription: how it is found, what few have, and what the subscriber was sent of it.
 */
#include "fanout/fanout_internal.h"

udpai_str
udpai_locator_key(const udpai_locator *locator, char room[UDPAI_LOCATOR_KEY_MAX])
{
    char *at = room;
    if (locator->parameters.len == 0)
        return locator->name;
    udpai_str_put(&at, locator->name);
    *at++ = '\0';
    udpai_str_put(&at, locator->parameters);
    return (udpai_str){room, (size_t)(at - room)};
}

static udpai_str
name_sub_key(const void *item)
{
    const udpai_name_sub *sub = item;
    const udpai_name_more *more = sub->more;
    return more && more->key_len ? (udpai_str){more->key, more->key_len}
                                 : udpai_item_name(udpai_asked(sub));
}

void
udpai_name_subs_init(udpai_subscription *subscription)
{
    udpai_map_init_in(&subscription->names, name_sub_key, udpai_subscription_memory(subscription));
}

udpai_name_sub *
udpai_name_sub_find(const udpai_subscription *subscription, const udpai_locator *locator)
{
    char room[UDPAI_LOCATOR_KEY_MAX];
    if (locator->name.len + locator->parameters.len >= UDPAI_LOCATOR_KEY_MAX)
        return NULL;
    return udpai_map_get(&subscription->names, udpai_locator_key(locator, room));
}

udpai_locator
udpai_name_sub_locator(const udpai_name_sub *sub)
{
    udpai_locator locator = {.name = udpai_item_name(udpai_asked(sub))};
    if (sub->more && sub->more->key_len) {
        size_t skip = locator.name.len + 1;
        locator.parameters = (udpai_str){sub->more->key + skip, sub->more->key_len - skip};
    }
    return locator;
}

udpai_name_more *
udpai_name_sub_make_more(udpai_name_sub *sub, udpai_str key)
{
    udpai_name_more *more =
        udpai_alloc_in(udpai_subscription_memory(sub->subscription), sizeof(*more) + key.len);
    if (!more)
        return NULL;
    more->sub = sub;
    udpai_list_init(&more->in_target);
    more->key_len = (uint32_t)key.len;
    if (key.len)
        memcpy(more->key, key.data, key.len);
    sub->more = more;
    return more;
}

udpai_name_more *
udpai_name_sub_more(udpai_name_sub *sub)
{
    return sub->more ? sub->more : udpai_name_sub_make_more(sub, (udpai_str){0});
}

/* Is this payload what the item had before its present content? */
static bool
is_former(const udpai_name_sub *sub, uint64_t payload_seq, uint64_t next_seq)
{
    const udpai_former *former = udpai_asked(sub)->former;
    bool by_content = sub->subscription->subscriber->renderer->shows_content_only;
    return former && former->until == next_seq &&
           payload_seq == (by_content ? former->content_seq : former->payload_seq);
}

void
udpai_name_sub_sent(udpai_name_sub *sub, uint64_t payload_seq)
{
    if (sub->sent_payload_seq == payload_seq)
        return;
    sub->had_any = sub->sent_payload_seq != 0;
    sub->had_former = is_former(sub, sub->sent_payload_seq, payload_seq);
    sub->sent_payload_seq = payload_seq;
}

bool
udpai_subscription_has_name(const udpai_subscription *subscription, udpai_str name)
{
    return udpai_map_get(&subscription->names, name) != NULL;
}

bool
udpai_subscription_has_locator(const udpai_subscription *subscription, const udpai_locator *locator)
{
    return udpai_name_sub_find(subscription, locator) != NULL;
}
