/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of REST are written in: connections of HTTP/1.1 to the server, requests in JSON,
 * and what is expected of the answers. As with streams, a script ends with the first thing that is
 * not as it should be, and after that nothing here does anything. */
#ifndef UDPAI_CONFORM_REST_H
#define UDPAI_CONFORM_REST_H

#include "tools/conform/http_answer.h"
#include "tools/conform/script.h"

/* A resource of an answer. */
typedef struct udpai_rest_resource {
    char *name, *type_url;
    unsigned variant;
} udpai_rest_resource;

typedef struct udpai_rest {
    udpai_script *script;
    void *stream;
    bool is_over;        /* nothing more will arrive */
    udpai_strbuf unread; /* received, not yet parsed */
    udpai_http_answer answer;
    char *content_type; /* of the last answer, as are the rest */
    udpai_strbuf body;
    char *version, *type_url; /* empty: it has none */
    UDPAI_VECTOR(udpai_rest_resource) resources;
} udpai_rest;

/* NULL: the script has ended, such as without an address for REST. Lasts as long as the caller lets
 * it. */
udpai_rest *udpai_rest_open(udpai_script *script);
udpai_rest *udpai_rest_free(udpai_rest *rest);

typedef struct udpai_rest_ask {
    udpai_names names;
    const char *version; /* NULL: none */
    const char *method;  /* NULL: POST */
    const char *path;    /* NULL: that of the script's type */
    const char *body;    /* NULL: made of the rest */
    udpai_kind type;     /* that it names; UDPAI_KINDS: none */
    bool has_original_names, is_in_chunks;
    bool is_impatient; /* it requests not to be held, which servers need not support */
} udpai_rest_ask;

void udpai_rest_send(udpai_rest *rest, const udpai_rest_ask *ask);
/* False: no response arrived in this time. Bytes that are not HTTP fail the script. */
bool udpai_rest_receive(udpai_rest *rest, uint64_t timeout_ms);
/* The response arrives in time, and is 200 with a DiscoveryResponse. */
void udpai_rest_expect(udpai_rest *rest);
/* It arrives in time, and is a client error. */
void udpai_rest_expect_rejection(udpai_rest *rest, int status);
/* NULL: it is not in the last answer. */
const udpai_rest_resource *udpai_rest_find(const udpai_rest *rest, const char *name);
/* It is in the last answer, as it is now. */
void udpai_rest_require(udpai_rest *rest, const char *name);

#endif
