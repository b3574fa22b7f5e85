/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the audit as it is given to people and programs: a line of JSON. In an output, each
 * line has the SHA-256 of the line before it, so that what is changed or taken out later is
 * noticed. */
#ifndef UDPAI_AUDIT_LINE_H
#define UDPAI_AUDIT_LINE_H

#include "base/strbuf.h"
#include "storage/audit_table.h"

#define UDPAI_AUDIT_HASH_LEN 64 /* hexadecimal digits */

typedef char udpai_audit_hash[UDPAI_AUDIT_HASH_LEN + 1];

/* Of the first line of an output. */
#define UDPAI_AUDIT_FIRST_HASH "0000000000000000000000000000000000000000000000000000000000000000"

/* Without an end of line. @p table: which one it is from. @p before: NULL: there is no chain. */
void udpai_audit_line_put(udpai_strbuf *out,
                          const char *table,
                          const udpai_audit_row *row,
                          const char *before);
/* False: no memory. */
bool udpai_audit_line_hash(udpai_str line, udpai_audit_hash ret_hash);

/* What a line says of its place; false: it is none of an output. */
typedef struct udpai_audit_place {
    int64_t seq;
    char table[UDPAI_AUDIT_ID_MAX];
    udpai_audit_hash before;
} udpai_audit_place;

bool udpai_audit_line_read(udpai_str line, udpai_audit_place *ret_place);

#endif
