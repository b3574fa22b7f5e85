/* SPDX-License-Identifier: Apache-2.0 */
/* Making a plan, for the files section_*.c. */
#ifndef UDPAI_PLAN_INTERNAL_H
#define UDPAI_PLAN_INTERNAL_H

#include "base/alloc.h"
#include "daemon/plan.h"

/* The plan frees it in the end; NULL without memory. */
void *udpai_plan_own(udpai_plan *plan, void *memory);

/* Types as the configuration names them, as type URLs; the plan's. */
udpa_err
udpai_plan_types(udpai_plan *plan, char *const *from, size_t n, const udpai_str **ret_types);

/* Texts of the configuration; the table is the plan's. */
udpa_err
udpai_plan_words(udpai_plan *plan, char *const *from, size_t n, const udpai_str **ret_words);

/* The first that is given and not empty; c else. */
const char *udpai_first_of(const char *a, const char *b, const char *c);
/* @p from may be NULL. */
void udpai_plan_locality(const Udpa__Config__V1__Locality *from, udpai_node_parts *to);

/* section_audiences.c: by the one or the other method of HDS, under this path. */
udpai_grpc_method udpai_plan_hds_method(udpai_plan *plan, bool is_fetch, const char *path);

/* ---- section_dial.c ---- */

/* How to reach a peer by a method; reads the certificates. */
udpa_err udpai_plan_target(void **ret_target,
                           const char *address,
                           const Udpa__Config__V1__ClientTls *tls,
                           const udpai_grpc_target_options *how,
                           udpa_error **ret_error);
/* A node of UDPA, by this tls, which may be another than its own. */
udpa_err udpai_plan_udpa_target(void **ret_target,
                                const Udpa__Config__V1__UdpaSource *from,
                                const Udpa__Config__V1__ClientTls *tls,
                                udpa_error **ret_error);
/* One that has TLS (else nothing is noted) is reached by other certificates later. */
udpa_err udpai_plan_note_dialled(udpai_plan *plan,
                                 const char *kind,
                                 const char *name,
                                 const Udpa__Config__V1__ClientTls *tls,
                                 void *target);
/* Does a dialler of the address come to this socket? Names of hosts are not looked up. */
bool udpai_self_is_led_to(const char *address, const char *socket);

/* section_sockets.c: some of its peers have names that are proved: by certificates, or by the
 * kernel for users of this machine. */
bool udpai_plan_socket_knows_peers(const udpai_plan_socket *socket);

/* ---- signatures ---- */

/* With the defaults. */
int64_t udpai_signatures_validity_s(const Udpa__Config__V1__Signatures *signatures);
int64_t udpai_signatures_skew_s(const Udpa__Config__V1__Signatures *signatures);

/* ---- sources ---- */

/* section_sources.c: one more. */
udpa_err udpai_plan_source(udpai_plan *plan,
                           const Udpa__Config__V1__ConfigSource *from,
                           udpa_error **ret_error);

/* section_source_shared.c: of one that one replica is connected to for all, what the node has of it
 * is @p source from now on. */
udpa_err udpai_plan_shared_source(udpai_plan *plan,
                                  const Udpa__Config__V1__ConfigSource *from,
                                  udpai_source_config *source);

/* section_source_xds.c: a source's target_for. */
void *
udpai_plan_target_for_clients(void *target, udpai_str name_space, const udpai_node_info *client);
/* Of kind xds, when plan->xds is known. */
udpa_err udpai_plan_xds_source(udpai_plan *plan,
                               const Udpa__Config__V1__XdsSource *from,
                               udpai_source_config *source,
                               udpa_error **ret_error);

/* Of kind xds, with load_reporting: load is reported to the server, too. */
udpa_err udpai_plan_load_upstream(udpai_plan *plan,
                                  const Udpa__Config__V1__ConfigSource *from,
                                  udpa_error **ret_error);

/* What an xDS server takes us for: a serialised Node. */
udpa_err udpai_plan_client(udpai_plan *plan,
                           const Udpa__Config__V1__XdsClient *client,
                           udpa_bytes **ret_node);

/* section_source_rest.c: of kind rest. The client is the target's. */
udpa_err udpai_plan_polled_target(udpai_plan *plan,
                                  const Udpa__Config__V1__RestSource *from,
                                  udpai_grpc_target **ret_target,
                                  udpai_http_client **ret_client,
                                  udpa_error **ret_error);
udpa_err udpai_plan_polled_source(udpai_plan *plan,
                                  const Udpa__Config__V1__RestSource *from,
                                  udpai_source_config *source,
                                  udpa_error **ret_error);

/* ---- section_sinks.c ---- */

void udpai_plan_sinks_done(udpai_plan *plan);

#endif
