/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of a node send each other: the loop side (store, federation) gives orders,
 * the stream side (fan-out, sessions) reports. Everything in them is a value, or owned by the
 * holder of the message; so they may cross threads (docs/design/threads.md). */
#ifndef UDPAI_MESSAGES_H
#define UDPAI_MESSAGES_H

#include "base/list.h"
#include "model/acl.h"
#include "model/identity.h"
#include "model/node_info.h"
#include "model/publication.h"
#include "model/span.h"
#include "store/change_set.h"
#include "store/settled.h"
#include "wire/message.h"

/* ---- a subscription as a message that owns its text ---- */

/* A deep copy in one piece, to be freed with udpai_free(); NULL without memory. */
udpai_subscription_message *
udpai_subscription_message_copy(const udpai_subscription_message *message);

/* A SubscriptionError names so many names. */
#define UDPAI_ECHOED_NAMES 16

/* What of a SubscriptionError goes out, or is taken in: no text longer than what it names may be,
 * and the first names. Views of the message, and of `names`. */
udpai_subscription_message udpai_subscription_error_cut(const udpai_subscription_message *message,
                                                        udpai_str names[UDPAI_ECHOED_NAMES]);

/* ---- orders: loop side to stream side ---- */

typedef enum udpai_order_kind {
    UDPAI_ORDER_CHANGES,          /* apply; answered by UDPAI_REPORT_APPLIED */
    UDPAI_ORDER_SETTLED,          /* take over what is settled now; UDPAI_REPORT_SETTLED */
    UDPAI_ORDER_DIAL,             /* open a stream for a link; for the transport */
    UDPAI_ORDER_HANG_UP,          /* end a session, or the attempt to open one */
    UDPAI_ORDER_ATTACH,           /* a session serves a ConfigSource from now on */
    UDPAI_ORDER_SUBSCRIBE,        /* send a Subscribe */
    UDPAI_ORDER_UNSUBSCRIBE,      /* send an Unsubscribe */
    UDPAI_ORDER_PUBLICATION_DONE, /* a publication was applied: send the receipt, take in more */
    UDPAI_ORDER_PUBLISH,          /* publish what nobody need have asked for */
    UDPAI_ORDER_FORGET,           /* nobody waits for the receipt of a PUBLISH any more */
    UDPAI_ORDER_ACL,              /* other rules hold from now on */
    UDPAI_ORDER_STATUS,           /* describe all sessions */
    UDPAI_ORDER_ACKNOWLEDGEMENTS, /* answer the questions that it names */
    UDPAI_ORDER_CENSUS,           /* report all clients, and each that changes; or no more */
    UDPAI_ORDER_OWN_STATUS,       /* the answer to OWN_STATUS */
    UDPAI_ORDER_EVENTS,           /* of a worker, or for one; UDPAI_REPORT_EVENTS_TAKEN; of the
                                   * loop, which is not answered */
    UDPAI_ORDER_EVENTS_TAKEN,     /* they were, the next may come */
    UDPAI_ORDER_EVENTS_DEMAND,    /* a worker is to have them all, or need not any more */
    UDPAI_ORDER_EPOCH,            /* what this node's store is: streams announce it */
    UDPAI_ORDER_COMMIT,           /* it has come further: streams announce that, too */
    UDPAI_ORDER_BARRIER,          /* streams up to this ticket may be answered: what came before it
                                   * has all that was committed when they began */
    UDPAI_ORDER_TWINS,            /* nodes that have one id: streams to sources announce them */
    UDPAI_ORDER_SPREAD,           /* reject new streams of clients, or end some: other replicas have
                                   * fewer; for the transport */
    UDPAI_ORDER_DRAIN, /* end the streams that others have opened, within `ticket` ms, and
                        * take no new ones; what waits for a change is answered at once */
    UDPAI_ORDER_LEAVE, /* another process takes the place of this one: end what others have
                        * opened to bring something, and take no new streams; or do again */
    UDPAI_ORDER_KINDS,
} udpai_order_kind;

/* A change of the set whose way to its subscribers is measured (session/marks.h). */
typedef struct udpai_change_mark {
    uint64_t number;
    size_t change;     /* its index in the set */
    udpai_trace trace; /* that it belongs to, if it is sampled */
} udpai_change_mark;

#define UDPAI_MARKS_MAX 16 /* of one set: each type has one, */
#define UDPAI_TRACED_MAX 8 /* and so many traces */

typedef enum udpai_mark_outcome {
    UDPAI_MARK_UNSUBSCRIBED, /* nobody has a say */
    UDPAI_MARK_GONE,         /* all that had a say have gone, or do not ask for it any more */
    UDPAI_MARK_ACKNOWLEDGED, /* by all that are left; */
    UDPAI_MARK_NACKED,       /* or by all but those that have rejected it */
    UDPAI_MARK_OPEN,         /* not within UDPAI_MARK_PATIENCE_MS */
    UDPAI_MARK_OUTCOMES,
} udpai_mark_outcome;

typedef struct udpai_order {
    udpai_list node;
    udpai_order_kind kind;
    uint64_t session; /* 0: none */
    uint64_t link;    /* 0: none */
    udpai_change_set *changes;
    size_t place; /* CHANGES: how far it has come, see udpai_fanout_apply() */
    UDPAI_VECTOR(udpai_change_mark) marks; /* CHANGES: of some of them, */
    uint64_t since_ms; /* and since when the first waits, by the clock of all processes */
    udpai_list spans;  /* CHANGES: of traced changes (model/span.h); of the loop alone */
    /* CHANGES, SETTLED, STATUS, ACKNOWLEDGEMENTS: made in time, for it must be given. */
    struct udpai_report *answer;
    udpai_settled *settled;
    void *target;      /* DIAL: how to reach the endpoint, the transport's own; a reference */
    unsigned server;   /* DIAL: which one of the target's list, counted from 0 */
    bool is_hurried;   /* DIAL: there are others, so that it need not be waited for as long */
    bool is_source;    /* DIAL, ATTACH: the peer serves a ConfigSource */
    bool is_set;       /* EVENTS_DEMAND: there is some; EPOCH: it began with all that there is */
    udpa_error *error; /* HANG_UP: why; NULL: in peace. OWN_STATUS: why there is no answer */
    udpai_subscription_message *subscription;
    udpai_publication *publication;
    udpai_acl *acl; /* ACL: a reference */
    udpa_bytes
        *events; /* EVENTS: see events/batch.h; `session` is the worker, 0 the loop, and the
                  * ticket the kind; of a report for a worker, worker * UDPAI_EVENT_KINDS + kind */
    /* EPOCH; TWINS: see model/twin_notices.h, NULL: there are none now; SPREAD: see
     * session/spread.h. */
    udpa_bytes *announced;
    uint64_t commit; /* the number of the last one that was done by then */
    /* PUBLISH: comes back with the receipt; FORGET: of which, in any session; CENSUS: comes back
     * with all that is reported, 0: nothing is any more; DRAIN: milliseconds; LEAVE: 0: do again.
     */
    uint64_t ticket;
    UDPAI_VECTOR(udpa_bytes *) answers; /* OWN_STATUS: fields of a ClientConfig, in pieces */
    void (*release_target)(void *target);
} udpai_order;

udpai_order *udpai_order_new(udpai_order_kind kind); /* NULL without memory */
udpai_order *udpai_order_free(udpai_order *order);   /* with all it holds */
UDPA_DEFINE_CLEANUP(udpai_order, udpai_order_free)

/* ---- reports: stream side to loop side ---- */

typedef enum udpai_report_kind {
    UDPAI_REPORT_APPLIED,     /* a change set is in the mirror */
    UDPAI_REPORT_SETTLED,     /* what is settled was taken over: there may be more */
    UDPAI_REPORT_OPENED,      /* a UDPA session has begun */
    UDPAI_REPORT_ALIVE,       /* its peer has sent its first valid message */
    UDPAI_REPORT_NODE,        /* its peer has sent its Node */
    UDPAI_REPORT_PUBLICATION, /* its peer has published; to be answered by PUBLICATION_DONE */
    UDPAI_REPORT_SUBSCRIPTION_ERROR, /* its peer refuses a subscription of ours */
    UDPAI_REPORT_RECEIPT,            /* of a PUBLISH, or the answer to FORGET */
    UDPAI_REPORT_CLOSED,             /* the session, or the attempt to open one, has ended */
    UDPAI_REPORT_INTEREST,           /* somebody subscribes, or nobody any more; at a distance: of
                                      * nodes, which are counted by themselves for names */
    UDPAI_REPORT_PASSED_ON,          /* a node subscribes to what clients report, or does no more;
                                      * or once more to another name of which there is nothing */
    UDPAI_REPORT_CLIENTS,            /* a group of clients is there, or has left */
    UDPAI_REPORT_STATUS,             /* the answer to STATUS */
    UDPAI_REPORT_ACKNOWLEDGEMENTS,   /* the answer to ACKNOWLEDGEMENTS, with the questions */
    UDPAI_REPORT_CENSUS,             /* clients that are there, have changed, or have left */
    UDPAI_REPORT_OWN_STATUS,         /* what has the application of what it subscribes to? */
    UDPAI_REPORT_EVENTS,             /* of a worker: clients have streamed them; or for one */
    UDPAI_REPORT_EVENTS_TAKEN,       /* the answer to EVENTS */
    UDPAI_REPORT_EVENTS_DEMAND,      /* of a worker: somebody reads them, or nobody any more */
    UDPAI_REPORT_DEMAND,  /* its peer, which this node reports to, subscribes to these now */
    UDPAI_REPORT_BARRIER, /* streams have begun, and wait for an order with this ticket */
    UDPAI_REPORT_MARK,    /* what became of the mark with the number `ticket` */
    UDPAI_REPORT_KINDS,
} udpai_report_kind;

typedef struct udpai_report {
    udpai_list node;
    udpai_report_kind kind;
    uint64_t session,
        link; /* CENSUS, BARRIER: a number that sessions of this stream side might have */
    udpai_identity *identity; /* OPENED; NULL: none was presented */
    udpa_bytes *address;      /* OPENED: the peer's, for people. MARK of a trace: the node id of
                               * the client that was last; NULL: it was done at once */
    udpai_node_info *info;    /* NODE; CLIENTS: one Node for all of them, NULL: none was sent */
    udpa_bytes *name_space;   /* CLIENTS: that they share */
    bool is_client;           /* OPENED: the peer reports, and cannot be a ConfigSource */
    bool is_extended;         /* NODE: both sides know our extensions */
    /* PUBLICATION; RECEIPT: with the peer's receipt, NULL: forgotten before there was one. */
    udpai_publication *publication;
    udpai_order *answer; /* PUBLICATION: PUBLICATION_DONE, made in time, for it must be given */
    /* SUBSCRIPTION_ERROR, INTEREST, PASSED_ON, DEMAND */
    udpai_subscription_message *subscription;
    bool subscribed;   /* INTEREST, PASSED_ON, CLIENTS; CENSUS: all was reported once; OWN_STATUS:
                        * with bodies */
    udpa_error *error; /* CLOSED: why */
    bool is_disowned;  /* CLOSED: the peer's certificate was revoked, its publications count no more
                        */
    uint64_t ticket;
    udpai_mark_outcome outcome; /* MARK */
    uint64_t took_ms;           /* MARK: until that was seen, from the order's since_ms on */
    udpa_bytes *events;         /* EVENTS */
    /* STATUS: serialised udpa.status.v1.SessionStatus. ACKNOWLEDGEMENTS: AcknowledgementStatus.
     * CENSUS: ClientStatus, of clients that left the number alone. */
    UDPAI_VECTOR(udpa_bytes *) statuses;
} udpai_report;

udpai_report *udpai_report_new(udpai_report_kind kind); /* NULL without memory */
udpai_report *udpai_report_free(udpai_report *report);  /* with all it holds */
UDPA_DEFINE_CLEANUP(udpai_report, udpai_report_free)

#endif
