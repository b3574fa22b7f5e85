/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/kind.h"

#include "model/types.h"

static const struct kind_info {
    const char *word, *url;
    unsigned traits;
} kinds[] = {
    [UDPAI_CLUSTER] = {"cluster", UDPAI_TYPE_CLUSTER, 0},
    [UDPAI_ENDPOINTS] = {"endpoint", UDPAI_TYPE_ENDPOINTS, 0},
    [UDPAI_LISTENER] = {"listener", UDPAI_TYPE_LISTENER, 0},
    [UDPAI_ROUTES] = {"route", UDPAI_TYPE_ROUTES, 0},
    [UDPAI_SECRET] = {"secret", UDPAI_TYPE_SECRET, 0},
    [UDPAI_RUNTIME] = {"runtime", UDPAI_TYPE_RUNTIME, 0},
    [UDPAI_SCOPE] = {"scoped-route", UDPAI_TYPE_SCOPES, 0},
    [UDPAI_EXTENSION] = {"extension", UDPAI_TYPE_EXTENSION, 0},
    [UDPAI_HOST] = {"virtual-host", UDPAI_TYPE_VIRTUAL_HOST, UDPAI_DELTA_ONLY},
    [UDPAI_MEMBER] = {"locality-endpoint", UDPAI_TYPE_MEMBER,
                      UDPAI_DELTA_ONLY | UDPAI_NAMED_BY_URL},
    [UDPAI_LIST] = {"listener-collection",
                    UDPAI_TYPE_PREFIX "envoy.config.listener.v3.ListenerCollection",
                    UDPAI_NAMED_BY_URL},
};

bool
udpai_kind_is(udpai_kind kind, unsigned trait)
{
    return (kinds[kind].traits & trait) != 0;
}

const char *
udpai_kind_word(udpai_kind kind)
{
    return kinds[kind].word;
}

udpai_str
udpai_kind_url(udpai_kind kind)
{
    return udpai_str_from(kinds[kind].url);
}

udpai_kind
udpai_kind_of_url(udpai_str type_url)
{
    size_t i = 0;
    while (i < UDPAI_KINDS && !udpai_str_eq(type_url, udpai_str_from(kinds[i].url)))
        i++;
    return (udpai_kind)i;
}

udpai_kind
udpai_kind_of_word(udpai_str word)
{
    size_t i = 0;
    while (i < UDPAI_KINDS && !udpai_str_eq(word, udpai_str_from(kinds[i].word)))
        i++;
    return (udpai_kind)i;
}
