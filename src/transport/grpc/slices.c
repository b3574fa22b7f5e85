/* SPDX-License-Identifier: Apache-2.0 */
/* Between our bytes and gRPC's slices. The larger parts of a message are shared by all streams that
 * send them; a slice that refers to one keeps it alive until it was written. */
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "transport/grpc/grpc_internal.h"

/* A reference costs an allocation of its own; below this size a copy is cheaper. */
#define COPIED_BELOW 128
#define ON_STACK 32

static void
release_bytes(void *bytes)
{
    udpa_bytes_unref(bytes);
}

static grpc_slice
refer_to(udpa_bytes *bytes)
{
    /* gRPC only reads it. */
    void *data = (void *)(uintptr_t)udpa_bytes_data(bytes);
    return grpc_slice_new_with_user_data(data, udpa_bytes_size(bytes), release_bytes,
                                         udpa_bytes_ref(bytes));
}

/* The parts from here on that are small, and the tail if it follows them, copied into one slice. */
static grpc_slice
copy_small(const udpai_outgoing *message, size_t *at)
{
    size_t end = *at, size = 0;
    for (; end < message->n_parts && udpa_bytes_size(message->parts[end]) < COPIED_BELOW; end++)
        size += udpa_bytes_size(message->parts[end]);
    if (end == message->n_parts)
        size += message->tail_len;
    grpc_slice slice = grpc_slice_malloc(size);
    uint8_t *room = GRPC_SLICE_START_PTR(slice);
    for (; *at < end; ++*at) {
        udpai_str part = udpai_bytes_view(message->parts[*at]);
        memcpy(room, part.data, part.len);
        room += part.len;
    }
    if (end == message->n_parts)
        memcpy(room, message->tail, message->tail_len);
    return slice;
}

static size_t
fill(const udpai_outgoing *message, grpc_slice *slices)
{
    size_t n = 0, at = 0;
    bool ends_with_copy = false;
    while (at < message->n_parts) {
        ends_with_copy = udpa_bytes_size(message->parts[at]) < COPIED_BELOW;
        slices[n++] = ends_with_copy ? copy_small(message, &at) : refer_to(message->parts[at++]);
    }
    if (!ends_with_copy && message->tail_len)
        slices[n++] = copy_small(message, &at);
    return n;
}

grpc_byte_buffer *
udpai_slices_from(const udpai_outgoing *message)
{
    grpc_slice on_stack[ON_STACK], *slices = on_stack;
    if (message->n_parts + 1 > ON_STACK)
        slices = udpai_alloc_array(message->n_parts + 1, sizeof(*slices));
    if (!slices)
        return NULL;
    size_t n = fill(message, slices);
    grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(slices, n);
    for (size_t i = 0; i < n; i++)
        grpc_slice_unref(slices[i]);
    if (slices != on_stack)
        udpai_free(slices);
    return buffer;
}

udpai_str
udpai_slices_join(grpc_byte_buffer *buffer, grpc_slice *ret_owned)
{
    *ret_owned = grpc_empty_slice();
    grpc_byte_buffer_reader reader;
    grpc_slice *only = NULL;
    if (!grpc_byte_buffer_reader_init(&reader, buffer))
        return (udpai_str){"", 0};
    size_t size = grpc_byte_buffer_length(buffer);
    if (size && grpc_byte_buffer_reader_peek(&reader, &only) && GRPC_SLICE_LENGTH(*only) == size) {
        *ret_owned = grpc_slice_ref(*only);
    } else {
        grpc_byte_buffer_reader_destroy(&reader);
        if (size == 0 || !grpc_byte_buffer_reader_init(&reader, buffer))
            return (udpai_str){"", 0};
        *ret_owned = grpc_byte_buffer_reader_readall(&reader);
    }
    grpc_byte_buffer_reader_destroy(&reader);
    return (udpai_str){(const char *)GRPC_SLICE_START_PTR(*ret_owned),
                       GRPC_SLICE_LENGTH(*ret_owned)};
}
