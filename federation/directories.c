/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/directories.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/vector.h"

struct udpai_roots {
    udpai_context *context;
    UDPAI_VECTOR(udpai_expected) items;
};

udpa_err
udpai_roots_new(udpai_roots **ret_directories, udpai_context *context)
{
    udpai_roots *directories = udpai_alloc(sizeof(*directories));
    if (!directories)
        return UDPA_ERR_NOMEM;
    directories->context = context;
    *ret_directories = directories;
    return UDPA_OK;
}

void
udpai_roots_free(udpai_roots *directories)
{
    for (size_t i = 0; directories && i < directories->items.n; i++) {
        udpa_bytes_unref(directories->items.items[i].root);
        udpa_bytes_unref(directories->items.items[i].unread);
    }
    if (directories)
        udpai_vector_done(&directories->items);
    udpai_free(directories);
}

udpa_err
udpai_roots_expect(udpai_roots *directories, udpai_str root)
{
    udpai_expected expected = {0};
    udpa_err err = udpa_bytes_new(&expected.root, root.data, root.len);
    if (err == UDPA_OK && !udpai_vector_push(&directories->items, expected)) {
        udpa_bytes_unref(expected.root);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

void
udpai_roots_forget(udpai_roots *directories, udpai_expected *expected)
{
    if (!expected)
        return;
    size_t index = (size_t)(expected - directories->items.items);
    udpa_bytes_unref(expected->root);
    udpa_bytes_unref(expected->unread);
    memmove(expected, expected + 1, (directories->items.n - index - 1) * sizeof(*expected));
    directories->items.n--;
}

udpai_expected *
udpai_roots_next(const udpai_roots *directories, size_t *at)
{
    return *at < directories->items.n ? &directories->items.items[(*at)++] : NULL;
}

static void
put_key(udpai_strbuf *key, udpai_str root)
{
    udpai_strbuf_puts(key, "path:");
    udpai_strbuf_str(key, root);
}

const udpai_origin *
udpai_directory_find_origin(const udpai_roots *directories, udpai_str root)
{
    udpai_strbuf key = {0};
    put_key(&key, root);
    const udpai_origin *origin =
        udpai_strbuf_failed(&key)
            ? NULL
            : udpai_store_find_origin(directories->context->store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    return origin;
}

udpai_origin *
udpai_directory_origin(udpai_roots *directories, udpai_str root)
{
    udpai_strbuf key = {0};
    put_key(&key, root);
    udpai_origin *origin =
        udpai_strbuf_failed(&key)
            ? NULL
            : udpai_store_origin(directories->context->store, udpai_strbuf_view(&key));
    udpai_strbuf_done(&key);
    if (origin) {
        udpai_origin_set_rank(directories->context->store, origin, UDPAI_ORIGIN_FILES, 0);
        udpai_origin_set_durable(origin, directories->context->is_durable);
        udpai_origin_set_keeps_alive(origin, true);
    }
    return origin;
}

udpai_expected *
udpai_directory_find(const udpai_roots *directories, udpai_str root)
{
    for (size_t i = 0; i < directories->items.n; i++)
        if (udpai_str_eq(udpai_bytes_view(directories->items.items[i].root), root))
            return &directories->items.items[i];
    return NULL;
}

void
udpai_directory_note_unread(udpai_context *context, udpa_bytes **place, udpai_str path)
{
    if (*place && udpai_str_eq(udpai_bytes_view(*place), path))
        return;
    udpa_bytes *unread = NULL;
    if (path.len && udpa_bytes_new(&unread, path.data, path.len) != UDPA_OK)
        unread = NULL;
    udpa_bytes_unref(*place);
    *place = unread;
    udpai_context_touch(context);
}
