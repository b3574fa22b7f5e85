/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of a node, by name and by link: look-up alone. */
#include "federation/source_internal.h"

static udpai_str
name_key(const void *item)
{
    return udpai_bytes_view(((const udpai_source *)item)->name);
}

static udpai_str
key_of_link(const uint64_t *link)
{
    return (udpai_str){(const char *)link, sizeof(*link)};
}

static udpai_str
link_key(const void *item)
{
    return key_of_link(&((const udpai_source *)item)->link);
}

static udpai_str
origin_key(const void *item)
{
    return udpai_origin_key(((const udpai_source *)item)->origin);
}

void
udpai_sources_init_table(udpai_sources *sources)
{
    udpai_map_init(&sources->by_name, name_key);
    udpai_map_init(&sources->by_link, link_key);
    udpai_map_init(&sources->by_origin, origin_key);
    udpai_list_init(&sources->own);
}

bool
udpai_sources_put(udpai_sources *sources, udpai_source *source, bool by_name)
{
    if (!udpai_map_reserve(&sources->by_link, 1) || !udpai_map_reserve(&sources->by_origin, 1) ||
        (by_name && !udpai_map_reserve(&sources->by_name, 1)))
        return false;
    (void)udpai_map_add(&sources->by_link, source);
    if (by_name)
        (void)udpai_map_add(&sources->by_name, source);
    if (source->origin && !udpai_sources_of_origin(sources, source->origin))
        (void)udpai_map_add(&sources->by_origin, source);
    return true;
}

void
udpai_sources_remove(udpai_sources *sources, udpai_source *source)
{
    udpai_str name = udpai_bytes_view(source->name);
    udpai_map_remove(&sources->by_link, key_of_link(&source->link));
    if (udpai_map_get(&sources->by_name, name) == source)
        udpai_map_remove(&sources->by_name, name);
    if (source->origin && udpai_sources_of_origin(sources, source->origin) == source)
        udpai_map_remove(&sources->by_origin, udpai_origin_key(source->origin));
}

void
udpai_sources_relink(udpai_sources *sources, udpai_source *source)
{
    udpai_map_remove(&sources->by_link, key_of_link(&source->link));
    source->link = ++sources->last_link;
    (void)udpai_map_add(&sources->by_link, source); /* it has the place of what was just removed */
}

udpai_source *
udpai_sources_get(const udpai_sources *sources, udpai_str name)
{
    return udpai_map_get(&sources->by_name, name);
}

udpai_source *
udpai_sources_at(const udpai_sources *sources, uint64_t link)
{
    return udpai_map_get(&sources->by_link, key_of_link(&link));
}

udpai_source *
udpai_sources_of_origin(const udpai_sources *sources, const udpai_origin *origin)
{
    return udpai_map_get(&sources->by_origin, udpai_origin_key(origin));
}

size_t
udpai_sources_size(const udpai_sources *sources)
{
    return sources->by_name.n;
}

udpai_source *
udpai_sources_next(const udpai_sources *sources, size_t *at)
{
    return udpai_map_next(&sources->by_name, at);
}

udpai_source *
udpai_sources_next_link(const udpai_sources *sources, size_t *at)
{
    return udpai_map_next(&sources->by_link, at);
}

udpai_source *
udpai_sources_next_own(const udpai_sources *sources, const udpai_source *source)
{
    const udpai_list *next = source ? source->in_own.next : sources->own.next;
    return next == &sources->own ? NULL : UDPAI_LIST_ENTRY(next, udpai_source, in_own);
}

udpai_roots *
udpai_sources_directories(const udpai_sources *sources)
{
    return sources->directories;
}

udpai_named_table *
udpai_sources_named_table(const udpai_sources *sources)
{
    return sources->named_table;
}
