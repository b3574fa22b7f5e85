/* SPDX-License-Identifier: Apache-2.0 */
/* What a node is asked for. Pure. */
#ifndef UDPAI_CLI_REQUESTS_H
#define UDPAI_CLI_REQUESTS_H

#include "base/vector.h"
#include "cli/found.h"

/* What to ask for; names, or else a namespace ("": all). */
typedef struct udpai_cli_request {
    char *type_url;             /* owned */
    const char *name_space;     /* borrowed; NULL: all */
    UDPAI_VECTOR(char *) names; /* owned, full */
    UDPAI_VECTOR(size_t)
    seconds; /* of the names, rising: is meant if the one before is not there */
} udpai_cli_request;

typedef UDPAI_VECTOR(udpai_cli_request) udpai_cli_requests;

/* Takes the type URL over; NULL without memory, and then it is freed. */
udpai_cli_request *udpai_cli_requests_add(udpai_cli_requests *requests, char *type_url);
/* The request for this type; a new one if there is none; NULL without memory. */
udpai_cli_request *udpai_cli_requests_of_type(udpai_cli_requests *requests, const char *type_url);
/* A full name. */
udpa_err udpai_cli_request_full_name(udpai_cli_request *request, const char *name);
/* A name of the command line. Where it can be read in two ways both are asked for. */
udpa_err
udpai_cli_request_name(udpai_cli_request *request, const char *name, const char *name_space);
/* Of names that can be read in two ways one is left among the requests and in what was found: what
 * is there, and rather the full one. */
void udpai_cli_requests_decide(udpai_cli_requests *requests, udpai_cli_found *found);
/* Is there one for this type? */
bool udpai_cli_is_requested(const udpai_cli_requests *requests, const char *type_url);
/* The requests for all types that have a short name, but for those of status. */
udpa_err udpai_cli_request_common_types(const char *name_space, udpai_cli_requests *requests);
void udpai_cli_requests_done(udpai_cli_requests *requests);

#endif
