/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/restart_needed.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"

#define NAMED_MAX 8 /* more are counted */

static const char *const taken_over[] = {"acl", "signatures"};

static bool
is_taken_over(const char *field)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(taken_over); i++)
        if (strcmp(taken_over[i], field) == 0)
            return true;
    return false;
}

/* ---- values ---- */

static bool is_same_message(const ProtobufCMessage *a, const ProtobufCMessage *b);

static size_t
width_of(const ProtobufCFieldDescriptor *field)
{
    switch (field->type) {
    case PROTOBUF_C_TYPE_MESSAGE:
    case PROTOBUF_C_TYPE_STRING:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    case PROTOBUF_C_TYPE_BOOL:
        return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    default:
        return 4;
    }
}

static bool
is_same_value(const ProtobufCFieldDescriptor *field, const uint8_t *a, const uint8_t *b)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return is_same_message(*(ProtobufCMessage *const *)(const void *)a,
                               *(ProtobufCMessage *const *)(const void *)b);
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return udpai_str_eq(udpai_str_from(*(const char *const *)(const void *)a),
                            udpai_str_from(*(const char *const *)(const void *)b));
    if (field->type != PROTOBUF_C_TYPE_BYTES)
        return memcmp(a, b, width_of(field)) == 0;
    const ProtobufCBinaryData *x = (const void *)a, *y = (const void *)b;
    return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

static const uint8_t *
place_of(const ProtobufCMessage *message, unsigned offset)
{
    return (const uint8_t *)message + offset;
}

static size_t
count_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return *(const size_t *)(const void *)place_of(message, field->quantifier_offset);
}

/* Which of several it has, or whether it has it. */
static bool
is_there_alike(const ProtobufCFieldDescriptor *field,
               const ProtobufCMessage *a,
               const ProtobufCMessage *b)
{
    return field->quantifier_offset == 0 ||
           memcmp(place_of(a, field->quantifier_offset), place_of(b, field->quantifier_offset),
                  sizeof(protobuf_c_boolean)) == 0;
}

/* One that another of a oneof has taken the place of. */
static bool
is_of_another(const ProtobufCFieldDescriptor *field, const ProtobufCMessage *message)
{
    return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
           *(const uint32_t *)(const void *)place_of(message, field->quantifier_offset) !=
               field->id;
}

static const uint8_t *
element_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, size_t index)
{
    const uint8_t *array = *(const uint8_t *const *)(const void *)place_of(message, field->offset);
    return array + index * width_of(field);
}

static bool
is_same_field(const ProtobufCFieldDescriptor *field,
              const ProtobufCMessage *a,
              const ProtobufCMessage *b)
{
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return is_there_alike(field, a, b) &&
               (is_of_another(field, a) ||
                is_same_value(field, place_of(a, field->offset), place_of(b, field->offset)));
    size_t n = count_of(a, field);
    bool is = n == count_of(b, field);
    for (size_t i = 0; i < n && is; i++)
        is = is_same_value(field, element_of(a, field, i), element_of(b, field, i));
    return is;
}

static bool
is_same_message(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    if (!a || !b)
        return a == b;
    for (unsigned i = 0; i < a->descriptor->n_fields; i++)
        if (!is_same_field(&a->descriptor->fields[i], a, b))
            return false;
    return true;
}

/* ---- their names ---- */

typedef struct names {
    udpai_strbuf text;
    size_t n;
} names;

static udpai_strbuf *
next_name(names *self, const char *section)
{
    if (self->n++ >= NAMED_MAX)
        return NULL;
    udpai_strbuf_puts(&self->text, self->n > 1 ? ", " : "");
    udpai_strbuf_puts(&self->text, section);
    return &self->text;
}

/* Of a section that is there before and behind, the fields. */
static void
name_fields(names *self, const char *section, const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    for (unsigned i = 0; i < a->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &a->descriptor->fields[i];
        udpai_strbuf *text = is_same_field(field, a, b) ? NULL : next_name(self, section);
        if (text)
            udpai_strbuf_printf(text, ".%s", field->name);
    }
}

static void
name_elements(names *self,
              const ProtobufCFieldDescriptor *field,
              const ProtobufCMessage *a,
              const ProtobufCMessage *b)
{
    size_t n = count_of(a, field);
    if (n != count_of(b, field)) {
        (void)next_name(self, field->name);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        udpai_strbuf *text = is_same_value(field, element_of(a, field, i), element_of(b, field, i))
                                 ? NULL
                                 : next_name(self, field->name);
        if (text)
            udpai_strbuf_printf(text, "[%zu]", i);
    }
}

static void
name_section(names *self,
             const ProtobufCFieldDescriptor *field,
             const ProtobufCMessage *a,
             const ProtobufCMessage *b)
{
    bool is_message = field->type == PROTOBUF_C_TYPE_MESSAGE;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        name_elements(self, field, a, b);
        return;
    }
    const ProtobufCMessage *x = NULL, *y = NULL;
    if (is_message) {
        memcpy(&x, place_of(a, field->offset), sizeof(x));
        memcpy(&y, place_of(b, field->offset), sizeof(y));
    }
    if (x && y)
        name_fields(self, field->name, x, y);
    else
        (void)next_name(self, field->name);
}

char *
udpai_restart_needed_for(const Udpa__Config__V1__Bootstrap *started_with,
                         const Udpa__Config__V1__Bootstrap *read)
{
    const ProtobufCMessage *a = &started_with->base, *b = &read->base;
    names found = {0};
    for (unsigned i = 0; i < a->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &a->descriptor->fields[i];
        if (!is_taken_over(field->name) && !is_same_field(field, a, b))
            name_section(&found, field, a, b);
    }
    if (found.n > NAMED_MAX)
        udpai_strbuf_printf(&found.text, " and %zu more", found.n - NAMED_MAX);
    if (found.n)
        return udpai_strbuf_take(&found.text);
    udpai_strbuf_done(&found.text);
    return NULL;
}
