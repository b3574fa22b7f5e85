/* SPDX-License-Identifier: Apache-2.0 */
/* Records of an audit for people. Pure. */
#ifndef UDPAI_CTL_AUDIT_VIEW_H
#define UDPAI_CTL_AUDIT_VIEW_H

#include "cli/table.h"

#define UDPAI_CTL_AUDIT_TABLE_MAX 32 /* with its NUL */

/* A page of /audit: its records, and what to ask for next. */
typedef struct udpai_ctl_audit_page {
    UDPAI_VECTOR(udpai_str) records; /* lines; views of the text */
    uint64_t next;                   /* 0: there are no more */
    /* Which table, and up to which of its records this is; empty: an older node has not sent it. */
    char table[UDPAI_CTL_AUDIT_TABLE_MAX];
    uint64_t newest;
} udpai_ctl_audit_page;

/* False: that is no such page. To be followed by udpai_vector_done(&page->records) in any case. */
bool udpai_ctl_audit_page_read(udpai_str text, udpai_ctl_audit_page *ret_page);

#define UDPAI_CTL_AUDIT_COLUMNS_MAX 13

void udpai_ctl_audit_begin(udpai_cli_table *table, udpai_cli_layout *layout);
/* A row; one that cannot be read is a row with the text alone. */
void udpai_ctl_audit_add(udpai_cli_table *table, udpai_str record, bool is_wide);

#endif
