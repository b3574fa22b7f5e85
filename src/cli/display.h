/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a terminal shows it: what it must not be given, and how many columns the rest takes.
 * Pure, and the same in every locale. */
#ifndef UDPAI_CLI_DISPLAY_H
#define UDPAI_CLI_DISPLAY_H

#include "base/strbuf.h"

/* Appends text of a peer or a file: '?' replaces each control character (C0, DEL, C1), for what
 * turns the direction of text or ends a line, and for each byte that is not UTF-8. */
void udpai_cli_put_text(udpai_strbuf *out, udpai_str text);
/* The same of text that may have several lines: line feeds and tabs stay. */
void udpai_cli_put_lines(udpai_strbuf *out, udpai_str text);

/* How many columns it takes once udpai_cli_put_text() has written it: none for combining marks, two
 * for wide characters such as those of Chinese and emoji. */
size_t udpai_cli_display_width(udpai_str text);
/* Appends text, or so much of it that "…" behind it still fits into this many columns. Returns the
 * columns that it takes. */
size_t udpai_cli_put_cut(udpai_strbuf *out, udpai_str text, size_t n_columns);

/* Appends a version: of a long digest the first digits and "…", unless @p is_whole; anything else
 * as udpai_cli_put_text() does. */
void udpai_cli_put_version(udpai_strbuf *out, udpai_str version, bool is_whole);

#endif
