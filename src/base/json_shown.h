/* SPDX-License-Identifier: Apache-2.0 */
/* Text of peers in JSON that people may read on a terminal. */
#ifndef UDPAI_JSON_SHOWN_H
#define UDPAI_JSON_SHOWN_H

#include "base/strbuf.h"

/* "text", with all escaped that JSON requires, and all that a terminal would obey (base/utf8.h);
 * '?' for each byte that is no UTF-8. Of a longer text than @p max bytes, the beginning. */
void udpai_json_put_shown(udpai_strbuf *out, udpai_str text, size_t max);

#endif
