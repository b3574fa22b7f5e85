/* SPDX-License-Identifier: Apache-2.0 */
/* A layer from google.protobuf.Struct, as it is in a bootstrap file and in RTDS. It may come from a
 * peer: the depth is bounded, and what has no meaning here is refused. */
#include "base/proto.h"
#include "base/strbuf.h"
#include "runtime/layer.h"

enum { /* field numbers of google/protobuf/struct.proto */
    STRUCT_FIELDS = 1,
    FIELD_KEY = 1,
    FIELD_VALUE = 2,
    VALUE_NULL = 1,
    VALUE_NUMBER = 2,
    VALUE_STRING = 3,
    VALUE_BOOL = 4,
    VALUE_STRUCT = 5,
    VALUE_LIST = 6,
};

#define FRACTION_MAX 1024 /* bytes of its JSON */

/* A struct below the root: where its fields begin in the key, and what of them is still to come. */
typedef struct level {
    udpai_proto_reader fields;
    size_t key_len;
} level;

typedef struct walk {
    udpai_runtime_layer *layer;
    udpai_strbuf key;
    level levels[UDPAI_RUNTIME_DEPTH_MAX];
    unsigned depth;
} walk;

static udpa_err
malformed(udpa_error **ret_error)
{
    return udpai_fail(ret_error, UDPA_ERR_MALFORMED, "it is no google.protobuf.Struct");
}

/* The key and the value of a field; the last of each counts. */
static bool
read_field(udpai_str bytes, udpai_str *ret_key, udpai_str *ret_value)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    *ret_key = *ret_value = (udpai_str){0};
    while (udpai_proto_next(&reader, &field)) {
        if (field.type != UDPAI_WIRE_BYTES)
            continue;
        if (field.number == FIELD_KEY)
            *ret_key = field.bytes;
        else if (field.number == FIELD_VALUE)
            *ret_value = field.bytes;
    }
    return !reader.failed;
}

/* What of the oneof is set: the last that is known. False: malformed. */
static bool
read_value(udpai_str bytes, udpai_proto_field *ret_value)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field;
    *ret_value = (udpai_proto_field){0};
    while (udpai_proto_next(&reader, &field))
        if (field.number >= VALUE_NULL && field.number <= VALUE_LIST)
            *ret_value = field;
    return !reader.failed;
}

static bool
has_type(const udpai_proto_field *value, uint32_t number, udpai_wire_type type)
{
    return value->number == number && value->type == type;
}

static double
as_number(const udpai_proto_field *value)
{
    double number;
    memcpy(&number, &value->value, sizeof(number));
    return number;
}

/* ---- a struct that is a fraction ---- */

static void
write_part(udpai_strbuf *text, const char *key, const udpai_proto_field *value)
{
    char room[UDPAI_RUNTIME_NUMBER_ROOM];
    udpai_strbuf_printf(text, "%s\"%s\": ", text->len > 1 ? ", " : "", key);
    if (value->number == VALUE_NUMBER)
        udpai_strbuf_str(text, udpai_runtime_number_text(as_number(value), room));
    else
        udpai_strbuf_printf(text, "\"%.*s\"", UDPAI_SHOWN(value->bytes));
}

/* Its JSON, if it has the fields of a fraction and no others. What repeats them without end is no
 * fraction. */
static bool
write_fraction(udpai_str bytes, udpai_strbuf *text)
{
    udpai_proto_reader reader = udpai_proto_read(bytes);
    udpai_proto_field field, value;
    bool is_fraction = false;
    udpai_strbuf_putc(text, '{');
    while (udpai_proto_next(&reader, &field)) {
        udpai_str key, value_bytes;
        if (!has_type(&field, STRUCT_FIELDS, UDPAI_WIRE_BYTES))
            continue;
        if (!read_field(field.bytes, &key, &value_bytes) || !read_value(value_bytes, &value) ||
            !(has_type(&value, VALUE_NUMBER, UDPAI_WIRE_FIXED64) ||
              has_type(&value, VALUE_STRING, UDPAI_WIRE_BYTES)))
            return false;
        if (udpai_str_eq(key, UDPAI_STR("numerator")))
            write_part(text, "numerator", &value);
        else if (udpai_str_eq(key, UDPAI_STR("denominator")))
            write_part(text, "denominator", &value);
        else
            return false;
        is_fraction = text->len <= FRACTION_MAX;
        if (!is_fraction)
            return false;
    }
    udpai_strbuf_putc(text, '}');
    return is_fraction && !reader.failed;
}

/* False: it is none. */
static bool
put_fraction(walk *self, udpai_str bytes, udpa_err *ret_err, udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    bool is_fraction = write_fraction(bytes, &text);
    if (is_fraction && udpai_strbuf_failed(&text)) {
        *ret_err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    } else if (is_fraction) {
        udpai_runtime_value value = udpai_runtime_value_read(udpai_strbuf_view(&text));
        *ret_err = value.has_share
                       ? udpai_runtime_layer_put(self->layer, udpai_strbuf_view(&self->key), &value,
                                                 ret_error)
                       : udpai_fail(ret_error, UDPA_ERR_INVAL, "%.*s is no fraction: %.*s",
                                    UDPAI_SHOWN(udpai_strbuf_view(&self->key)),
                                    UDPAI_SHOWN(udpai_strbuf_view(&text)));
    }
    udpai_strbuf_done(&text);
    return is_fraction;
}

/* ---- walking ---- */

static udpa_err
enter(walk *self, udpai_str bytes, udpa_error **ret_error)
{
    if (self->depth == UDPAI_RUNTIME_DEPTH_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%.*s is more than %d structs deep",
                          UDPAI_SHOWN(udpai_strbuf_view(&self->key)), UDPAI_RUNTIME_DEPTH_MAX);
    self->levels[self->depth++] = (level){udpai_proto_read(bytes), self->key.len};
    return UDPA_OK;
}

static udpa_err
put_scalar(walk *self, const udpai_runtime_value *value, udpa_error **ret_error)
{
    return udpai_runtime_layer_put_found(self->layer, udpai_strbuf_view(&self->key), value,
                                         ret_error);
}

static udpa_err
put_value(walk *self, const udpai_proto_field *field, udpa_error **ret_error)
{
    char room[UDPAI_RUNTIME_NUMBER_ROOM];
    udpai_runtime_value value;
    udpa_err err = UDPA_OK;
    if (has_type(field, VALUE_NUMBER, UDPAI_WIRE_FIXED64)) {
        double number = as_number(field);
        value = udpai_runtime_value_number(udpai_runtime_number_text(number, room), number);
        return put_scalar(self, &value, ret_error);
    }
    if (has_type(field, VALUE_BOOL, UDPAI_WIRE_VARINT)) {
        value = udpai_runtime_value_truth(field->value != 0);
        return put_scalar(self, &value, ret_error);
    }
    if (has_type(field, VALUE_STRING, UDPAI_WIRE_BYTES)) {
        value = udpai_runtime_value_read(field->bytes);
        return put_scalar(self, &value, ret_error);
    }
    if (has_type(field, VALUE_STRUCT, UDPAI_WIRE_BYTES))
        return put_fraction(self, field->bytes, &err, ret_error)
                   ? err
                   : enter(self, field->bytes, ret_error);
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "%.*s is %s: a value of the runtime is a number, a string, true or false, or a "
        "fraction",
        UDPAI_SHOWN(udpai_strbuf_view(&self->key)),
        field->number == VALUE_LIST ? "a list" : "null");
}

static udpa_err
take_field(walk *self, udpai_str bytes, udpa_error **ret_error)
{
    udpai_str key, value_bytes;
    udpai_proto_field value;
    if (!read_field(bytes, &key, &value_bytes) || !read_value(value_bytes, &value))
        return malformed(ret_error);
    if (self->depth > 1)
        udpai_strbuf_putc(&self->key, '.');
    udpai_strbuf_str(&self->key, key);
    if (udpai_strbuf_failed(&self->key))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (self->key.len > UDPAI_RUNTIME_KEY_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the key %.*s has more than %d bytes",
                          UDPAI_SHOWN(udpai_strbuf_view(&self->key)), UDPAI_RUNTIME_KEY_MAX);
    return put_value(self, &value, ret_error);
}

/* The next field of the struct that was entered last, or back from it. */
static udpa_err
step(walk *self, udpa_error **ret_error)
{
    level *top = &self->levels[self->depth - 1];
    udpai_proto_field field;
    self->key.len = top->key_len;
    if (udpai_proto_next(&top->fields, &field))
        return has_type(&field, STRUCT_FIELDS, UDPAI_WIRE_BYTES)
                   ? take_field(self, field.bytes, ret_error)
                   : UDPA_OK;
    self->depth--;
    return top->fields.failed ? malformed(ret_error) : UDPA_OK;
}

udpa_err
udpai_runtime_layer_put_struct(udpai_runtime_layer *layer,
                               udpai_str message,
                               udpa_error **ret_error)
{
    walk self = {.layer = layer};
    udpa_err err = enter(&self, message, ret_error);
    while (!err && self.depth > 0)
        err = step(&self, ret_error);
    udpai_strbuf_done(&self.key);
    return err;
}
