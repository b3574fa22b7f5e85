/* SPDX-License-Identifier: Apache-2.0 */
/* Problems in the node's status, from all parts of the daemon that find something. */
#ifndef UDPAI_PROBLEMS_H
#define UDPAI_PROBLEMS_H

#include "base/vector.h"
#include "endpoint/endpoint.h"

typedef enum udpai_problem_finder {
    UDPAI_FOUND_IN_DIRECTORIES, /* that are read */
    UDPAI_FOUND_WRITING,
    UDPAI_FOUND_IN_CERTIFICATES,
    UDPAI_FOUND_IN_BOOTSTRAP, /* when it was read again */
    UDPAI_FOUND_IN_STORE,
    UDPAI_PROBLEM_FINDERS,
} udpai_problem_finder;

/* Belongs to the loop's thread. Zeroes but for the endpoint. */
typedef struct udpai_problems {
    udpa_endpoint *endpoint;
    UDPAI_VECTOR(char *) texts[UDPAI_PROBLEM_FINDERS];
} udpai_problems;

/* Replaces what this finder reported before. Copies the texts; without memory some are left out. */
void udpai_problems_set(udpai_problems *problems,
                        udpai_problem_finder finder,
                        const char *const *texts,
                        size_t n);
/* The finder reported just this, and has not taken it back. */
bool
udpai_problems_has(const udpai_problems *problems, udpai_problem_finder finder, const char *text);
void udpai_problems_done(udpai_problems *problems);

#endif
