/* SPDX-License-Identifier: Apache-2.0 */
/* What C code must know of a message type to check a document against it. All that is returned
 * belongs to the schema. */
#ifndef UDPAI_DESCRIPTOR_H
#define UDPAI_DESCRIPTOR_H

#include "codec/schema.h"

UDPA_BEGIN_DECLS

typedef struct udpai_type udpai_type;
typedef struct udpai_enum udpai_enum;

typedef enum udpai_kind {
    UDPAI_KIND_STRING,
    UDPAI_KIND_BYTES,
    UDPAI_KIND_BOOL,
    UDPAI_KIND_INTEGER,
    UDPAI_KIND_FLOAT,
    UDPAI_KIND_ENUM,
    UDPAI_KIND_MESSAGE,
    UDPAI_KIND_GROUP, /* of proto2; not supported */
} udpai_kind;

/* Types that JSON has its own form for. */
typedef enum udpai_well_known {
    UDPAI_ORDINARY,
    UDPAI_ANY,
    UDPAI_DURATION,
    UDPAI_TIMESTAMP,
    UDPAI_FIELD_MASK,
    UDPAI_WRAPPER,
    UDPAI_STRUCT,
    UDPAI_VALUE,
    UDPAI_LIST_VALUE,
    UDPAI_EMPTY,
} udpai_well_known;

typedef struct udpai_field {
    const char *name;
    const char *kind_name; /* "int32", "string", …, or the full name of the message or enum */
    uint32_t number;
    udpai_kind kind; /* of a map: of its values */
    bool repeated, map;
    udpai_kind key_kind; /* of a map */
    const char *key_kind_name;
    const udpai_type *message;     /* of UDPAI_KIND_MESSAGE */
    const udpai_enum *enumeration; /* of UDPAI_KIND_ENUM */
    const char *oneof;             /* NULL: in none that the author wrote */
} udpai_field;

/* By full name, or by type URL with any prefix; NULL if there is none. */
const udpai_type *udpai_schema_find(const udpai_schema *schema, udpai_str type);
const char *udpai_type_name(const udpai_type *type);
udpai_well_known udpai_type_well_known(const udpai_type *type);
/* By original or JSON name. */
bool udpai_type_field(const udpai_type *type, udpai_str name, udpai_field *ret_field);
/* All fields' names, for suggestions. */
size_t udpai_type_n_fields(const udpai_type *type);
const char *udpai_type_field_name(const udpai_type *type, size_t index);
const char *udpai_type_field_json_name(const udpai_type *type, size_t index);

size_t udpai_enum_n_values(const udpai_enum *enumeration);
const char *udpai_enum_value_name(const udpai_enum *enumeration, size_t index);

UDPA_END_DECLS

#endif
