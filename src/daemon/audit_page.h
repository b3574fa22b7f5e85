/* SPDX-License-Identifier: Apache-2.0 */
/* The page /audit: records of who has changed what, as JSON, some at a time. */
#ifndef UDPAI_DAEMON_AUDIT_PAGE_H
#define UDPAI_DAEMON_AUDIT_PAGE_H

#include "daemon/plan.h"
#include "storage/audit_table.h"
#include "transport/http/http.h"

/* Records that one request looks at, whatever fits: this is done between other work of the loop. */
#define UDPAI_AUDIT_PAGE_LOOKS 4000

typedef struct udpai_audit_page {
    const udpai_plan *plan;
    udpai_audit_table *table; /* NULL: it was not asked for yet */
} udpai_audit_page;

void udpai_audit_page_done(udpai_audit_page *page);

/* @p form: of limit, after, before, since (seconds since 1970), identity and name (with stars).
 * With `before` or without both the newest come first. The answer: "records"; "table", its id;
 * "newest", the record up to which this was looked at: what comes is `after` that, of the same
 * `table`, for another one counts anew; and "next", which is what to ask for as `before` or
 * `after`: there is more. */
udpa_err udpai_audit_page_read(udpai_audit_page *page,
                               udpai_str form,
                               udpai_strbuf *text,
                               udpa_error **ret_error);

/* Who asks: the name of a certificate, or "token", or "an administrator" where none is known. */
udpai_str udpai_audit_page_actor(const udpai_http_reading *reading, bool by_token);
/* A page was asked for that does something, and has: a record of it, but of what was only looked
 * at. @p by_token: whoever it was had the token of the admin sockets. */
void
udpai_audit_page_note(udpa_endpoint *endpoint, const udpai_http_reading *reading, bool by_token);

#endif
