/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request, of HTTP/1.1 and HTTP/2 alike: what of it means something to us, and where
 * the body ends. A head that two readers could understand in two ways is wrong. Pure; bounded. */
#ifndef UDPAI_HTTP_HEAD_H
#define UDPAI_HTTP_HEAD_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_HTTP_HEAD_MAX 8192 /* bytes of a head, as HTTP/2 counts them: RFC 9113, 6.5.2 */
#define UDPAI_HTTP_FIELDS_MAX 100
#define UDPAI_HTTP_PATH_MAX 1024
#define UDPAI_HTTP_QUERY_MAX 4096
#define UDPAI_HTTP_VALUE_MAX 256 /* with its NUL */

/* The fields that mean something to us. */
typedef enum udpai_http_field {
    UDPAI_HTTP_ACCEPT,
    UDPAI_HTTP_AUTHORIZATION,
    UDPAI_HTTP_CONNECTION,
    UDPAI_HTTP_CONTENT_ENCODING,
    UDPAI_HTTP_CONTENT_LENGTH,
    UDPAI_HTTP_CONTENT_TYPE,
    UDPAI_HTTP_EXPECT,
    UDPAI_HTTP_HOST, /* of HTTP/2 also :authority */
    UDPAI_HTTP_LAST_EVENT_ID,
    UDPAI_HTTP_ORIGIN,
    UDPAI_HTTP_PREFER,
    UDPAI_HTTP_SITE,    /* sec-fetch-site */
    UDPAI_HTTP_TIMEOUT, /* x-envoy-expected-rq-timeout-ms */
    UDPAI_HTTP_TRANSFER_ENCODING,
    UDPAI_HTTP_N_FIELDS,
} udpai_http_field;

typedef enum udpai_http_framing {
    UDPAI_HTTP_NO_BODY,
    UDPAI_HTTP_LENGTH,
    UDPAI_HTTP_CHUNKED,
    UDPAI_HTTP_STREAM, /* of HTTP/2, which marks where it ends */
} udpai_http_framing;

typedef struct udpai_http_head {
    /* What is wrong: the status to be answered, and words about it; 0: nothing. */
    unsigned wrong;
    udpa_error *error;
    bool is_second; /* HTTP/2 */
    bool is_old;    /* HTTP/1.0 */
    bool has_target, is_get, is_post, is_head;
    bool closes;    /* the connection, behind the answer */
    bool continues; /* once it is allowed to: the body waits */
    udpai_http_framing framing;
    uint64_t length; /* of the body, if that is the framing */
    size_t n_bytes, n_fields;
    char path[UDPAI_HTTP_PATH_MAX]; /* decoded, without what is behind a '?'; NUL-terminated */
    size_t path_len;
    char query[UDPAI_HTTP_QUERY_MAX]; /* what is behind the '?', as it came */
    size_t query_len;
    bool is_query_cut; /* there was no room for all of it */
    unsigned n_seen[UDPAI_HTTP_N_FIELDS];
    char values[UDPAI_HTTP_N_FIELDS][UDPAI_HTTP_VALUE_MAX]; /* of several, joined by ", " */
} udpai_http_head;

/* All of these: once something is wrong, nothing more is taken in. */
void udpai_http_head_method(udpai_http_head *head, udpai_str method);
/* "/path?query", "http://host/path", "*" or, of CONNECT, "host:port". */
void udpai_http_head_target(udpai_http_head *head, udpai_str target);
/* Counts them, too: names in any case, values without white space around them. */
void udpai_http_head_field(udpai_http_head *head, udpai_str name, udpai_str value);
/* A field of HTTP/2: any of these. */
void udpai_http_head_second(udpai_http_head *head, udpai_str name, udpai_str value);
/* That was all: what does it mean? */
void udpai_http_head_finish(udpai_http_head *head);
/* The first error is the one that counts. */
void udpai_http_head_fail(udpai_http_head *head, unsigned status, const char *format, ...)
    UDPA_PRINTF(3, 4);
/* The value; "": there is none. */
const char *udpai_http_head_value(const udpai_http_head *head, udpai_http_field field);
/* Is it a word of RFC 9110, 5.6.2? */
bool udpai_http_is_token(udpai_str text);
void udpai_http_head_done(udpai_http_head *head);

#endif
