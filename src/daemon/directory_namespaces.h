/* SPDX-License-Identifier: Apache-2.0 */
/* Which names the directory of a ConfigSource may have: below what providers take from it. */
#ifndef UDPAI_DAEMON_DIRECTORY_NAMESPACES_H
#define UDPAI_DAEMON_DIRECTORY_NAMESPACES_H

#include "daemon/plan.h"

typedef UDPAI_VECTOR(udpai_str) udpai_directory_namespaces;

/* None: any; those of a directory of the node itself (no source) are so. Views into the plan; to be
 * ended with udpai_vector_done() in any case. UDPA_ERR_NOMEM. */
udpa_err udpai_directory_namespaces_find(const udpai_plan *plan,
                                         udpai_str source,
                                         udpai_directory_namespaces *ret);
/* As a text, to be compared and freed with udpai_free(); NULL without memory. */
char *udpai_directory_namespaces_name(const udpai_plan *plan, udpai_str source);

#endif
