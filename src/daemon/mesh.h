/* SPDX-License-Identifier: Apache-2.0 */
/* How this replica reaches the others of its set, and where they reach it (federation/mesh.h). */
#ifndef UDPAI_DAEMON_MESH_H
#define UDPAI_DAEMON_MESH_H

#include "daemon/plan.h"

#define UDPAI_MESH_ADDRESS_MAX 512

/* Of a replica: reads its certificate, and notes in the plan how others are reached. */
udpa_err udpai_daemon_mesh_plan(udpai_plan *plan, udpa_error **ret_error);
void udpai_daemon_mesh_done(udpai_plan *plan);

/* HOST:PORT, with a NUL; empty: there is none. */
void udpai_daemon_mesh_address(const udpai_plan *plan, char *room, size_t size);
/* The certificates with which others are reached; NULL: without TLS. The plan's. */
const Udpa__Config__V1__ClientTls *udpai_daemon_mesh_tls(const udpai_plan *plan);
/* Other certificates, for what is dialled from now on. */
udpa_err udpai_daemon_mesh_replace_tls(const udpai_plan *plan,
                                       const udpai_tls_files *files,
                                       udpa_error **ret_error);

#endif
