/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of polling share: a server that is asked, on a clock that stands still. */
#ifndef UDPAI_TESTS_POLLING_TEST_H
#define UDPAI_TESTS_POLLING_TEST_H

#include "tests/harness/fake_stream.h"
#include "xds/polling.h"

#define POLLING_REFRESH 1000

typedef struct polling_asked {
    char path[UDPAI_POLLING_PATH_MAX];
    udpa_bytes *message;
    bool is_under_way, is_cancelled;
} polling_asked;

typedef struct polling_bed {
    udpai_wheel wheel;
    udpai_polled_server *server;
    udpai_polling *polling;
    polling_asked asked[UDPAI_XDS_POLLS]; /* last */
    unsigned n_asked;
    udpa_bytes *delivered; /* last */
    udpai_trace trace;     /* of it */
    unsigned n_delivered;
    udpa_error *error;
    uint64_t random;
    fake_stream *stream; /* that receives it; NULL: none */
} polling_bed;

int polling_setup(void **state);
int polling_teardown(void **state);
/* A new stream, instead of none. */
void polling_open(polling_bed *bed);
void polling_pass(polling_bed *bed, uint64_t ms);
size_t polling_index(const char *type_url);

/* The request under way, as text: its version, a colon, its names. */
void polling_expect(polling_bed *bed, const char *type_url, const char *expected);
void polling_expect_nothing(const polling_bed *bed);
void polling_respond(polling_bed *bed, const char *type_url, const udpai_polling_response *what);

#endif
