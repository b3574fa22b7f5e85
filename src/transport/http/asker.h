/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a server of xDS by REST: POST and JSON, by HTTP/1.1, with and without TLS, on a thread of
 * its own, which is begun with the first question. What is JSON and what is bytes, somebody else
 * knows.
 */
#ifndef UDPAI_HTTP_ASKER_H
#define UDPAI_HTTP_ASKER_H

#include "transport/asker.h"
#include "transport/tls_files.h"

/* Between bytes of a message and JSON; called on the asker's thread. */
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
    void (*release)(void *userdata); /* in the end; NULL: nobody wants to know */
    void *userdata;
} udpai_json_codec;

typedef struct udpai_http_asker_options {
    const char *address;        /* HOST:PORT; an IPv6 address in brackets */
    const udpai_tls_files *tls; /* NULL: plaintext; else its authorities are required */
    const char *server_name;    /* that the certificate must have; NULL or empty: the host */
    udpai_json_codec codec;     /* its userdata is consumed, also by a failure */
} udpai_http_asker_options;

/* Can it stand in a URL? Says how to write one. Nothing is looked up; any thread. */
udpa_err udpai_http_address_check(const char *address, udpa_error **ret_error);

/* Copies the texts. */
udpa_err udpai_http_asker_new(udpai_asker **ret_asker,
                              const udpai_http_asker_options *options,
                              udpa_error **ret_error);

/* Other certificates for connections from now on. Any thread. Whether there is TLS cannot change:
 * UDPA_ERR_PRECONDITION. */
udpa_err udpai_http_asker_replace_tls(udpai_asker *asker,
                                      const udpai_tls_files *files,
                                      udpa_error **ret_error);

#endif
