/* SPDX-License-Identifier: Apache-2.0 */
/* All contributions to one name: asked of a node by subscribing to a name that has it, and answered
 * by a udpa.status.v1.OriginsStatus of that name. Pure. */
#ifndef UDPAI_ORIGINS_QUESTION_H
#define UDPAI_ORIGINS_QUESTION_H

#include "base/error.h"
#include "base/util.h"

#define UDPAI_ORIGINS_TYPE "type.googleapis.com/udpa.status.v1.OriginsStatus"
/* "udpa.node/origins/<token>/<type name>/<name>". The client chooses the token: what was answered
 * to another one may be a second old. */
#define UDPAI_ORIGINS_PREFIX "udpa.node/origins/"

typedef struct udpai_origins_question {
    udpai_str token, type_name, name;
} udpai_origins_question;

/* False: it asks nothing. Views of the question. */
bool udpai_origins_question_parse(udpai_str question, udpai_origins_question *ret);
/* UDPA_ERR_LIMIT: too long for a name. To be freed with udpai_free(). */
udpa_err udpai_origins_question_compose(const udpai_origins_question *question, char **ret_name);

#endif
