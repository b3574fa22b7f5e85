/* SPDX-License-Identifier: Apache-2.0 */
/* libprotobuf reads the text; its errors are completed here: the source's name, a nearest name, how
 * to load a missing type. */
#include "codec/text_reader.h"

#include "base/alloc.h"
#include "codec/encoder.h"
#include "codec/place.h"
#include "codec/suggest.h"

/* The next name in double quotes at or after *at; false if there is none. */
static bool
next_quoted(const char **at, udpai_str *ret_name)
{
    const char *start = strchr(*at, '"');
    const char *end = start ? strchr(start + 1, '"') : NULL;
    if (!end)
        return false;
    *ret_name = (udpai_str){start + 1, (size_t)(end - start) - 1};
    *at = end + 1;
    return true;
}

/* libprotobuf names the type and the field that it has not: 'Message type "t" has no field named
 * "f".' Another wording only costs the suggestion. */
static udpai_suggestion
suggest_field(const udpai_schema *schema, const char *reason)
{
    udpai_str type_name, field;
    const udpai_type *type = NULL;
    if (strstr(reason, "no field named") && next_quoted(&reason, &type_name) &&
        next_quoted(&reason, &field))
        type = udpai_schema_find(schema, type_name);
    if (!type)
        return udpai_suggest((udpai_str){NULL, 0});
    udpai_suggestion suggestion = udpai_suggest(field);
    for (size_t i = 0; i < udpai_type_n_fields(type); i++)
        udpai_suggest_offer(&suggestion, udpai_type_field_name(type, i));
    return suggestion;
}

static udpa_err
explain(const udpai_schema *schema,
        const udpai_source *source,
        const udpai_text_notes *notes,
        const udpa_error *cause,
        udpa_error **ret_error)
{
    char hint[UDPAI_SUGGESTION_TEXT];
    const udpai_place place = {source->name, notes->line, notes->column, {NULL, 0}};
    if (notes->missing_type)
        return udpai_fail_unknown_type(schema, &place, udpai_str_from(notes->missing_type),
                                       ret_error);
    const char *reason = udpa_error_message(cause);
    udpai_suggestion suggestion = suggest_field(schema, reason);
    size_t len = strlen(reason);
    if (len && reason[len - 1] == '.')
        len--;
    return udpai_fail_at(ret_error, udpa_error_code(cause), &place, "%.*s%s", (int)len, reason,
                         udpai_suggestion_text(&suggestion, hint));
}

udpa_err
udpai_text_read(const udpai_schema *schema,
                const udpai_type *type,
                const udpai_source *source,
                udpa_bytes **ret_bytes,
                udpai_text_notes *notes,
                udpa_error **ret_error)
{
    udpai_text_notes own_notes = {0};
    udpa_error *cause = NULL;
    const udpai_place place = {source->name, 0, 0, {NULL, 0}};
    if (source->text.len > udpai_source_max_size(source))
        return udpai_fail_at(ret_error, UDPA_ERR_LIMIT, &place,
                             "%zu bytes are more than the %zu that are allowed", source->text.len,
                             udpai_source_max_size(source));
    if (!notes)
        notes = &own_notes;
    udpa_err err = udpai_message_from_text(schema, type, source->text, ret_bytes, notes, &cause);
    if (err != UDPA_OK)
        err = explain(schema, source, notes, cause, ret_error);
    udpa_error_unref(cause);
    udpai_free(notes->missing_type);
    notes->missing_type = NULL;
    return err;
}
