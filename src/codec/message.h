/* SPDX-License-Identifier: Apache-2.0 */
/* One message to and from bytes, by libprotobuf; what goes on around it is the encoder's work.
 * Bytes are canonical: what means the same gives the same bytes. */
#ifndef UDPAI_MESSAGE_H
#define UDPAI_MESSAGE_H

#include <udpa/bytes.h>

#include "codec/descriptor.h"

UDPA_BEGIN_DECLS

/* Proto3 JSON to bytes, with one difference: a google.protobuf.Any is {"type_url": "…", "value":
 * "base64"}, whatever its type. When a value is wrong, *ret_where receives the field's path as
 * libprotobuf writes it, or NULL if that is not known; free it with udpai_free(). */
udpa_err udpai_message_from_json(const udpai_schema *schema,
                                 const udpai_type *type,
                                 udpai_str json,
                                 udpa_bytes **ret_bytes,
                                 char **ret_where,
                                 udpa_error **ret_error);

typedef enum udpai_json_style {
    UDPAI_JSON_COMPACT, /* lowerCamelCase names */
    UDPAI_JSON_INDENTED,
    UDPAI_JSON_ORIGINAL_NAMES, /* compact */
    UDPAI_JSON_COMPLETE,       /* compact; what the schema does not know is UDPA_ERR_NOT_FOUND */
} udpai_json_style;

/* Bytes to proto3 JSON. An Any of a type that is not known is {"@type": "…", "value": "base64"}. */
udpa_err udpai_message_to_json(const udpai_schema *schema,
                               const udpai_type *type,
                               udpai_str bytes,
                               udpai_json_style style,
                               char **ret_json,
                               udpa_error **ret_error);

/* What to learn from parsing text besides the message. Begin with zeroes. */
typedef struct udpai_text_notes {
    /* At an error: where, from 1. */
    uint32_t line, column;
    /* A repeated field of the root type; then *lines (to be freed with udpai_free()) has on which
     * line each of its n_lines elements begins. */
    const char *locate;
    uint32_t *lines;
    size_t n_lines;
    /* At an error: the type of an Any, if it is that which is not known; free it with udpai_free().
     */
    char *missing_type;
} udpai_text_notes;

/* Protobuf text to bytes. An Any may be written [prefix/type] { … }. */
udpa_err udpai_message_from_text(const udpai_schema *schema,
                                 const udpai_type *type,
                                 udpai_str text,
                                 udpa_bytes **ret_bytes,
                                 udpai_text_notes *notes,
                                 udpa_error **ret_error);
/* Bytes to protobuf text. An Any that text cannot expand is printed as it is. */
udpa_err udpai_message_to_text(const udpai_schema *schema,
                               const udpai_type *type,
                               udpai_str bytes,
                               char **ret_text,
                               udpa_error **ret_error);

UDPA_END_DECLS

#endif
