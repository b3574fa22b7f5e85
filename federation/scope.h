/* SPDX-License-Identifier: Apache-2.0 */
/* What a source is asked for and how far it has answered, for the files of this folder. */
#ifndef UDPAI_SCOPE_H
#define UDPAI_SCOPE_H

#include "base/map.h"
#include "federation/source.h"
#include "model/name.h"

typedef struct udpai_scope udpai_scope;

/* In one message: the receiver takes 4 MiB and so many fields as that has sixteenths. */
#define UDPAI_ASKED_ITEMS_MAX 8000
#define UDPAI_ASKED_BYTES_MAX ((size_t)1024 * 1024)

/* A name or a wildcard that a source on demand is asked for; or any, to send a name again. */
typedef struct udpai_source_request {
    udpai_list in_asked;  /* scope->asked, until it is answered */
    udpai_list in_ending; /* scope->lingering or scope->ended */
    udpai_scope *scope;
    bool is_wildcard;
    size_t n_subscribed; /* texts subscribed to here that come to this one in the scope */
    bool is_sent;        /* on the present stream */
    bool is_known;       /* the source has sent all of it, ever */
    bool is_refused;     /* the source cannot serve it; asked again after a while */
    bool is_denied;      /* because this node may not see it: for it there is nothing */
    bool is_again;       /* made because the source has refreshed it */
    bool is_reasked;     /* asked once more for that; neither answered nor sent since */
    bool is_paused;      /* of a scope of names: the name's provider does not reach its source */
    bool is_by_alias;    /* it brings something of another name (lookup.c) */
    uint64_t batch;      /* of Subscribes: which of them asked for it … */
    uint64_t asked_ms;   /* … and when, or when it still brought something */
    udpai_timer linger;  /* the end of asking for what has no subscription */
    uint32_t len;
    char text[]; /* as its key: a name, or '*' and a prefix */
} udpai_source_request;

/* A Subscribe that waits for its answer. */
typedef struct udpai_question {
    udpai_list in_source;
    udpai_scope *scope; /* NULL: no scope waits for the answer, which comes all the same */
    udpa_bytes *type;
    uint64_t batch;
    udpai_str waits; /* what the peer waits for before it answers, as it has reported; owned */
    uint32_t len;
    char name_space[];
} udpai_question;

/* What one descriptor of one type asks of one source. */
struct udpai_scope {
    udpai_list in_source;
    udpai_source *source;
    udpa_bytes *type; /* type URL */
    udpa_bytes *prefix;
    bool on_demand;
    /* Of all providers of single names (named.h) that name the source: it covers the names of its
     * requests and no others, and is on demand. */
    bool is_named;
    bool recovers;       /* what came from this node is asked for, too (recovery.h) */
    size_t n_users;      /* of them */
    bool is_requested;   /* its provider reaches it */
    bool is_sent;        /* a mirror's wildcard, on the present stream */
    bool is_complete;    /* the peer has sent all of it on the present stream */
    bool is_known;       /* it has ever, or so it was restored */
    bool is_unkept;      /* that is not kept: some of it may not be cached */
    bool is_refused;     /* a mirror's wildcard, as a request's */
    bool is_denied;      /* the same; until it is answered, or the stream has ended */
    bool is_hung;        /* it was not sent in time; until it is, the source is not active for it */
    bool is_asked;       /* on demand: all that is subscribed to, on the present stream */
    bool has_denied;     /* what came by a request that is denied now must go */
    uint64_t last_batch; /* of Subscribes sent on the present stream */
    uint64_t own_batch;  /* the last for a mirror's wildcard */
    size_t n_questions;  /* of them without an answer */
    /* The store that the source had when it had answered last, and the number of its last commit as
     * that stream began; NULL: it never reported them. */
    udpa_bytes *seen_epoch;
    uint64_t seen_commit;
    bool is_other_store;  /* than that, on the present stream, until it has answered */
    size_t n_held_logged; /* so many are held, it was logged */
    const char *held_why; /* the last time; NULL: it is not known any more */
    bool had_some;        /* of what it has asked for on the present stream, some was here before */
    udpai_map requests;
    udpai_list asked;            /* of requests, in the order of their batches */
    udpai_list lingering, ended; /* of requests without a subscription */
    size_t n_lingering;
    udpai_timer sync;                 /* a mirror should have received all by then */
    udpai_timer again;                /* what was refused is asked for again */
    udpai_timer lookups;              /* what it has not is asked for again (lookup.c) */
    udpai_timer silence, silence_max; /* of a peer without our extensions */
};

/* Is something of the type held that the source does not name any more? */
static inline bool
udpai_source_is_held(const udpai_source *source, udpai_str type_url)
{
    const udpai_origin *origin = udpai_source_origin(source);
    return origin && udpai_origin_n_absent(origin, type_url, UDPAI_ABSENCE_HELD) > 0;
}

static inline bool
udpai_scope_is_held(const udpai_scope *scope)
{
    return udpai_source_is_held(scope->source, udpai_bytes_view(scope->type));
}

/* ---- scope.c ---- */

udpai_scope *
udpai_scope_new(udpai_source *source, udpai_str type_url, udpai_str prefix, bool on_demand);
void udpai_scope_free(udpai_scope *scope);
/* Sends what is subscribed to and was not sent, takes back what is so no more. */
void udpai_scope_sync(udpai_scope *scope);
/* Nothing counts as asked any more: the stream has ended, or is asked anew. */
void udpai_scope_reset(udpai_scope *scope);
/* All that was asked up to this batch, or in just this one, is answered. */
void udpai_scope_answered(udpai_scope *scope, uint64_t first_batch, uint64_t last_batch);
/* The type has no subscription any more: takes back what was asked, and what is noted of it. */
void udpai_scope_give_up(udpai_scope *scope);
/* The peer has answered a Subscribe. */
void udpai_source_completed(udpai_source *source, udpai_str type_url, udpai_str prefix);
/* The peer has published something of this type. */
void udpai_source_published(udpai_source *source, udpai_str type_url);

/* Each of a source; `before` NULL: the first. NULL behind the last. */
udpai_scope *udpai_source_next_scope(const udpai_source *source, const udpai_scope *before);
/* The scope of this type that covers a name or prefix; NULL: none. */
udpai_scope *udpai_source_scope(const udpai_source *source, udpai_str type_url, udpai_str name);

/* ---- source_requests.c ---- */

/* The first subscription to this name or wildcard ('*' and a prefix) here, or the last one has
 * ended. */
void udpai_scope_interest(udpai_scope *scope, udpai_str text, bool subscribed);
/* Sends what is subscribed to and was not sent; gives back what has ended, and what came by it.
 * False: something is subscribed to and could not be sent. */
bool udpai_source_requests_sync(udpai_scope *scope);
/* Asks for names that the scope covers, though they were asked for before; names without a
 * subscription here, for a while. */
void udpai_scope_ask_again(udpai_scope *scope, const udpai_str *names, size_t n_names);
/* It does not wait for an answer any more. */
void udpai_source_request_unask(udpai_source_request *request);
/* The source cannot serve it, or will not (is_denied): then what came by it goes with the next
 * flush, unless something else brings it too. */
void udpai_source_request_refuse(udpai_source_request *request, bool is_denied);
void udpai_source_requests_init(udpai_scope *scope);
void udpai_source_requests_reset(udpai_scope *scope);
/* Takes the wildcard of the prefix back, and asks again for what goes with it. */
void udpai_ask_wildcard_no_more(udpai_scope *scope, udpai_str prefix);
/* What lingers ends at once. */
void udpai_source_requests_end(udpai_scope *scope);
void udpai_source_requests_free(udpai_scope *scope);
/* The request of this name or, with wildcard, prefix; NULL: none. */
udpai_source_request *
udpai_scope_request(const udpai_scope *scope, udpai_str subject, bool is_wildcard);

/* Of a scope of names: the name has no subscription any more, and what came by it is removed. */
void udpai_scope_end_name(udpai_scope *scope, udpai_str name);

/* The name, or the prefix of the wildcard. */
static inline udpai_str
udpai_source_request_subject(const udpai_source_request *request)
{
    return (udpai_str){request->text + request->is_wildcard, request->len - request->is_wildcard};
}

/* Does it cover the name? */
static inline bool
udpai_scope_may_have(const udpai_scope *scope, udpai_str name)
{
    return scope->is_named ? udpai_scope_request(scope, name, false) != NULL
                           : udpai_prefix_covers(udpai_bytes_view(scope->prefix), name);
}

/* Is it of this type, and does it cover the name? */
static inline bool
udpai_scope_covers(const udpai_scope *scope, udpai_str type_url, udpai_str name)
{
    return udpai_str_eq(udpai_bytes_view(scope->type), type_url) &&
           udpai_scope_may_have(scope, name);
}

/* The request of this text, made if there was none. NULL without memory. */
udpai_source_request *udpai_source_request_get(udpai_scope *scope, udpai_str text);
/* It has a subscription. */
void udpai_source_request_keep(udpai_source_request *request);
/* It has no subscription any more, and is given back after a while, or at once. */
void udpai_source_request_linger(udpai_source_request *request);
void udpai_source_request_end(udpai_source_request *request);

/* ---- lookup.c ---- */

/* May the source have names of the scope that its wildcard does not bring? */
bool udpai_scope_looks_up(const udpai_scope *scope);
/* This name is asked for (another text is ignored), of which a mirror may have to ask by name,
 * since there may be something that its wildcard does not bring. */
void udpai_scope_look_up(udpai_scope *scope, udpai_str text);
/* It is not asked for any more. */
void udpai_scope_look_up_no_more(udpai_scope *scope, udpai_str text);
void udpai_lookups_init(udpai_scope *scope);
/* Something was asked for, which is looked at from time to time. */
void udpai_lookups_expect(udpai_scope *scope);

/* ---- ask.c ---- */

/* Asks for names, or for the wildcard of the name space ("" alone), and states what is held. False:
 * without memory they were not asked for; the next flush looks again at what was not. */
bool udpai_ask(udpai_scope *scope, udpai_str name_space, const udpai_str *names, size_t n_names);
void
udpai_ask_no_more(udpai_scope *scope, udpai_str name_space, const udpai_str *names, size_t n_names);
/* Forgets what the scope has asked of a peer that does not answer. */
void udpai_questions_forget(udpai_scope *scope);
/* No scope waits for what this one has asked; the answers that come are no others'. */
void udpai_questions_disown(udpai_scope *scope);
/* The stream has ended: nothing is answered any more. */
void udpai_questions_end(udpai_source *source);
/* The oldest Subscribe of this type and name space is answered in some way: its scope, and its
 * batch; NULL: there is none, or no scope waits for it. */
udpai_scope *udpai_question_take(udpai_source *source,
                                 udpai_str type_url,
                                 udpai_str name_space,
                                 uint64_t *ret_batch);
/* What the peer waits for before it answers one; takes the text. */
void udpai_source_waits(udpai_source *source, udpai_publication *publication);
/* The next Subscribe of the scope for which the peer has reported that; NULL: the first, or none.
 */
const udpai_question *udpai_question_next_waiting(const udpai_scope *scope,
                                                  const udpai_question *after);
#endif
