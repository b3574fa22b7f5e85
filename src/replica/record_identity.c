/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/record_identity.h"

#include "base/vector.h"

enum { /* fields */
    COMMON_NAME = 1,
    URI = 2,
    DNS_NAME = 3,
    IS_AUTHENTICATED = 4,
};

static void
put_parts(udpai_proto_writer *writer, const udpai_identity_parts *parts)
{
    udpai_proto_put_bytes_opt(writer, COMMON_NAME, parts->common_name);
    for (size_t i = 0; i < parts->n_uris && i < UDPAI_RECORD_NAMES_MAX; i++)
        udpai_proto_put_bytes(writer, URI, parts->uris[i]);
    for (size_t i = 0; i < parts->n_dns_names && i < UDPAI_RECORD_NAMES_MAX; i++)
        udpai_proto_put_bytes(writer, DNS_NAME, parts->dns_names[i]);
    udpai_proto_put_varint_opt(writer, IS_AUTHENTICATED, parts->authenticated);
}

void
udpai_record_put_identity(udpai_proto_writer *writer,
                          uint32_t number,
                          const udpai_identity *identity)
{
    udpai_proto_writer size = {0};
    if (!identity)
        return;
    const udpai_identity_parts *parts = udpai_identity_parts_of(identity);
    put_parts(&size, parts);
    udpai_proto_put_head(writer, number, size.size);
    put_parts(writer, parts);
}

struct names {
    UDPAI_VECTOR(udpai_str) uris;
    UDPAI_VECTOR(udpai_str) dns_names;
    udpai_str common_name;
    bool is_authenticated;
};

static udpa_err
take(struct names *names, const udpai_proto_field *field)
{
    bool is_text = field->type == UDPAI_WIRE_BYTES;
    bool is_there = true;
    switch (field->number) {
    case COMMON_NAME:
        names->common_name = field->bytes;
        break;
    case URI:
        if (is_text && names->uris.n < UDPAI_RECORD_NAMES_MAX)
            is_there = udpai_vector_push(&names->uris, field->bytes);
        break;
    case DNS_NAME:
        if (is_text && names->dns_names.n < UDPAI_RECORD_NAMES_MAX)
            is_there = udpai_vector_push(&names->dns_names, field->bytes);
        break;
    case IS_AUTHENTICATED:
        names->is_authenticated = field->value != 0;
        return field->type == UDPAI_WIRE_VARINT ? UDPA_OK : UDPA_ERR_MALFORMED;
    default:
        return UDPA_OK;
    }
    return !is_text ? UDPA_ERR_MALFORMED : is_there ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_record_read_identity(udpai_str bytes, udpai_identity **ret_identity)
{
    struct names names = {.common_name = {"", 0}};
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field))
        err = take(&names, &field);
    if (err == UDPA_OK && reader.failed)
        err = UDPA_ERR_MALFORMED;
    const udpai_identity_parts parts = {
        .common_name = names.common_name,
        .uris = names.uris.items,
        .n_uris = names.uris.n,
        .dns_names = names.dns_names.items,
        .n_dns_names = names.dns_names.n,
        .authenticated = names.is_authenticated,
    };
    if (err == UDPA_OK)
        err = udpai_identity_new(ret_identity, &parts);
    udpai_vector_done(&names.uris);
    udpai_vector_done(&names.dns_names);
    return err;
}
