/* SPDX-License-Identifier: Apache-2.0 */
/* The resources that a peer has refused last, for status: what they are called, and why. */
#ifndef UDPAI_REFUSED_H
#define UDPAI_REFUSED_H

#include "base/error.h"
#include "base/vector.h"

#define UDPAI_REFUSED_KEPT 16

typedef struct udpai_refused {
    udpa_error *error;
    udpai_str name, version; /* their text stands behind it */
} udpai_refused;

typedef UDPAI_VECTOR(udpai_refused *) udpai_refused_list; /* the oldest first */

/* Copies the text, takes a reference to the error. What there is no memory for is not kept. */
void
udpai_refused_add(udpai_refused_list *list, udpai_str name, udpai_str version, udpa_error *error);
void udpai_refused_done(udpai_refused_list *list);

#endif
