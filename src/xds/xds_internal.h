/* SPDX-License-Identifier: Apache-2.0 */
/* The xDS session's inside, for the files of this folder. */
#ifndef UDPAI_XDS_INTERNAL_H
#define UDPAI_XDS_INTERNAL_H

#include "base/map.h"
#include "session/owed.h"
#include "session/poll.h"
#include "session/refused.h"
#include "session/unanswered.h"
#include "xds/awaited.h"
#include "xds/names.h"
#include "xds/request.h"
#include "xds/siblings.h"
#include "xds/xds.h"

#define UDPAI_XDS_TYPES_MAX 1024
/* Responses of one type that wait for an answer; of older ones it does not count any more. */
#define UDPAI_XDS_IN_FLIGHT_MAX 64
/* What a stream may ask for by names of the form xdstp://…: collections by glob, and bytes of
 * spellings. */
#define UDPAI_XDS_GLOBS_MAX 4096
#define UDPAI_XDS_SPELLED_BYTES_MAX ((size_t)16 << 20)
/* Types that clients wait for with others (warming.c). */
#define UDPAI_XDS_FOLLOWED 3
/* Names that cannot be any, in requests with an answer that has not been sent. */
#define UDPAI_XDS_UNNAMEABLE_MAX 1024
#define UDPAI_XDS_BARRED_MAX 1024

/* A response that the client has not answered yet: what an answer needs of it, which may never
 * come.
 */
typedef struct udpai_xds_in_flight {
    udpai_list node;
    udpai_owed owed;
    const udpai_subscription *subscription; /* NULL: of a part that has ended */
    uint64_t nonce;
    udpai_ack_position place; /* in this subscription */
    uint64_t head;
    int64_t sent_us;
    uint64_t seq_low, seq_high; /* as of the body */
    bool is_state;
    size_t n_resources;
    bool has_version;
    char version[UDPAI_CONTENT_HASH_HEX];
    udpai_listing *listing;       /* NULL: too long to be logged if it is rejected */
    UDPAI_VECTOR(uint64_t) again; /* without it: of what had been refused before, as of the body */
} udpai_xds_in_flight;

/* A name that was asked for and cannot be, or is not for this client. */
typedef struct udpai_xds_unnameable {
    udpa_bytes *name;
    udpa_error *why;
    bool is_reported, is_asked;
} udpai_xds_unnameable;

/* What a session knows of a type beside what the fan-out knows; hangs on the subscription. */
struct udpai_xds_type {
    uint64_t asked_for; /* in the state of the world: a digest of the last request's names … */
    bool has_asked;     /* … which is there, and was carried out in full */
    bool is_named;      /* an empty list is no wildcard, or not any more: something was named */
    bool
        distinguishes_variants; /* the client has used locators: it knows variants by constraints */
    bool is_answered;           /* something was sent since its wildcard */
    bool has_held;              /* in delta: the client had some of an earlier stream */
    unsigned n_awaited;         /* prefixes of the wildcard that are not complete yet */
    UDPAI_VECTOR(udpai_xds_unnameable) unnameable; /* missing.c */
    size_t n_unreported;                           /* of these */
    UDPAI_VECTOR(udpa_bytes *) barred;             /* barred.c */
    /* What was asked for by names of the form xdstp://… (requested_name.c). */
    udpai_map spellings;       /* of names, as the client wrote them last */
    udpai_map globs;           /* of udpai_subscription: parts, each of a collection */
    udpai_subscription *named; /* the part with the names; NULL: none; SotW has none */
    udpai_list in_flight;      /* oldest first */
    size_t n_in_flight;
    const udpai_traffic *traffic; /* of this type on all streams */
    udpai_memory *memory;         /* the hub's */
    /* For status. */
    uint64_t n_resources, n_removals, n_acknowledged, n_refused;
    size_t n_hidden; /* in the last response */
    char version_sent[UDPAI_CONTENT_HASH_HEX], version_acknowledged[UDPAI_CONTENT_HASH_HEX];
    bool has_sent, has_acknowledged;     /* a version */
    int64_t acknowledged_us, refused_us; /* when last; 0: never */
    udpa_error *last_error;
    udpai_refusals refusals;
    udpai_lost lost;
    uint64_t lost_low, lost_high, lost_removals, lost_head; /* what these brought lies there */
    uint64_t accepted_seq; /* of a state: the client has accepted all up to here */
    /* What waits, and for what (siblings.c). */
    udpai_xds_role role;
    uint64_t answered_ms;              /* when the client has answered last */
    uint64_t first_head;               /* of the first response with clusters; 0: none yet */
    uint64_t behind_until_ms;          /* so long it waits for other streams; 0: it does not */
    const udpai_subscription *is_held; /* the one that waits; NULL: none */
    const udpa_resource *held_by;      /* not to be looked at */
    udpa_error *held;                  /* in words; NULL: nothing waits, or no memory */
};

/* What the protocols do not have in common. */
typedef struct udpai_xds_protocol {
    udpai_session_ops ops;
    udpai_poll_texts poll_texts; /* of those with one request */
    udpa_err (*decode)(udpai_decoder *decoder,
                       udpai_str bytes,
                       bool needs_node,
                       udpai_xds_request *ret_request,
                       udpa_error **ret_error);
    const udpai_renderer *(*choose_renderer)(const udpai_xds *xds);
    udpai_delivery_mode (*choose_mode)(const udpai_xds *xds, udpai_str type_url);
    /* Carries out the subscriptions of the request. */
    udpa_err (*subscribe)(udpai_xds *xds,
                          udpai_subscription *subscription,
                          const udpai_xds_request *request,
                          bool is_first,
                          udpa_error **ret_error);
    bool has_siblings; /* it goes on, and has answers: see siblings.h */
    bool has_removals; /* what is missing can be sent */
    bool has_parts;    /* a response need not hold all; and resources have names of their own */
} udpai_xds_protocol;

extern const udpai_xds_protocol udpai_xds_delta, udpai_xds_sotw, udpai_xds_fetch, udpai_xds_poll;

struct udpai_xds {
    udpai_session session; /* first */
    udpai_subscriber subscriber;
    const udpai_xds_protocol *protocol;
    udpai_xds_server *server;
    const udpai_xds_audience *audience; /* NULL until the first request has come */
    udpai_xds_group *group;             /* with this audience; NULL: it is the server's */
    udpai_str type_url;                 /* the only one; empty: each request has it */
    udpai_node_info *peer;              /* NULL until it has sent its Node */
    uint64_t last_nonce;
    udpai_timer patience;  /* set: removals are held back */
    udpai_body *writing;   /* what the last message borrows from */
    size_t n_unreported;   /* names that cannot be, over all types */
    bool sends_errors;     /* what is missing is sent in resource_errors */
    bool asks_nothing_new; /* the last request */
    udpai_poll poll;       /* of those with one request */
    size_t n_types, n_globs;
    size_t spelled_bytes;
    udpai_xds_siblings *siblings; /* NULL: it has none, or not yet */
    udpai_list in_siblings, in_waiting;
    udpai_subscription *clusters; /* to which it subscribes; NULL: it does not */
    bool has_listeners_first;     /* it has asked for them before it asked for clusters */
    unsigned roles;               /* of its types, a bit for each */
    udpai_xds_awaited awaited[UDPAI_XDS_FOLLOWED]; /* of types that it has yet to ask for */
};

static inline udpai_xds *
udpai_xds_of(udpai_session *session)
{
    return UDPAI_CONTAINER_OF(session, udpai_xds, session);
}

static inline udpai_xds_type *
udpai_xds_type_of(const udpai_subscription *subscription)
{
    return udpai_subscription_userdata(subscription);
}

/* session.c */
udpa_err udpai_xds_begin(udpai_session **ret_session,
                         udpai_hub *hub,
                         const udpai_stream_info *info,
                         const udpai_xds_protocol *protocol);
udpa_err udpai_xds_receive(udpai_session *session, udpai_str message, udpa_error **ret_error);
udpa_err
udpai_xds_next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error);
void udpai_xds_order(udpai_session *session, udpai_order *order);
void udpai_xds_free(udpai_session *session);

/* The renderer of a form, for what this client can read. */
const udpai_renderer *udpai_xds_renderer_for(const udpai_xds *xds, udpai_xds_form form);

/* sotw.c: polling is much like it */
const udpai_renderer *udpai_xds_sotw_choose_renderer(const udpai_xds *xds);
udpa_err udpai_xds_sotw_subscribe(udpai_xds *xds,
                                  udpai_subscription *subscription,
                                  const udpai_xds_request *request,
                                  bool is_first,
                                  udpa_error **ret_error);

/* subscribe.c: steps that both protocols take */
/* Adds the wildcard: of all namespaces that the client sees. */
udpa_err udpai_xds_subscribe_wildcard(udpai_xds *xds,
                                      udpai_subscription *subscription,
                                      udpa_error **ret_error);
/* Adds a name. One that cannot be the name of anything is noted, to be answered as missing if the
 * protocol can send that. */
udpa_err udpai_xds_subscribe_name(udpai_xds *xds,
                                  udpai_subscription *subscription,
                                  udpai_str name,
                                  udpa_error **ret_error);

/* locators.c: names that are asked for with dynamic parameters */
udpa_err udpai_xds_subscribe_locators(udpai_xds *xds,
                                      udpai_subscription *subscription,
                                      const udpai_xds_request *request,
                                      udpa_error **ret_error);
/* In delta: those that the request gives back. */
udpa_err udpai_xds_unsubscribe_locators(udpai_xds *xds,
                                        udpai_subscription *subscription,
                                        const udpai_xds_request *request);
/* Is the wildcard among them? Parameters choose nothing of what it brings, which has no
 * constraints.
 */
bool udpai_xds_locates_all(const udpai_xds_request *request);

/* A response, and what it belongs to. */
typedef struct udpai_xds_next_response {
    udpai_subscription *subscription;
    udpai_body *body; /* NULL: none */
    udpai_delivery_kind kind;
    udpai_ack_position place;
    uint64_t head;
} udpai_xds_next_response;

/* requested_name.c: names of the form xdstp://… */
void udpai_xds_requested_name_init(udpai_xds_type *type);
void udpai_xds_requested_name_done(udpai_xds_type *type);
/* Notes how the client spells a name. */
udpa_err udpai_xds_spell(udpai_xds *xds,
                         udpai_xds_type *type,
                         udpai_str full_name,
                         udpai_str spelling,
                         udpa_error **ret_error);
void udpai_xds_forget_spelling(udpai_xds *xds, udpai_xds_type *type, udpai_str full_name);
/* Empty: it spells it as any other name. */
udpai_str udpai_xds_spelling(const udpai_xds_type *type, udpai_str full_name);
/* The client is sent variants with their constraints from now on. */
udpa_err udpai_xds_distinguish_variants(udpai_xds_type *type, udpai_subscription *subscription);
/* The part that such a name belongs to, made if need be; it is not subscribed to yet. */
udpa_err udpai_xds_get_part(udpai_xds *xds,
                            udpai_subscription *subscription,
                            const udpai_xds_name *name,
                            udpai_str spelling,
                            udpai_subscription **ret_part,
                            udpa_error **ret_error);
udpa_err udpai_xds_subscribe_requested(udpai_xds *xds,
                                       udpai_subscription *subscription,
                                       const udpai_xds_name *name,
                                       udpai_str spelling,
                                       udpa_error **ret_error);
void
udpai_xds_unsubscribe_requested(udpai_xds *xds, udpai_xds_type *type, const udpai_xds_name *name);
/* Notes what the client holds of an earlier stream, with what will bring it. */
udpa_err udpai_xds_hold_requested(udpai_xds_type *type, udpai_str full_name, udpai_str version);
/* Sends it again. */
void udpai_xds_resend_requested(udpai_xds_type *type, const udpai_xds_name *name);
/* A resource, or what is missing (NULL), as the client knows it through this subscription: a view
 * of the resource, of the session, or of `room`. False: it cannot name it. */
#define UDPAI_XDS_NAME_OF_CLIENT_MAX UDPAI_SESSION_CALLED_MAX
bool udpai_xds_name_of_client(const udpai_xds_audience *audience,
                              const udpai_subscription *subscription,
                              const udpa_resource *resource,
                              udpai_str full_name,
                              char room[UDPAI_XDS_NAME_OF_CLIENT_MAX],
                              udpai_str *ret_name);

/* answer.c: what became of what was sent */
void udpai_xds_note_sent(udpai_xds *xds, const udpai_xds_next_response *response);
void udpai_xds_note_answer(udpai_xds *xds, udpai_xds_type *type, const udpai_xds_request *request);
void udpai_xds_type_free(udpai_xds_type *type);

/* siblings.c */
void udpai_xds_siblings_init(udpai_map *siblings_by_client);

/* removals.c: what was removed is sent after what may refer to it */
void udpai_xds_removals_init(udpai_xds *xds);
void udpai_xds_removals_done(udpai_xds *xds);
uint64_t udpai_xds_may_remove(udpai_subscriber *subscriber, udpai_subscription *subscription);
/* A response was answered. */
void udpai_xds_removals_answered(udpai_xds *xds);

/* warming.c */
/* After a response with clusters or listeners: what a client waits for again with them goes out. */
void udpai_xds_follow(udpai_xds *xds, const udpai_delivery *delivery);
/* Sends what has this name again. */
void udpai_xds_resend(udpai_xds *xds, udpai_subscription *subscription, const udpai_xds_name *name);
/* Names that such responses had before the client asked for their type: it waits for them, though
 * it may hold them. NULL: none of this type. */
udpai_xds_awaited *udpai_xds_awaited_of(udpai_xds *xds, udpai_str type_url);
void udpai_xds_awaited_done_all(udpai_xds *xds);

/* missing.c: names that cannot be, and such as may come */
/* For a type, or a part of it, that the client begins to ask for: of some it is not sent at once
 * what is missing. */
void udpai_xds_delay_absence(const udpai_xds *xds, udpai_subscription *subscription);
/* Notes one, to be reported if the protocol can; consumes the error. */
udpa_err udpai_xds_note_unnameable(udpai_xds *xds,
                                   udpai_subscription *subscription,
                                   udpai_str name,
                                   udpa_error *why,
                                   udpa_error **ret_error);
/* SotW: around the names of a request, which has all. */
/* Notes a name, as the client writes it, that rules keep from it now; beyond UDPAI_XDS_BARRED_MAX
 * none is, and it must ask again itself. */
udpa_err udpai_xds_bar(udpai_xds_type *type, udpai_str name);
/* It does not ask for that any more, or for none of them. */
void udpai_xds_unbar(udpai_xds_type *type, udpai_str name);
void udpai_xds_unbar_all(udpai_xds_type *type);
/* The rules, or the client's Node, have changed: what it may ask for now is subscribed to. */
udpa_err udpai_xds_ask_barred(udpai_xds *xds, udpa_error **ret_error);

void udpai_xds_begin_names(udpai_xds_type *type);
void udpai_xds_end_names(udpai_xds *xds, udpai_subscription *subscription);
/* Those that were not reported yet, at most so many; they count as reported when that is done. */
size_t udpai_xds_unreported(const udpai_xds_type *type, udpai_xds_missing *ret_missing, size_t max);
void udpai_xds_reported(udpai_xds *xds, udpai_xds_type *type);
udpai_xds_missing udpai_xds_unnameable_view(const udpai_xds_type *type, size_t index);
void udpai_xds_unnameable_done(udpai_xds_type *type);

/* ack_status.c */
void udpai_xds_ack_status(const udpai_session *session,
                          const udpai_resource_ack *ack,
                          udpai_acknowledgement *ret_acknowledgement);
bool udpai_xds_unanswered(const udpai_session *session,
                          const udpai_subscription *subscription,
                          udpai_ack_position *ret_place);

/* status.c */
const udpai_node_info *udpai_xds_peer(const udpai_session *session);
const udpai_subscriber *udpai_xds_subscriber(const udpai_session *session);
bool udpai_xds_call(const udpai_session *session,
                    const udpai_resource_ack *ack,
                    udpai_str full_name,
                    char room[UDPAI_SESSION_CALLED_MAX],
                    udpai_str *ret_name);
udpa_bytes *udpai_xds_describe(const udpai_session *session);

#endif
