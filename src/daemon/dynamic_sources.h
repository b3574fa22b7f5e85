/* SPDX-License-Identifier: Apache-2.0 */
/* How sources are reached that come by resources (dynamic_sources). */
#ifndef UDPAI_DAEMON_DYNAMIC_SOURCES_H
#define UDPAI_DAEMON_DYNAMIC_SOURCES_H

#include "daemon/certificates.h"

void udpai_dynamic_sources_done(udpai_plan *plan);
/* The node listens there, too: no source may be it itself. */
udpa_err udpai_dynamic_sources_note_socket(const udpai_plan *plan, const char *address);
/* It listens nowhere. */
void udpai_dynamic_sources_forget_sockets(const udpai_plan *plan);
/* Those that are reached with this credential are reached with other files from now on. */
udpa_err udpai_dynamic_sources_replace_tls(const udpai_plan *plan,
                                           size_t index,
                                           const udpai_tls_files *files,
                                           udpa_error **ret_error);

#endif
