/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of a server. What was scanned is read field by field: so the bytes of each payload are
 * those that came. */
#include "xds/exchange.h"

#include "base/proto.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "model/resource.h"
#include "xds/peek.h"

enum { /* field numbers of Resource, CacheControl, ControlPlane, Duration */
    RESOURCE_VERSION = 1,
    RESOURCE_PAYLOAD = 2,
    RESOURCE_NAME = 3,
    RESOURCE_ALIASES = 4,
    RESOURCE_TTL = 6,
    RESOURCE_CACHE_CONTROL = 7,
    RESOURCE_RESOURCE_NAME = 8,
    NAME_NAME = 1,
    CACHE_CONTROL_DO_NOT_CACHE = 1,
    CONTROL_PLANE_IDENTIFIER = 1,
    DURATION_SECONDS = 1,
    DURATION_NANOS = 2,
};

/* Field numbers of a response; 0: it has none. */
typedef struct response_fields {
    uint32_t version, resources, canary, type_url, nonce, removed, control_plane;
} response_fields;

static const response_fields sotw_fields = {
    .version = 1,
    .resources = 2,
    .canary = 3,
    .type_url = 4,
    .nonce = 5,
    .control_plane = 6,
};

static const response_fields delta_fields = {
    .version = 1,
    .resources = 2,
    .type_url = 4,
    .nonce = 5,
    .removed = 6,
    .control_plane = 7,
};

typedef struct reading {
    udpai_decoder *decoder;
    const response_fields *fields;
    udpai_xds_answer *to;
    udpai_xds_received *resources;
    udpai_str *removed;
} reading;

/* ---- small messages ---- */

/* The last field of this number, as a varint: 0 if there is none. */
static uint64_t
varint_of(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    uint64_t value = 0;
    while (udpai_proto_next(&reader, &field))
        if (field.number == number && field.type == UDPAI_WIRE_VARINT)
            value = field.value;
    return value;
}

static size_t
count(udpai_str message, uint32_t number)
{
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    size_t n = 0;
    while (udpai_proto_next(&reader, &field))
        n += field.number == number && field.type == UDPAI_WIRE_BYTES;
    return n;
}

/* Rounded up, so that what lives for a microsecond does not live for ever; what is negative is far
 * above the limit as it is encoded. */
static uint64_t
duration_ms(udpai_str duration)
{
    uint64_t seconds = varint_of(duration, DURATION_SECONDS);
    uint64_t nanos = varint_of(duration, DURATION_NANOS);
    if (seconds > UDPAI_TTL_MAX_MS / 1000 || nanos > 999999999)
        return 0;
    return seconds * 1000 + (nanos + 999999) / 1000000;
}

/* ---- resources ---- */

static void
read_field(const udpai_proto_field *field, udpai_str *aliases, udpai_xds_received *to)
{
    switch (field->number) {
    case RESOURCE_VERSION:
        to->version = field->bytes;
        break;
    case RESOURCE_PAYLOAD:
        to->any = field->bytes;
        to->has_any = true;
        break;
    case RESOURCE_NAME:
        to->name = field->bytes;
        break;
    case RESOURCE_RESOURCE_NAME: /* which has a name or this */
        to->name = udpai_proto_last_bytes(field->bytes, NAME_NAME);
        break;
    case RESOURCE_ALIASES:
        aliases[to->n_aliases++] = field->bytes;
        break;
    case RESOURCE_TTL:
        to->has_ttl = true;
        to->ttl_ms = duration_ms(field->bytes);
        break;
    case RESOURCE_CACHE_CONTROL:
        to->do_not_cache = varint_of(field->bytes, CACHE_CONTROL_DO_NOT_CACHE) != 0;
        break;
    default:
        break;
    }
}

static udpa_err
read_resource(reading *self, udpai_str message, udpai_xds_received *to)
{
    size_t n = count(message, RESOURCE_ALIASES);
    udpai_str *aliases = udpai_arena_alloc(&self->decoder->arena, n * sizeof(*aliases));
    if (!aliases)
        return UDPA_ERR_NOMEM;
    to->aliases = aliases;
    udpai_proto_reader reader = udpai_proto_read(message);
    udpai_proto_field field;
    while (udpai_proto_next(&reader, &field))
        if (field.type == UDPAI_WIRE_BYTES)
            read_field(&field, aliases, to);
    return UDPA_OK;
}

/* The state of the world has bare payloads; those with a name or more come wrapped, and are
 * messages that the scan of the response does not look into. */
static udpa_err
read_payload(reading *self, udpai_str any, udpai_xds_received *to, udpa_error **ret_error)
{
    udpai_str type_url, value;
    if (!udpai_any_parse(any, &type_url, &value))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "a resource of the response is no valid Any");
    if (!udpai_str_eq(type_url, UDPAI_STR(UDPAI_XDS_TYPE_RESOURCE))) {
        to->any = any;
        to->has_any = true;
        (void)udpai_xds_peek_name(type_url, value, &to->name);
        return UDPA_OK;
    }
    to->is_wrapped = true;
    udpa_err err =
        udpai_scan(&envoy__service__discovery__v3__resource__descriptor, value, NULL, ret_error);
    return err == UDPA_OK ? read_resource(self, value, to) : err;
}

static udpa_err
read_entry(reading *self, udpai_str bytes, udpa_error **ret_error)
{
    udpai_xds_received *to = &self->resources[self->to->n_resources++];
    *to = (udpai_xds_received){.name = {"", 0}, .version = {"", 0}, .any = {"", 0}};
    if (!self->fields->removed)
        return read_payload(self, bytes, to, ret_error);
    to->is_wrapped = true;
    return read_resource(self, bytes, to);
}

/* ---- responses ---- */

static udpa_err
read_text(reading *self, const udpai_proto_field *field, udpa_error **ret_error)
{
    const response_fields *fields = self->fields;
    udpai_xds_answer *to = self->to;
    if (field->number == fields->resources)
        return read_entry(self, field->bytes, ret_error);
    if (field->number == fields->version)
        to->version = field->bytes;
    else if (field->number == fields->type_url)
        to->type_url = field->bytes;
    else if (field->number == fields->nonce)
        to->nonce = field->bytes;
    else if (field->number == fields->control_plane)
        to->control_plane = udpai_proto_last_bytes(field->bytes, CONTROL_PLANE_IDENTIFIER);
    else if (field->number == fields->removed)
        self->removed[to->n_removed++] = field->bytes;
    return UDPA_OK;
}

static udpa_err
read_response(reading *self, udpai_str bytes, udpa_error **ret_error)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    udpa_err err = UDPA_OK;
    while (err == UDPA_OK && udpai_proto_next(&reader, &field)) {
        if (field.type == UDPAI_WIRE_BYTES)
            err = read_text(self, &field, ret_error);
        else if (self->fields->canary && field.number == self->fields->canary)
            self->to->is_canary = field.value != 0;
    }
    return err;
}

static udpa_err
make_room(reading *self, udpai_str bytes)
{
    udpai_arena *arena = &self->decoder->arena;
    udpai_arena_reset(arena);
    size_t n_resources = count(bytes, self->fields->resources);
    size_t n_removed = self->fields->removed ? count(bytes, self->fields->removed) : 0;
    self->resources = udpai_arena_alloc(arena, n_resources * sizeof(*self->resources));
    self->removed = udpai_arena_alloc(arena, n_removed * sizeof(*self->removed));
    return self->resources && self->removed ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_xds_answer_decode(udpai_decoder *decoder,
                        udpai_str bytes,
                        bool is_delta,
                        udpai_xds_answer *ret_answer,
                        udpa_error **ret_error)
{
    udpa_err err =
        udpai_scan(is_delta ? &envoy__service__discovery__v3__delta_discovery_response__descriptor
                            : &envoy__service__discovery__v3__discovery_response__descriptor,
                   bytes, NULL, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_str none = {"", 0};
    udpai_xds_answer to = {.type_url = none, .nonce = none, .version = none, .control_plane = none};
    reading self = {decoder, is_delta ? &delta_fields : &sotw_fields, &to, NULL, NULL};
    err = make_room(&self, bytes);
    if (err == UDPA_OK)
        err = read_response(&self, bytes, ret_error);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    to.resources = self.resources;
    to.removed = self.removed;
    *ret_answer = to;
    return UDPA_OK;
}
