/* SPDX-License-Identifier: Apache-2.0 */
/* What comes by a socket of gRPC and is none of it, for those that serve it on a thread of their
 * own. A request of HTTP/2 is a visit: it is brought whole, and answered once. A connection of
 * HTTP/1.1 is handed over. */
#ifndef UDPAI_VISIT_H
#define UDPAI_VISIT_H

#include <stdatomic.h>
#include <udpa/bytes.h>

#include "base/list.h"
#include "base/strbuf.h"
#include "certs/certificate.h"
#include "transport/http/head.h"
#include "transport/tls.h"

/* Who asks, as the listener has found out. All are references of its own; NULL: there is none. */
typedef struct udpai_visitor {
    udpa_bytes *address;
    udpai_chain *chain; /* of its certificate, which the handshake has verified */
    udpai_trust *trust; /* by which that is verified again */
    udpai_identity *identity;
    udpa_error *error; /* its names are not to be relied on */
    udpai_tls_agreed tls;
    bool is_secure; /* nobody else can read it */
} udpai_visitor;

void udpai_visitor_done(udpai_visitor *visitor);

typedef struct udpai_visit udpai_visit;
typedef struct udpai_handed udpai_handed;

/* Who serves visits. All of it lasts longer than the listener; its functions are for any thread,
 * and do not call back. */
typedef struct udpai_visits {
    size_t bytes; /* of what begins with a udpai_visit; zeroed */
    /* Has it served: takes a reference. False: nobody serves any more, or many wait. */
    bool (*visit)(void *userdata, udpai_visit *visit);
    /* Once for each that was taken: its answer was given, or nobody waits for it any more. */
    void (*over)(udpai_visit *visit, bool is_answered);
    /* Takes all of it over, and ends it if nobody serves any more. */
    void (*take)(void *userdata, udpai_handed *handed);
    void *userdata;
    size_t max_body_bytes;
    /* Of a connection: that are served at a time; of all of an address: that wait for this; of a
     * connection: bodies, of the largest size. */
    size_t max_visits, max_waiting, max_bodies;
    uint64_t body_ms;             /* until a body must have come */
    uint64_t stall_ms, answer_ms; /* until a piece of the answer must have gone; all of it */
} udpai_visits;

#define UDPAI_VISIT_FIELDS 6

/* One request and its answer. Counted atomically. */
struct udpai_visit {
    atomic_uint refs;
    const udpai_visits *visits;

    /* Filled in by the listener; then of those who serve it. */
    udpai_visitor visitor;
    udpai_http_head *head; /* owned; if it is wrong, the body is missing */
    udpai_strbuf body;

    /* The answer, filled in by those who serve it before answered() is called, once. */
    char status[16];

    struct {
        const char *name, *value; /* static, or in the visit */
    } fields[UDPAI_VISIT_FIELDS];

    size_t n_fields;
    udpa_bytes *text;                     /* owned; NULL: none is sent */
    void (*answered)(udpai_visit *visit); /* the listener's; any thread */

    /* The listener's. */
    void *stream, *home; /* the former: NULL: it is over */
    udpai_list node;
    size_t n_body;
    uint64_t answer_until_ms;
    bool is_waiting, is_sent, is_answered;
};

/* One reference. NULL without memory; the head is consumed in any case. */
udpai_visit *udpai_visit_new(const udpai_visits *visits, udpai_http_head *head);
udpai_visit *udpai_visit_ref(udpai_visit *visit);
udpai_visit *udpai_visit_unref(udpai_visit *visit);
/* Frees a head; NULL is fine. */
udpai_http_head *udpai_visit_head_free(udpai_http_head *head);

#define UDPAI_HANDED_PLACES 2 /* by its address, and by its identity */

/* A connection behind its handshake. */
struct udpai_handed {
    int socket;
    udpai_tls_session *tls; /* NULL: plaintext */
    udpai_strbuf early;     /* that has come, in plain text */
    udpai_strbuf unsent;    /* that is to be sent, as it is */
    udpai_visitor visitor;
    /* That it takes up among connections, to be left when it has closed. */
    void *places[UDPAI_HANDED_PLACES];
    void (*leave)(void *place); /* NULL: it takes up none; also called with NULL */
};

/* Leaves all of them; NULL is fine. */
void udpai_handed_leave(void (*leave)(void *place), void *const places[UDPAI_HANDED_PLACES]);
/* Closes it. */
void udpai_handed_done(udpai_handed *handed);

#endif
