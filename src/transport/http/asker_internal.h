/* SPDX-License-Identifier: Apache-2.0 */
/* The asker's inside, for asker.c and inquiry.c. */
#ifndef UDPAI_HTTP_ASKER_INTERNAL_H
#define UDPAI_HTTP_ASKER_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>

#include "loop/inbox.h"
#include "transport/http/asker.h"

/* Texts that connections are made with; counted, because libcurl does not copy them. */
typedef struct udpai_http_tls {
    atomic_uint refs;
    udpai_tls_files files; /* without an identity */
} udpai_http_tls;

typedef struct udpai_http_asker {
    udpai_asker base; /* first */
    /* Immutable. */
    char *address;    /* for people */
    char *url;        /* up to the path */
    char *connect_to; /* NULL: the host of the URL */
    bool is_secure;
    udpai_json_codec codec;

    pthread_t pthread;
    pthread_mutex_t mutex;
    bool is_started;     /* under the mutex */
    udpai_http_tls *tls; /* the same; NULL: plaintext */
    bool has_inbox;      /* the owner's */
    udpai_inbox inbox;
    atomic_bool is_ending;

    /* The thread's. */
    CURLM *multi;      /* any thread may wake it */
    udpai_list active; /* of inquiries */
} udpai_http_asker;

/* What connections are made with now; a reference, or NULL. */
udpai_http_tls *udpai_http_asker_tls(udpai_http_asker *asker);
void udpai_http_tls_unref(udpai_http_tls *tls);

/* ---- inquiry.c: one question and its answer; on the asker's thread ---- */

/* Prepares it; on failure it is over. */
void udpai_http_inquiry_begin(udpai_http_asker *asker, udpai_inquiry *inquiry);
/* It is over: with what libcurl says, or because it was cancelled. */
void udpai_http_inquiry_end(udpai_http_asker *asker, udpai_inquiry *inquiry, CURLcode code);
/* Is the certificate of the server that it has reached, if it has, still good? If not, it is to be
 * ended, and says why. */
bool udpai_http_inquiry_is_trusted(const udpai_inquiry *inquiry);
/* Whose handle this is. */
udpai_inquiry *udpai_http_inquiry_of(CURL *easy);

#endif
