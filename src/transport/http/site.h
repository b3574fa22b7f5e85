/* SPDX-License-Identifier: Apache-2.0 */
/* Does a page of somebody else ask, in the browser of somebody who may? A browser sends what any
 * page tells it to, to this machine, too; where it comes from stands in Origin and Sec-Fetch-Site.
 * And a page whose own name is made to lead here (DNS rebinding) is of the same origin: its name
 * stands in Host. Pure. */
#ifndef UDPAI_HTTP_SITE_H
#define UDPAI_HTTP_SITE_H

#include "transport/http/head.h"

/* UDPA_ERR_DENIED, and why. Host may be an address, a name without a dot, or fit one of the hosts,
 * in which a * stands for any text; an origin must be that host. Whoever is no browser says no
 * origin. */
udpa_err udpai_http_site_check(const udpai_http_head *head,
                               const udpai_str *hosts,
                               size_t n_hosts,
                               udpa_error **ret_error);

#endif
