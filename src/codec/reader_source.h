/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a document before it is read as YAML or JSON. */
#ifndef UDPAI_READER_SOURCE_H
#define UDPAI_READER_SOURCE_H

#include "base/strbuf.h"
#include "codec/place.h"
#include "codec/source.h"

/* Is it of an allowed size, and UTF-8 without zero bytes? */
udpa_err udpai_source_check(const udpai_source *source, udpa_error **ret_error);
/* Is it nothing but white space? */
bool udpai_source_is_blank(const udpai_source *source);
/* Appends a copy in which every kind of line end is a '\n'. */
void udpai_source_copy(const udpai_source *source, udpai_strbuf *out);

#endif
