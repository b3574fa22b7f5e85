/* SPDX-License-Identifier: Apache-2.0 */
/* A tree to the bytes of a message. The tree is checked against the type on the way, because only
 * here both the place in the document and the type are known:
 *
 *  - a plain scalar of YAML is what its field needs: `version: 1.10` is the string "1.10";
 *  - fields go by their original or their JSON name; one that there is none of is an error, and so
 *    are two names for one field, two members of a oneof, null in a list;
 *  - numbers never have leading zeroes, which some read as octal;
 *  - an Any is {"@type": "prefix/type", its fields}, with any prefix;
 *  - Duration, Timestamp, FieldMask and wrappers may also be written field by field.
 *
 * null for a field leaves the field out, also for a string. */
#ifndef UDPAI_ENCODER_H
#define UDPAI_ENCODER_H

#include <udpa/bytes.h>

#include "codec/descriptor.h"
#include "codec/source.h"
#include "codec/text_errors.h"
#include "codec/tree.h"

typedef struct udpai_encoding {
    const udpai_schema *schema;
    const udpai_source *source;
    const char *path; /* what leads to the node, such as "[2]"; NULL: nothing */
    /* NULL: the first error ends the work. Otherwise all are collected here; that there are some
     * is an error, and what comes out is the message without them, or NULL. */
    udpai_text_errors *errors;
} udpai_encoding;

udpa_err udpai_encode(const udpai_encoding *encoding,
                      const udpai_type *type,
                      const udpai_tree *node,
                      udpa_bytes **ret_bytes,
                      udpa_error **ret_error);

/* Reports how to get the descriptors of a type that is not known. */
udpa_err udpai_fail_unknown_type(const udpai_schema *schema,
                                 const udpai_place *place,
                                 udpai_str type_url,
                                 udpa_error **ret_error);

#endif
