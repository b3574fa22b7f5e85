/* SPDX-License-Identifier: Apache-2.0 */
/* Why a resource is served, or not, and who has it: found out from what a node answers to some
 * questions. udpactl explain asks them over a connection, the page /explain within the node; both
 * take the answers here. Pure. */
#ifndef UDPAI_CLI_EXPLANATION_H
#define UDPAI_CLI_EXPLANATION_H

#include "cli/awaited.h"
#include "udpa/status/v1/status.pb-c.h"

/* Zeroed at first. */
typedef struct udpai_cli_explanation {
    const char *type_url, *name;              /* borrowed */
    const char *client;                       /* borrowed: it is about it, too; NULL: about none */
    Udpa__Status__V1__OriginsStatus *origins; /* NULL: not answered; so are those below */
    udpai_cli_awaited_list acknowledgements;  /* of the one */
    Udpa__Status__V1__AccessStatus *access;   /* of the client */
    Udpa__Status__V1__SessionStatus *group;   /* of the client; NULL: it has no stream here, too */
    Udpa__Status__V1__ReplicaStatus *replica; /* that is held; NULL: there is none, too */
    udpai_strbuf waits;     /* the sources that the node waits for; empty: for none */
    udpai_strbuf rejecting; /* those of which the node has rejected something; empty: none */
} udpai_cli_explanation;

/* Asks about a resource, with the token that `acknowledgements` has: the question of it is there
 * then. UDPA_ERR_INVAL: it cannot be asked about, and why. */
udpa_err udpai_cli_explanation_begin(udpai_cli_explanation *self, udpa_error **ret_error);
void udpai_cli_explanation_done(udpai_cli_explanation *self);

/* The other questions, of the types OriginsStatus and AccessStatus; the second is about a client,
 * and asked once it is known by what name it is connected. UDPA_ERR_LIMIT: what is asked about is
 * too long. To be freed with udpai_free(). */
udpa_err udpai_cli_explanation_ask_origins(const udpai_cli_explanation *self,
                                           char **ret_question,
                                           udpa_error **ret_error);
udpa_err udpai_cli_explanation_ask_access(const udpai_cli_explanation *self,
                                          char **ret_question,
                                          udpa_error **ret_error);
/* Takes the answer to a question, or a status of the node, of a source, session or replica; other
 * types are passed over. Sessions are looked at once the acknowledgements are known. */
udpa_err udpai_cli_explanation_take(udpai_cli_explanation *self, const udpa_resource *answer);

/* The status of node, sources, sessions and replicas: it is to be taken anew. */
void udpai_cli_explanation_forget_status(udpai_cli_explanation *self);

/* ---- what is so ---- */

bool udpai_cli_explanation_is_served(const udpai_cli_explanation *self);
/* NULL: not answered. */
const Udpa__Status__V1__AcknowledgementStatus *
udpai_cli_explanation_status(const udpai_cli_explanation *self);
/* Appends why a contribution is effective, or is not: by the rules of the store, or by those of its
 * provider. */
void udpai_cli_put_explanation_why(udpai_strbuf *out,
                                   const udpai_cli_explanation *self,
                                   const Udpa__Status__V1__Contribution *contribution);
/* Do the namespaces that the client sees have it? Of one whose group is known. */
bool udpai_cli_explanation_is_in_group(const udpai_cli_explanation *self);
/* Sentences without a subject and an end: whether it is served; and of the client. */
void udpai_cli_put_explanation_fact(udpai_strbuf *out, const udpai_cli_explanation *self);
void udpai_cli_put_explanation_client(udpai_strbuf *out, const udpai_cli_explanation *self);

/* ---- explanation_json.c ---- */

/* The members of a JSON object with all of that, without its braces. It has no ages: it is another
 * text only if something is otherwise. */
void udpai_cli_put_explanation_json(udpai_strbuf *out, const udpai_cli_explanation *self);

/* The session of the client; NULL: none that subscribes to it is known. */
const Udpa__Status__V1__SessionAcknowledgement *
udpai_cli_explanation_session(const udpai_cli_explanation *self);
/* By what name rules know the client: that of its certificate, else as it is asked about. */
const char *udpai_cli_explanation_peer(const udpai_cli_explanation *self);
/* Appends the path of a contribution, without this node. */
void udpai_cli_put_explanation_path(udpai_strbuf *out,
                                    const Udpa__Status__V1__Contribution *contribution);

#endif
