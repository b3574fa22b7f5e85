/* SPDX-License-Identifier: Apache-2.0 */
/* What a page that does something is asked: behind the '?', and as a JSON object with a value for
 * each key. Both are read as one form: KEY=VALUE, percent-encoded, joined by '&'. */
#ifndef UDPAI_DAEMON_PAGE_BODY_H
#define UDPAI_DAEMON_PAGE_BODY_H

#include "base/error.h"
#include "base/strbuf.h"

#define UDPAI_PAGE_BODY_MAX ((size_t)256 << 10)

/* Of a body, strings, numbers, true and false are values; null is an empty one. Either may be
 * empty. The form is to be freed in any case. */
udpa_err udpai_page_form_read(udpai_str query,
                              udpai_str body,
                              udpai_strbuf *ret_form,
                              udpa_error **ret_error);
/* A part "KEY=VALUE", @p key with its '=': decoded to *at, which is moved on; the room of a whole
 * form is enough for its parts. False: it is another key, or not encoded so. */
bool udpai_page_form_text(udpai_str part, udpai_str key, char **at, udpai_str *ret_text);
/* The same of a number, which is not encoded. */
bool udpai_page_form_number(udpai_str part, udpai_str key, uint64_t *ret_number);
/* The next part of a form, which is moved on behind it. False: it is the last. */
bool udpai_page_form_next(udpai_str *form, udpai_str *ret_part);

#endif
