/* SPDX-License-Identifier: Apache-2.0 */
/* The UDPA session's inside, for the files of this folder. */
#ifndef UDPAI_UDPA_INTERNAL_H
#define UDPAI_UDPA_INTERNAL_H

#include "base/map.h"
#include "session/owed.h"
#include "session/refused.h"
#include "session/udpa.h"
#include "session/unanswered.h"
#include "wire/compose.h"

typedef struct udpai_udpa udpai_udpa;
typedef struct udpai_event_feeds udpai_event_feeds;

/* A control message that waits to be written: a Subscribe, a Receipt, … */
typedef struct udpai_control {
    udpai_list node;
    udpa_bytes *message;
    bool is_answer; /* the peer made us send it */
    uint64_t nonce; /* of a publication; 0: something else */
} udpai_control;

/* A publish that the peer has not receipted yet. */
typedef struct udpai_in_flight {
    udpai_list node;
    udpai_owed owed; /* of a delivery */
    uint64_t nonce;
    udpai_subscription *subscription; /* NULL: of a PUBLISH order */
    udpai_listing *listing;
    udpai_ack_position place;
    uint64_t head;
    int64_t sent_us;
    udpai_publication *publication; /* of a PUBLISH order */
    uint64_t ticket;
} udpai_in_flight;

/* Names and wildcards of one type. */
typedef struct udpai_asked_names {
    UDPAI_VECTOR(udpa_bytes *) prefixes; /* wildcards */
    udpai_map names;                     /* of udpa_bytes */
} udpai_asked_names;

/* So many are remembered as unsubscribed from, and at most as many again that are older. */
#define UDPAI_ASKED_ENDED_MAX 1024

/* What we subscribed to at the peer, of one type: what it publishes must be within. What we have
 * unsubscribed from may be on its way still, and is ignored. */
typedef struct udpai_asked {
    udpa_bytes *type;
    udpai_asked_names now, ended, ended_before;
} udpai_asked;

/* What became of what the peer was sent, of one type; for status. */
typedef struct udpai_sent {
    const udpai_traffic *traffic; /* of this type on all streams; NULL: nothing was sent yet */
    uint64_t n_resources, n_removals, n_acknowledged, n_refused;
    udpa_error *last_error;
    udpai_refusals refusals;
    udpai_lost lost;
    int64_t acknowledged_us, refused_us; /* 0: never */
} udpai_sent;

#define UDPAI_IN_FLIGHT_MAX 256
#define UDPAI_CONTROLS_MAX 4096
/* Answers that wait to be written: above so many bytes no more is read, for so long without any
 * being written, and more are never kept. */
#define UDPAI_ANSWERS_PAUSE_BYTES ((size_t)1 << 20)
#define UDPAI_ANSWERS_PATIENCE_MS 60000
#define UDPAI_ANSWERS_MAX_BYTES ((size_t)8 << 20)
/* A receipt that joins so many has little of each rejection: all that a peer may have pending can
 * be done at once, before any of it can be written to a peer that reads. */
#define UDPAI_LATE_RECEIPT_TEXTS_MAX ((size_t)64 << 10)

struct udpai_udpa {
    udpai_session session;
    udpai_subscriber subscriber;
    udpai_node_info *peer; /* NULL until it has sent its Node */
    bool is_extended;      /* the peer knows our extensions */
    bool is_source;        /* the peer serves a ConfigSource */
    bool asks_receipts;    /* of what the peer is sent */
    udpai_list controls;
    size_t n_controls, answer_bytes;
    udpai_timer unread;   /* set while answers keep us from reading */
    udpai_list in_flight; /* oldest first */
    size_t n_in_flight;
    uint64_t last_nonce;
    udpai_body *writing; /* what the last message borrows from */
    udpa_bytes *writing_control;
    udpai_map asked; /* of udpai_asked */
    size_t n_pending, pending_bytes;
    uint64_t n_received;
    uint64_t n_unknown_receipts;
    bool owes_commit;          /* the store has come further than the peer was sent */
    udpai_report *closed;      /* made in time: the end must be reported, memory or none */
    udpai_event_feeds *events; /* NULL: it subscribes to none */
};

static inline udpai_udpa *
udpai_udpa_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_udpa, session);
}

/* udpa.c */
/* A control message of its own, which consumes the message; NULL without memory. */
udpai_control *udpai_udpa_control_new(udpai_udpa *udpa, udpa_bytes *message);
/* Frees it; its message is the caller's. */
udpa_bytes *udpai_udpa_control_take(udpai_udpa *udpa, udpai_control *control);
/* Queues a control message; consumes it (NULL: out of memory). */
udpa_err udpai_udpa_send(udpai_udpa *udpa, udpa_bytes *message);
/* The same of a publication with this nonce, which may be forgotten before it is written. */
udpa_err udpai_udpa_send_publication(udpai_udpa *udpa, udpa_bytes *message, uint64_t nonce);
/* The same of one that the peer makes us send. */
udpa_err udpai_udpa_answer(udpai_udpa *udpa, udpa_bytes *message);

/* Do so many answers wait that no more is read? */
static inline bool
udpai_udpa_is_unread(const udpai_udpa *udpa)
{
    return udpa->answer_bytes > UDPAI_ANSWERS_PAUSE_BYTES;
}

/* Reads on, or not: not while too much that was read is pending, or too much that was answered to
 * be written. */
void udpai_udpa_pace(udpai_udpa *udpa);

/* udpa_serve.c: the peer as a subscriber */
udpa_err udpai_udpa_on_subscribe(udpai_udpa *udpa,
                                 const udpai_subscription_message *message,
                                 udpa_error **ret_error);
udpa_err udpai_udpa_on_unsubscribe(udpai_udpa *udpa, const udpai_subscription_message *message);
void udpai_udpa_on_receipt(udpai_udpa *udpa, const udpai_receipt_message *receipt);
udpa_err udpai_udpa_next_delivery(udpai_udpa *udpa,
                                  udpai_outgoing *out,
                                  bool *ret_any,
                                  udpa_error **ret_error);
void udpai_udpa_choose_renderer(udpai_udpa *udpa);
void udpai_udpa_free_served(udpai_udpa *udpa);
/* The record of a type; made at first use, NULL without memory. */
udpai_sent *udpai_udpa_sent(udpai_subscription *subscription);
void udpai_in_flight_free(udpai_udpa *udpa, udpai_in_flight *flight);

/* udpa_events.c: the peer as a subscriber to events */
/* A name, or a prefix, which it may ask for. UDPA_ERR_LIMIT: it is not subscribed. */
udpa_err udpai_udpa_subscribe_events(udpai_udpa *udpa,
                                     bool is_wildcard,
                                     udpai_str text,
                                     udpa_error **ret_error);
/* What the Subscribe has besides: where to go on; and its answer. */
udpa_err udpai_udpa_begin_events(udpai_udpa *udpa, const udpai_subscription_message *message);
void udpai_udpa_unsubscribe_events(udpai_udpa *udpa, const udpai_subscription_message *message);
/* Other rules hold, or the peer has sent its Node. */
void udpai_udpa_review_events(udpai_udpa *udpa);
udpa_err
udpai_udpa_next_event(udpai_udpa *udpa, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error);
void udpai_udpa_free_events(udpai_udpa *udpa);

/* udpa_ask.c: the peer as a publisher */
udpa_err udpai_udpa_on_publication(udpai_udpa *udpa, udpai_publication *publication);
void udpai_udpa_ask(udpai_udpa *udpa, const udpai_subscription_message *message);
void udpai_udpa_unask(udpai_udpa *udpa, const udpai_subscription_message *message);
void udpai_udpa_publication_done(udpai_udpa *udpa, udpai_publication *publication);
udpa_err udpai_udpa_publish(udpai_udpa *udpa, udpai_order *order);
/* Reports a receipt without a publication, unless the ticket is unknown. */
void udpai_udpa_forget(udpai_udpa *udpa, uint64_t ticket);
void udpai_udpa_free_asked(udpai_udpa *udpa);

/* udpa_render.c */
const udpai_renderer *udpai_udpa_renderer(bool extended, bool receipt, bool redacted);

/* udpa_ack_status.c */
/* NULL: the status means that all is well. */
udpa_error *udpai_status_error(const udpai_status_message *status, size_t text_max);
/* Notes the peer's answer to each resource that it was sent. */
void udpai_udpa_note_receipt(udpai_udpa *udpa,
                             const udpai_in_flight *flight,
                             const udpai_receipt_message *receipt);
/* Notes a delivery whose receipt will not be recognised. */
void udpai_udpa_note_lost(const udpai_in_flight *flight);
void udpai_udpa_ack_status(const udpai_session *session,
                           const udpai_resource_ack *ack,
                           udpai_acknowledgement *ret_acknowledgement);
bool udpai_udpa_unanswered(const udpai_session *session,
                           const udpai_subscription *subscription,
                           udpai_ack_position *ret_place);

/* udpa_status.c */
const udpai_node_info *udpai_udpa_peer(const udpai_session *session);
const udpai_subscriber *udpai_udpa_subscriber(const udpai_session *session);
bool udpai_udpa_call(const udpai_session *session,
                     const udpai_resource_ack *ack,
                     udpai_str full_name,
                     char room[UDPAI_SESSION_CALLED_MAX],
                     udpai_str *ret_name);
udpa_bytes *udpai_udpa_describe(const udpai_session *session);

#endif
