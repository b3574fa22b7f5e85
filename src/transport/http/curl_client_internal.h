/* SPDX-License-Identifier: Apache-2.0 */
/* The client's inside, for curl_client.c and curl_request.c. */
#ifndef UDPAI_HTTP_CURL_CLIENT_INTERNAL_H
#define UDPAI_HTTP_CURL_CLIENT_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>

#include "loop/inbox.h"
#include "transport/http/curl_client.h"

/* Texts that connections are made with; counted, because libcurl does not copy them. */
typedef struct udpai_http_tls {
    atomic_uint refs;
    udpai_tls_files files; /* without an identity */
} udpai_http_tls;

typedef struct udpai_curl_client {
    udpai_http_client base; /* first */
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
    udpai_list active; /* of requests */
} udpai_curl_client;

/* What connections are made with now; a reference, or NULL. */
udpai_http_tls *udpai_curl_client_tls(udpai_curl_client *client);
void udpai_http_tls_unref(udpai_http_tls *tls);

/* ---- curl_request.c: one question and its answer; on the client's thread ---- */

/* Prepares it; on failure it is over. */
void udpai_curl_request_begin(udpai_curl_client *client, udpai_http_request *request);
/* It is over: with what libcurl reports, or because it was cancelled. */
void udpai_curl_request_end(udpai_curl_client *client, udpai_http_request *request, CURLcode code);
/* Is the certificate of the server that it has reached, if it has, still good? If not, it is to be
 * ended, and reports why. */
bool udpai_curl_request_is_trusted(const udpai_http_request *request);
/* The request that has this handle. */
udpai_http_request *udpai_curl_request_of(CURL *easy);

#endif
