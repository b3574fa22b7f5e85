/* SPDX-License-Identifier: Apache-2.0 */
#include "model/links.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

size_t
udpai_links_sort(uint64_t *links, size_t n)
{
    size_t n_left = 0;
    if (n > 1)
        qsort(links, n, sizeof(*links), compare);
    for (size_t i = 0; i < n; i++)
        if (n_left == 0 || links[n_left - 1] != links[i])
            links[n_left++] = links[i];
    return n_left;
}

udpa_bytes *
udpai_links_new(const uint64_t *links, size_t n)
{
    udpa_bytes *made = NULL;
    return udpa_bytes_new(&made, links, n * sizeof(*links)) == UDPA_OK ? made : NULL;
}

/* Bytes lie where they like. */
static uint64_t
link_at(const char *bytes, size_t index)
{
    uint64_t link;
    memcpy(&link, bytes + index * sizeof(link), sizeof(link));
    return link;
}

bool
udpai_links_have(const udpa_bytes *links, uint64_t link)
{
    size_t n = links ? udpa_bytes_size(links) / sizeof(link) : 0;
    for (size_t i = 0; i < n; i++)
        if (link_at(udpa_bytes_data(links), i) == link)
            return true;
    return !links;
}

bool
udpai_links_check(udpai_str bytes)
{
    uint64_t last = 0;
    for (size_t i = 0; i < bytes.len / sizeof(last); i++) {
        uint64_t link = link_at(bytes.data, i);
        if (link <= last)
            return false;
        last = link;
    }
    return bytes.len % sizeof(last) == 0;
}
