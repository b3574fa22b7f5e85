/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/contents.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tools/bench/nested.h"

#define DIGITS 6
#define PORT 8080

/* Many names are written: printf() would cost more than all the rest. */
static void
put_digits(char *at, size_t index)
{
    for (size_t i = DIGITS; i > 0; i--, index /= 10)
        at[i - 1] = (char)('0' + index % 10);
}

udpai_str
udpai_contents_name(char room[UDPAI_CONTENTS_NAME_ROOM], const char *name_space, size_t index)
{
    size_t n = udpai_min_size(strlen(name_space), UDPAI_CONTENTS_NAME_ROOM - DIGITS - 1);
    memcpy(room, name_space, n);
    if (n)
        room[n++] = '/';
    put_digits(room + n, index);
    return (udpai_str){room, n + DIGITS};
}

size_t
udpai_contents_index(udpai_str name)
{
    size_t index = 0;
    bool has_digits =
        name.len == DIGITS || (name.len > DIGITS && name.data[name.len - DIGITS - 1] == '/');
    if (!has_digits)
        return SIZE_MAX;
    for (size_t i = name.len - DIGITS; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return SIZE_MAX;
        index = index * 10 + (size_t)(name.data[i] - '0');
    }
    return index;
}

/* ---- contents ---- */

static void
put_socket_address(udpai_proto_writer *writer, const void *from)
{
    char room[32];
    unsigned number = *(const unsigned *)from;
    int len = snprintf(room, sizeof(room), "10.%u.%u.%u", number >> 16 & 255, number >> 8 & 255,
                       number & 255);
    udpai_proto_put_bytes(writer, 2, (udpai_str){room, (size_t)len});
    udpai_proto_put_varint(writer, 3, PORT);
}

static void
put_address(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 1, put_socket_address, from);
}

static void
put_endpoint(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 1, put_address, from);
}

static void
put_lb_endpoint(udpai_proto_writer *writer, const void *from)
{
    udpai_load_put_nested(writer, 1, put_endpoint, from);
    udpai_proto_put_varint(writer, 2, 1 /* HEALTHY */);
}

static void
put_locality(udpai_proto_writer *writer, const void *from)
{
    char room[UDPAI_MARK_LEN + 1];
    snprintf(room, sizeof(room), UDPAI_MARK "%016" PRIx64, *(const uint64_t *)from);
    udpai_proto_put_bytes(writer, 3, (udpai_str){room, UDPAI_MARK_LEN});
}

struct endpoints {
    size_t size; /* that they have at least */
};

static void
put_endpoints(udpai_proto_writer *writer, const void *from)
{
    const struct endpoints *requested = from;
    const uint64_t serial = 0;
    size_t begin = writer->size;
    udpai_load_put_nested(writer, 1, put_locality, &serial);
    for (unsigned i = 0; writer->size - begin < requested->size || i == 0; i++)
        udpai_load_put_nested(writer, 2, put_lb_endpoint, &i);
}

static void
put_contents(udpai_proto_writer *writer, udpai_str name, size_t size)
{
    size_t before = udpai_proto_bytes_size(1, name.len);
    const struct endpoints endpoints = {size > before ? size - before : 0};
    udpai_proto_put_bytes(writer, 1, name);
    udpai_load_put_nested(writer, 2, put_endpoints, &endpoints);
}

bool
udpai_contents_make(udpai_contents *contents, const char *name_space, size_t size)
{
    udpai_proto_writer writer = {0};
    *contents = (udpai_contents){0};
    udpai_str name = udpai_contents_name(contents->name_room, name_space, 0);
    put_contents(&writer, name, size);
    contents->bytes.len = writer.size;
    contents->room = udpai_alloc(writer.size);
    contents->name = name;
    if (!contents->room)
        return false;
    writer = (udpai_proto_writer){.at = (uint8_t *)contents->room};
    put_contents(&writer, name, size);
    const char *mark = memmem(contents->room, writer.size, UDPAI_MARK, sizeof(UDPAI_MARK) - 1);
    contents->bytes.data = contents->room;
    contents->serial_at = (size_t)(mark - contents->room) + sizeof(UDPAI_MARK) - 1;
    contents->name_at = udpai_proto_bytes_size(1, name.len) - DIGITS;
    return true;
}

void
udpai_contents_set(udpai_contents *contents, size_t index, uint64_t serial)
{
    char digits[17];
    put_digits(contents->name_room + contents->name.len - DIGITS, index);
    put_digits(contents->room + contents->name_at, index);
    snprintf(digits, sizeof(digits), "%016" PRIx64, serial);
    memcpy(contents->room + contents->serial_at, digits, 16);
}

void
udpai_contents_done(udpai_contents *contents)
{
    udpai_free(contents->room);
    *contents = (udpai_contents){0};
}

/* ---- marks ---- */

static bool
read_serial(const char *digits, uint64_t *ret_serial)
{
    uint64_t serial = 0;
    for (size_t i = 0; i < 16; i++) {
        int value = udpai_hex_value(digits[i]);
        if (value < 0)
            return false;
        serial = serial << 4 | (uint64_t)value;
    }
    *ret_serial = serial;
    return true;
}

static void
find_whole(udpai_str text, udpai_mark_fn found, void *userdata)
{
    const udpai_str mark = UDPAI_STR(UDPAI_MARK);
    const char *at;
    while (text.len >= UDPAI_MARK_LEN && (at = memmem(text.data, text.len, mark.data, mark.len))) {
        size_t skipped = (size_t)(at - text.data);
        uint64_t serial;
        if (text.len - skipped < UDPAI_MARK_LEN)
            return;
        bool is_mark = read_serial(at + mark.len, &serial);
        if (is_mark)
            found(userdata, serial);
        skipped += is_mark ? UDPAI_MARK_LEN : mark.len;
        text = (udpai_str){text.data + skipped, text.len - skipped};
    }
}

static void
keep_tail(udpai_mark_finder *finder, udpai_str piece)
{
    size_t new = udpai_min_size(piece.len, sizeof(finder->tail));
    size_t old = udpai_min_size(finder->n, sizeof(finder->tail) - new);
    memmove(finder->tail, finder->tail + finder->n - old, old);
    memcpy(finder->tail + old, piece.data + piece.len - new, new);
    finder->n = (uint8_t)(old + new);
}

void
udpai_mark_find(udpai_mark_finder *finder, udpai_str piece, udpai_mark_fn found, void *userdata)
{
    char seam[2 * (UDPAI_MARK_LEN - 1)];
    size_t n = udpai_min_size(piece.len, UDPAI_MARK_LEN - 1);
    if (!piece.len)
        return;
    memcpy(seam, finder->tail, finder->n);
    memcpy(seam + finder->n, piece.data, n);
    if (finder->n)
        find_whole((udpai_str){seam, finder->n + n}, found, userdata);
    find_whole(piece, found, userdata);
    keep_tail(finder, piece);
}
