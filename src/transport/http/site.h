/* SPDX-License-Identifier: Apache-2.0 */
/* Does a foreign page ask, in the browser of a permitted user? A browser sends whatever a page asks
 * for, to this machine, too; where it comes from is in Origin and Sec-Fetch-Site. And a page with a
 * name of its own that is made to lead here (DNS rebinding) is of the same origin: its name is in
 * Host. Pure. */
#ifndef UDPAI_HTTP_SITE_H
#define UDPAI_HTTP_SITE_H

#include "transport/http/head.h"

/* UDPA_ERR_DENIED, and why. Host may be an address, a name without a dot, or fit one of the hosts,
 * in which a * matches any text; an origin must be that host. A client that is no browser sends no
 * origin. */
udpa_err udpai_http_site_check(const udpai_http_head *head,
                               const udpai_str *hosts,
                               size_t n_hosts,
                               udpa_error **ret_error);

#endif
