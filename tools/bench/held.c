/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/held.h"

#include "base/alloc.h"
#include "tools/bench/contents.h"
#include "tools/bench/nested.h"

struct entry {
    udpai_str name, version;
};

static void
put_entry(udpai_proto_writer *writer, const void *from)
{
    const struct entry *entry = from;
    udpai_proto_put_bytes(writer, 1, entry->name);
    udpai_proto_put_bytes(writer, 2, entry->version);
}

static void
put_all(udpai_load_held *held,
        udpai_proto_writer *writer,
        udpai_load_protocol protocol,
        const char *name_space,
        const udpai_load_version *versions)
{
    static const uint32_t numbers[] = {[UDPAI_LOAD_DELTA] = 5, [UDPAI_LOAD_UDPA] = 3};
    char room[UDPAI_CONTENTS_NAME_ROOM];
    for (size_t i = 0; i < held->n; i++) {
        const struct entry entry = {
            udpai_contents_name(room, name_space, i),
            {versions[i].text, versions[i].len},
        };
        held->begin[i] = writer->size;
        if (versions[i].len)
            udpai_load_put_nested(writer, numbers[protocol], put_entry, &entry);
    }
    held->begin[held->n] = writer->size;
}

bool
udpai_load_held_make(udpai_load_held *held,
                     udpai_load_protocol protocol,
                     const char *name_space,
                     const udpai_load_version *versions,
                     size_t n)
{
    *held = (udpai_load_held){.begin = udpai_alloc_array(n + 1, sizeof(*held->begin)), .n = n};
    if (!held->begin)
        return false;
    udpai_proto_writer writer = {0};
    put_all(held, &writer, protocol, name_space, versions);
    held->fields = udpai_alloc(writer.size + 1);
    if (!held->fields)
        return false;
    writer = (udpai_proto_writer){.at = (uint8_t *)held->fields};
    put_all(held, &writer, protocol, name_space, versions);
    return true;
}

static void
put_range(const udpai_load_held *held, udpai_proto_writer *writer, size_t first, size_t end)
{
    size_t at = held->begin[first];
    udpai_proto_put_raw(writer, (udpai_str){held->fields + at, held->begin[end] - at});
}

void
udpai_load_held_put(const udpai_load_held *held, udpai_proto_writer *writer, size_t first, size_t n)
{
    size_t until_end = udpai_min_size(n, held->n - first);
    put_range(held, writer, first, first + until_end);
    put_range(held, writer, 0, n - until_end);
}

void
udpai_load_held_done(udpai_load_held *held)
{
    udpai_free(held->fields);
    udpai_free(held->begin);
    *held = (udpai_load_held){0};
}
