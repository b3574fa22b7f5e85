/* SPDX-License-Identifier: Apache-2.0 */
/* The scan before protobuf-c: the first byte chooses the message's type, the rest is the message.
 * What passes can be unpacked with little memory, holds clean text alone, and what is packed from
 * it passes again. */
#include "base/utf8.h"
#include "envoy/config/core/v3/base.pb-c.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "tests/fuzz/fuzz.h"
#include "udpa/service/discovery/v1/discovery.pb-c.h"
#include "wire/scan.h"

static const ProtobufCMessageDescriptor *const types[] = {
    &udpa__service__discovery__v1__udpa_message__descriptor,
    &udpa__service__discovery__v1__resource__descriptor,
    &envoy__config__core__v3__node__descriptor,
    &envoy__service__discovery__v3__discovery_request__descriptor,
    &envoy__service__discovery__v3__delta_discovery_request__descriptor,
};

static size_t n_allocated;

static void *
allocate(void *userdata, size_t size)
{
    (void)userdata;
    n_allocated += size;
    return malloc(size ? size : 1);
}

static void
release(void *userdata, void *memory)
{
    (void)userdata;
    free(memory);
}

static ProtobufCAllocator allocator = {.alloc = allocate, .free = release};

/* Views into the message, in its order, one not beginning before the other. */
static void
check_spans(const udpai_spans *spans, udpai_str message)
{
    const char *last = message.data;
    for (size_t i = 0; i < spans->n; i++) {
        udpai_str span = spans->items[i];
        FUZZ_CHECK(span.data >= last && span.data + span.len <= message.data + message.len);
        last = span.data;
    }
}

static void
check_text(const ProtobufCFieldDescriptor *field, const void *place)
{
    const char *text = *(char *const *)place;
    if (field->type == PROTOBUF_C_TYPE_STRING && text)
        FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(text)));
}

/* Of the outermost message; those within are reached by their own bytes. */
static void
check_texts(const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        const char *place = (const char *)message + field->offset;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            continue; /* another member may be in the place */
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            check_text(field, place);
            continue;
        }
        size_t n =
            *(const size_t *)(const void *)((const char *)message + field->quantifier_offset);
        for (size_t k = 0; k < n && field->type == PROTOBUF_C_TYPE_STRING; k++)
            check_text(field, *(char *const *const *)(const void *)place + k);
    }
}

static void
check_packed(const ProtobufCMessageDescriptor *type, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = malloc(size ? size : 1);
    FUZZ_CHECK(packed);
    FUZZ_CHECK(protobuf_c_message_pack(message, packed) == size);
    FUZZ_CHECK(udpai_scan(type, (udpai_str){(const char *)packed, size}, NULL, NULL) == UDPA_OK);
    free(packed);
}

static void
check_passed(const ProtobufCMessageDescriptor *type, udpai_str bytes)
{
    n_allocated = 0;
    ProtobufCMessage *message =
        protobuf_c_message_unpack(type, &allocator, bytes.len, (const uint8_t *)bytes.data);
    FUZZ_CHECK(n_allocated <= 1024 + 256 * bytes.len);
    if (!message)
        return; /* protobuf-c is stricter in a few things */
    check_texts(message);
    check_packed(type, message);
    protobuf_c_message_free_unpacked(message, &allocator);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    const ProtobufCMessageDescriptor *type = types[fuzz_take_byte(&input) % UDPAI_ARRAY_LEN(types)];
    udpai_spans spans = {0};
    udpa_error *error = NULL;
    udpa_err err = udpai_scan(type, input, &spans, &error);
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_scan(type, input, NULL, NULL) == err);
    check_spans(&spans, input);
    if (err == UDPA_OK)
        check_passed(type, input);
    udpa_error_unref(error);
    udpai_vector_done(&spans);
    return 0;
}
