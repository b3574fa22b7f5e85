/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may do: asked of a node by subscribing to a name that has the peer and the resource,
 * and answered by a udpa.status.v1.AccessStatus of that name. Pure. */
#ifndef UDPAI_ACCESS_QUESTION_H
#define UDPAI_ACCESS_QUESTION_H

#include "base/bytes.h"
#include "model/acl.h"
#include "model/name.h"

#define UDPAI_ACCESS_TYPE "type.googleapis.com/udpa.status.v1.AccessStatus"
/* "udpa.node/access/<action>/<type name>/<peer>/<authority>/<name>": the action is publish,
 * subscribe or admin; peer and authority are percent-encoded; the authority may be empty, for the
 * peer's own. */
#define UDPAI_ACCESS_PREFIX "udpa.node/access/"

typedef struct udpai_access_question {
    udpai_acl_action action;
    udpai_str type_name, peer, authority, name;
    char room[UDPAI_NAME_MAX]; /* what peer and authority are views of */
} udpai_access_question;

/* False: it asks nothing. Views of the question and of @p ret. */
bool udpai_access_question_parse(udpai_str question, udpai_access_question *ret);
/* UDPA_ERR_LIMIT: too long for a name. To be freed with udpai_free(). */
udpa_err udpai_access_question_compose(const udpai_access_question *question, char **ret_name);
/* "publish", …; 0: none. */
udpai_acl_action udpai_access_action(udpai_str word);

/* Serialised AccessStatus; NULL without memory. @p acl NULL: there is none. */
udpa_bytes *udpai_access_answer(const udpai_acl *acl, const udpai_access_question *question);

#endif
