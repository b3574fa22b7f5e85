/* SPDX-License-Identifier: Apache-2.0 */
/* What is waited for until all have acknowledged it, and what the node has reported of that. Pure.
 */
#ifndef UDPAI_CLI_AWAITED_H
#define UDPAI_CLI_AWAITED_H

#include <udpa/resource.h>

#include "base/strbuf.h"
#include "base/vector.h"
#include "cli/token.h"
#include "udpa/status/v1/status.pb-c.h"

/* How far it is. */
typedef enum udpai_cli_progress {
    UDPAI_CLI_UNKNOWN, /* the node has not answered yet */
    UDPAI_CLI_WAITING,
    UDPAI_CLI_REPLACED,   /* it was there, and something else is now */
    UDPAI_CLI_REFUSED_BY, /* somebody */
    UDPAI_CLI_ACKNOWLEDGED,
} udpai_cli_progress;

/* A session that had not acknowledged it, and that has ended since. */
typedef struct udpai_cli_absent {
    char *peer; /* owned */
    bool has_left;
} udpai_cli_absent;

/* One resource. */
typedef struct udpai_cli_awaited {
    char *type_url, *name, *question; /* owned; the question is the name that is subscribed to */
    char *version;                    /* owned; NULL: whichever is there */
    bool is_removal;                  /* its removal is waited for */
    bool is_second; /* it is meant only if the one before is not there, and this one is */
    bool was_there; /* in the state that is waited for */
    Udpa__Status__V1__AcknowledgementStatus *status; /* owned; NULL: none yet */
    UDPAI_VECTOR(udpai_cli_absent) absent;
} udpai_cli_awaited;

typedef struct udpai_cli_awaited_list {
    UDPAI_VECTOR(udpai_cli_awaited) items;
    char token[UDPAI_CLI_TOKEN_SIZE]; /* of the questions */
    const char *node_id; /* of peers that are called so as udpactl itself nobody is missed */
    uint64_t at_least;   /* that must have acknowledged each */
} udpai_cli_awaited_list;

void udpai_cli_awaited_done(udpai_cli_awaited_list *list);
/* Copies the texts; a version of NULL: any. UDPA_ERR_INVAL: it cannot be asked for, and why. */
udpa_err udpai_cli_awaited_add(udpai_cli_awaited_list *list,
                               const char *type_url,
                               const char *name,
                               const char *version,
                               udpa_error **ret_error);
/* Takes in what the node reports. What is no answer to one of these is left alone. */
udpa_err udpai_cli_awaited_take(udpai_cli_awaited_list *list, const udpa_resource *answer);

/* Is this one meant, of two ways to read a name? */
bool udpai_cli_awaited_is_meant(const udpai_cli_awaited_list *list, size_t index);
udpai_cli_progress udpai_cli_awaited_progress(const udpai_cli_awaited_list *list, size_t index);
/* Of all: the first in the order of the enum, but what was replaced or refused goes before. */
udpai_cli_progress udpai_cli_awaited_overall(const udpai_cli_awaited_list *list);
/* Is it in the state that is waited for? */
bool udpai_cli_awaited_is_there(const udpai_cli_awaited *awaited);

/* Is there one that is as it should be, and nobody subscribes to it? */
bool udpai_cli_awaited_lacks_subscribers(const udpai_cli_awaited_list *list);

/* By what a peer is known again; "": by nothing. */
const char *udpai_cli_awaited_peer(const Udpa__Status__V1__SessionAcknowledgement *session);

/* ---- awaited_json.c ---- */

/* "has it", "not sent yet", … */
const char *udpai_cli_session_state(const Udpa__Status__V1__SessionAcknowledgement *session);
/* How far it is, with everything that is known, as one JSON array. */
void udpai_cli_put_awaited_json(udpai_strbuf *out, const udpai_cli_awaited_list *list);

#endif
