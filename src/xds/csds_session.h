/* SPDX-License-Identifier: Apache-2.0 */
/* The session of CSDS, whichever side answers: one answer at a time. While it is made and read,
 * nothing is read, and what had been read already waits. A node answers for its clients (csds.c), a
 * client for itself (csds_own.c). */
#ifndef UDPAI_CSDS_SESSION_H
#define UDPAI_CSDS_SESSION_H

#include "base/vector.h"
#include "session/hub.h"

typedef struct udpai_csds_session udpai_csds_session;

typedef struct udpai_csds_answerer {
    size_t max_answers; /* that all sessions make, or have read, at a time */
    size_t max_waiting; /* requests that had been read when the first of them was begun */
    /* Begins the answer to a request. */
    udpa_err (*begin)(udpai_csds_session *self, udpai_str message, udpa_error **ret_error);
    /* Puts the next response into `writing`; nothing: it is to be called again when the session is
     * ready. *ret_over: it was the last one. */
    udpa_err (*write)(udpai_csds_session *self, bool *ret_over, udpa_error **ret_error);
    /* The answer was read: forgets what there is of it. */
    void (*end)(udpai_csds_session *self);
    void (*order)(udpai_csds_session *self, udpai_order *order);
    /* All but what is here; the answer may be under way. */
    void (*free)(udpai_csds_session *self);
} udpai_csds_answerer;

/* The first member of an answerer's own. */
struct udpai_csds_session {
    udpai_session session; /* first */
    const udpai_csds_answerer *answerer;
    bool is_fetch; /* one request, one response; else streams of both */
    bool is_answering, is_over, is_answered, has_ended;
    size_t *counts_among; /* the answers that are made or read; NULL: it is none of them */
    udpai_timer patience;
    UDPAI_VECTOR(udpa_bytes *) waiting; /* requests */
    UDPAI_VECTOR(udpa_bytes *) writing; /* the last response; borrowed but for the first part */
    uint64_t n_requests;
};

/* Fills in the rest of zeroes; on failure the caller frees the memory. */
udpa_err udpai_csds_session_init(udpai_csds_session *self,
                                 udpai_hub *hub,
                                 const udpai_stream_info *info,
                                 const udpai_csds_answerer *answerer);
/* Counts the answer that is begun among all of the method's owner, until it was read.
 * UDPA_ERR_LIMIT: there are too many. */
udpa_err
udpai_csds_session_count(udpai_csds_session *self, size_t *n_answers, udpa_error **ret_error);
/* Ends the session with this error, or, if there is none, with this code. */
void udpai_csds_session_fail(udpai_csds_session *self, udpa_err err, udpa_error *error);
/* Puts the first part of a response; takes it. UDPA_ERR_NOMEM, also if it is NULL. */
udpa_err udpai_csds_session_put(udpai_csds_session *self, udpa_bytes *part);

#endif
