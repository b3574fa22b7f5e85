/* SPDX-License-Identifier: Apache-2.0 */
/* What a checker answers. It is scanned first, so what is read here is well-formed, and its text is
 * UTF-8. */
#include "reports/health.h"

#include "base/proto.h"
#include "envoy/service/health/v3/hds.pb-c.h"
#include "wire/scan.h"

enum { /* field numbers of the public types */
    ADDRESS_SOCKET = 1,
    ADDRESS_PIPE = 2,
    SOCKET_ADDRESS = 2,
    SOCKET_PORT = 3,
    SOCKET_NAMED_PORT = 4, /* in one oneof with the port */
    PIPE_PATH = 1,
    ENDPOINT_ADDRESS = 1,
    HEALTH_ENDPOINT = 1,
    HEALTH_STATUS = 2,
    LOCALITY_ENDPOINTS = 2,
    CLUSTER_NAME = 1,
    CLUSTER_LOCALITIES = 2,
    ANSWER_FLAT = 1,
    ANSWER_CLUSTERS = 2,
};

/* ---- addresses ---- */

static bool
read_socket(udpai_str socket, udpai_health_address *to)
{
    udpai_proto_reader reader = udpai_proto_read(socket);
    udpai_proto_field field;
    uint64_t port = 0;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == SOCKET_ADDRESS && field.type == UDPAI_WIRE_BYTES)
            to->text = field.bytes;
        else if (field.number == SOCKET_PORT && field.type == UDPAI_WIRE_VARINT)
            port = field.value;
        else if (field.number == SOCKET_NAMED_PORT && field.type == UDPAI_WIRE_BYTES)
            port = 0;
    }
    to->port = (uint32_t)port;
    return !reader.failed && to->text.len && port > 0 && port <= UINT16_MAX;
}

static bool
read_pipe(udpai_str pipe, udpai_health_address *to)
{
    udpai_proto_reader reader = udpai_proto_read(pipe);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == PIPE_PATH && field.type == UDPAI_WIRE_BYTES)
            to->text = field.bytes;
    return !reader.failed && to->text.len;
}

bool
udpai_health_address_read(udpai_str address, udpai_health_address *ret_address)
{
    udpai_health_address found = {0};
    bool is_found = false;
    udpai_proto_reader reader = udpai_proto_read(address);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        found = (udpai_health_address){0};
        is_found = field.number == ADDRESS_SOCKET
                       ? read_socket(field.bytes, &found)
                       : field.number == ADDRESS_PIPE && read_pipe(field.bytes, &found);
    }
    if (reader.failed || !is_found)
        return false;
    *ret_address = found;
    return true;
}

int
udpai_health_address_cmp(const udpai_health_address *a, const udpai_health_address *b)
{
    int order = udpai_str_cmp(a->text, b->text);
    return order ? order : (a->port > b->port) - (a->port < b->port);
}

/* ---- answers ---- */

static bool
read_endpoint(udpai_str endpoint, udpai_health_address *to)
{
    return udpai_health_address_read(udpai_proto_last_bytes(endpoint, ENDPOINT_ADDRESS), to);
}

/* A status that is not known is no vote. */
static udpai_health_status
status_of(uint64_t value)
{
    return value < UDPAI_HEALTH_STATUSES ? (udpai_health_status)value : UDPAI_HEALTH_UNKNOWN;
}

static udpa_err
add_endpoint(udpai_health_answer *answer,
             udpai_str cluster,
             udpai_str health,
             udpa_error **ret_error)
{
    udpai_health_result result = {.cluster = cluster};
    udpai_str endpoint = {0};
    udpai_proto_reader reader = udpai_proto_read(health);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field)) {
        if (field.number == HEALTH_ENDPOINT && field.type == UDPAI_WIRE_BYTES)
            endpoint = field.bytes;
        else if (field.number == HEALTH_STATUS && field.type == UDPAI_WIRE_VARINT)
            result.status = status_of(field.value);
    }
    if (!read_endpoint(endpoint, &result.address)) {
        answer->n_strange++;
        return UDPA_OK;
    }
    if (answer->results.n >= UDPAI_HEALTH_ENDPOINTS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "an answer is about more than %d endpoints",
                          UDPAI_HEALTH_ENDPOINTS_MAX);
    return udpai_vector_push(&answer->results, result) ? UDPA_OK : UDPA_ERR_NOMEM;
}

static udpa_err
add_locality(udpai_health_answer *answer,
             udpai_str cluster,
             udpai_str locality,
             udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    udpai_proto_reader reader = udpai_proto_read(locality);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == LOCALITY_ENDPOINTS && field.type == UDPAI_WIRE_BYTES)
            err = add_endpoint(answer, cluster, field.bytes, ret_error);
    return err;
}

static udpa_err
add_cluster(udpai_health_answer *answer, udpai_str cluster, udpa_error **ret_error)
{
    udpai_str name = udpai_proto_last_bytes(cluster, CLUSTER_NAME);
    if (name.len == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "an answer is about a cluster without a name: cluster_name is missing");
    udpa_err err = UDPA_OK;
    udpai_proto_reader reader = udpai_proto_read(cluster);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        if (field.number == CLUSTER_LOCALITIES && field.type == UDPAI_WIRE_BYTES)
            err = add_locality(answer, name, field.bytes, ret_error);
    return err;
}

static bool
has_clusters(udpai_str message)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.number == ANSWER_CLUSTERS && field.type == UDPAI_WIRE_BYTES)
            return true;
    return false;
}

udpa_err
udpai_health_answer_read(udpai_str message, udpai_health_answer *ret_answer, udpa_error **ret_error)
{
    *ret_answer = (udpai_health_answer){0};
    udpa_err err = udpai_scan(&envoy__service__health__v3__endpoint_health_response__descriptor,
                              message, NULL, ret_error);
    bool is_by_cluster = has_clusters(message);
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == ANSWER_CLUSTERS)
            err = add_cluster(ret_answer, field.bytes, ret_error);
        else if (field.number == ANSWER_FLAT && !is_by_cluster)
            err = add_endpoint(ret_answer, (udpai_str){0}, field.bytes, ret_error);
    }
    return udpai_fail_code(ret_error, err);
}

void
udpai_health_answer_done(udpai_health_answer *answer)
{
    udpai_vector_done(&answer->results);
}
