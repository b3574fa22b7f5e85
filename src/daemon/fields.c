/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/fields.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "daemon/reflect.h"

/* ---- going through ---- */

/* What is done on the way, and with what. */
struct walk {
    const Udpa__Config__V1__Bootstrap *bootstrap;
    udpai_diagnostics *diagnostics;
    const udpai_options *options;
    /* Of each field once, with how many values it has. NULL: nothing. */
    void (*on_field)(const udpai_field *field, const udpai_value *list, size_t n, bool is_list);
    void (*on_value)(const struct walk *walk, const udpai_field *field, const udpai_value *value);
    void (*on_message)(const udpai_section *section, const udpai_value *value); /* or NULL */
    udpai_namespace_fn found;
    void *userdata;
};

static void go(const struct walk *walk, const udpai_section *section, const udpai_value *value);

static uint64_t
number_at(const ProtobufCFieldDescriptor *descriptor, const void *place)
{
    uint32_t small;
    uint64_t large;
    switch (descriptor->type) {
    case PROTOBUF_C_TYPE_UINT64:
        memcpy(&large, place, sizeof(large));
        return large;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_ENUM:
    case PROTOBUF_C_TYPE_BOOL:
        memcpy(&small, place, sizeof(small));
        return small;
    default:
        return 0;
    }
}

static void
go_to_value(const struct walk *walk,
            const udpai_field *field,
            const ProtobufCFieldDescriptor *descriptor,
            const void *place,
            const udpai_value *like)
{
    udpai_value value = *like;
    if (descriptor->type == PROTOBUF_C_TYPE_MESSAGE)
        value.message = *(const void *const *)place;
    else if (descriptor->type == PROTOBUF_C_TYPE_STRING)
        value.text = *(const char *const *)place;
    else
        value.number = number_at(descriptor, place);
    walk->on_value(walk, field, &value);
    if (field->of && value.message)
        go(walk, field->of, &value);
}

static void
go_to_field(const struct walk *walk,
            const udpai_field *field,
            const ProtobufCFieldDescriptor *descriptor,
            const udpai_value *owner)
{
    char path[UDPAI_FIELD_PATH_MAX], item[UDPAI_FIELD_PATH_MAX];
    const ProtobufCMessage *message = owner->message;
    bool is_list = descriptor->label == PROTOBUF_C_LABEL_REPEATED;
    size_t n = udpai_reflect_count(message, descriptor);
    udpai_value value = *owner;
    value.path = udpai_path_field(path, owner->path, field->name);
    value.in = message;
    value.message = NULL;
    if (walk->on_field && !udpai_reflect_is_of_another(message, descriptor))
        walk->on_field(field, &value, n, is_list);
    for (size_t i = 0; i < n; i++) {
        value.index = i;
        if (is_list)
            value.path = udpai_path_item(item, path, i);
        go_to_value(walk, field, descriptor, udpai_reflect_value(message, descriptor, i), &value);
    }
}

/* @p value: of the message. */
static void
go(const struct walk *walk, const udpai_section *section, const udpai_value *value)
{
    for (size_t i = 0; i < section->n_fields; i++) {
        const udpai_field *field = &section->fields[i];
        const ProtobufCFieldDescriptor *descriptor =
            protobuf_c_message_descriptor_get_field_by_name(section->descriptor, field->name);
        if (!(walk->options && field->is_replaced && field->is_replaced(walk->options)))
            go_to_field(walk, field, descriptor, value);
    }
    if (walk->on_message)
        walk->on_message(section, value);
}

static void
begin(const struct walk *walk, const udpai_section *section)
{
    go(walk, section,
       &(udpai_value){.bootstrap = walk->bootstrap,
                      .diagnostics = walk->diagnostics,
                      .options = walk->options,
                      .path = "",
                      .message = walk->bootstrap});
}

/* ---- checking ---- */

void
udpai_value_error(const udpai_value *value, const char *field, const char *format, ...)
{
    char path[UDPAI_FIELD_PATH_MAX], text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    udpai_diagnostics_error(value->diagnostics, udpai_path_field(path, value->path, field), "%s",
                            text);
}

void
udpai_value_warn(const udpai_value *value, const char *field, const char *format, ...)
{
    char path[UDPAI_FIELD_PATH_MAX], text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    udpai_diagnostics_warn(value->diagnostics, udpai_path_field(path, value->path, field), "%s",
                           text);
}

static void
check_field(const udpai_field *field, const udpai_value *list, size_t n, bool is_list)
{
    if (n == 0 && field->none)
        udpai_value_error(list, "", "%s", field->none);
    if (is_list && field->max && n > field->max)
        udpai_value_error(list, "",
                          field->bounds ? "%zu are too many: at most %" PRIu64
                                        : "are %zu; at most %" PRIu64 " can be",
                          n, field->max);
}

static void
check_text(const udpai_field *field, const udpai_value *value)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!*value->text && field->empty)
        udpai_value_error(value, "", "%s", field->empty);
    else if (field->word && field->word(value->text, &error) != UDPA_OK)
        udpai_value_error(value, "", "%s", udpa_error_message(error));
}

static void
check_number(const udpai_field *field, const udpai_value *value)
{
    uint64_t n = value->number;
    if (field->min && field->max && (n < field->min || n > field->max))
        udpai_value_error(value, "", "%" PRIu64 " must lie between %" PRIu64 " and %" PRIu64, n,
                          field->min, field->max);
    else if (n < field->min)
        udpai_value_error(value, "", "%" PRIu64 " is too small: %s; it must be at least %" PRIu64,
                          n, field->bounds, field->min);
    else if (field->max && n > field->max)
        udpai_value_error(value, "", "%" PRIu64 " %s: at most %" PRIu64, n, field->bounds,
                          field->max);
}

static bool
is_long_enough(const udpai_field *field, const Google__Protobuf__Duration *time)
{
    return time->seconds >= 0 && time->nanos >= 0 && udpai_duration_ms(time) >= field->min;
}

static void
check_time(const udpai_field *field, const udpai_value *value)
{
    const Google__Protobuf__Duration *time = value->message;
    double min = (double)field->min / 1000, max = (double)field->max / 1000;
    bool is_good = is_long_enough(field, time);
    if (!field->max && !is_good)
        udpai_value_error(value, "", "%gs is too short: it must be at least %gs",
                          (double)time->seconds + (double)time->nanos / 1e9, min);
    else if (!field->max || (is_good && udpai_duration_ms(time) <= field->max))
        return;
    else if (field->bounds)
        udpai_value_error(value, "", "must lie between %g s and %s", min, field->bounds);
    else
        udpai_value_error(value, "", "must lie between %g s and %g s", min, max);
}

static bool
is_time(const void *message)
{
    return message && ((const ProtobufCMessage *)message)->descriptor ==
                          &google__protobuf__duration__descriptor;
}

static void
check_value(const struct walk *walk, const udpai_field *field, const udpai_value *value)
{
    if (value->text)
        check_text(field, value);
    else if (is_time(value->message) && !field->check)
        check_time(field, value);
    else if (!value->message && !field->check)
        check_number(field, value);
    if (field->check)
        field->check(value);
}

static void
check_message(const udpai_section *section, const udpai_value *value)
{
    if (section->check)
        section->check(value);
}

void
udpai_section_check(const udpai_section *section,
                    const Udpa__Config__V1__Bootstrap *message,
                    udpai_diagnostics *diagnostics)
{
    const struct walk walk = {
        .bootstrap = message,
        .diagnostics = diagnostics,
        .on_field = check_field,
        .on_value = check_value,
        .on_message = check_message,
    };
    begin(&walk, section);
}

/* ---- files ---- */

static void
check_file(const struct walk *walk, const udpai_field *field, const udpai_value *value)
{
    if (field->check_files)
        field->check_files(value);
}

static void
check_files_of_message(const udpai_section *section, const udpai_value *value)
{
    if (section->check_files)
        section->check_files(value);
}

void
udpai_section_check_files(const udpai_section *section,
                          const Udpa__Config__V1__Bootstrap *message,
                          const udpai_options *options,
                          udpai_diagnostics *diagnostics)
{
    const struct walk walk = {
        .bootstrap = message,
        .diagnostics = diagnostics,
        .options = options,
        .on_value = check_file,
        .on_message = check_files_of_message,
    };
    begin(&walk, section);
}

/* ---- namespaces ---- */

static void
find_namespace(const struct walk *walk, const udpai_field *field, const udpai_value *value)
{
    if (field->is_namespace)
        walk->found(walk->userdata, value->text);
}

void
udpai_section_namespaces(const udpai_section *section,
                         const Udpa__Config__V1__Bootstrap *message,
                         udpai_namespace_fn found,
                         void *userdata)
{
    const struct walk walk = {
        .bootstrap = message,
        .on_value = find_namespace,
        .found = found,
        .userdata = userdata,
    };
    begin(&walk, section);
}

/* ---- the plan ---- */

uint64_t
udpai_duration_ms(const Google__Protobuf__Duration *duration)
{
    return duration ? (uint64_t)duration->seconds * 1000 + (uint64_t)duration->nanos / 1000000 : 0;
}

static void
put(udpai_plan *plan, const udpai_field *field, uint64_t number)
{
    void *place = (char *)plan + field->to;
    const uint32_t small = (uint32_t)number;
    const bool is = number != 0;
    if (field->to_size == sizeof(number))
        memcpy(place, &number, sizeof(number));
    else if (field->to_size == sizeof(small))
        memcpy(place, &small, sizeof(small));
    else
        memcpy(place, &is, sizeof(is));
}

/* @p place: NULL for what is not given. False: it may not be so. */
static bool
apply(const udpai_field *field,
      const ProtobufCFieldDescriptor *descriptor,
      const void *place,
      udpai_plan *plan)
{
    const void *message = NULL;
    if (place && descriptor->type == PROTOBUF_C_TYPE_MESSAGE)
        message = *(const void *const *)place;
    if (field->of)
        return udpai_section_apply(field->of, message, plan);
    if (field->to_size == 0 || (!place && !field->otherwise))
        return true;
    if (message && !is_long_enough(field, message))
        return false;
    put(plan, field,
        !place    ? field->otherwise
        : message ? udpai_duration_ms(message)
                  : number_at(descriptor, place));
    return true;
}

bool
udpai_section_apply(const udpai_section *section, const void *message, udpai_plan *plan)
{
    bool is_good = true;
    for (size_t i = 0; i < section->n_fields; i++) {
        const udpai_field *field = &section->fields[i];
        const ProtobufCFieldDescriptor *descriptor =
            protobuf_c_message_descriptor_get_field_by_name(section->descriptor, field->name);
        bool is_there = message && udpai_reflect_count(message, descriptor);
        if (descriptor->label != PROTOBUF_C_LABEL_REPEATED)
            is_good &= apply(field, descriptor,
                             is_there ? udpai_reflect_value(message, descriptor, 0) : NULL, plan);
    }
    return is_good;
}
