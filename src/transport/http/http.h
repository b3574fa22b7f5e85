/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP thread: REST for clients that do not speak gRPC. A request in JSON becomes a stream
 * bridged to the stream thread (stream_thread.h), its answer becomes JSON again; what a request
 * means, sessions there know. HTTP/1.1 and HTTP/2, with and without TLS, on a loop of its own. What
 * speaks HTTP is engine.h, what encrypts it tls.h; neither knows of sockets.
 *
 * All of it belongs to the thread that makes it, which is notified of the end by stopped(). */
#ifndef UDPAI_HTTP_H
#define UDPAI_HTTP_H

#include "base/proto.h"
#include "base/strbuf.h"
#include "codec/schema.h"
#include "transport/admission.h"
#include "transport/grpc/listener.h"
#include "transport/tls_files.h"

typedef struct udpai_http udpai_http;

/* An answer that lists resources, and can name one that is left out. Static. */
typedef struct udpai_http_listing {
    uint32_t resources; /* field numbers of the answer */
    uint32_t errors;
    const char *resource_type; /* of the elements of resources */
    /* Puts the contents of an element of errors. */
    void (*put_error)(udpai_proto_writer *writer, udpai_str resource, udpai_str reason);
} udpai_http_listing;

/* What is served at a path, by POST. All texts static. */
typedef struct udpai_http_route {
    const char *path;
    udpai_grpc_method method;          /* its path is not looked at */
    const char *request_type;          /* full names of the messages that go in and out as JSON */
    const char *response_type;         /* with field 1 as a version, if the request has one, too: */
    uint32_t version_field;            /* of the request: that its client has; 0: there is none */
    const udpai_http_listing *listing; /* NULL: it is one thing */
} udpai_http_route;

/* A page: what is read by GET, or done by POST, and is no discovery service. Its path static. */
typedef struct udpai_http_page {
    const char *path;
    bool is_post;
    bool is_prompt; /* answered on the HTTP thread at once: it waits for no other page */
} udpai_http_page;

/* Of other pages so many are asked for at a time; more wait, in the order in which they came. What
 * answers them does so between other work, which they must not hold up. */
#define UDPAI_HTTP_PAGES_ASKED 4

typedef struct udpai_http_reading udpai_http_reading;

/* A client asks for a page. The question is there, as it came, until it is answered. */
struct udpai_http_reading {
    const udpai_http_page *page;
    udpai_str query;         /* behind the '?' */
    udpai_str accept;        /* what the client prefers to be sent; empty: that is not known */
    udpai_str last_event_id; /* of a client that goes on; empty: none */
    udpai_str authorization; /* its credentials, as they came; empty: none */
    bool has_authorization;  /* also if they are too long to be kept */
    udpai_str body;
    udpai_identity *identity; /* NULL: it has presented no certificate */
    udpai_list node;          /* for the asker's use */
    unsigned access;          /* the same; 0 at first */
};

/* Answers, once, on any thread; that is the end of the reading. @p type: what the text is; static.
 * A reference to the text is taken; NULL: there is none. */
void udpai_http_page_answer(udpai_http_reading *reading,
                            unsigned status,
                            const char *type,
                            udpa_bytes *text);
/* Before an answer of 401: a token would be accepted. */
void udpai_http_page_ask_for_token(udpai_http_reading *reading);

#define UDPAI_HTTP_FEEDS_MAX 8
/* Clients that follow pages at a time, of each thread. */
#define UDPAI_HTTP_STREAMS_MAX 64

/* An answer that goes on: the messages of sessions on the stream thread, as they come. A client
 * that does not read for 20 s is disconnected. */
typedef struct udpai_http_streaming {
    udpai_grpc_method method;                   /* its path is not looked at */
    udpa_bytes *requests[UDPAI_HTTP_FEEDS_MAX]; /* one for each session */
    size_t n_requests;
    const char *type;      /* of the text; static */
    const char *heartbeat; /* what the client is sent while nothing comes; static */
    /* These on the HTTP thread. They append what the client is sent: of a message of the session
     * with this index, and of an error that ends all of it. */
    void (*put)(void *userdata, size_t index, udpai_str message, udpai_strbuf *out);
    void (*put_error)(void *userdata, const udpa_error *error, udpai_strbuf *out);
    void (*free)(void *userdata); /* NULL: it need not be freed */
    void *userdata;
} udpai_http_streaming;

/* In place of an answer; takes the requests and the userdata. While it lasts the page is asked for
 * again with each heartbeat: an answer like this one lets it go on, any other ends it. */
void udpai_http_page_stream(udpai_http_reading *reading, const udpai_http_streaming *streaming);

/* 0 anywhere: the default that is named. */
#define UDPAI_HTTP_HOLD_MS 30000
#define UDPAI_HTTP_HEARTBEAT_MS 15000
#define UDPAI_HTTP_MAX_CONNECTIONS 4096
#define UDPAI_HTTP_MAX_BODY_BYTES (4 << 20)

typedef struct udpai_http_limits {
    uint64_t hold_ms; /* how long a request is held while nothing changes, unless it has less */
    size_t max_connections;
    size_t max_connections_per_client; /* half of all; see admission.h for what a client is */
    size_t max_body_bytes;
    uint64_t heartbeat_ms; /* of pages that go on */
} udpai_http_limits;

typedef struct udpai_http_socket {
    /* ADDRESS:PORT, an IPv6 address in brackets; port 0: any. Or unix:/PATH, whose file is its
     * owner's alone; its clients are known as unix:UID. */
    const char *address;
    const udpai_tls_files *tls; /* NULL: plaintext */
    bool client_certificate_optional;
} udpai_http_socket;

/* All borrowed for the call, except the routes, the pages, the hosts, the schema, which is counted,
 * and the stream thread, which outlives the HTTP thread. */
typedef struct udpai_http_options {
    const udpai_http_socket *sockets;
    size_t n_sockets;
    const udpai_http_route *routes;
    size_t n_routes;
    const udpai_http_page *pages;
    size_t n_pages;
    size_t n_moved;    /* pages behind those, that are served elsewhere … */
    const char *moved; /* … and where: behind "/PATH is "; static */
    /* A page is requested; on the HTTP thread. It is to be answered, also while the node ends. */
    void (*read_page)(void *userdata, udpai_http_reading *reading);
    udpai_schema *schema;
    udpai_stream_thread *streams;
    udpai_http_limits limits;
    const udpai_admission_words
        *words;               /* that connections are refused in; NULL: the section http */
    const char *body_setting; /* see udpai_http_engine_options */
    /* When there are too many connections, the one without a request from which nothing has come
     * for longest ends, rather than that a new one is refused. If all have requests, users of
     * this machine, by unix sockets, may have some more. */
    bool replaces_idle;
    const char *thread_name; /* static; NULL: "udpa-http" */
    const udpai_str *hosts;  /* that clients may call the node by, beside addresses (site.h) */
    size_t n_hosts;
    void (*stopped)(void *userdata); /* on the HTTP thread, the last call */
    void *userdata;
} udpai_http_options;

/* Listens, and starts the thread. */
udpa_err
udpai_http_new(udpai_http **ret_http, const udpai_http_options *options, udpa_error **ret_error);
/* Of the socket with this index. */
int udpai_http_port(const udpai_http *http, size_t index);

typedef struct udpai_http_counts {
    size_t n_connections;
    uint64_t n_rejected; /* beyond a limit */
    uint64_t n_replaced; /* that have ended for others */
} udpai_http_counts;

/* Any thread. */
udpai_http_counts udpai_http_counts_of(const udpai_http *http);
/* For sockets of gRPC that serve as well what is named: for udpai_listen_options. It is the
 * thread's, and called before there are any. */
const struct udpai_visits *udpai_http_visits(udpai_http *http, bool rest, bool pages);
/* Other certificates of this socket for handshakes from now on; connected clients are verified
 * again with udpai_stream_thread_verify(), and with each request. Whether clients must present one
 * cannot change: UDPA_ERR_PRECONDITION. */
udpa_err udpai_http_replace_tls(udpai_http *http,
                                size_t index,
                                const udpai_tls_files *files,
                                udpa_error **ret_error);
/* Answers what is held, takes no more, and ends; a client that does not take its answer is cut. */
void udpai_http_stop(udpai_http *http);
/* Stops it if it was not, and waits for its end. What still comes by sockets of gRPC is not served.
 */
void udpai_http_end(udpai_http *http);
/* The same, and frees it: when the stream thread has ended, if that has visits. */
udpai_http *udpai_http_free(udpai_http *http);
UDPA_DEFINE_CLEANUP(udpai_http, udpai_http_free)

#endif
