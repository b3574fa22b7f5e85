/* SPDX-License-Identifier: Apache-2.0 */
/* What text from peers must pass before it is kept, and what our own words about it must pass
 * before they travel: protobuf-c checks no strings, and other implementations end a stream over
 * one. */
#ifndef UDPAI_UTF8_H
#define UDPAI_UTF8_H

#include "base/util.h"

/* Is it well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms) without a zero byte? */
bool udpai_utf8_valid(udpai_str text);
/* Makes any text valid, in place: '?' for each byte that belongs to no well-formed sequence. */
void udpai_utf8_mend(char *text);
/* The length in bytes of the well-formed sequence that the text begins with, and what character it
 * is; 0: it begins with none. */
size_t udpai_utf8_decode(udpai_str text, uint32_t *ret_point);
/* Must a terminal not be given this character of a peer? What it obeys (C0, DEL, C1), what ends a
 * line, and what turns the direction of text could make one text look like another. */
bool udpai_utf8_is_hidden(uint32_t point);
/* The beginning of valid text, at most so many bytes, and no character cut in two. */
udpai_str udpai_utf8_cut(udpai_str text, size_t max);

#endif
