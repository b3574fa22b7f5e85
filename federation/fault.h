/* SPDX-License-Identifier: Apache-2.0 */
/* What is amiss with a source, as long as it is: with its connection until it is active, with what
 * it is asked for until it is asked again, with a resource until something else comes by that name,
 * or the stream ends. */
#ifndef UDPAI_FAULT_H
#define UDPAI_FAULT_H

#include "base/vector.h"
#include "federation/source.h"

/* Resources kept per source; a further one replaces the oldest. */
#define UDPAI_FAULTS_MAX 32

/* A resource of which something that came was refused. */
typedef struct udpai_resource_fault {
    udpa_resource *resource;
    udpa_error *error;
} udpai_resource_fault;

typedef struct udpai_faults {
    udpa_error *connection, *question; /* NULL: none */
    UDPAI_VECTOR(udpai_resource_fault) resources;
} udpai_faults;

/* Each takes a reference, and is the source's last error, too. NULL: there is no memory for its
 * text. */
void udpai_fault_of_connection(udpai_source *source, udpa_error *error);
/* It is not its last error, since others of its servers are tried. */
void udpai_fault_of_server(udpai_source *source, udpa_error *error);
void udpai_fault_of_question(udpai_source *source, udpa_error *error);
void
udpai_fault_of_resource(udpai_source *source, udpa_error *error, const udpa_resource *resource);

void udpai_fault_question_again(udpai_source *source);
/* A good resource of this name was received, or is removed; an empty text matches any. */
void udpai_fault_of_resources_over(udpai_source *source, udpai_str type_url, udpai_str name);
/* The stream has ended: what it brought comes again. */
void udpai_fault_stream_over(udpai_source *source);

/* What is amiss now: the connection before all others; NULL: nothing. */
const udpa_error *udpai_fault_present(const udpai_source *source);
void udpai_faults_done(udpai_source *source);

#endif
