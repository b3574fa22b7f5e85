/* SPDX-License-Identifier: Apache-2.0 */
/* The pages /backup and /backup_part: a thread makes a backup in the state directory, and a client
 * reads it, a part at a time. The file has no name any more while it is read, so nothing of it is
 * left when the node ends. There is one at a time; one that nobody reads any more is dropped. */
#ifndef UDPAI_DAEMON_BACKUP_PAGE_H
#define UDPAI_DAEMON_BACKUP_PAGE_H

#include "daemon/plan.h"
#include "endpoint/endpoint.h"

/* The loop's. */
typedef struct udpai_backup_page udpai_backup_page;

#define UDPAI_BACKUP_TYPE "application/octet-stream" /* of a part */
#define UDPAI_BACKUP_PART_BYTES ((size_t)512 << 10)

/* Both borrowed until the end. Removes what a process that was killed has left. NULL without
 * memory. */
udpai_backup_page *udpai_backup_page_new(const udpai_plan *plan, udpa_endpoint *endpoint);
/* Waits for the thread, which gives up. NULL does nothing. */
void udpai_backup_page_free(udpai_backup_page *page);

/* Begins one, unless the form of both (page_body.h) is "look=true". The answer, a line: "running",
 * or "done ID BYTES". UDPA_ERR_PRECONDITION: nothing is stored, or in etcd. UDPA_ERR_UNAVAILABLE:
 * there is another one, for now. Others: that it has failed, and why. */
udpa_err udpai_backup_page_ask(udpai_backup_page *page,
                               udpai_str query,
                               udpai_str body,
                               udpai_strbuf *text,
                               udpa_error **ret_error);
/* @p form: "id=ID&from=BYTE". As many bytes as a part has; none: that was all, and it is dropped.
 */
udpa_err udpai_backup_page_read(udpai_backup_page *page,
                                udpai_str form,
                                udpai_strbuf *bytes,
                                udpa_error **ret_error);

#endif
