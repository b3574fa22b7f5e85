/* SPDX-License-Identifier: Apache-2.0 */
/* A resource as the Resource message of the UDPA wire. */
#ifndef UDPAI_ENTRY_H
#define UDPAI_ENTRY_H

#include "base/proto.h"
#include "model/resource.h"

typedef struct udpai_entry_form {
    bool refresh;    /* without the payload: the receiver holds it */
    bool extended;   /* with our extensions */
    bool redacted;   /* the payload has its type alone; for peers that know our extensions */
    uint64_t ttl_ms; /* what is left; 0: none */
} udpai_entry_form;

/* Puts the fields of a Resource message. */
void
udpai_entry_put(udpai_proto_writer *writer, const udpa_resource *resource, udpai_entry_form form);
/* Puts it as a field of another message. */
void udpai_entry_put_field(udpai_proto_writer *writer,
                           uint32_t number,
                           const udpa_resource *resource,
                           udpai_entry_form form);
/* Puts a google.protobuf.Duration or Timestamp as a field. */
void udpai_duration_put(udpai_proto_writer *writer, uint32_t number, uint64_t ms);
void udpai_timestamp_put(udpai_proto_writer *writer, uint32_t number, int64_t time_us);
/* Puts a google.rpc.Status as a field. */
void
udpai_rpc_status_put(udpai_proto_writer *writer, uint32_t number, int32_t code, udpai_str text);

/* Puts a Signature (NULL: an empty one) or Hop as a field. */
void udpai_signature_put_field(udpai_proto_writer *writer,
                               uint32_t number,
                               const udpai_signature *signature);
void udpai_hop_put_field(udpai_proto_writer *writer, uint32_t number, const udpai_hop *hop);

/* A whole Resource message with all extensions, as durable stores keep it; NULL without memory. */
udpa_bytes *udpai_entry_encode(const udpa_resource *resource, uint64_t ttl_ms);

#endif
