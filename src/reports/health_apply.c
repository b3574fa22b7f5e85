/* SPDX-License-Identifier: Apache-2.0 */
/* A verdict in a ClusterLoadAssignment: of each endpoint that it is about, one small field. The
 * message is written anew around that; every other field, known or not, goes as it came. */
#include "reports/health.h"

#include "base/proto.h"

enum { /* field numbers of the public types */
    ASSIGNMENT_LOCALITIES = 2,
    LOCALITY_ENDPOINTS = 2,
    LB_ENDPOINT = 1,
    LB_STATUS = 2,
    ENDPOINT_ADDRESS = 1,
};

typedef struct application {
    const udpai_health_verdict *verdict;
    bool is_malformed, has_changed;
} application;

/* What the last field that was read is made of: its tag, too. */
static udpai_str
whole(const uint8_t *start, const udpai_proto_reader *reader)
{
    return (udpai_str){(const char *)start, (size_t)(reader->at - start)};
}

static udpai_health_status
find(const application *self, udpai_str endpoint)
{
    udpai_str address = {0};
    udpai_health_address found;
    udpai_proto_reader reader = udpai_proto_read(endpoint);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == ENDPOINT_ADDRESS && field.type == UDPAI_WIRE_BYTES)
            address = field.bytes;
    if (reader.failed || !udpai_health_address_read(address, &found))
        return UDPAI_HEALTH_UNKNOWN;
    return udpai_health_verdict_find(self->verdict, &found);
}

/* What its status is to be; false: it stays as it is. */
static bool
find_status(application *self, udpai_str lb_endpoint, udpai_health_status *ret_status)
{
    udpai_str endpoint = {0};
    uint64_t configured = 0;
    udpai_proto_reader reader = udpai_proto_read(lb_endpoint);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == LB_ENDPOINT && field.type == UDPAI_WIRE_BYTES)
            endpoint = field.bytes;
        else if (field.number == LB_STATUS && field.type == UDPAI_WIRE_VARINT)
            configured = field.value;
    }
    self->is_malformed |= reader.failed;
    if (reader.failed || configured >= UDPAI_HEALTH_STATUSES)
        return false;
    udpai_health_status reported = find(self, endpoint);
    *ret_status = udpai_health_worse((udpai_health_status)configured, reported);
    return reported != UDPAI_HEALTH_UNKNOWN && *ret_status != (udpai_health_status)configured;
}

/* The field comes in the place of the one that is there, or last. */
static void
put_with_status(udpai_proto_writer *writer, udpai_str lb_endpoint, udpai_health_status status)
{
    bool is_put = false;
    udpai_proto_reader reader = udpai_proto_read(lb_endpoint);
    udpai_proto_field field;
    for (const uint8_t *start = reader.at; udpai_proto_next(&reader, &field); start = reader.at) {
        if (field.number != LB_STATUS || field.type != UDPAI_WIRE_VARINT) {
            udpai_proto_put_raw(writer, whole(start, &reader));
        } else if (!is_put) {
            udpai_proto_put_varint(writer, LB_STATUS, status);
            is_put = true;
        }
    }
    if (!is_put)
        udpai_proto_put_varint(writer, LB_STATUS, status);
}

static void
put_lb_endpoint(application *self, udpai_proto_writer *writer, udpai_str whole_field, udpai_str own)
{
    udpai_health_status status;
    if (!find_status(self, own, &status)) {
        udpai_proto_put_raw(writer, whole_field);
        return;
    }
    udpai_proto_writer size = {0};
    self->has_changed = true;
    put_with_status(&size, own, status);
    udpai_proto_put_head(writer, LOCALITY_ENDPOINTS, size.size);
    put_with_status(writer, own, status);
}

static void
put_locality(application *self, udpai_proto_writer *writer, udpai_str locality)
{
    udpai_proto_reader reader = udpai_proto_read(locality);
    udpai_proto_field field;
    for (const uint8_t *start = reader.at; udpai_proto_next(&reader, &field); start = reader.at) {
        if (field.number == LOCALITY_ENDPOINTS && field.type == UDPAI_WIRE_BYTES)
            put_lb_endpoint(self, writer, whole(start, &reader), field.bytes);
        else
            udpai_proto_put_raw(writer, whole(start, &reader));
    }
    self->is_malformed |= reader.failed;
}

static void
put_assignment(application *self, udpai_proto_writer *writer, udpai_str assignment)
{
    udpai_proto_reader reader = udpai_proto_read(assignment);
    udpai_proto_field field;
    for (const uint8_t *start = reader.at; udpai_proto_next(&reader, &field); start = reader.at) {
        if (field.number != ASSIGNMENT_LOCALITIES || field.type != UDPAI_WIRE_BYTES) {
            udpai_proto_put_raw(writer, whole(start, &reader));
            continue;
        }
        udpai_proto_writer size = {0};
        application inner = {.verdict = self->verdict};
        put_locality(&inner, &size, field.bytes);
        self->is_malformed |= inner.is_malformed;
        self->has_changed |= inner.has_changed;
        if (!inner.has_changed) { /* not even the way that its length is written */
            udpai_proto_put_raw(writer, whole(start, &reader));
            continue;
        }
        udpai_proto_put_head(writer, ASSIGNMENT_LOCALITIES, size.size);
        put_locality(&inner, writer, field.bytes);
    }
    self->is_malformed |= reader.failed;
}

udpa_err
udpai_health_apply(udpai_str assignment,
                   const udpai_health_verdict *verdict,
                   udpa_bytes **ret_assignment,
                   udpa_error **ret_error)
{
    application self = {.verdict = verdict};
    udpai_proto_writer writer = {0};
    put_assignment(&self, &writer, assignment);
    if (self.is_malformed)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "it is no ClusterLoadAssignment: the verdicts of checkers about its "
                          "endpoints cannot be put into it");
    *ret_assignment = NULL;
    if (!self.has_changed)
        return UDPA_OK;
    uint8_t *room;
    udpa_bytes *bytes = udpai_bytes_make(writer.size, &room);
    if (!bytes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    writer = (udpai_proto_writer){room, 0};
    put_assignment(&self, &writer, assignment);
    *ret_assignment = bytes;
    return UDPA_OK;
}
