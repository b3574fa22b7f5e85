/* SPDX-License-Identifier: Apache-2.0 */
/* Texts with percent signs, as in URIs (RFC 3986, 2.1). */
#ifndef UDPAI_PERCENT_H
#define UDPAI_PERCENT_H

#include "base/strbuf.h"

/* Writes the decoded text to @p at, where as many bytes as @p text has must have room, and moves
 * the place on behind it; that may be where the text itself is. Any byte may come out, zero too.
 * False: no two hexadecimal digits follow a percent sign, and the place is where it was. */
bool udpai_percent_decode(udpai_str text, char **at, udpai_str *ret_decoded);

/* Appends any bytes as one segment of a name: all but letters, digits, and what has no meaning
 * there are written with percent signs. No other bytes are written so. */
void udpai_percent_encode_segment(udpai_strbuf *buffer, udpai_str bytes);

#endif
