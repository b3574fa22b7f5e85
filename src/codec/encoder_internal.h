/* SPDX-License-Identifier: Apache-2.0 */
/* The encoder's two halves: encoder.c knows maps, lists and messages, encoder_value.c single
 * values.
 *
 * A message is encoded in units: the document's message, and the contents of every Any in it. Each
 * unit becomes one line of JSON for libprotobuf, in which an Any is type URL and bytes. libprotobuf
 * names the field with the value that it rejects by a path in the unit; the unit is then walked
 * again until that path is met (unit->expected), because the node has the line. */
#ifndef UDPAI_ENCODER_INTERNAL_H
#define UDPAI_ENCODER_INTERNAL_H

#include "base/strbuf.h"
#include "codec/encoder.h"

typedef struct udpai_unit {
    udpai_strbuf json;
    udpai_strbuf where;   /* path in the unit, as libprotobuf writes it */
    const char *expected; /* NULL: not looking for a value */
} udpai_unit;

typedef struct udpai_encoder {
    const udpai_encoding *encoding;
    udpai_strbuf path; /* for people; from the document's root */
    udpai_unit *unit;
    const udpai_tree *blamed; /* the one that was asked for its place last: that of an error */
    udpa_error **ret_error;
} udpai_encoder;

/* How long the two paths were, to cut them back. */
typedef struct udpai_encoder_mark {
    size_t path, where;
} udpai_encoder_mark;

udpai_encoder_mark udpai_encoder_mark_here(const udpai_encoder *encoder);
void udpai_encoder_enter_field(udpai_encoder *encoder, const char *name);
void udpai_encoder_enter_index(udpai_encoder *encoder, size_t index);
void udpai_encoder_leave(udpai_encoder *encoder, udpai_encoder_mark mark);

udpai_place udpai_encoder_place(udpai_encoder *encoder, const udpai_tree *node);

/* "… must be <expected>, but is a list". */
udpa_err
udpai_encoder_fail_kind(udpai_encoder *encoder, const udpai_tree *node, const char *expected);

/* A value that is no list, no map of a map field and no message of ordinary fields. */
udpa_err udpai_put_scalar(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *node);
/* A Duration, Timestamp or FieldMask in its text form. */
udpa_err udpai_put_known(udpai_encoder *encoder, const udpai_type *type, const udpai_tree *node);
/* google.protobuf.Value, and so Struct and ListValue: whatever the document has. */
udpa_err udpai_put_value(udpai_encoder *encoder, const udpai_tree *node);
/* The key of a map field. */
udpa_err udpai_put_key(udpai_encoder *encoder, const udpai_field *field, const udpai_tree *key);

#define UDPAI_TYPE_KEY "@type"

udpa_err udpai_put_any(udpai_encoder *encoder, const udpai_tree *node);
/* A unit that is an Any itself. */
udpa_err
udpai_encode_any_unit(udpai_encoder *encoder, const udpai_tree *node, udpa_bytes **ret_bytes);
udpa_err udpai_encode_unit(udpai_encoder *encoder,
                           const udpai_type *type,
                           const udpai_tree *node,
                           udpa_bytes **ret_bytes);

#endif
