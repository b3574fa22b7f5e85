/* SPDX-License-Identifier: Apache-2.0 */
/* What of a bootstrap file that was read again takes effect with a restart only. */
#ifndef UDPAI_RESTART_NEEDED_H
#define UDPAI_RESTART_NEEDED_H

#include "udpa/config/v1/bootstrap.pb-c.h"

/* Names what differs from what this process was started with, but for the rules and keys, which are
 * taken over: "node.id, sockets[1], store". To be freed with udpai_free(); NULL: nothing does, or
 * there is no memory. */
char *udpai_restart_needed_for(const Udpa__Config__V1__Bootstrap *started_with,
                               const Udpa__Config__V1__Bootstrap *read);

#endif
