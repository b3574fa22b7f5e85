/* SPDX-License-Identifier: Apache-2.0 */
/* Records of an audit for people. Pure. */
#ifndef UDPAI_CTL_AUDIT_VIEW_H
#define UDPAI_CTL_AUDIT_VIEW_H

#include "cli/table.h"

/* A page of /audit: its records, and what to ask for next. */
typedef struct udpai_ctl_audit_page {
    UDPAI_VECTOR(udpai_str) records; /* lines; views of the text */
    uint64_t next;                   /* 0: there are no more */
} udpai_ctl_audit_page;

/* False: that is no such page. To be followed by udpai_vector_done(&page->records) in any case. */
bool udpai_ctl_audit_page_read(udpai_str text, udpai_ctl_audit_page *ret_page);

void udpai_ctl_audit_begin(udpai_cli_table *table, udpai_cli_layout *layout);
/* A row; one that cannot be read is a row with the text alone. */
void udpai_ctl_audit_add(udpai_cli_table *table, udpai_str record, bool is_wide);

#endif
