/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the audit out of a node's database, beside the engine that writes it, and without
 * waiting for that: by a connection of its own, which cannot write. */
#ifndef UDPAI_AUDIT_TABLE_H
#define UDPAI_AUDIT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/util.h"

/* Used by one thread at a time, any. */
typedef struct udpai_audit_table udpai_audit_table;

/* A record, as long as the call lasts. */
typedef struct udpai_audit_row {
    int64_t seq;   /* rising, never used twice in one database */
    int64_t at_us; /* since 1970 */
    udpai_str source;
    udpai_str record; /* a line of JSON (store/audit.h) */
    udpai_str actor, name;
} udpai_audit_row;

/* False ends the reading. */
typedef bool (*udpai_audit_row_fn)(void *userdata, const udpai_audit_row *row);

#define UDPAI_AUDIT_ID_MAX 32 /* with its NUL */

/* UDPA_ERR_NOT_FOUND: the directory has no database. UDPA_ERR_PRECONDITION: it has no audit. */
udpa_err udpai_audit_table_open(udpai_audit_table **ret_table,
                                const char *directory,
                                udpa_error **ret_error);
/* NULL does nothing. */
void udpai_audit_table_close(udpai_audit_table *table);

/* Which table it is, drawn when it was made: another one begins to count anew. */
const char *udpai_audit_table_id(const udpai_audit_table *table);
/* Number of the last record; 0: there is none. */
udpa_err udpai_audit_table_last(udpai_audit_table *table, int64_t *ret_seq, udpa_error **ret_error);

/* Those behind @p after, in their order. */
udpa_err udpai_audit_table_read(udpai_audit_table *table,
                                int64_t after,
                                udpai_audit_row_fn fn,
                                void *userdata,
                                udpa_error **ret_error);
/* Those before @p before (0: all), the last first. */
udpa_err udpai_audit_table_read_back(udpai_audit_table *table,
                                     int64_t before,
                                     udpai_audit_row_fn fn,
                                     void *userdata,
                                     udpa_error **ret_error);

#endif
