/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of JSON text. */
#ifndef UDPAI_JSON_TEXT_H
#define UDPAI_JSON_TEXT_H

#include "base/strbuf.h"

/* "text", escaped. */
void udpai_json_put_string(udpai_strbuf *out, udpai_str text);
/* "base64", padded, of the standard alphabet. */
void udpai_json_put_base64(udpai_strbuf *out, udpai_str bytes);
/* Is a JSON number beyond what a double holds? */
/* Are there more values in it than so many? Counted before any is read, in whatever looks like
 * JSON; a key counts as one. */
bool udpai_json_exceeds(udpai_str json, size_t n_values);
bool udpai_json_number_overflows(const char *number);

#endif
