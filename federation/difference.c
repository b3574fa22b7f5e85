/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/difference.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "federation/source_internal.h"

/* The name, and behind it the type. */
typedef struct difference {
    uint32_t name_len, len;
    char text[];
} difference;

static udpai_str
key_of(const void *item)
{
    const difference *self = item;
    return (udpai_str){self->text, self->len};
}

void
udpai_differences_init(udpai_source *source)
{
    udpai_map_init(&source->differences, key_of);
}

static void
put_key(udpai_strbuf *key, udpai_str type_url, udpai_str name)
{
    udpai_strbuf_str(key, name);
    udpai_strbuf_str(key, type_url);
}

static void
add(udpai_source *source, udpai_str name, udpai_str key)
{
    difference *self = udpai_alloc(sizeof(*self) + key.len);
    if (!self)
        return;
    self->name_len = (uint32_t)name.len;
    self->len = (uint32_t)key.len;
    memcpy(self->text, key.data, key.len);
    if (!udpai_map_add(&source->differences, self))
        udpai_free(self);
}

/* Without memory it is not listed. */
void
udpai_difference_note(udpai_source *source, udpai_str type_url, udpai_str name)
{
    udpai_strbuf key = {0};
    put_key(&key, type_url, name);
    if (!udpai_strbuf_failed(&key) && source->differences.n < UDPAI_DIFFERENCES_MAX &&
        !udpai_map_get(&source->differences, udpai_strbuf_view(&key)))
        add(source, name, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
}

void
udpai_difference_end(udpai_source *source, udpai_str type_url, udpai_str name)
{
    if (source->differences.n == 0)
        return;
    udpai_strbuf key = {0};
    put_key(&key, type_url, name);
    if (!udpai_strbuf_failed(&key))
        udpai_free(udpai_map_remove(&source->differences, udpai_strbuf_view(&key)));
    udpai_strbuf_done(&key);
}

void
udpai_difference_look(udpai_source *source, udpai_str type_url, const udpa_resource *published)
{
    udpai_str name = udpai_resource_name(published);
    udpai_contribution held;
    if (source->recovery ||
        !udpai_store_get(source->owner->context->store, source->origin, type_url, name, &held))
        return;
    uint64_t generation = udpa_resource_generation(published);
    bool is_older =
        held.superseded || (generation && generation < udpa_resource_generation(held.resource) &&
                            udpai_str_eq(udpai_resource_authority(held.resource),
                                         udpai_resource_authority(published)));
    if (is_older)
        udpai_difference_note(source, type_url, name);
    else
        udpai_difference_end(source, type_url, name);
}

void
udpai_differences_forget(udpai_source *source)
{
    size_t at = 0;
    void *item;
    while ((item = udpai_map_next(&source->differences, &at)))
        udpai_free(item);
    udpai_map_done(&source->differences);
    udpai_differences_init(source);
}

size_t
udpai_differences_list(const udpai_source *source, udpai_str names[UDPAI_DIFFERENCES_LISTED])
{
    size_t at = 0, n = 0;
    const difference *item;
    while (n < UDPAI_DIFFERENCES_LISTED && (item = udpai_map_next(&source->differences, &at)))
        names[n++] = (udpai_str){item->text, item->name_len};
    return n;
}
