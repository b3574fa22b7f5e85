/* SPDX-License-Identifier: Apache-2.0 */
/* A response of HTTP/1.1 as it comes in: pure, and what it takes in is bounded. As much as the
 * cases of REST need to know: the status, two headers, and the body, whichever way it is framed. */
#ifndef UDPAI_CONFORM_HTTP_ANSWER_H
#define UDPAI_CONFORM_HTTP_ANSWER_H

#include "base/error.h"
#include "base/strbuf.h"

#define UDPAI_HTTP_HEAD_MAX ((size_t)64 << 10)
#define UDPAI_HTTP_BODY_MAX ((size_t)64 << 20)

typedef struct udpai_http_answer {
    int status;
    udpai_str content_type; /* a view of what came; empty: none */
    bool is_kept;           /* another request may follow on the connection */
    size_t size;            /* bytes of it, of those that came */
} udpai_http_answer;

typedef enum udpai_http_state {
    UDPAI_HTTP_PARTIAL,
    UDPAI_HTTP_WHOLE,
    UDPAI_HTTP_BROKEN, /* the error has the reason */
} udpai_http_state;

/* Reads the first response there is in @p bytes, behind interim ones; @p is_over: no more will
 * come. The body is appended to @p body when it is whole. */
udpai_http_state udpai_http_answer_read(udpai_str bytes,
                                        bool is_over,
                                        udpai_http_answer *ret_answer,
                                        udpai_strbuf *body,
                                        udpa_error **ret_error);

#endif
