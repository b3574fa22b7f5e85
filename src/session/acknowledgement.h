/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions have acknowledged a resource: asked for by subscribing to a name that has the
 * resource, answered by a udpa.status.v1.AcknowledgementStatus of that name. Made when it is asked
 * for, of all sessions that select the resource; nothing is kept for it. */
#ifndef UDPAI_ACKNOWLEDGEMENT_H
#define UDPAI_ACKNOWLEDGEMENT_H

#include "fanout/ack_tracker.h"
#include "session/hub.h"

#define UDPAI_ACKNOWLEDGEMENT_TYPE "type.googleapis.com/udpa.status.v1.AcknowledgementStatus"
/* "udpa.node/acknowledgement/<token>/<type URL>/<name>". The client chooses the token: a name that
 * was not asked for before has no answer yet that could be an old one. */
#define UDPAI_ACKNOWLEDGEMENT_PREFIX UDPAI_NODE_NAMESPACE "/acknowledgement/"
/* A token that begins so asks this replica alone, and not the others of its set. */
#define UDPAI_ACKNOWLEDGEMENT_ALONE "~"
/* So many sessions are named in an answer. */
#define UDPAI_ACKNOWLEDGEMENT_SESSIONS_MAX 256

/* What a name asks for, views of it; false: nothing. */
bool udpai_acknowledgement_parse(udpai_str question, udpai_str *ret_type_url, udpai_str *ret_name);

/* As udpa.status.v1.SessionAcknowledgement.State, and what is not reported. */
typedef enum udpai_acknowledgement_state {
    UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN, /* the session's protocol cannot show it to its peer */
    UDPAI_ACKNOWLEDGEMENT_BEHIND,
    UDPAI_ACKNOWLEDGEMENT_UNANSWERED,
    UDPAI_ACKNOWLEDGEMENT_REFUSED,
    UDPAI_ACKNOWLEDGEMENT_DOUBTFUL,
    UDPAI_ACKNOWLEDGEMENT_UNTOLD,
    UDPAI_ACKNOWLEDGEMENT_SENT, /* and the peer acknowledges nothing */
    UDPAI_ACKNOWLEDGEMENT_GIVEN,
    UDPAI_ACKNOWLEDGEMENT_STATES,
} udpai_acknowledgement_state;

/* What a session reports of one of its subscriptions and a resource. */
struct udpai_acknowledgement {
    udpai_acknowledgement_state state;
    int64_t since_us; /* 0: not known */
    const udpa_error
        *error;     /* why; of what was not sent, what it waits for; borrowed; NULL: none */
    udpai_str good; /* of what was refused: the version before; a view; empty: not known */
};

/* Serialised; NULL without memory, or if the question is none. */
udpa_bytes *udpai_acknowledgement_describe(udpai_hub *hub, udpai_str question);

#endif
