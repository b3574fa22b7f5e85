/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/redact.h"

#include "daemon/reflect.h"

/* ---- texts ---- */

static bool
is_of_lines(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f)
            return true;
    return false;
}

void
udpai_redact_text(udpai_strbuf *out, udpai_str text)
{
    const char *scheme;
    if (is_of_lines(text)) {
        udpai_strbuf_puts(out, UDPAI_REDACTED);
        return;
    }
    while ((scheme = memmem(text.data, text.len, "://", 3))) {
        size_t begin = (size_t)(scheme - text.data) + 3, end = begin;
        while (end < text.len && !strchr("/?#, ", text.data[end]))
            end++;
        const char *at = memrchr(text.data + begin, '@', end - begin);
        size_t n_hidden = at ? (size_t)(at - text.data) - begin : 0;
        udpai_strbuf_append(out, text.data, begin);
        udpai_strbuf_puts(out, at ? UDPAI_REDACTED : "");
        text = (udpai_str){text.data + begin + n_hidden, text.len - begin - n_hidden};
    }
    udpai_strbuf_str(out, text);
}

/* ---- messages ---- */

typedef struct redaction {
    udpai_arena *arena;
    bool failed;
} redaction;

static void *
place_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field, size_t index)
{
    return (void *)(uintptr_t)udpai_reflect_value(message, field, index);
}

static char *
copy(udpai_arena *arena, udpai_str text)
{
    char *room = udpai_arena_alloc(arena, text.len + 1);
    if (room) {
        memcpy(room, text.data, text.len);
        room[text.len] = '\0';
    }
    return room;
}

/* An empty one is no secret, and stays what it means. */
static void
redact_string(redaction *self, char **text, bool is_shown)
{
    udpai_strbuf out = {0};
    if (!*text || !**text)
        return;
    if (is_shown)
        udpai_redact_text(&out, udpai_str_from(*text));
    else
        udpai_strbuf_puts(&out, UDPAI_REDACTED);
    *text = udpai_strbuf_failed(&out) ? NULL : copy(self->arena, udpai_strbuf_view(&out));
    self->failed |= !*text;
    udpai_strbuf_done(&out);
}

static void
redact_bytes(ProtobufCBinaryData *bytes)
{
    static char instead[] = UDPAI_REDACTED;
    if (bytes->len)
        *bytes = (ProtobufCBinaryData){sizeof(instead) - 1, (uint8_t *)instead};
}

static void redact_struct(redaction *self, const Google__Protobuf__Struct *message);

/* A number or a truth may be a secret as well. */
static void
redact_value(redaction *self, Google__Protobuf__Value *value)
{
    static char instead[] = UDPAI_REDACTED;
    if (value && value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE) {
        redact_struct(self, value->struct_value);
    } else if (value && value->kind_case == GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE) {
        for (size_t i = 0; i < value->list_value->n_values; i++)
            redact_value(self, value->list_value->values[i]);
    } else if (value) {
        value->kind_case = GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE;
        value->string_value = instead;
    }
}

static void
redact_struct(redaction *self, const Google__Protobuf__Struct *message)
{
    for (size_t i = 0; message && i < message->n_fields; i++) {
        redact_string(self, &message->fields[i]->key, true);
        redact_value(self, message->fields[i]->value);
    }
}

static const udpai_field *
find(const udpai_section *section, const char *name)
{
    for (size_t i = 0; section && i < section->n_fields; i++)
        if (strcmp(section->fields[i].name, name) == 0)
            return &section->fields[i];
    return NULL;
}

static void
redact_message(redaction *self, const udpai_section *section, ProtobufCMessage *message);

/* @p row: NULL: nobody has decided. */
static void
redact_place(redaction *self,
             const udpai_field *row,
             const ProtobufCFieldDescriptor *field,
             void *place)
{
    bool is_shown = row && row->disclosure == UDPAI_DISCLOSURE_SHOWN;
    bool is_struct = field->type == PROTOBUF_C_TYPE_MESSAGE &&
                     field->descriptor == &google__protobuf__struct__descriptor;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        redact_string(self, place, is_shown);
    else if (field->type == PROTOBUF_C_TYPE_BYTES && !is_shown)
        redact_bytes(place);
    else if (is_struct && !is_shown)
        redact_struct(self, *(Google__Protobuf__Struct **)place);
    else if (field->type == PROTOBUF_C_TYPE_MESSAGE && !is_struct)
        redact_message(self, row ? row->of : NULL, *(ProtobufCMessage **)place);
}

static void
redact_message(redaction *self, const udpai_section *section, ProtobufCMessage *message)
{
    for (unsigned i = 0; message && i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const udpai_field *row = find(section, field->name);
        size_t n = udpai_reflect_count(message, field);
        for (size_t k = 0; k < n; k++)
            redact_place(self, row, field, place_of(message, field, k));
    }
}

bool
udpai_redact(const udpai_section *section, ProtobufCMessage *message, udpai_arena *arena)
{
    redaction self = {.arena = arena};
    redact_message(&self, section, message);
    return !self.failed;
}
