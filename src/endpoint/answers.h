/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that are asked of a node by subscribing to names of one type of its own, and whose
 * answers it knows at once. As long as a name is subscribed to, the answer is a resource of that
 * name. */
#ifndef UDPAI_ANSWERS_H
#define UDPAI_ANSWERS_H

#include "endpoint/endpoint_internal.h"

typedef struct udpai_answers_config {
    const char *type_url;
    const char *subject; /* "access" */
    const char *form;    /* of names: "udpa.node/…"; for people */
    size_t max;          /* that may be asked at a time, by all peers together */
    uint64_t renew_ms;   /* answers are made anew so often; 0: when told to */
    /* Is it a question? */
    bool (*is_question)(udpai_str name);
    /* The serialised answer; NULL without memory. */
    udpa_bytes *(*answer)(void *userdata, udpai_str name);
    void *userdata;
} udpai_answers_config;

udpa_err udpai_answers_new(udpai_answers **ret_answers,
                           udpa_endpoint *endpoint,
                           const udpai_answers_config *config);
udpai_answers *udpai_answers_free(udpai_answers *answers);
/* What was answered is answered anew. */
void udpai_answers_renew(udpai_answers *answers);
/* Looks at a report before the node does: does somebody ask, or not any more? */
void udpai_answers_report(udpai_answers *answers, const udpai_report *report);

#endif
