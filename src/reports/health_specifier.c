/* SPDX-License-Identifier: Apache-2.0 */
/* What of a specifier a checker is sent: the checks that it can do. Only their kind matters here.
 */
#include "reports/health_table.h"

#include "base/proto.h"
#include "envoy/service/health/v3/hds.pb-c.h"
#include "wire/scan.h"

enum { /* field numbers of the public types */
    CAPABILITY_PROTOCOLS = 1,
    SPECIFIER_CLUSTERS = 1,
    CLUSTER_CHECKS = 2,
    CHECK_HTTP = 8,
    CHECK_TCP = 9,
    CHECK_GRPC = 11,
    CHECK_CUSTOM = 13, /* these are of one oneof */
    CUSTOM_NAME = 1,
};

/* There is no value for checks of another kind, so no checker can state that it does them. */
#define REDIS_CHECKER "envoy.health_checkers.redis"

/* ---- what a checker can do ---- */

static unsigned
protocol_bit(uint64_t value)
{
    return value < 3 ? 1u << value : 0;
}

unsigned
udpai_health_capability_read(udpai_str capability)
{
    unsigned found = 0;
    uint64_t value;
    udpai_proto_reader reader = udpai_proto_read(capability);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number != CAPABILITY_PROTOCOLS)
            continue;
        if (field.type == UDPAI_WIRE_VARINT)
            found |= protocol_bit(field.value);
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        udpai_proto_reader packed = udpai_proto_read(field.bytes);
        while (packed.at < packed.end && udpai_proto_take_number(&packed, &value))
            found |= protocol_bit(value);
    }
    return found;
}

/* ---- checks ---- */

static unsigned
protocol_of_custom(udpai_str custom)
{
    udpai_str name = {0};
    udpai_proto_reader reader = udpai_proto_read(custom);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == CUSTOM_NAME && field.type == UDPAI_WIRE_BYTES)
            name = field.bytes;
    return udpai_str_eq(name, UDPAI_STR(REDIS_CHECKER)) ? UDPAI_HEALTH_REDIS : 0;
}

/* Of a oneof the last one counts. */
unsigned
udpai_health_check_protocol(udpai_str check)
{
    unsigned found = 0;
    udpai_proto_reader reader = udpai_proto_read(check);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == CHECK_HTTP || field.number == CHECK_GRPC)
            found = UDPAI_HEALTH_HTTP;
        else if (field.number == CHECK_TCP)
            found = UDPAI_HEALTH_TCP;
        else if (field.number == CHECK_CUSTOM)
            found = protocol_of_custom(field.bytes);
    }
    return reader.failed ? 0 : found;
}

/* ---- the specifier ---- */

typedef struct limiting {
    unsigned capability;
    size_t n_left_out;
} limiting;

static udpai_str
whole(const uint8_t *start, const udpai_proto_reader *reader)
{
    return (udpai_str){(const char *)start, (size_t)(reader->at - start)};
}

static bool
is_check(const udpai_proto_field *field)
{
    return field->number == CLUSTER_CHECKS && field->type == UDPAI_WIRE_BYTES;
}

static void
count_checks(const limiting *self, udpai_str cluster, size_t *ret_n_able, size_t *ret_n)
{
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (!is_check(&field))
            continue;
        ++*ret_n;
        *ret_n_able += (udpai_health_check_protocol(field.bytes) & self->capability) != 0;
    }
}

static void
put_cluster(const limiting *self, udpai_proto_writer *writer, udpai_str cluster)
{
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    for (const uint8_t *start = reader.at; udpai_proto_next(&reader, &field); start = reader.at)
        if (!is_check(&field) || (udpai_health_check_protocol(field.bytes) & self->capability))
            udpai_proto_put_raw(writer, whole(start, &reader));
}

static void
put_specifier(limiting *self, udpai_proto_writer *writer, udpai_str specifier)
{
    udpai_proto_reader reader = udpai_proto_read(specifier);
    udpai_proto_field field;
    self->n_left_out = 0;
    for (const uint8_t *start = reader.at; udpai_proto_next(&reader, &field); start = reader.at) {
        if (field.number != SPECIFIER_CLUSTERS || field.type != UDPAI_WIRE_BYTES) {
            udpai_proto_put_raw(writer, whole(start, &reader));
            continue;
        }
        size_t n_able = 0, n = 0;
        count_checks(self, field.bytes, &n_able, &n);
        self->n_left_out += n - n_able;
        if (n_able == 0)
            continue;
        udpai_proto_writer size = {0};
        put_cluster(self, &size, field.bytes);
        udpai_proto_put_head(writer, SPECIFIER_CLUSTERS, size.size);
        put_cluster(self, writer, field.bytes);
    }
}

udpa_err
udpai_health_specifier_limit(udpai_str specifier,
                             unsigned capability,
                             udpa_bytes **ret_limited,
                             size_t *ret_n_left_out,
                             udpa_error **ret_error)
{
    udpa_err err = udpai_scan(&envoy__service__health__v3__health_check_specifier__descriptor,
                              specifier, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    limiting self = {.capability = capability};
    udpai_proto_writer writer = {0};
    put_specifier(&self, &writer, specifier);
    uint8_t *room;
    udpa_bytes *limited = udpai_bytes_make(writer.size, &room);
    if (!limited)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    writer = (udpai_proto_writer){room, 0};
    put_specifier(&self, &writer, specifier);
    *ret_limited = limited;
    *ret_n_left_out = self.n_left_out;
    return UDPA_OK;
}
