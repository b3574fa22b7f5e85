/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/hold_keys.h"

#include "base/proto.h"

enum {
    FIELD_CLUSTER = 1,
    FIELD_NUMBER,
    FIELD_DIGEST,
    FIELD_BASE,
    FIELD_DONE,
    FIELD_WRITER,
    FIELD_PARTIAL,
};

static void
put_state(udpai_proto_writer *writer, const void *what)
{
    const udpai_hold_state *state = what;
    udpai_proto_put_fixed64(writer, FIELD_CLUSTER, state->cluster_id);
    udpai_proto_put_varint(writer, FIELD_NUMBER, state->number);
    udpai_proto_put_fixed64(writer, FIELD_DIGEST, state->digest);
    udpai_proto_put_varint_opt(writer, FIELD_PARTIAL, state->is_partial);
}

static void
put_back(udpai_proto_writer *writer, const void *what)
{
    const udpai_back *back = what;
    put_state(writer, &back->state);
    udpai_proto_put_varint(writer, FIELD_BASE, back->base);
    udpai_proto_put_varint(writer, FIELD_DONE, back->is_done);
    udpai_proto_put_bytes(writer, FIELD_WRITER, back->writer);
}

udpa_bytes *
udpai_hold_state_write(const udpai_hold_state *state)
{
    return udpai_proto_encode(put_state, state);
}

udpa_bytes *
udpai_back_write(const udpai_back *back)
{
    return udpai_proto_encode(put_back, back);
}

static void
take_number(udpai_back *back, const udpai_proto_field *field)
{
    switch (field->number) {
    case FIELD_CLUSTER:
        back->state.cluster_id = field->value;
        break;
    case FIELD_NUMBER:
        back->state.number = field->value;
        break;
    case FIELD_DIGEST:
        back->state.digest = field->value;
        break;
    case FIELD_PARTIAL:
        back->state.is_partial = field->value != 0;
        break;
    case FIELD_BASE:
        back->base = field->value;
        break;
    case FIELD_DONE:
        back->is_done = field->value != 0;
        break;
    default: /* of a later version */
        break;
    }
}

bool
udpai_back_read(udpai_str value, udpai_back *ret_back)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    *ret_back = (udpai_back){0};
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            take_number(ret_back, &field);
        else if (field.number == FIELD_WRITER)
            ret_back->writer = field.bytes;
    }
    /* Revisions are added to it. */
    return !reader.failed && ret_back->state.cluster_id && ret_back->base <= INT64_MAX &&
           ret_back->state.number <= INT64_MAX;
}

bool
udpai_hold_state_read(udpai_str value, udpai_hold_state *ret_state)
{
    udpai_back read;
    bool is_good = udpai_back_read(value, &read);
    *ret_state = read.state;
    return is_good;
}
