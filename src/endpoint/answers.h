/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that are asked of a node by subscribing to names of one type of its own, which it can
 * answer at once. As long as a name is subscribed to, the answer is a resource of that name. */
#ifndef UDPAI_ANSWERS_H
#define UDPAI_ANSWERS_H

#include "endpoint/host.h"

typedef struct udpai_answers_config {
    const char *type_url;
    const char *subject; /* "access" */
    const char *form;    /* of names: "udpa.node/…"; for people */
    size_t max;          /* that may be asked at a time, by all peers together */
    uint64_t renew_ms;   /* answers are made anew so often; 0: when asked to */
    /* Is it a question? */
    bool (*is_question)(udpai_str name);
    /* The serialised answer; NULL without memory. */
    udpa_bytes *(*answer)(void *userdata, udpai_str name);
    void *userdata;
} udpai_answers_config;

/* As a service. */
udpa_err udpai_answers_new(udpai_service **ret_answers,
                           udpa_endpoint *endpoint,
                           const udpai_answers_config *config);
/* What was answered is answered anew. */
void udpai_answers_renew(udpai_service *answers);

/* ---- questions.c: which subscribers have acknowledged a resource ---- */

udpa_err udpai_questions_new(udpai_service **ret_questions, udpa_endpoint *endpoint);

/* ---- access_answers.c: what a peer may do ---- */

udpa_err
udpai_access_answers_new(udpai_service **ret_answers, udpa_endpoint *endpoint, udpai_acl *acl);

/* ---- origin_answers.c: what all origins contribute under a name ---- */

udpa_err udpai_origin_answers_new(udpai_service **ret_answers, udpa_endpoint *endpoint);

#endif
