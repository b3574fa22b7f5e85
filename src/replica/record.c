/* SPDX-License-Identifier: Apache-2.0 */
#include "replica/record.h"

#include <assert.h>

#include "base/error.h"
#include "base/percent.h"
#include "model/name.h"
#include "model/types.h"
#include "replica/record_identity.h"
#include "store/store.h"
#include "wire/entry.h"

#define CONTRIBUTION "c/"
#define FLOOR "f/"
/* No part begins so but for what has it as a mark: it is escaped elsewhere. */
#define MARK '*'

enum { /* fields of a value */
    RESOURCE = 1,
    IS_SEALED = 2,
    EXPIRES_US = 3,
    WRITER = 4,
    PUBLISHER = 5,
};

/* ---- which contribution ---- */

static udpai_str
text_of(const udpa_bytes *bytes)
{
    return bytes ? udpai_bytes_view(bytes) : (udpai_str){"", 0};
}

/* A type URL is kept with a NUL behind it. */
static udpai_str
type_text(const udpa_bytes *type)
{
    udpai_str text = text_of(type);
    text.len -= text.len > 0;
    return text;
}

udpai_record_place
udpai_record_place_of(const udpai_durable_op *op)
{
    udpai_record_place place = {text_of(op->origin), type_text(op->type), text_of(op->name)};
    assert(op->kind == UDPAI_DURABLE_PUT || op->kind == UDPAI_DURABLE_DELETE);
    if (op->kind == UDPAI_DURABLE_PUT) {
        place.type_url = udpai_resource_type_url(op->resource);
        place.name = udpai_resource_name(op->resource);
    }
    return place;
}

/* ---- writing keys ---- */

static void
put_part(udpai_strbuf *key, udpai_str part)
{
    udpai_percent_encode_segment(key, part);
    udpai_strbuf_putc(key, '/');
}

static void
put_type(udpai_strbuf *key, udpai_str type_url)
{
    udpai_str usual = UDPAI_STR(UDPAI_TYPE_PREFIX);
    if (udpai_str_starts(type_url, usual))
        type_url = (udpai_str){type_url.data + usual.len, type_url.len - usual.len};
    else
        udpai_strbuf_putc(key, MARK);
    put_part(key, type_url);
}

static void
put_id(udpai_strbuf *key, udpai_str name)
{
    if (udpai_name_namespace(name).len == name.len)
        udpai_strbuf_putc(key, MARK);
    put_part(key, udpai_name_id(name));
}

static void
put_parts(udpai_strbuf *key, const udpai_record_place *place)
{
    udpai_strbuf_puts(key, udpai_store_is_removal_key(place->origin) ? FLOOR : CONTRIBUTION);
    put_part(key, udpai_name_namespace(place->name));
    put_type(key, place->type_url);
    put_id(key, place->name);
    udpai_percent_encode_segment(key, place->origin);
}

/* A part that is too long by itself is never escaped. */
static bool
is_too_long(const udpai_record_place *place)
{
    return place->origin.len > UDPAI_RECORD_KEY_MAX || place->type_url.len > UDPAI_RECORD_KEY_MAX ||
           place->name.len > UDPAI_RECORD_KEY_MAX;
}

static udpa_err
refuse_key(const udpai_record_place *place, udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "resource '%.*s' of type %.*s from %.*s: name, type and origin together are "
                      "too long for a replica set, whose keys can have at most %d bytes: shorten "
                      "the name",
                      UDPAI_SHOWN(place->name), UDPAI_SHOWN(place->type_url),
                      UDPAI_SHOWN(place->origin), UDPAI_RECORD_KEY_MAX);
}

udpa_err
udpai_record_put_key(udpai_strbuf *key, const udpai_record_place *place, udpa_error **ret_error)
{
    size_t before = key->len;
    if (is_too_long(place))
        return refuse_key(place, ret_error);
    put_parts(key, place);
    if (udpai_strbuf_failed(key))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (key->len - before <= UDPAI_RECORD_KEY_MAX)
        return UDPA_OK;
    key->len = before;
    key->data[before] = '\0';
    return refuse_key(place, ret_error);
}

/* ---- writing values ---- */

struct value {
    const udpai_durable_op *op;
    const udpa_bytes *sealed; /* NULL: it is plain */
    udpai_str writer;
};

static void
put_value(udpai_proto_writer *writer, const void *what)
{
    const struct value *value = what;
    const udpa_resource *resource = value->op->resource;
    const udpai_entry_form form = {.extended = true, .ttl_ms = udpa_resource_ttl_ms(resource)};
    if (value->sealed)
        udpai_proto_put_bytes(writer, RESOURCE, udpai_bytes_view(value->sealed));
    else
        udpai_entry_put_field(writer, RESOURCE, resource, form);
    udpai_proto_put_varint_opt(writer, IS_SEALED, value->sealed != NULL);
    udpai_proto_put_varint_opt(writer, EXPIRES_US, (uint64_t)value->op->expires_us);
    udpai_proto_put_bytes_opt(writer, WRITER, value->writer);
    udpai_record_put_identity(writer, PUBLISHER, value->op->identity);
}

static udpa_err
check_size(const struct value *value, udpa_error **ret_error)
{
    const udpai_record_place place = udpai_record_place_of(value->op);
    udpai_proto_writer size = {0};
    put_value(&size, value);
    if (size.size <= UDPAI_RECORD_VALUE_MAX)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_LIMIT,
        "resource '%.*s' of type %.*s has %zu bytes: in a replica set one can have at "
        "most %zu",
        UDPAI_SHOWN(place.name), UDPAI_SHOWN(place.type_url), size.size, UDPAI_RECORD_VALUE_MAX);
}

static udpa_err
encode(const struct value *value, udpa_bytes **ret_bytes, udpa_error **ret_error)
{
    udpa_err err = check_size(value, ret_error);
    if (err != UDPA_OK)
        return err;
    udpa_bytes *bytes = udpai_proto_encode(put_value, value);
    if (!bytes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_bytes = bytes;
    return UDPA_OK;
}

static udpa_err
seal(const udpai_durable_op *op,
     const udpai_record_seals *seals,
     udpa_bytes **ret_sealed,
     udpa_error **ret_error)
{
    const udpai_record_place place = udpai_record_place_of(op);
    if (!seals->seal)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "resource '%.*s' of type %.*s: it is secret, and this node has no key to "
                          "encrypt it with: set store.keys",
                          UDPAI_SHOWN(place.name), UDPAI_SHOWN(place.type_url));
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *plain = udpai_entry_encode(op->resource, udpa_resource_ttl_ms(op->resource));
    if (!plain)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_error *why = NULL;
    udpa_err err = seals->seal(seals->userdata, &place, udpai_bytes_view(plain), ret_sealed, &why);
    return err == UDPA_OK
               ? err
               : udpai_fail_because(ret_error, err, why, "resource '%.*s' of type %.*s is secret",
                                    UDPAI_SHOWN(place.name), UDPAI_SHOWN(place.type_url));
}

/* A removal has no payload. */
static bool
is_secret(const udpai_durable_op *op, const udpai_record_seals *seals)
{
    return seals && seals->is_secret(seals->userdata, udpai_resource_type_url(op->resource)) &&
           !udpai_store_is_removal_key(udpai_bytes_view(op->origin));
}

udpa_err
udpai_record_value(const udpai_durable_op *op,
                   udpai_str writer,
                   const udpai_record_seals *seals,
                   udpa_bytes **ret_value,
                   udpa_error **ret_error)
{
    struct value value = {.op = op, .writer = writer};
    assert(op->kind == UDPAI_DURABLE_PUT && op->expires_us >= 0);
    if (!is_secret(op, seals))
        return encode(&value, ret_value, ret_error);
    udpa_err err = check_size(&value, ret_error); /* what is too large is not sealed at all */
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *sealed = NULL;
    if (err == UDPA_OK)
        err = seal(op, seals, &sealed, ret_error);
    value.sealed = sealed;
    return err == UDPA_OK ? encode(&value, ret_value, ret_error) : err;
}

/* ---- reading keys ---- */

bool
udpai_record_is_key(udpai_str key)
{
    return udpai_str_starts(key, UDPAI_STR(CONTRIBUTION)) ||
           udpai_str_starts(key, UDPAI_STR(FLOOR));
}

/* The parts as they are written, and in memory of the reader as they were. */
struct parts {
    udpai_str kind, name_space, type, id, origin;
};

static bool
divide(udpai_str key, struct parts *ret_parts)
{
    bool is_whole = udpai_record_is_key(key) && udpai_str_cut(&key, '/', &ret_parts->kind) &&
                    udpai_str_cut(&key, '/', &ret_parts->name_space) &&
                    udpai_str_cut(&key, '/', &ret_parts->type) &&
                    udpai_str_cut(&key, '/', &ret_parts->id);
    ret_parts->origin = key;
    return is_whole;
}

static bool
is_marked(udpai_str part)
{
    return part.len && part.data[0] == MARK;
}

static bool
decode_type(udpai_str part, char **at, udpai_str *ret_type_url)
{
    const char *start = *at;
    udpai_str rest;
    if (is_marked(part))
        return udpai_percent_decode((udpai_str){part.data + 1, part.len - 1}, at, ret_type_url);
    udpai_str_put(at, UDPAI_STR(UDPAI_TYPE_PREFIX));
    if (!udpai_percent_decode(part, at, &rest))
        return false;
    *ret_type_url = (udpai_str){start, (size_t)(*at - start)};
    return true;
}

static bool
decode_name(const struct parts *parts, char **at, udpai_str *ret_name)
{
    const char *start = *at;
    udpai_str part;
    if (!udpai_percent_decode(parts->name_space, at, &part))
        return false;
    if (!is_marked(parts->id)) {
        udpai_str_put(at, UDPAI_STR("/"));
        if (!udpai_percent_decode(parts->id, at, &part))
            return false;
    }
    *ret_name = (udpai_str){start, (size_t)(*at - start)};
    return true;
}

/* Whatever is not as it would be written is refused: bytes escaped that need not be, or with other
 * digits, the other kind, a mark without need. So there is no rule here that could be forgotten. */
static udpa_err
check_canonical(udpai_record_reader *reader, udpai_str key, const udpai_record_place *place)
{
    reader->canonical.len = 0;
    udpa_err err = udpai_record_put_key(&reader->canonical, place, NULL);
    if (err == UDPA_ERR_NOMEM) /* another time there may be some */
        udpai_strbuf_done(&reader->canonical);
    if (err != UDPA_OK)
        return err == UDPA_ERR_NOMEM ? err : UDPA_ERR_MALFORMED;
    return udpai_str_eq(udpai_strbuf_view(&reader->canonical), key) ? UDPA_OK : UDPA_ERR_MALFORMED;
}

/* The place lasts until the next key is read. */
static udpa_err
decode_key(udpai_record_reader *reader, udpai_str key, udpai_record_place *ret_place)
{
    struct parts parts;
    udpai_record_place place;
    if (key.len > UDPAI_RECORD_KEY_MAX || !divide(key, &parts))
        return UDPA_ERR_MALFORMED;
    reader->texts.len = 0;
    char *at = udpai_strbuf_extend(&reader->texts, key.len + sizeof(UDPAI_TYPE_PREFIX));
    if (!at) {
        udpai_strbuf_done(&reader->texts);
        return UDPA_ERR_NOMEM;
    }
    if (!decode_name(&parts, &at, &place.name) || !decode_type(parts.type, &at, &place.type_url) ||
        !udpai_percent_decode(parts.origin, &at, &place.origin))
        return UDPA_ERR_MALFORMED;
    *ret_place = place;
    return check_canonical(reader, key, &place);
}

static udpa_err
read_key(udpai_record_reader *reader,
         udpai_str key,
         udpai_record_place *ret_place,
         udpa_error **ret_error)
{
    udpa_err err = decode_key(reader, key, ret_place);
    if (err == UDPA_ERR_MALFORMED)
        return udpai_fail(ret_error, err, "key '%.*s' is not one that a replica writes",
                          UDPAI_SHOWN(key));
    return udpai_fail_code(ret_error, err);
}

/* ---- reading values ---- */

struct fields {
    udpai_str resource;
    uint64_t is_sealed, expires_us;
    udpai_str writer, publisher;
};

/* False: it has the number of a known field, and is none. */
static bool
take_field(struct fields *fields, const udpai_proto_field *field)
{
    switch (field->number) {
    case RESOURCE:
        fields->resource = field->bytes;
        return field->type == UDPAI_WIRE_BYTES;
    case IS_SEALED:
        fields->is_sealed = field->value;
        return field->type == UDPAI_WIRE_VARINT;
    case EXPIRES_US:
        fields->expires_us = field->value;
        return field->type == UDPAI_WIRE_VARINT;
    case WRITER:
        fields->writer = field->bytes;
        return field->type == UDPAI_WIRE_BYTES;
    case PUBLISHER:
        fields->publisher = field->bytes;
        return field->type == UDPAI_WIRE_BYTES;
    default:
        return true;
    }
}

static udpa_err
read_fields(udpai_str value, struct fields *fields, udpa_error **ret_error)
{
    udpai_proto_reader reader = udpai_proto_read(value);
    udpai_proto_field field;
    bool is_good = true;
    while (is_good && udpai_proto_next(&reader, &field))
        is_good = take_field(fields, &field);
    if (!is_good || reader.failed)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is no message of protobuf, or cut");
    if (fields->resource.len == 0)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it has no resource");
    if (fields->is_sealed > 1)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "it is encrypted in a way that this version does not know");
    if (fields->expires_us > INT64_MAX)
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it expires before 1970");
    return UDPA_OK;
}

static udpa_err
unseal(const udpai_record_reader *reader,
       const udpai_record_place *place,
       udpai_str sealed,
       udpa_bytes **ret_plain,
       udpa_error **ret_error)
{
    const udpai_record_seals *seals = reader->seals;
    if (seals && seals->unseal)
        return seals->unseal(seals->userdata, place, sealed, ret_plain, ret_error);
    return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                      "it is encrypted, and this node has no key to decrypt it with: set "
                      "store.keys");
}

static udpa_err
decode_resource(udpai_record_reader *reader,
                const udpai_record_place *place,
                udpai_str bytes,
                udpa_resource **ret_resource,
                udpa_error **ret_error)
{
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    udpa_err err = udpai_resource_decode(&reader->decoder, bytes, &resource, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_str name = udpai_resource_name(resource), type = udpai_resource_type_url(resource);
    if (!udpai_str_eq(name, place->name) || !udpai_str_eq(type, place->type_url))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "it is that of another resource, '%.*s' of type %.*s", UDPAI_SHOWN(name),
                          UDPAI_SHOWN(type));
    *ret_resource = UDPAI_TAKE(resource);
    return UDPA_OK;
}

/* Those of one publisher mostly come one after the other. */
static udpa_err
set_identity(udpai_record_reader *reader, udpai_str publisher, udpai_durable_op *op)
{
    if (publisher.len == 0)
        return UDPA_OK;
    if (!reader->identity || !udpai_str_eq(udpai_bytes_view(reader->publisher), publisher)) {
        udpa_bytes *bytes = NULL;
        udpai_identity *identity = NULL;
        udpa_err err = udpa_bytes_new(&bytes, publisher.data, publisher.len);
        if (err == UDPA_OK)
            err = udpai_record_read_identity(publisher, &identity);
        if (err != UDPA_OK) {
            udpa_bytes_unref(bytes);
            return err;
        }
        udpa_bytes_unref(reader->publisher);
        udpai_identity_unref(reader->identity);
        reader->publisher = bytes;
        reader->identity = identity;
    }
    op->identity = udpai_identity_ref(reader->identity);
    return UDPA_OK;
}

static udpa_err
read_value(udpai_record_reader *reader,
           const udpai_record_place *place,
           udpai_str value,
           udpai_durable_op *op,
           udpa_error **ret_error)
{
    struct fields fields = {{"", 0}, 0, 0, {"", 0}, {"", 0}};
    udpa_err err = read_fields(value, &fields, ret_error);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = NULL;
    if (err == UDPA_OK && fields.is_sealed) {
        err = unseal(reader, place, fields.resource, &plain, ret_error);
        fields.resource = text_of(plain);
    }
    if (err == UDPA_OK)
        err = decode_resource(reader, place, fields.resource, &op->resource, ret_error);
    if (err == UDPA_OK)
        err = udpai_fail_code(ret_error, set_identity(reader, fields.publisher, op));
    if (err == UDPA_OK) {
        op->expires_us = (int64_t)fields.expires_us;
        reader->writer = fields.writer;
    }
    return err;
}

/* ---- reading records ---- */

void
udpai_record_reader_init(udpai_record_reader *reader, const udpai_record_seals *seals)
{
    *reader = (udpai_record_reader){.seals = seals, .writer = {"", 0}};
    udpai_decoder_init(&reader->decoder);
}

void
udpai_record_reader_done(udpai_record_reader *reader)
{
    udpai_decoder_done(&reader->decoder);
    udpai_strbuf_done(&reader->texts);
    udpai_strbuf_done(&reader->canonical);
    reader->origin = udpa_bytes_unref(reader->origin);
    reader->publisher = udpa_bytes_unref(reader->publisher);
    reader->identity = udpai_identity_unref(reader->identity);
}

/* Those of one origin mostly come one after the other. */
static udpa_err
set_origin(udpai_record_reader *reader, udpai_str origin, udpai_durable_op *op)
{
    if (!reader->origin || !udpai_str_eq(udpai_bytes_view(reader->origin), origin)) {
        udpa_bytes *bytes;
        udpa_err err = udpa_bytes_new(&bytes, origin.data, origin.len);
        if (err != UDPA_OK)
            return err;
        udpa_bytes_unref(reader->origin);
        reader->origin = bytes;
    }
    op->origin = udpa_bytes_ref(reader->origin);
    return UDPA_OK;
}

static udpa_err
make_put(udpai_record_reader *reader,
         const udpai_record_place *place,
         udpai_str value,
         udpai_durable_op *op,
         udpa_error **ret_error)
{
    op->kind = UDPAI_DURABLE_PUT;
    udpa_err err = read_value(reader, place, value, op, ret_error);
    return err == UDPA_OK ? set_origin(reader, place->origin, op) : err;
}

static udpa_err
make_delete(udpai_record_reader *reader, const udpai_record_place *place, udpai_durable_op *op)
{
    op->kind = UDPAI_DURABLE_DELETE;
    if (!(op->type = udpai_bytes_cstring(place->type_url)))
        return UDPA_ERR_NOMEM;
    udpa_err err = udpa_bytes_new(&op->name, place->name.data, place->name.len);
    return err == UDPA_OK ? set_origin(reader, place->origin, op) : err;
}

static udpa_err
refuse_value(udpai_str key, udpa_err err, udpa_error *why, udpa_error **ret_error)
{
    if (err == UDPA_ERR_NOMEM) {
        udpa_error_unref(why);
        return udpai_fail_code(ret_error, err);
    }
    return udpai_fail_because(ret_error, err, why, "cannot read the value of key '%.*s'",
                              UDPAI_SHOWN(key));
}

udpa_err
udpai_record_read(udpai_record_reader *reader,
                  udpai_str key,
                  const udpai_str *value,
                  udpai_durable_op *ret_op,
                  udpa_error **ret_error)
{
    udpai_record_place place;
    udpai_durable_op op = {0};
    udpa_error *why = NULL;
    udpa_err err = read_key(reader, key, &place, ret_error);
    if (err != UDPA_OK)
        return err;
    err = value ? make_put(reader, &place, *value, &op, &why) : make_delete(reader, &place, &op);
    if (err != UDPA_OK) {
        udpai_durable_op_done(&op);
        return refuse_value(key, err, why, ret_error);
    }
    *ret_op = op;
    return UDPA_OK;
}

/* ---- sealing anew ---- */

udpai_record_sealed
udpai_record_find_key(const udpai_record_seals *seals,
                      udpai_str value,
                      char ret_id[UDPAI_RECORD_KEY_ID_MAX])
{
    struct fields fields = {{"", 0}, 0, 0, {"", 0}, {"", 0}};
    ret_id[0] = '\0';
    if (read_fields(value, &fields, NULL) != UDPA_OK)
        return UDPAI_RECORD_DAMAGED;
    if (!fields.is_sealed)
        return UDPAI_RECORD_PLAIN;
    return seals && seals->find_key ? seals->find_key(seals->userdata, fields.resource, ret_id)
                                    : UDPAI_RECORD_LOCKED;
}

bool
udpai_record_is_secret(udpai_record_reader *reader, udpai_str key)
{
    const udpai_record_seals *seals = reader->seals;
    udpai_record_place place;
    return read_key(reader, key, &place, NULL) == UDPA_OK &&
           !udpai_store_is_removal_key(place.origin) &&
           seals->is_secret(seals->userdata, place.type_url);
}

/* A value, and the resource that comes in the place of its own. */
struct resealed {
    udpai_str value, resource;
};

static void
put_instead(udpai_proto_writer *writer, const void *what)
{
    const struct resealed *resealed = what;
    udpai_proto_reader reader = udpai_proto_read(resealed->value);
    udpai_proto_field field;
    const uint8_t *before = reader.at;
    udpai_proto_put_bytes(writer, RESOURCE, resealed->resource);
    udpai_proto_put_varint(writer, IS_SEALED, true);
    while (udpai_proto_next(&reader, &field)) {
        if (field.number != RESOURCE && field.number != IS_SEALED)
            udpai_proto_put_raw(writer,
                                (udpai_str){(const char *)before, (size_t)(reader.at - before)});
        before = reader.at;
    }
}

udpa_err
udpai_record_reseal(udpai_record_reader *reader,
                    udpai_str key,
                    udpai_str value,
                    udpa_bytes **ret_value,
                    udpa_error **ret_error)
{
    const udpai_record_seals *seals = reader->seals;
    struct fields fields = {{"", 0}, 0, 0, {"", 0}, {"", 0}};
    udpai_record_place place;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *plain = NULL, *sealed = NULL;
    udpa_error *why = NULL;
    udpa_err err = read_key(reader, key, &place, ret_error);
    if (err != UDPA_OK)
        return err;
    err = read_fields(value, &fields, &why);
    if (err == UDPA_OK && fields.is_sealed)
        err = unseal(reader, &place, fields.resource, &plain, &why);
    if (err == UDPA_OK)
        err = seals->seal(seals->userdata, &place,
                          plain ? udpai_bytes_view(plain) : fields.resource, &sealed, &why);
    if (err != UDPA_OK)
        return refuse_value(key, err, why, ret_error);
    const struct resealed resealed = {value, udpai_bytes_view(sealed)};
    udpa_bytes *bytes = udpai_proto_encode(put_instead, &resealed);
    if (!bytes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_value = bytes;
    return UDPA_OK;
}
