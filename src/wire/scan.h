/* SPDX-License-Identifier: Apache-2.0 */
/* The check that every message from a peer passes before protobuf-c sees it. protobuf-c recurses as
 * deep as a message nests, checks no UTF-8 and cuts strings at a zero byte; after this scan none of
 * that matters. It does not recurse and allocates only the list of spans it returns. */
#ifndef UDPAI_SCAN_H
#define UDPAI_SCAN_H

#include <protobuf-c/protobuf-c.h>

#include "base/error.h"
#include "base/vector.h"

#define UDPAI_SCAN_DEPTH_MAX 64

typedef UDPAI_VECTOR(udpai_str) udpai_spans;

/* So many fields a message may have, with those of the messages in it: 327,680, and one more for
 * every 16 bytes. A peer that resumes sends three of each name that it holds: the entry, the name
 * and its digest; so there is room for 100,000 names, however short. */
static inline size_t
udpai_scan_fields_max(udpai_str message)
{
    return 327680 + message.len / 16;
}

/* Checks a message of this type against what protobuf-c will unpack: field types, UTF-8 without
 * zero bytes in every string, depth, number of fields; no groups; no singular message or oneof
 * given twice, which protobuf would merge. What the type does not know is skipped.
 *
 * Appends to @p ret_anys the bytes of every google.protobuf.Any met, in order, as views into @p
 * message; these are the bytes that are kept, since a packed copy need not be the same. NULL: not
 * needed. */
udpa_err udpai_scan(const ProtobufCMessageDescriptor *type,
                    udpai_str message,
                    udpai_spans *ret_anys,
                    udpa_error **ret_error);

/* What is wrong in a message that is checked by itself. */
typedef struct udpai_scan_fault {
    size_t index;   /* among all of its type, in order */
    udpai_str part; /* its bytes, at least two: a view */
    udpa_error *error;
} udpai_scan_fault;

typedef UDPAI_VECTOR(udpai_scan_fault) udpai_scan_faults;

#define UDPAI_SCAN_FAULTS_MAX 1000

/* The same, but what is wrong in a message of the type @p apart costs that one alone, as long as
 * it is framed: it is appended to @p ret_faults, in order, and none of its Anys to @p ret_anys.
 * More than UDPAI_SCAN_FAULTS_MAX of them fail the whole, as limits do. */
udpa_err udpai_scan_apart(const ProtobufCMessageDescriptor *type,
                          udpai_str message,
                          const ProtobufCMessageDescriptor *apart,
                          udpai_spans *ret_anys,
                          udpai_scan_faults *ret_faults,
                          udpa_error **ret_error);
/* Drops the errors; the room stays. */
void udpai_scan_faults_clear(udpai_scan_faults *faults);
/* Makes the bytes of such a part, at least two, a message of any type that has nothing. */
void udpai_scan_blank(char *part, size_t len);

#endif
