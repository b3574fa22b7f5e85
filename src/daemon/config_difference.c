/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_difference.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "daemon/diagnostics.h"
#include "daemon/reflect.h"

#define NAMED_MAX 8 /* more are counted */

/* ---- values ---- */

static bool
is_same_value(const ProtobufCFieldDescriptor *field, const void *a, const void *b)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return udpai_config_is_same(*(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b);
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

bool
udpai_config_is_same(const ProtobufCMessage *a, const ProtobufCMessage *b)
{
    if (!a || !b)
        return a == b;
    for (unsigned i = 0; i < a->descriptor->n_fields; i++)
        if (!is_same_field(&a->descriptor->fields[i], a, b))
            return false;
    return true;
}

/* ---- their names ---- */

struct visit {
    udpai_config_difference_fn found;
    void *userdata;
};

/* Of a section that both have, the fields. */
static void
visit_fields(const struct visit *visit,
             const char *section,
             const ProtobufCMessage *a,
             const ProtobufCMessage *b)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (unsigned i = 0; i < a->descriptor->n_fields; i++)
        if (!is_same_field(&a->descriptor->fields[i], a, b))
            visit->found(visit->userdata,
                         udpai_path_field(path, section, a->descriptor->fields[i].name));
}

static void
visit_elements(const struct visit *visit,
               const ProtobufCFieldDescriptor *field,
               const ProtobufCMessage *a,
               const ProtobufCMessage *b)
{
    char path[UDPAI_FIELD_PATH_MAX];
    size_t n = udpai_reflect_count(a, field);
    if (n != udpai_reflect_count(b, field)) {
        visit->found(visit->userdata, field->name);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (!is_same_value(field, udpai_reflect_value(a, field, i),
                           udpai_reflect_value(b, field, i)))
            visit->found(visit->userdata, udpai_path_item(path, field->name, i));
}

static void
visit_section(const struct visit *visit,
              const ProtobufCFieldDescriptor *field,
              const ProtobufCMessage *a,
              const ProtobufCMessage *b)
{
    const ProtobufCMessage *x = NULL, *y = NULL;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        visit_elements(visit, field, a, b);
        return;
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        memcpy(&x, udpai_reflect_place(a, field->offset), sizeof(x));
        memcpy(&y, udpai_reflect_place(b, field->offset), sizeof(y));
    }
    if (x && y)
        visit_fields(visit, field->name, x, y);
    else
        visit->found(visit->userdata, field->name);
}

void
udpai_config_visit_differences(const Udpa__Config__V1__Bootstrap *one,
                               const Udpa__Config__V1__Bootstrap *other,
                               udpai_config_difference_fn found,
                               void *userdata)
{
    const ProtobufCMessage *a = &one->base, *b = &other->base;
    const struct visit visit = {found, userdata};
    for (unsigned i = 0; i < a->descriptor->n_fields; i++)
        if (!is_same_field(&a->descriptor->fields[i], a, b))
            visit_section(&visit, &a->descriptor->fields[i], a, b);
}

struct names {
    udpai_strbuf text;
    size_t n;
};

static void
add_name(void *userdata, const char *path)
{
    struct names *self = userdata;
    if (self->n++ < NAMED_MAX)
        udpai_strbuf_printf(&self->text, "%s%s", self->n > 1 ? ", " : "", path);
}

char *
udpai_config_name_differences(const Udpa__Config__V1__Bootstrap *a,
                              const Udpa__Config__V1__Bootstrap *b)
{
    struct names names = {0};
    udpai_config_visit_differences(a, b, add_name, &names);
    if (names.n > NAMED_MAX)
        udpai_strbuf_printf(&names.text, " and %zu more", names.n - NAMED_MAX);
    if (names.n)
        return udpai_strbuf_take(&names.text);
    udpai_strbuf_done(&names.text);
    return NULL;
}
