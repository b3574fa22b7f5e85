/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a client. */
#include "xds/exchange.h"

#include "base/alloc.h"
#include "wire/compose.h"
#include "wire/entry.h"

/* Field numbers that both requests have, and those of one alone; 0: it has none. */
typedef struct request_fields {
    uint32_t version, node, type_url, names, unsubscribed, versions, nonce, error;
} request_fields;

static const request_fields sotw_fields = {
    .version = 1,
    .node = 2,
    .names = 3,
    .type_url = 4,
    .nonce = 5,
    .error = 6,
};

static const request_fields delta_fields = {
    .node = 1,
    .type_url = 2,
    .names = 3,
    .unsubscribed = 4,
    .versions = 5,
    .nonce = 6,
    .error = 7,
};

static void
put_names(udpai_proto_writer *writer, uint32_t number, const udpai_str *names, size_t n)
{
    for (size_t i = 0; number && i < n; i++)
        udpai_proto_put_bytes(writer, number, names[i]);
}

static void
put_versions(udpai_proto_writer *writer, uint32_t number, const udpai_xds_ask *ask)
{
    for (size_t i = 0; number && i < ask->n_versions; i++) {
        const udpai_held_version *held = &ask->versions[i];
        udpai_proto_put_head(writer, number,
                             udpai_proto_bytes_size(1, held->name.len) +
                                 udpai_proto_bytes_size(2, held->version.len));
        udpai_proto_put_bytes(writer, 1, held->name);
        udpai_proto_put_bytes(writer, 2, held->version);
    }
}

static void
put_error(udpai_proto_writer *writer, uint32_t number, const udpai_xds_ask *ask)
{
    if (ask->error_code)
        udpai_rpc_status_put(writer, number, ask->error_code, ask->error_text);
}

static void
put_request(udpai_proto_writer *writer, const udpai_xds_ask *ask, const request_fields *fields)
{
    if (fields->version)
        udpai_proto_put_bytes_opt(writer, fields->version, ask->version);
    udpai_proto_put_bytes_opt(writer, fields->node, ask->node);
    udpai_proto_put_bytes_opt(writer, fields->type_url, ask->type_url);
    put_names(writer, fields->names, ask->names, ask->n_names);
    put_names(writer, fields->unsubscribed, ask->unsubscribed, ask->n_unsubscribed);
    put_versions(writer, fields->versions, ask);
    udpai_proto_put_bytes_opt(writer, fields->nonce, ask->nonce);
    put_error(writer, fields->error, ask);
}

udpa_bytes *
udpai_xds_ask_compose(const udpai_xds_ask *ask, bool is_delta)
{
    const request_fields *fields = is_delta ? &delta_fields : &sotw_fields;
    udpai_proto_writer writer = {0};
    put_request(&writer, ask, fields);
    uint8_t *room;
    udpa_bytes *message = udpai_bytes_make(writer.size, &room);
    if (!message)
        return NULL;
    writer = (udpai_proto_writer){room, 0};
    put_request(&writer, ask, fields);
    return message;
}
