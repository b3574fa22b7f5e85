/* SPDX-License-Identifier: Apache-2.0 */
/* A body in chunks (RFC 9112, 7.1), as it comes: piece by piece, out come the bytes that it
 * encodes. Pure; what it takes in is bounded. */
#ifndef UDPAI_HTTP_CHUNKED_H
#define UDPAI_HTTP_CHUNKED_H

#include "base/error.h"
#include "base/strbuf.h"

#define UDPAI_CHUNK_LINE_MAX 1024 /* bytes of a size with its extensions, or of a trailer line */
#define UDPAI_CHUNK_TRAILERS_MAX 32

typedef struct udpai_chunked {
    enum {
        UDPAI_CHUNK_SIZE,      /* its digits */
        UDPAI_CHUNK_EXTENSION, /* up to the end of that line */
        UDPAI_CHUNK_SIZE_LF,
        UDPAI_CHUNK_DATA,
        UDPAI_CHUNK_DATA_CR,
        UDPAI_CHUNK_DATA_LF,
        UDPAI_CHUNK_TRAILER, /* at the begin of a line, or in it */
        UDPAI_CHUNK_TRAILER_LF,
        UDPAI_CHUNK_DONE,
    } state;

    size_t left;    /* of this chunk */
    unsigned n;     /* digits, or bytes of this line */
    unsigned lines; /* of trailers */
    size_t n_taken; /* of the last piece; behind the end there may be something else */
} udpai_chunked;

/* Takes in a piece, and appends what it encodes; begin with zeroes. UDPA_ERR_LIMIT: there is more
 * than @p max. Behind the end nothing is looked at: ask udpai_chunked_is_done(), and n_taken. */
udpa_err udpai_chunked_take(udpai_chunked *chunked,
                            udpai_str piece,
                            size_t max,
                            udpai_strbuf *body,
                            udpa_error **ret_error);

static inline bool
udpai_chunked_is_done(const udpai_chunked *chunked)
{
    return chunked->state == UDPAI_CHUNK_DONE;
}

#endif
