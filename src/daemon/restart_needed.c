/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/restart_needed.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/bootstrap_fields.h"
#include "daemon/reflect.h"

#define NAMED_MAX 8 /* more are counted */

/* ---- values ---- */

static bool is_same_message(const ProtobufCMessage *a, const ProtobufCMessage *b);

static bool
is_same_value(const ProtobufCFieldDescriptor *field, const void *a, const void *b)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return is_same_message(*(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b);
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return udpai_str_eq(udpai_str_from(*(const char *const *)a),
                            udpai_str_from(*(const char *const *)b));
    if (field->type != PROTOBUF_C_TYPE_BYTES)
        return memcmp(a, b, udpai_reflect_width(field)) == 0;
    const ProtobufCBinaryData *x = a, *y = b;
    return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

/* Which of several it has, or whether it has it. */
static bool
is_there_alike(const ProtobufCFieldDescriptor *field,
               const ProtobufCMessage *a,
               const ProtobufCMessage *b)
{
    return field->quantifier_offset == 0 || memcmp(udpai_reflect_place(a, field->quantifier_offset),
                                                   udpai_reflect_place(b, field->quantifier_offset),
                                                   sizeof(protobuf_c_boolean)) == 0;
}

static bool
is_same_field(const ProtobufCFieldDescriptor *field,
              const ProtobufCMessage *a,
              const ProtobufCMessage *b)
{
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return is_there_alike(field, a, b) &&
               (udpai_reflect_is_of_another(a, field) ||
                is_same_value(field, udpai_reflect_value(a, field, 0),
                              udpai_reflect_value(b, field, 0)));
    size_t n = udpai_reflect_count(a, field);
    bool is = n == udpai_reflect_count(b, field);
    for (size_t i = 0; i < n && is; i++)
        is = is_same_value(field, udpai_reflect_value(a, field, i),
                           udpai_reflect_value(b, field, i));
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
        bool is_same =
            udpai_bootstrap_part_is_taken_over(section, field->name) || is_same_field(field, a, b);
        udpai_strbuf *text = is_same ? NULL : next_name(self, section);
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
    size_t n = udpai_reflect_count(a, field);
    if (n != udpai_reflect_count(b, field)) {
        (void)next_name(self, field->name);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        udpai_strbuf *text =
            is_same_value(field, udpai_reflect_value(a, field, i), udpai_reflect_value(b, field, i))
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
        memcpy(&x, udpai_reflect_place(a, field->offset), sizeof(x));
        memcpy(&y, udpai_reflect_place(b, field->offset), sizeof(y));
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
        if (!udpai_bootstrap_is_taken_over(field->name) && !is_same_field(field, a, b))
            name_section(&found, field, a, b);
    }
    if (found.n > NAMED_MAX)
        udpai_strbuf_printf(&found.text, " and %zu more", found.n - NAMED_MAX);
    if (found.n)
        return udpai_strbuf_take(&found.text);
    udpai_strbuf_done(&found.text);
    return NULL;
}
