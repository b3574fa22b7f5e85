/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the upstream session, for the files upstream*.c. */
#ifndef UDPAI_XDS_UPSTREAM_INTERNAL_H
#define UDPAI_XDS_UPSTREAM_INTERNAL_H

#include "base/map.h"
#include "model/name.h"
#include "xds/exchange.h"
#include "xds/upstream.h"

typedef struct udpai_upstream_session udpai_upstream_session;
typedef struct udpai_upstream_type udpai_upstream_type;

/* Names that patterns are compared with, for one message. */
#define UDPAI_UPSTREAM_COMPARED_MAX ((size_t)10000000)
#define UDPAI_UPSTREAM_VERSION_MAX 1024 /* of a response, and of a resource to be sent */
/* In one request, of which servers take 4 MiB. */
#define UDPAI_UPSTREAM_ITEMS_MAX 8000
#define UDPAI_UPSTREAM_BYTES_MAX ((size_t)1 << 20)
#define UDPAI_UPSTREAM_PARENTS_MAX 2  /* types that name those of one */
#define UDPAI_UPSTREAM_ERROR_MAX 1000 /* bytes of the text of a refusal */

struct udpai_upstream {
    udpai_upstream_options options;
    udpai_map resumable; /* of udpai_upstream_kept, from the last stream */
    char texts[];
};

/* A resource as the server sent it last; or one that the loop side holds, and nothing else is known
 * of here. */
typedef struct udpai_upstream_held {
    udpa_bytes *name;
    udpa_resource *resource; /* NULL: not known */
    udpa_bytes *version;     /* the server's own; NULL: not known */
    uint64_t deadline_ms;    /* of its ttl; 0: none */
    uint64_t response;       /* that named it last, of this stream; 0: none */
    uint64_t published_in;   /* the response with which it was handed up; 0: none of this stream */
    bool is_confirmed;       /* on this stream it was sent, or not contradicted */
    bool is_published;       /* it was handed up, on this stream */
    bool is_vouched;         /* the loop side holds it */
    bool is_refused; /* the loop side did not take it; should it come again, it is reported */
} udpai_upstream_held;

/* What the last stream has left of a type, for the next. */
typedef struct udpai_upstream_kept {
    udpa_bytes *type;
    udpai_map held;
} udpai_upstream_kept;

/* A name that the server is asked for. */
typedef struct udpai_upstream_name {
    udpai_upstream_type *type;
    udpai_list in_unreported; /* type->unreported: to be sent to the server, or taken back */
    udpai_list in_waiting;    /* type->waiting: sent, and not answered; the longest first */
    udpai_list in_orphans;    /* type->orphans: it has lost its last parent */
    uint64_t reported_ms;
    bool is_asked; /* by the loop side */
    bool is_reported, is_answered;
    bool is_first;      /* sent with the first request: so every state knows of it */
    uint32_t n_parents; /* resources that refer to it */
    uint32_t len;
    char text[]; /* the full name */
} udpai_upstream_name;

/* A Subscribe that waits to be answered. */
typedef struct udpai_upstream_question {
    udpai_list node;
    udpai_subscription_message *message; /* owned */
    size_t n_answered;                   /* of its names, from the first on */
} udpai_upstream_question;

/* A response that was taken in, and the answer to it. */
typedef struct udpai_upstream_response {
    udpai_list in_pending; /* session->pending */
    udpai_list in_type;    /* type->responses */
    udpai_upstream_type *type;
    uint64_t id;
    bool is_done;
    udpa_bytes *nonce, *version;
    udpa_error *error; /* what of it is refused, the first */
} udpai_upstream_response;

struct udpai_upstream_type {
    udpai_list in_due; /* session->due: there may be a request to send */
    udpai_upstream_session *session;
    udpa_bytes *type;
    /* The types that name resources of this type; none: they are not followed. */
    udpai_upstream_type *parents[UDPAI_UPSTREAM_PARENTS_MAX];
    size_t n_parents;
    uint32_t n_scoped;                   /* listeners with routes that SRDS names */
    udpai_upstream_type *child;          /* NULL, or the type that follows this one now */
    UDPAI_VECTOR(udpa_bytes *) prefixes; /* wildcards that the loop side asks for */
    bool is_first_sent;                  /* the first request of the type, on this stream */
    bool is_wildcard_reported;
    bool is_wildcard_first; /* sent with the first request: so every state knows of it */
    bool has_spoken;        /* a response has come, on this stream */
    bool is_complete;       /* the wildcard's answer was all sent */
    bool is_sotw_due;       /* names have changed since they were sent */
    bool has_named;         /* a request with names was sent, on this stream */
    bool has_aliases;       /* something with other names was sent */
    udpai_map names;        /* of udpai_upstream_name */
    udpai_map held;         /* of udpai_upstream_held */
    udpai_list unreported, waiting, orphans, questions;
    udpai_list responses; /* that are not answered; the oldest first, and answered first */
    size_t n_pending;
    udpa_bytes *accepted_version, *last_nonce;
    udpai_timer patience, silence, expiry;
    uint64_t expiry_ms; /* that the timer is set to */
};

struct udpai_upstream_session {
    udpai_session session;
    udpai_upstream *upstream;
    udpai_map types;
    udpai_list due;     /* types */
    udpai_list pending; /* responses; the oldest first */
    size_t n_pending, pending_bytes;
    size_t n_responses; /* that are not answered */
    size_t n_compared;  /* for this message */
    udpai_timer unread; /* how long the server need not read what answers it */
    uint64_t last_response, n_received;
    bool is_introduced; /* the Node was sent */
    udpa_bytes *writing;
    udpai_report *closed; /* made in time: the end must be reported, memory or none */
};

static inline const udpai_upstream_options *
udpai_upstream_options_of(const udpai_upstream_type *type)
{
    return &type->session->upstream->options;
}

static inline uint64_t
udpai_upstream_now(const udpai_upstream_session *session)
{
    return udpai_hub_wheel(session->session.hub)->now_ms;
}

/* What a pattern covers is not known any more. */
static inline bool
udpai_upstream_compares_no_more(const udpai_upstream_type *type)
{
    return type->session->n_compared >= UDPAI_UPSTREAM_COMPARED_MAX;
}

static inline udpai_str
udpai_upstream_name_text(const udpai_upstream_name *name)
{
    return (udpai_str){name->text, name->len};
}

static inline bool
udpai_upstream_is_requested(const udpai_upstream_name *name)
{
    return name->is_asked || name->n_parents > 0;
}

/* What counts on this stream; NULL: it must come first. */
static inline udpa_resource *
udpai_upstream_known(const udpai_upstream_held *held)
{
    return held->is_confirmed ? held->resource : NULL;
}

/* ---- upstream_report.c ---- */

/* Ends the stream if the result is none but UDPA_OK: the next one brings all again. */
void udpai_upstream_check(udpai_upstream_session *session, udpa_err result);
/* Hands a publication up; takes it. */
udpa_err udpai_upstream_publish(udpai_upstream_session *session, udpai_publication *publication);
/* The same, with its type, unless something has failed before or there is nothing in it. */
udpa_err udpai_upstream_publish_or_free(udpai_upstream_type *type,
                                        udpai_publication *publication,
                                        udpa_err err);
/* There may be a request of this type to send. */
void udpai_upstream_touch(udpai_upstream_type *type);
/* Reads on, or not while too much is pending, or too much waits to be read by the server. */
void udpai_upstream_pace(udpai_upstream_session *session);
void udpai_upstream_on_unread(udpai_timer *timer);

/* ---- upstream_type.c ---- */

/* NULL without memory. */
udpai_upstream_type *udpai_upstream_type_get(udpai_upstream_session *session, udpai_str type_url);
void udpai_upstream_type_free(udpai_upstream_type *type);
/* Does it, or does the type that follows it, subscribe to all that there is? */
bool udpai_upstream_requests_wildcard(const udpai_upstream_type *type);
/* Was it sent to the server? In the old form, which names nothing, a state of the world cannot be
 * given back: no names are all names still. */
bool udpai_upstream_has_wildcard(const udpai_upstream_type *type);
bool udpai_upstream_requests_name(const udpai_upstream_type *type, udpai_str text);
/* Does the loop side ask for all there is, where the name is? */
bool udpai_upstream_mirrors(const udpai_upstream_type *type, udpai_str name);
/* Has the loop side asked for it? */
bool udpai_upstream_covers(const udpai_upstream_type *type,
                           udpai_str name,
                           const udpai_str *aliases,
                           size_t n_aliases);
/* The full name of what the server names so; false: it has none that can be. */
bool udpai_upstream_full_name(const udpai_upstream_type *type,
                              udpai_str name,
                              char room[UDPAI_NAME_MAX],
                              udpai_str *ret_name);
/* What the server calls it; false: it is not one of the server's names. */
bool udpai_upstream_server_name(const udpai_upstream_type *type, udpai_str name, udpai_str *ret);

/* NULL without memory. */
udpai_upstream_name *udpai_upstream_name_get(udpai_upstream_type *type, udpai_str text);
/* Whether it is requested may have changed: has it sent to the server. */
void udpai_upstream_name_changed(udpai_upstream_name *name);
/* It is, or is taken back; the publication has what is not held any more because of that. */
udpa_err udpai_upstream_name_reported(udpai_upstream_name *name, udpai_publication *publication);
void udpai_upstream_name_answered(udpai_upstream_type *type, udpai_str text);
void udpai_upstream_name_free(udpai_upstream_name *name);

/* The one to be answered now; NULL: it is not done yet, or there is none. */
udpai_upstream_response *udpai_upstream_first_done(const udpai_upstream_type *type);
void udpai_upstream_response_free(udpai_upstream_response *response);

/* ---- upstream_held.c ---- */

udpai_str udpai_upstream_held_key(const void *item);
/* NULL without memory, or above the limit. */
udpai_upstream_held *
udpai_upstream_hold(udpai_upstream_type *type, udpai_str name, size_t max_held);
void udpai_upstream_held_free(udpai_upstream_held *held);
void udpai_upstream_held_free_all(udpai_map *held);
/* It is there no more; what followed it is not followed. The publication (NULL: none) has that, if
 * the loop side knows of it. */
udpa_err udpai_upstream_let_go(udpai_upstream_type *type,
                               udpai_upstream_held *held,
                               udpai_publication *publication);

/* The same for the loop side alone: until the server was sent that, it does not send it again. */
udpa_err udpai_upstream_hide(udpai_upstream_held *held, udpai_publication *publication);

typedef bool (*udpai_upstream_held_fn)(const udpai_upstream_held *held, const void *userdata);
/* Lets go of all that the function picks. */
udpa_err udpai_upstream_let_go_of(udpai_upstream_type *type,
                                  udpai_upstream_held_fn picks,
                                  const void *userdata,
                                  udpai_publication *publication);
/* What was given back to the server it sends anew when it is requested again. This one, or all of
 * it. */
udpa_err udpai_upstream_let_go_if_unrequested(udpai_upstream_type *type,
                                              udpai_upstream_held *held,
                                              udpai_publication *publication);
udpa_err udpai_upstream_let_go_unrequested(udpai_upstream_type *type);
/* The loop side reports what it holds. */
udpa_err udpai_upstream_note_holdings(udpai_upstream_type *type,
                                      const udpai_subscription_message *message);
/* Adds what is held to a publication, with what is left of its ttl. */
udpa_err udpai_upstream_add_held(udpai_upstream_type *type,
                                 udpai_upstream_held *held,
                                 udpai_publication *publication);
/* What has a ttl ends with it: the timer is set to the end of this one, too. */
void udpai_upstream_expect_expiry(udpai_upstream_type *type, const udpai_upstream_held *held);
void udpai_upstream_on_expiry(udpai_timer *timer);
/* What this stream leaves to the next, and what it found. */
void udpai_upstream_keep(udpai_upstream_type *type);
void udpai_upstream_resume(udpai_upstream_type *type);

/* ---- upstream_ask.c ---- */

void udpai_upstream_subscribe(udpai_upstream_session *session, udpai_order *order);
void udpai_upstream_unsubscribe(udpai_upstream_session *session, udpai_order *order);
/* Answers the questions that have their answer. */
udpa_err udpai_upstream_answer(udpai_upstream_type *type);
void udpai_upstream_on_patience(udpai_timer *timer);
void udpai_upstream_on_silence(udpai_timer *timer);
/* Sets the timer to the end of the first name's wait. */
void udpai_upstream_wait(udpai_upstream_type *type);

/* ---- upstream_follow.c ---- */

/* Finds the types of which resources name those of this type, if there are any and the server has
 * them. */
udpa_err udpai_upstream_find_parents(udpai_upstream_type *type);
/* What is asked for of this type has changed: begins, or ends, to ask for what its parents name,
 * and for what it names itself. */
udpa_err udpai_upstream_follow(udpai_upstream_type *type);
/* Are those that are followed complete? */
bool udpai_upstream_parents_are_complete(const udpai_upstream_type *type);
/* A resource of the type has changed; NULL: it was not, or is not, there. */
udpa_err udpai_upstream_refer(udpai_upstream_type *type,
                              const udpa_resource *before,
                              const udpa_resource *after);
/* What nothing refers to any more, and has no subscription, is removed. */
udpa_err udpai_upstream_drop_orphans(udpai_upstream_type *child);

/* ---- upstream_take.c ---- */

udpa_err udpai_upstream_receive(udpai_session *session, udpai_str bytes, udpa_error **ret_error);
void udpai_upstream_publication_done(udpai_upstream_session *session,
                                     udpai_publication *publication);

/* ---- upstream_request.c ---- */

udpa_err udpai_upstream_next(udpai_session *session,
                             udpai_outgoing *out,
                             bool *ret_any,
                             udpa_error **ret_error);

#endif
