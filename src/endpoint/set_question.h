/* SPDX-License-Identifier: Apache-2.0 */
/* A question about acknowledgements, passed on to the other replicas of the set, and what they have
 * answered. Each is asked for its own clients alone. On the loop. */
#ifndef UDPAI_SET_QUESTION_H
#define UDPAI_SET_QUESTION_H

#include "base/vector.h"
#include "endpoint/host.h"

/* Who has not answered after so long is missing from the answer, which says so. */
#define UDPAI_SET_PATIENCE_MS 2000

typedef struct udpai_set_answer {
    uint64_t session;
    udpa_bytes *body; /* NULL: none yet */
} udpai_set_answer;

/* Zeroed at first. */
typedef struct udpai_set_question {
    uint64_t since_ms; /* 0: nobody was asked yet */
    UDPAI_VECTOR(udpai_set_answer) answers;
} udpai_set_question;

/* The name for others; false: it is one that is for a replica alone. */
bool udpai_set_question_is_for_all(udpai_str name);
/* Is this the stream of another replica of the set? */
bool udpai_set_question_is_of_set(udpa_endpoint *endpoint, uint64_t session);
/* Asks those that have a stream now, and were not asked. */
void udpai_set_question_ask(udpai_set_question *self, udpa_endpoint *endpoint, udpai_str name);
/* It is asked no more; nothing is held any more. */
void udpai_set_question_end(udpai_set_question *self, udpa_endpoint *endpoint, udpai_str name);
/* Of the resource by which a replica answers; false: it is no such answer. */
bool udpai_set_question_name_of(const udpa_resource *answer, char *room, udpai_str *ret_name);
void udpai_set_question_take(udpai_set_question *self, uint64_t session, udpai_str body);
/* Its own answer (serialised udpa.status.v1.AcknowledgementStatus) with those of the others; NULL:
 * some may still answer, or there is no memory. */
udpa_bytes *
udpai_set_question_join(const udpai_set_question *self, udpa_endpoint *endpoint, udpa_bytes *own);

#endif
