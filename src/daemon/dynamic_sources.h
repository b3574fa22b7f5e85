/* SPDX-License-Identifier: Apache-2.0 */
/* How sources are reached that come by resources (dynamic_sources). */
#ifndef UDPAI_DAEMON_DYNAMIC_SOURCES_H
#define UDPAI_DAEMON_DYNAMIC_SOURCES_H

#include "daemon/certificates.h"

void udpai_dynamic_sources_done(udpai_plan *plan);
/* The next socket of the plan is open, on this port. */
udpa_err udpai_dynamic_sources_note_port(const udpai_plan *plan, uint16_t port);
/* Those that are reached with this credential are reached with other files from now on. */
udpa_err udpai_dynamic_sources_replace_tls(const udpai_plan *plan,
                                           size_t index,
                                           const udpai_tls_files *files,
                                           udpa_error **ret_error);

#endif
