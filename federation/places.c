/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/places.h"

#include "base/alloc.h"

typedef struct place {
    size_t origin_len, type_len;
    size_t len;
    char text[]; /* the lengths of origin and type, then all three */
} place;

static udpai_str
text_of(const void *item)
{
    const place *one = item;
    return (udpai_str){one->text, one->len};
}

/* The type of a DELETE has a NUL at its end. */
udpai_place
udpai_place_of(const udpai_durable_op *op)
{
    if (op->resource)
        return (udpai_place){
            .origin = udpai_bytes_view(op->origin),
            .type_url = udpai_resource_type_url(op->resource),
            .name = udpai_resource_name(op->resource),
        };
    return (udpai_place){
        .origin = udpai_bytes_view(op->origin),
        .type_url = {udpa_bytes_data(op->type), udpa_bytes_size(op->type) - 1},
        .name = udpai_bytes_view(op->name),
    };
}

void
udpai_places_init(udpai_places *places)
{
    *places = (udpai_places){0};
    udpai_map_init(&places->by_text, text_of);
}

void
udpai_places_clear(udpai_places *places)
{
    size_t at = 0;
    place *one;
    while ((one = udpai_map_next(&places->by_text, &at)))
        udpai_free(one);
    udpai_map_done(&places->by_text);
    udpai_map_init(&places->by_text, text_of);
}

void
udpai_places_done(udpai_places *places)
{
    udpai_places_clear(places);
    udpai_strbuf_done(&places->room);
}

/* Both lengths come first: no two places have the same text. False without memory. */
static bool
write_text(udpai_places *places, const udpai_place *at)
{
    const size_t lengths[] = {at->origin.len, at->type_url.len};
    places->room.len = 0;
    udpai_strbuf_append(&places->room, (const char *)lengths, sizeof(lengths));
    udpai_strbuf_str(&places->room, at->origin);
    udpai_strbuf_str(&places->room, at->type_url);
    udpai_strbuf_str(&places->room, at->name);
    if (!udpai_strbuf_failed(&places->room))
        return true;
    udpai_strbuf_done(&places->room);
    return false;
}

bool
udpai_places_add(udpai_places *places, const udpai_place *at)
{
    if (!write_text(places, at))
        return false;
    udpai_str text = udpai_strbuf_view(&places->room);
    if (udpai_map_get(&places->by_text, text))
        return true;
    place *one = udpai_alloc(sizeof(*one) + text.len);
    if (!one)
        return false;
    one->origin_len = at->origin.len;
    one->type_len = at->type_url.len;
    one->len = text.len;
    memcpy(one->text, text.data, text.len);
    if (udpai_map_add(&places->by_text, one))
        return true;
    udpai_free(one);
    return false;
}

udpa_err
udpai_places_find(udpai_places *places, const udpai_place *at)
{
    if (udpai_places_n(places) == 0)
        return UDPA_ERR_NOT_FOUND;
    if (!write_text(places, at))
        return UDPA_ERR_NOMEM;
    bool is_there = udpai_map_get(&places->by_text, udpai_strbuf_view(&places->room)) != NULL;
    return is_there ? UDPA_OK : UDPA_ERR_NOT_FOUND;
}

bool
udpai_places_remove(udpai_places *places, const udpai_place *at)
{
    if (udpai_places_n(places) == 0 || !write_text(places, at))
        return false;
    udpai_str text = udpai_strbuf_view(&places->room);
    place *one = udpai_map_get(&places->by_text, text);
    if (!one)
        return false;
    udpai_map_remove(&places->by_text, text);
    udpai_free(one);
    return true;
}

size_t
udpai_places_n(const udpai_places *places)
{
    return places->by_text.n;
}

bool
udpai_places_next(const udpai_places *places, size_t *at, udpai_place *ret_place)
{
    const place *one = udpai_map_next(&places->by_text, at);
    if (!one)
        return false;
    const char *text = one->text + 2 * sizeof(size_t);
    *ret_place = (udpai_place){
        .origin = {text, one->origin_len},
        .type_url = {text + one->origin_len, one->type_len},
        .name = {text + one->origin_len + one->type_len,
                 one->len - 2 * sizeof(size_t) - one->origin_len - one->type_len},
    };
    return true;
}
