/* SPDX-License-Identifier: Apache-2.0 */
/* Variants of a name: constraints, which are the bytes of an envoy.service.discovery.v3.
 * DynamicParameterConstraints, and the dynamic parameters of clients, which satisfy them or not.
 * Constraints may be nested; nothing here recurses, and every evaluation is bounded. */
#ifndef UDPAI_VARIANT_H
#define UDPAI_VARIANT_H

#include <udpa/bytes.h>
#include <udpa/error.h>

#include "base/util.h"

#define UDPAI_CONSTRAINTS_MAX ((size_t)4096) /* bytes */
#define UDPAI_CONSTRAINTS_NODES_MAX 128      /* tests and what joins them */
#define UDPAI_CONSTRAINTS_DEPTH_MAX 16

/* Of one client. */
#define UDPAI_PARAMETERS_MAX 64
#define UDPAI_PARAMETERS_BYTES_MAX ((size_t)4096)

/* Are these constraints that can be evaluated? What the public message may grow is rejected: to
 * pass it over would send a variant to clients for which it is not meant. No bytes at all: there
 * are none. */
udpa_err udpai_constraints_check(udpai_str constraints, udpa_error **ret_error);

/* How many different keys do they name? Of several variants that match, the one with the most goes
 * first. 0 for what cannot be evaluated. */
unsigned udpai_constraints_n_keys(udpai_str constraints);

/* ---- parameters ---- */

typedef struct udpai_parameter {
    udpai_str key, value;
} udpai_parameter;

/* Sorted by key, and no key twice. */
typedef struct udpai_parameters {
    udpai_parameter items[UDPAI_PARAMETERS_MAX];
    size_t n;
} udpai_parameters;

/* Sorts them in place and drops all but the last of each key; returns how many are left. */
size_t udpai_parameters_sort(udpai_parameter *items, size_t n);
/* Sorted ones as text, the same for the same parameters: to compare and to keep. UDPA_ERR_INVAL:
 * a key is empty, or they are too many or too long. */
udpa_err udpai_parameters_check(const udpai_parameter *items, size_t n, udpa_error **ret_error);
size_t udpai_parameters_text_size(const udpai_parameter *items, size_t n);
udpai_str udpai_parameters_put(char **at, const udpai_parameter *items, size_t n);
/* Back; views into the text, which udpai_parameters_put() has made. */
void udpai_parameters_read(udpai_str text, udpai_parameters *ret_parameters);

/* ---- both ---- */

/* False also for constraints that cannot be evaluated. Without any, everything matches. */
bool udpai_constraints_match(udpai_str constraints, const udpai_parameters *parameters);

/* Constraints that require each of these parameters as it is. NULL without memory. */
udpa_bytes *udpai_constraints_of_parameters(const udpai_parameters *parameters);

/* Is there a client that both match? `ret_example`: its parameters, views into the two. False: no,
 * or that would take too long to find out. */
bool udpai_constraints_overlap(udpai_str a, udpai_str b, udpai_parameters *ret_example);

#endif
