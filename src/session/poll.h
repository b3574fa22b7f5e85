/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of one request and one response: what polling by REST and the Fetch methods of gRPC have
 * in common. A response waits until it is certain, and one that the client has already until there
 * is another. When the client's time is over, the session ends without a response: nothing has
 * changed; or, if the client has nothing, with an error: try again. */
#ifndef UDPAI_POLL_H
#define UDPAI_POLL_H

#include "session/hub.h"

/* Parts of error messages; static. */
typedef struct udpai_poll_texts {
    const char *one_request; /* to a second one */
    const char *no_request;  /* to one that ends before the first */
    const char *what;        /* is not certain yet: "there is" */
} udpai_poll_texts;

typedef struct udpai_poll {
    udpai_session *session;
    const udpai_poll_texts *texts;
    udpai_timer timer; /* the client waits until then */
    bool has_request, is_over, is_sent, has_version;
    char version[UDPAI_CONTENT_HASH_HEX]; /* that the client has */
} udpai_poll;

void udpai_poll_init(udpai_poll *poll, udpai_session *session, const udpai_poll_texts *texts);
void udpai_poll_done(udpai_poll *poll);

/* A request has come, and is to be the only one. Of a hub that drains none waits. */
udpa_err udpai_poll_begin(udpai_poll *poll, udpa_error **ret_error);
/* Of the request. One that is none of ours is no reason to wait. */
void udpai_poll_set_version(udpai_poll *poll, udpai_str version);
/* Does the client have a response of this version? */
bool udpai_poll_is_current(const udpai_poll *poll, udpai_str version);

/* The client's time is over, and the request, if it has come, is answered. */
void udpai_poll_end_wait(udpai_poll *poll);

/* As in udpai_session_ops. */
typedef udpa_err (*udpai_poll_find_fn)(udpai_session *session,
                                       udpai_outgoing *out,
                                       bool *ret_any,
                                       udpa_error **ret_error);

/* The session's next(); what `find` finds is the response. */
udpa_err udpai_poll_next(udpai_poll *poll,
                         udpai_poll_find_fn find,
                         udpai_outgoing *out,
                         bool *ret_any,
                         udpa_error **ret_error);
/* The session's ended(). */
udpa_err udpai_poll_ended(const udpai_poll *poll, udpa_error **ret_error);

#endif
