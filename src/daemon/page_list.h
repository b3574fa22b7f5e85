/* SPDX-License-Identifier: Apache-2.0 */
/* The pages that there are, and what each is for. */
#ifndef UDPAI_DAEMON_PAGE_LIST_H
#define UDPAI_DAEMON_PAGE_LIST_H

#include "transport/http/http.h"

typedef enum udpai_page_number {
    UDPAI_PAGE_METRICS,
    UDPAI_PAGE_READY,
    UDPAI_PAGE_LIVEZ,
    UDPAI_PAGE_READYZ,
    UDPAI_PAGE_RUNTIME,
    UDPAI_PAGE_MODIFY,
    UDPAI_PAGE_STATS,
    UDPAI_PAGE_PROMETHEUS,
    UDPAI_PAGE_ACCEPT,
    UDPAI_PAGE_DELETE,
    UDPAI_PAGE_REBALANCE,
    UDPAI_PAGE_STORE,
    UDPAI_PAGE_STORE_ACCEPT,
    UDPAI_PAGE_STORE_PUSH,
    UDPAI_PAGE_STORE_RESEAL,
    UDPAI_PAGE_STORE_MIGRATE,
    UDPAI_PAGE_EVENTS,
    UDPAI_PAGE_INDEX,
    UDPAI_PAGE_AUDIT,
    UDPAI_PAGE_FREEZES,
    UDPAI_PAGE_FREEZE,
    UDPAI_PAGE_THAW,
    UDPAI_PAGE_STATUS,
    UDPAI_PAGE_EXPLAIN,
    UDPAI_PAGE_CONFIG,
    UDPAI_PAGE_TOP,
    UDPAI_PAGE_BACKUP,
    UDPAI_PAGE_BACKUP_PART,
    UDPAI_PAGE_RELOAD,
    UDPAI_PAGE_RESTART,
    UDPAI_PAGE_PROCESS,
    UDPAI_PAGES,
} udpai_page_number;

/* The first ones are on sockets of HTTP anyway, the next ones by the setting http.admin_pages; all
 * are on admin sockets. */
#define UDPAI_PAGES_FOR_ALL 4
#define UDPAI_PAGES_AT_HTTP 16

extern const udpai_http_page udpai_pages_all[UDPAI_PAGES];
/* A line of the index for each. */
extern const char *const udpai_page_summaries[UDPAI_PAGES];

#endif
