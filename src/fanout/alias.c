/* SPDX-License-Identifier: Apache-2.0 */
/* Other names of resources: exact ones, and patterns with one '*'. */
#include "fanout/variant.h"

#include "model/name.h"

/* Of several resources with one alias, that of the lowest name: the same on every replica. Variants
 * are chosen otherwise, or all sent. */
static udpai_item *
best_item(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name)
{
    const udpai_alias *alias = udpai_map_get(&topic->aliases, name);
    for (size_t i = 0; alias && i < alias->items.n; i++) {
        udpai_item *item = alias->items.items[i];
        if (udpai_is_visible(item, subscriber) && !udpai_item_is_variant(item))
            return item;
    }
    return NULL;
}

/* Every pattern that could match has the '*' in place of the beginning of one path segment; the
 * shortest beginning is tried first, because it leaves the most specific pattern. */
static udpai_item *
resolve_pattern(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name)
{
    char candidate[UDPAI_NAME_MAX + 1];
    const char *slash = memchr(name.data, '/', name.len);
    for (; slash; slash = memchr(slash + 1, '/', name.len - (size_t)(slash + 1 - name.data))) {
        size_t start = (size_t)(slash - name.data) + 1;
        memcpy(candidate, name.data, start);
        candidate[start] = '*';
        for (size_t skip = 1; start + skip <= name.len && name.data[start + skip - 1] != '/';
             skip++) {
            size_t rest = name.len - start - skip;
            memcpy(candidate + start + 1, name.data + start + skip, rest);
            udpai_item *item =
                best_item(topic, subscriber, (udpai_str){candidate, start + 1 + rest});
            if (item)
                return item;
        }
    }
    return NULL;
}

udpai_item *
udpai_alias_resolve(const udpai_topic *topic, const udpai_subscriber *subscriber, udpai_str name)
{
    if (topic->aliases.n == 0)
        return NULL;
    udpai_item *item = best_item(topic, subscriber, name);
    if (!item && topic->n_patterns && name.len <= UDPAI_NAME_MAX)
        item = resolve_pattern(topic, subscriber, name);
    return item;
}
