/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bytes.h"

#include <stdatomic.h>

#include "base/alloc.h"

/* As many as resources: 8 bytes in front of what they hold. */
struct udpa_bytes {
    atomic_uint refs;
    uint32_t size;
    uint8_t data[];
};

udpa_bytes *
udpai_bytes_make(size_t size, uint8_t **ret_room)
{
    if (size > UINT32_MAX)
        return NULL;
    udpa_bytes *bytes = udpai_realloc_array(NULL, sizeof(*bytes) + size, 1);
    if (!bytes)
        return NULL;
    atomic_init(&bytes->refs, 1);
    bytes->size = (uint32_t)size;
    *ret_room = bytes->data;
    return bytes;
}

udpa_err
udpa_bytes_new(udpa_bytes **ret_bytes, const void *data, size_t size)
{
    if (!ret_bytes || (!data && size))
        return UDPA_ERR_INVAL;
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(size, &room);
    if (!bytes)
        return UDPA_ERR_NOMEM;
    if (size)
        memcpy(room, data, size);
    *ret_bytes = bytes;
    return UDPA_OK;
}

udpa_bytes *
udpa_bytes_ref(udpa_bytes *bytes)
{
    if (bytes)
        atomic_fetch_add_explicit(&bytes->refs, 1, memory_order_relaxed);
    return bytes;
}

udpa_bytes *
udpa_bytes_unref(udpa_bytes *bytes)
{
    if (bytes && atomic_fetch_sub_explicit(&bytes->refs, 1, memory_order_acq_rel) == 1)
        udpai_free(bytes);
    return NULL;
}

const void *
udpa_bytes_data(const udpa_bytes *bytes)
{
    return bytes->data;
}

size_t
udpa_bytes_size(const udpa_bytes *bytes)
{
    return bytes->size;
}

udpa_bytes *
udpai_bytes_cstring(udpai_str text)
{
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(text.len + 1, &room);
    if (bytes) {
        if (text.len)
            memcpy(room, text.data, text.len);
        room[text.len] = '\0';
    }
    return bytes;
}

udpa_bytes *
udpai_bytes_of(udpai_strbuf *text)
{
    udpa_bytes *bytes = NULL;
    if (!udpai_strbuf_failed(text) && udpa_bytes_new(&bytes, text->data, text->len) != UDPA_OK)
        bytes = NULL;
    udpai_strbuf_done(text);
    return bytes;
}
