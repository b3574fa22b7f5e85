/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a page that does something: a JSON object with a value for each key. */
#ifndef UDPAI_DAEMON_PAGE_BODY_H
#define UDPAI_DAEMON_PAGE_BODY_H

#include "base/error.h"
#include "base/strbuf.h"

#define UDPAI_PAGE_BODY_MAX ((size_t)256 << 10)

/* Appends it as what may stand behind a '?': KEY=VALUE, percent-encoded, joined by '&'. Strings,
 * numbers, true and false are values; null is an empty one. */
udpa_err udpai_page_body_read(udpai_str body, udpai_strbuf *form, udpa_error **ret_error);

#endif
