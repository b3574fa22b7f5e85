/* SPDX-License-Identifier: Apache-2.0 */
#include "model/waits.h"

enum { /* field numbers of a Wait */
    INSTANCE = 1,
    FOR_WHOM = 2,
    ROUND = 3,
    DISTANCE = 4,
};

#define NOBODY UDPAI_WAITS_MAX

static uint64_t
bit(unsigned index)
{
    return (uint64_t)1 << index;
}

void
udpai_waits_begin(udpai_waits *waits, udpai_str self)
{
    *waits = (udpai_waits){.instances = {self}, .known = 1, .least = UDPAI_WAITS_MAX, .n = 1};
}

void
udpai_waits_for_unknown(udpai_waits *waits)
{
    waits->outside |= 1;
}

/* NOBODY: there is no room for one more. */
static unsigned
find(udpai_waits *waits, udpai_str instance)
{
    for (unsigned i = 0; i < waits->n; i++)
        if (udpai_str_eq(waits->instances[i], instance))
            return i;
    if (waits->n == UDPAI_WAITS_MAX)
        return NOBODY;
    waits->instances[waits->n] = instance;
    return waits->n++;
}

static void
add_wait(udpai_waits *waits, unsigned waiter, udpai_str instance)
{
    unsigned whom = instance.len ? find(waits, instance) : NOBODY;
    if (whom == NOBODY)
        waits->outside |= bit(waiter);
    else
        waits->for_whom[waiter] |= bit(whom);
}

/* One Wait; false: it is none. */
static bool
read_wait(udpai_str message, udpai_str *ret_instance, udpai_proto_reader *ret_for_whom)
{
    udpai_proto_field field;
    *ret_for_whom = udpai_proto_read(message);
    if (!udpai_proto_next(ret_for_whom, &field) || field.number != INSTANCE ||
        field.type != UDPAI_WIRE_BYTES || field.bytes.len == 0)
        return false;
    *ret_instance = field.bytes;
    return true;
}

/* What follows the instances. */
struct wait {
    uint64_t round, distance;
};

static bool
read_numbers(udpai_proto_reader wait, struct wait *ret_wait)
{
    udpai_proto_field field;
    *ret_wait = (struct wait){0};
    while (udpai_proto_next(&wait, &field)) {
        if (field.number == ROUND && field.type == UDPAI_WIRE_VARINT)
            ret_wait->round = field.value;
        else if (field.number == DISTANCE && field.type == UDPAI_WIRE_VARINT)
            ret_wait->distance = field.value;
    }
    return !wait.failed;
}

/* Does what has passed so many nodes count? What others report of the node itself does not, nor
 * what goes round and round. */
static bool
counts(udpai_waits *waits, unsigned waiter, uint64_t distance)
{
    bool is_known = waits->known & bit(waiter);
    if (waiter == 0 || distance > UDPAI_WAITS_MAX ||
        (is_known && distance > waits->distance[waiter]))
        return false;
    if (is_known && distance == waits->distance[waiter])
        return true;
    waits->known |= bit(waiter);
    waits->outside &= ~bit(waiter);
    waits->for_whom[waiter] = 0;
    waits->distance[waiter] = (uint8_t)distance;
    return true;
}

/* Of what has come over equally many nodes, all counts. */
static bool
take_wait(udpai_waits *waits, unsigned waiter, udpai_proto_reader *wait, uint64_t *ret_round)
{
    udpai_proto_field field;
    struct wait numbers;
    if (!read_numbers(*wait, &numbers))
        return false;
    *ret_round = numbers.round;
    if (numbers.distance >= UDPAI_WAITS_MAX || !counts(waits, waiter, numbers.distance + 1))
        return true;
    while (udpai_proto_next(wait, &field))
        if (field.number == FOR_WHOM && field.type == UDPAI_WIRE_BYTES)
            add_wait(waits, waiter, field.bytes);
    return true;
}

/* False: somebody has no room, or it is malformed. */
static bool
take_all(udpai_waits *waits, udpai_str sender, udpai_str text, uint64_t *ret_round)
{
    udpai_proto_reader reader = udpai_proto_read(text), wait;
    udpai_proto_field field;
    udpai_str instance;
    uint64_t round;
    for (size_t i = 0; udpai_proto_next(&reader, &field); i++) {
        if (field.number != UDPAI_WAITS_FIELD || field.type != UDPAI_WIRE_BYTES ||
            !read_wait(field.bytes, &instance, &wait) ||
            (i == 0 && !udpai_str_eq(instance, sender)))
            return false;
        unsigned waiter = find(waits, instance);
        if (waiter == NOBODY || !take_wait(waits, waiter, &wait, &round))
            return false;
        if (i == 0)
            *ret_round = round;
    }
    return !reader.failed;
}

void
udpai_waits_for(udpai_waits *waits, udpai_str instance, udpai_str text)
{
    uint64_t round = 0;
    add_wait(waits, 0, instance);
    if (text.len > UDPAI_WAITS_BYTES_MAX || !take_all(waits, instance, text, &round))
        udpai_waits_for_unknown(waits);
    if (round < waits->least)
        waits->least = round;
}

static uint64_t
reached(const udpai_waits *waits)
{
    uint64_t all = 1, before = 0;
    while (all != before) {
        before = all;
        for (unsigned i = 0; i < waits->n; i++)
            if (before & bit(i))
                all |= waits->for_whom[i];
    }
    return all;
}

static unsigned
count(uint64_t set)
{
    unsigned n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

static uint64_t
round_of(const udpai_waits *waits)
{
    return waits->outside & 1 ? 1 : waits->least + 1;
}

bool
udpai_waits_are_closed(const udpai_waits *waits)
{
    uint64_t all = reached(waits);
    return (all & ~waits->known) == 0 && (all & waits->outside) == 0 &&
           round_of(waits) > count(all);
}

static void
put_wait(const udpai_waits *waits, unsigned waiter, udpai_proto_writer *writer)
{
    udpai_proto_put_bytes(writer, INSTANCE, waits->instances[waiter]);
    for (unsigned i = 0; i < waits->n; i++)
        if (waits->for_whom[waiter] & bit(i))
            udpai_proto_put_bytes(writer, FOR_WHOM, waits->instances[i]);
    if (waits->outside & bit(waiter))
        udpai_proto_put_bytes(writer, FOR_WHOM, UDPAI_STR(""));
    if (waiter == 0)
        udpai_proto_put_varint(writer, ROUND, round_of(waits));
    udpai_proto_put_varint_opt(writer, DISTANCE, waits->distance[waiter]);
}

void
udpai_waits_put(const udpai_waits *waits, udpai_proto_writer *writer)
{
    uint64_t listed = reached(waits) & waits->known;
    for (unsigned i = 0; i < waits->n; i++) {
        if (!(listed & bit(i)))
            continue;
        udpai_proto_writer size = {0};
        put_wait(waits, i, &size);
        udpai_proto_put_head(writer, UDPAI_WAITS_FIELD, size.size);
        put_wait(waits, i, writer);
    }
}
