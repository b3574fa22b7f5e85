/* SPDX-License-Identifier: Apache-2.0 */
/* Making bytes in place; everything else about them is public (udpa/bytes.h). */
#ifndef UDPAI_BYTES_H
#define UDPAI_BYTES_H

#include <udpa/bytes.h>

#include "base/strbuf.h"

/* Uninitialised bytes to be filled through *ret_room before anybody else sees the object; NULL
 * without memory. */
udpa_bytes *udpai_bytes_make(size_t size, uint8_t **ret_room);

/* A copy of the text with a NUL behind it, which counts in the size; NULL without memory. */
udpa_bytes *udpai_bytes_cstring(udpai_str text);

/* Of what was written, without the NUL; NULL if anything failed. Empties the buffer. */
udpa_bytes *udpai_bytes_of(udpai_strbuf *text);

static inline udpai_str
udpai_bytes_view(const udpa_bytes *bytes)
{
    return (udpai_str){udpa_bytes_data(bytes), udpa_bytes_size(bytes)};
}

#endif
