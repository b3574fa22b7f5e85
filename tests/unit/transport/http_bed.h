/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever answers requests, for tests of what speaks HTTP: an engine and notes of what it told. A
 * request for a path that begins with "/hold" is answered by the test, every other one at once. */
#ifndef UDPAI_TESTS_HTTP_BED_H
#define UDPAI_TESTS_HTTP_BED_H

#include "tests/harness/test.h"
#include "transport/http/engine.h"

#define HTTP_BED_REQUESTS 512

typedef struct http_request {
    struct http_bed *bed;
    udpai_http_call *call; /* NULL: it is over */
    char path[64];
    unsigned wrong, broken;
    udpai_strbuf body;
    bool is_complete, is_answered;
    unsigned n_progress;
} http_request;

typedef struct http_bed {
    udpai_http_engine *engine;
    http_request requests[HTTP_BED_REQUESTS];
    size_t n_requests, n_over;
    bool without_memory; /* no request can begin */
    bool refuses;        /* each as soon as its head has come */
    udpa_bytes *answer;  /* that requests get; NULL: their path and body */
    udpai_strbuf out;    /* all that was given */
    uint64_t now_ms;
} http_bed;

void http_bed_open(http_bed *bed, bool is_second, size_t max_body);
void http_bed_close(http_bed *bed);
/* In pieces of this size, as long as the engine wants them; what it has to say goes to out. */
void http_bed_send(http_bed *bed, const void *bytes, size_t size, size_t step);
void http_bed_give(http_bed *bed);
void http_bed_reply(http_request *request, unsigned status, const char *text);

#endif
