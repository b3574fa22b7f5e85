/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a server of xDS by REST: POST and JSON, by HTTP/1.1, with and without TLS, on a thread of
 * its own, which is begun with the first question. What is JSON and what is bytes, somebody else
 * knows.
 */
#ifndef UDPAI_HTTP_CURL_CLIENT_H
#define UDPAI_HTTP_CURL_CLIENT_H

#include "transport/http_client.h"
#include "transport/tls_files.h"

/* Between bytes of a message and JSON; called on the client's thread. */
typedef struct udpai_json_codec {
    udpa_err (*to_json)(void *userdata,
                        const char *type, /* the message's full name */
                        udpai_str bytes,
                        udpa_bytes **ret_json,
                        udpa_error **ret_error);
    udpa_err (*to_bytes)(void *userdata,
                         const char *type,
                         udpai_str json,
                         udpa_bytes **ret_bytes,
                         udpa_error **ret_error);
    void (*release)(void *userdata); /* in the end; NULL: it is not reported */
    void *userdata;
} udpai_json_codec;

typedef struct udpai_curl_client_options {
    const char *address;        /* HOST:PORT; an IPv6 address in brackets */
    const udpai_tls_files *tls; /* NULL: plaintext; else its authorities are required */
    const char *server_name;    /* that the certificate must have; NULL or empty: the host */
    udpai_json_codec codec;     /* its userdata is consumed, also by a failure */
} udpai_curl_client_options;

/* Can it be in a URL? Reports how to write one. Nothing is looked up; any thread. */
udpa_err udpai_http_address_check(const char *address, udpa_error **ret_error);

/* Copies the texts. */
udpa_err udpai_curl_client_new(udpai_http_client **ret_client,
                               const udpai_curl_client_options *options,
                               udpa_error **ret_error);

/* Other certificates for connections from now on. Any thread. Whether there is TLS cannot change:
 * UDPA_ERR_PRECONDITION. */
udpa_err udpai_curl_client_replace_tls(udpai_http_client *client,
                                       const udpai_tls_files *files,
                                       udpa_error **ret_error);

#endif
