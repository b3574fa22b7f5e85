/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/publishers.h"

#include "base/alloc.h"
#include "base/percent.h"
#include "base/strbuf.h"

#define PUBLISHER "publisher:"

/* The '/' behind the name is the first one of the key, so that no two peers have one key. */
static udpai_strbuf
publisher_key(udpai_str name, udpai_str id)
{
    udpai_strbuf key = {0};
    udpai_strbuf_puts(&key, PUBLISHER);
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '/' || name.data[i] == '%')
            udpai_strbuf_puts(&key, name.data[i] == '/' ? "%2F" : "%25");
        else
            udpai_strbuf_append(&key, &name.data[i], 1);
    }
    udpai_strbuf_puts(&key, "/");
    udpai_strbuf_str(&key, id);
    return key;
}

udpai_origin *
udpai_publisher_find(const udpai_context *context, udpai_str name, udpai_str id)
{
    udpai_strbuf key = publisher_key(name, id);
    udpai_origin *origin = udpai_strbuf_failed(&key)
                               ? NULL
                               : udpai_store_find_origin(context->store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    return origin;
}

udpai_origin *
udpai_publisher_origin(const udpai_context *context, udpai_str name, udpai_str id)
{
    udpai_strbuf key = publisher_key(name, id);
    udpai_origin *origin = udpai_strbuf_failed(&key)
                               ? NULL
                               : udpai_store_origin(context->store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    return origin;
}

bool
udpai_publisher_is_key(udpai_str origin_key)
{
    return udpai_str_starts(origin_key, UDPAI_STR(PUBLISHER));
}

char *
udpai_publisher_key_read(udpai_str key, udpai_str *ret_name, udpai_str *ret_id)
{
    udpai_str head = UDPAI_STR(PUBLISHER);
    const char *slash =
        udpai_str_starts(key, head) ? memchr(key.data + head.len, '/', key.len - head.len) : NULL;
    char *room = slash ? udpai_alloc(key.len) : NULL, *at = room;
    if (!room)
        return NULL;
    const udpai_str name = {key.data + head.len, (size_t)(slash - key.data) - head.len};
    if (!udpai_percent_decode(name, &at, ret_name)) {
        udpai_free(room);
        return NULL;
    }
    *ret_id = (udpai_str){slash + 1, key.len - (size_t)(slash + 1 - key.data)};
    return room;
}
