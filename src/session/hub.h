/* SPDX-License-Identifier: Apache-2.0 */
/* The stream side of a node: the fan-out and every session, as one object without threads or I/O.
 *
 * The transport brings streams and their bytes; the loop side sends orders and is sent reports.
 * What a session of some protocol does is behind udpai_session_ops; the hub knows none by name. */
#ifndef UDPAI_HUB_H
#define UDPAI_HUB_H

#include "events/node_event.h"
#include "events/topics.h"
#include "fanout/fanout.h"
#include "metrics/traffic.h"
#include "model/acl.h"
#include "model/tls_agreed.h"
#include "model/xdstp.h"
#include "session/messages.h"

typedef struct udpai_hub udpai_hub;
typedef struct udpai_session udpai_session;
typedef struct udpai_resource_ack udpai_resource_ack;
typedef struct udpai_acknowledgement udpai_acknowledgement;
typedef struct udpai_access udpai_access;
typedef struct udpai_debts udpai_debts;
typedef struct udpai_client_log udpai_client_log;
typedef struct udpai_logged_client udpai_logged_client;
typedef struct udpai_stream udpai_stream; /* the transport's end of a stream */

/* A message that goes out: parts, one behind the other, then a small tail. Borrowed for the call.
 */
typedef struct udpai_outgoing {
    udpa_bytes *const *parts;
    size_t n_parts;
    uint8_t tail[24];
    size_t tail_len;
    bool is_answered; /* by a message of its own */
    bool is_last;     /* of a stream that we dialled: there is nothing more to send */
} udpai_outgoing;

/* What the hub asks of a transport. None of these may call back before it returns. */
typedef struct udpai_stream_ops {
    /* Write one message; answered by udpai_session_written(). One at a time. */
    void (*write)(udpai_stream *stream, const udpai_outgoing *message);
    /* Read no more, or read again. */
    void (*set_reading)(udpai_stream *stream, bool reading);
    /* End the stream with this status (NULL: OK); answered by udpai_session_closed(). */
    void (*finish)(udpai_stream *stream, const udpa_error *status);
} udpai_stream_ops;

/* What a transport knows of a new stream. */
typedef struct udpai_stream_info {
    udpai_stream *stream;
    const udpai_stream_ops *ops;
    udpai_identity *identity; /* NULL: none was presented; a reference is taken */
    udpa_bytes *address;      /* of the peer, for people; a reference is taken */
    uint64_t link;            /* not 0: we dialled, for this link */
    bool is_source;           /* and the peer serves a ConfigSource */
    bool is_secure;           /* nobody else can read what it is sent */
    udpai_tls_agreed tls;
    uint64_t patience_ms; /* how long a peer that asks once waits for its answer; 0: for ever */
    void *context;        /* what the method's protocol needs besides; borrowed */
} udpai_stream_info;

/* Bytes of what a peer may call a resource. */
#define UDPAI_SESSION_CALLED_MAX (UDPAI_XDSTP_TEXT_MAX + UDPAI_NAME_MAX)

/* A protocol. */
typedef struct udpai_session_ops {
    const char *name; /* "udpa", … */
    size_t size;      /* of its sessions, as far as their memory is counted */
    bool is_client;   /* its peers report, and serve nothing: none of them is a ConfigSource */
    /* A message has come; borrowed. An error ends the stream with that status. */
    udpa_err (*receive)(udpai_session *session, udpai_str message, udpa_error **ret_error);
    /* The next message to write; *ret_any false: nothing. What `out` borrows must live until the
     * next call. An error ends the stream. */
    udpa_err (*next)(udpai_session *session,
                     udpai_outgoing *out,
                     bool *ret_any,
                     udpa_error **ret_error);
    /* The peer sends no more, but still reads; NULL: that ends the stream. An error does, too. */
    udpa_err (*ended)(udpai_session *session, udpa_error **ret_error);
    /* An order that concerns this session. */
    void (*order)(udpai_session *session, udpai_order *order);
    /* Serialised udpa.status.v1.SessionStatus; NULL without memory. */
    udpa_bytes *(*describe)(const udpai_session *session);
    /* What the peer has answered to what it was sent of a resource; NULL: it is not asked. */
    void (*ack_status)(const udpai_session *session,
                       const udpai_resource_ack *ack,
                       udpai_acknowledgement *ret_acknowledgement);
    /* Where what it has not answered of the subscription begins; false: it does not answer what it
     * is sent. Beside ack_status. */
    bool (*unanswered)(const udpai_session *session,
                       const udpai_subscription *subscription,
                       udpai_ack_position *ret_place);
    /* The Node of the peer; borrowed; NULL: it has not sent one. Beside ack_status. */
    const udpai_node_info *(*peer)(const udpai_session *session);
    /* What it subscribes to. Beside ack_status. */
    const udpai_subscriber *(*subscriber)(const udpai_session *session);
    /* What the peer calls the resource of this full name that the subscription selects: a view, or
     * of `room`; false: it cannot name it. Beside ack_status. */
    bool (*call)(const udpai_session *session,
                 const udpai_resource_ack *ack,
                 udpai_str full_name,
                 char room[UDPAI_SESSION_CALLED_MAX],
                 udpai_str *ret_name);
    void (*free)(udpai_session *session);
} udpai_session_ops;

/* The part that sessions of all protocols have; the first member of each. */
struct udpai_session {
    udpai_hub *hub;
    const udpai_session_ops *ops;
    udpai_stream_info info;
    uint64_t id;
    int64_t since_us;
    udpai_list in_ready;
    udpai_list in_barrier; /* linked: it is sent nothing before … */
    uint64_t barrier;      /* … the barrier with this ticket has passed */
    size_t n_owed;         /* answers */
    udpai_trace trace; /* that the message belongs to which it is given, where a transport is told
                        * of it beside the message */
    bool is_writing, is_finishing, is_paused;
    bool is_calm; /* the peer's last message asked for nothing, and what was written since gives it
                   * no reason to: what comes are acknowledgements, which may be read late */
    udpai_meter *open;    /* counts it, with others of its protocol */
    uint64_t n_denied;    /* subscriptions that the ACL refuses, or would */
    bool is_alive;        /* its peer has sent something valid, and that was reported */
    bool has_rules;       /* some rule of the ACL is for its peer, or everything is allowed */
    bool is_revoked;      /* none is any more: it ends when what it may not see is taken back … */
    udpai_timer patience; /* … or when its peer has not taken that for long */
    bool is_disowned;     /* its peer's certificate was revoked: so is what it has published */
    bool is_cut_off;      /* its peer's certificate is good no more, for whatever reason */
    udpai_logged_client *logged; /* the client of the stream, for the log; NULL: not known, or it is
                                  * not logged */
    const udpa_error *why;       /* it has ended, while it is freed; NULL: as it should */
};

/* Visits all sessions for the loop side: a layer above makes it (xds/client_registry.h). */
typedef struct udpai_watcher_ops {
    udpa_err (*begin)(void **ret_watcher, udpai_hub *hub);
    void (*order)(void *watcher, const udpai_order *order); /* UDPAI_ORDER_CENSUS */
    void (*free)(void *watcher);
} udpai_watcher_ops;

typedef struct udpai_hub_options {
    udpai_fanout_options fanout;
    udpai_debounce_rules *debounce; /* NULL: nothing waits; a reference is taken */
    udpai_node_info *info;          /* the Node of this node; a reference is taken */
    udpai_acl *acl; /* NULL: everybody may subscribe to everything; a reference is taken */
    const udpai_topics *topics; /* of events, for subscribers; NULL: there are none */
    bool is_worker;             /* of a node: what comes to the topics is handed up */
    /* Of these types nothing below these prefixes is visible to upstream peers: sources, and others
     * that were dialled. What it is about they are sent by other types. Borrowed, while the hub
     * lives. */
    const udpai_str *withheld_types;
    size_t n_withheld_types;
    const udpai_str *withheld;
    size_t n_withheld;
    /* What is committed elsewhere may come later than the streams of those who know of it: streams
     * that others begin are answered when UDPAI_ORDER_BARRIER says so. */
    bool has_barriers;
    /* The number of the first one is a step above it; 0 is a step of 1. */
    uint64_t first_session, session_step;
    const udpai_watcher_ops *watcher; /* NULL: nobody */
    /* What a session may hand up before it stops reading. */
    size_t max_pending;
    size_t max_pending_bytes;
} udpai_hub_options;

/* The hub's surroundings. */
typedef struct udpai_hub_env {
    /* Takes the report; may not call back. */
    void (*report)(void *userdata, udpai_report *report);
    /* Begins to dial (takes the order), or gives up dialling a link. */
    void (*dial)(void *userdata, udpai_order *order);
    void (*stop_dialling)(void *userdata, uint64_t link);
    /* UDPAI_ORDER_SPREAD; the order is the hub's still. NULL: none is rejected, or ended. */
    void (*spread)(void *userdata, const udpai_order *order);
    /* UDPAI_ORDER_DRAIN, and LEAVE. NULL: the transport ends no streams. */
    void (*drain)(void *userdata, uint64_t over_ms);
    void (*leave)(void *userdata, bool leaves);
    /* By SPREAD: is this session of a client served? @p client: a hash of what it is known by.
     * NULL: it is. UDPA_ERR_UNAVAILABLE: it is not. */
    udpa_err (*check_share)(void *userdata,
                            udpai_session *session,
                            uint64_t client,
                            udpa_error **ret_error);
    /* There is something to run: call udpai_hub_run() before long. May be NULL if the owner calls
     * it after every call into the hub. */
    void (*wake)(void *userdata);
    /* Microseconds since 1970. */
    int64_t (*wall_us)(void *userdata);
    void *userdata;
} udpai_hub_env;

udpa_err udpai_hub_new(udpai_hub **ret_hub,
                       udpai_wheel *wheel,
                       const udpai_hub_options *options,
                       const udpai_hub_env *env);

/* ---- streams that are dialled on the stream side's own account ---- */

/* Their links lie here and above, and below those of the loop side's own (UDPAI_ORCA_LINKS);
 * nothing is reported of them. */
#define UDPAI_SIDE_LINKS (UINT64_C(1) << 61)
#define UDPAI_SIDE_LINKS_END (UINT64_C(1) << 62)

typedef struct udpai_side_link udpai_side_link;

struct udpai_side_link {
    uint64_t link; /* given by udpai_hub_dial() */
    /* No stream could be opened, and why (NULL: no memory). */
    void (*not_opened)(udpai_side_link *link, const udpa_error *why);
};

/* Dials; the target is a reference, which is consumed. The link is known until it is taken, by the
 * session that is begun on the stream, or there is none. */
udpa_err udpai_hub_dial(udpai_hub *hub,
                        udpai_side_link *link,
                        void *target,
                        void (*release_target)(void *target));
/* It was opened, or nobody waits for it any more; NULL: it is not known. */
udpai_side_link *udpai_hub_take_link(udpai_hub *hub, uint64_t link);
/* For transports: it could not be. */
void udpai_hub_not_opened(udpai_hub *hub, uint64_t link, const udpa_error *why);

/* ---- what the hub does, and what it has ---- */

/* The topic that readers see; NULL: there is none. */
udpai_topic *udpai_hub_topic(const udpai_hub *hub, size_t kind);

/* Every session must have been closed. */
udpai_hub *udpai_hub_free(udpai_hub *hub);
UDPA_DEFINE_CLEANUP(udpai_hub, udpai_hub_free)

/* Carries out an order, and frees it. What there is no memory for is kept, and tried again with the
 * next order about the mirror and by a timer; sessions are ended meanwhile. */
void udpai_hub_order(udpai_hub *hub, udpai_order *order);
/* Has every session that can write, and has something to write, write one message; returns how many
 * did. */
size_t udpai_hub_run(udpai_hub *hub);
/* Ends every session, for a shutdown or because the mirror is broken. */
void udpai_hub_finish_all(udpai_hub *hub, udpa_err code, const char *why);

size_t udpai_hub_n_sessions(const udpai_hub *hub);
udpai_fanout *udpai_hub_fanout(udpai_hub *hub);
udpai_wheel *udpai_hub_wheel(udpai_hub *hub);
udpai_decoder *udpai_hub_decoder(udpai_hub *hub);
int64_t udpai_hub_wall_us(const udpai_hub *hub); /* now */
/* The message that introduces this node on a stream, with what its store is now, and to a source
 * which nodes have one id; NULL without memory. */
udpa_bytes *udpai_hub_introduce(const udpai_hub *hub, bool is_source);
/* Is a source sent more than others? */
bool udpai_hub_has_twins(const udpai_hub *hub);
/* How far its store has come; 0: not known, or there is none. */
uint64_t udpai_hub_commit(const udpai_hub *hub);
const udpai_hub_options *udpai_hub_settings(const udpai_hub *hub);
/* Other ones from now on (udpai_fanout_set_options()). */
void udpai_hub_set_fanout_options(udpai_hub *hub, const udpai_fanout_options *options);
void udpai_hub_set_debounce(udpai_hub *hub, udpai_debounce_rules *rules);
udpai_access *udpai_hub_access(udpai_hub *hub);
udpai_client_log *udpai_hub_client_log(udpai_hub *hub);
/* An event of this node itself, for UDPAI_ABOUT(); any number of them, see events/node_events.h. */
void udpai_hub_note(udpai_hub *hub,
                    udpai_node_event_kind kind,
                    udpa_log_level level,
                    const udpai_log_field *about,
                    size_t n_about,
                    const char *format,
                    ...) UDPA_PRINTF(6, 7);
void udpai_hub_report(udpai_hub *hub, udpai_report *report);
/* What its thread counts; any thread may read them while the hub lives. */
udpai_meters *udpai_hub_meters(const udpai_hub *hub);
/* Counts what sessions have; to be used where their main structures are made and freed. */
udpai_memory *udpai_hub_memory(udpai_hub *hub);
/* Puts what was counted as memory into the meters: after each turn. */
void udpai_hub_show_memory(udpai_hub *hub);
/* What is sent of this type, and answered to that; never NULL, and as long as the hub. */
const udpai_traffic *udpai_hub_traffic(udpai_hub *hub, udpai_str type_url);
udpai_debts *udpai_hub_debts(udpai_hub *hub);
/* Of its transport: see udpai_hub_env. */
udpa_err udpai_hub_check_share(udpai_session *session, uint64_t client, udpa_error **ret_error);

/* ---- for protocols ---- */

/* Fills the common part and makes the session known to the hub. UDPA_ERR_NOMEM also while the
 * mirror is behind for lack of memory: from half of it no session is served. */
udpa_err udpai_session_init(udpai_session *session,
                            udpai_hub *hub,
                            const udpai_session_ops *ops,
                            const udpai_stream_info *info);
/* Begins a subscriber; what it makes others share counts for the session's peer. On UDPA_ERR_NOMEM
 * it is good for nothing but its end. */
udpa_err udpai_session_init_subscriber(udpai_session *session,
                                       udpai_subscriber *subscriber,
                                       const udpai_subscriber_ops *ops,
                                       const udpai_renderer *renderer);
/* To report on other sessions: the session of this number, NULL if there is none any more; and the
 * next one at or after a position that is 0 at first, none of which may come or go meanwhile. */
udpai_session *udpai_hub_find_session(const udpai_hub *hub, uint64_t id);
udpai_session *udpai_hub_next_session(const udpai_hub *hub, size_t *position);
/* It may have something to write. */
void udpai_session_ready(udpai_session *session);
/* Ends the stream; consumes the error (NULL: OK). Nothing is written or received any more. */
void udpai_session_finish(udpai_session *session, udpa_error *status);
void udpai_session_pause(udpai_session *session, bool pause);

/* ---- for protocols: what the ACL allows; access.c ---- */

/* The peer has sent its Node, or has not yet (NULL): its subscriber sees what it may see, from now
 * on. NULL: it sees nothing, and only publishes. UDPA_ERR_DENIED: its identity is not that of its
 * Node. */
udpa_err udpai_session_admit(udpai_session *session,
                             udpai_subscriber *subscriber,
                             const udpai_node_info *node,
                             udpa_error **ret_error);

/* Other rules hold: UDPAI_ORDER_ACL. One that may not be served any more is ended; one that had
 * rules, and has none any more, is ended when it was sent the removal of what it does not see any
 * more. */
void udpai_session_admit_again(udpai_session *session,
                               udpai_subscriber *subscriber,
                               const udpai_node_info *node);

/* May the peer have what its Node states as its purpose? One that copies secrets must come by TLS
 * and be allowed to administer. UDPA_ERR_DENIED: no; it is counted and logged. */
udpa_err udpai_session_check_copying(udpai_session *session,
                                     const udpai_node_info *node,
                                     udpa_error **ret_error);

/* A client of xDS has sent its Node (NULL: it has none): does it stay here, or go to another
 * replica, which has fewer streams? UDPA_ERR_UNAVAILABLE: that is why it is to connect again. */
udpa_err udpai_session_check_share(udpai_session *session,
                                   const udpai_node_info *node,
                                   udpa_error **ret_error);

typedef struct udpai_asked_for {
    udpai_str type_url;
    udpai_str name; /* of a wildcard, its prefix */
    bool is_wildcard;
} udpai_asked_for;

/* Is this node to end soon, and takes no new streams? */
bool udpai_hub_is_draining(const udpai_hub *hub);
/* The trace of what is to be sent, if some of it was changed by one not long ago; NULL: by none. */
const udpai_trace *udpai_hub_trace_of(udpai_hub *hub, const udpai_render *what);

/* May the peer ask for it at all? What it sees is a matter of its visibility. UDPA_ERR_DENIED: no;
 * it is counted and logged. */
udpa_err udpai_session_check_subscription(udpai_session *session,
                                          const udpai_node_info *node,
                                          const udpai_asked_for *asked,
                                          udpa_error **ret_error);

/* The same, for a peer that has not asked for just this: nothing is counted or logged. */
bool udpai_session_may_ask(const udpai_session *session,
                           const udpai_node_info *node,
                           const udpai_asked_for *asked);

/* What the peer may see: its visibility, for udpai_access_may_see(). */
udpa_err udpai_session_visibility(const udpai_session *session,
                                  const udpai_node_info *node,
                                  uint64_t *ret_visibility);

/* May the peer send what is no resource, of this type, in its own name? What it is called is for
 * people. UDPA_ERR_DENIED: no, or its identity is another; it is counted and logged. */
udpa_err udpai_session_check_sending(udpai_session *session,
                                     const udpai_node_info *node,
                                     udpai_str type_url,
                                     udpai_str called,
                                     udpa_error **ret_error);

/* ---- for protocols: what is reported to the loop side; reports.c ---- */

/* With the session's number and link; NULL without memory. */
udpai_report *udpai_session_report_new(const udpai_session *session, udpai_report_kind kind);
/* UDPA_ERR_NOMEM: it was not reported. */
udpa_err udpai_session_report_opened(udpai_session *session);
/* Reports CLOSED, and why, while the session is freed; takes the report, for which there was memory
 * when it began. */
void udpai_session_report_closed(const udpai_session *session, udpai_report *closed);
/* The peer has sent something valid; reported once. */
udpa_err udpai_session_report_alive(udpai_session *session);
/* Takes the publication, which the loop side may have by the time of the return. */
udpa_err udpai_session_report_publication(udpai_session *session, udpai_publication *publication);
/* Cuts what is too long of the message. */
udpa_err udpai_session_report_subscription_error(udpai_session *session,
                                                 const udpai_subscription_message *message);

/* ---- for transports ---- */

/* A message has come. */
void udpai_session_receive(udpai_session *session, udpai_str message);
/* No more messages will come. */
void udpai_session_ended(udpai_session *session);
/* The last message was written. */
void udpai_session_written(udpai_session *session);
/* The stream has ended, in whatever way; frees the session. @p why: NULL for a normal end. */
void udpai_session_closed(udpai_session *session, const udpa_error *why);

#endif
