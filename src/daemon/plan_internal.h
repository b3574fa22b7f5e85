/* SPDX-License-Identifier: Apache-2.0 */
/* Making a plan, for the files plan*.c. */
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

/* How to reach a peer by a method; reads the certificates. */
udpa_err udpai_plan_target(void **ret_target,
                           const char *address,
                           const Udpa__Config__V1__ClientTls *tls,
                           const udpai_grpc_target_options *how,
                           udpa_error **ret_error);

/* One that has TLS (else nothing is noted) is reached by other certificates later. */
udpa_err udpai_plan_note_dialled(udpai_plan *plan,
                                 const char *kind,
                                 const char *name,
                                 const Udpa__Config__V1__ClientTls *tls,
                                 void *target);

/* plan_orca.c. The plan must stay where it is. */
udpa_err udpai_plan_orca(udpai_plan *plan);

/* plan_acl.c: when sockets are planned. */
udpa_err udpai_plan_acl(udpai_plan *plan);
/* Of another reading of the file, for the same sockets. */
udpa_err udpai_plan_acl_again(const udpai_plan *plan,
                              const Udpa__Config__V1__Acl *from,
                              udpai_acl **ret_acl);

/* plan_signatures.c: when the node is known; reads the files of keys. */
udpa_err udpai_plan_signatures(udpai_plan *plan, udpa_error **ret_error);
/* Of another reading of the file. */
udpa_err udpai_plan_signatures_again(const udpai_plan *plan,
                                     const Udpa__Config__V1__Signatures *from,
                                     udpai_keyring **ret_keyring,
                                     udpa_error **ret_error);

/* plan_source.c: a source's target_for. */
void *
udpai_plan_target_for_clients(void *target, udpai_str name_space, const udpai_node_info *client);
/* Of kind xds, when plan->xds is known. */
udpa_err udpai_plan_xds_source(udpai_plan *plan,
                               const Udpa__Config__V1__XdsSource *from,
                               udpai_source_config *source,
                               udpa_error **ret_error);

/* Of kind xds, with load_reporting: the server is told of load, too. */
udpa_err udpai_plan_load_upstream(udpai_plan *plan,
                                  const Udpa__Config__V1__ConfigSource *from,
                                  udpa_error **ret_error);

/* Who an xDS server takes us for: a serialised Node. */
udpa_err udpai_plan_client(udpai_plan *plan,
                           const Udpa__Config__V1__XdsClient *client,
                           udpa_bytes **ret_node);

/* plan_polled.c: of kind rest. */
/* The asker is the target's. */
udpa_err udpai_plan_polled_target(udpai_plan *plan,
                                  const Udpa__Config__V1__RestSource *from,
                                  udpai_grpc_target **ret_target,
                                  udpai_asker **ret_asker,
                                  udpa_error **ret_error);
udpa_err udpai_plan_polled_source(udpai_plan *plan,
                                  const Udpa__Config__V1__RestSource *from,
                                  udpai_source_config *source,
                                  udpa_error **ret_error);

/* plan_rtds.c: when sources are planned. */
udpa_err udpai_plan_rtds_make(udpai_plan *plan);

/* plan_sinks.c: when xDS is planned, whose methods stand before those of the sinks. */
udpa_err udpai_plan_sinks_make(udpai_plan *plan, udpa_error **ret_error);
void udpai_plan_sinks_done(udpai_plan *plan);

/* plan_validation.c */
udpa_err udpai_plan_validation(udpai_plan *plan);

/* plan_writers.c: when audiences are known. */
udpa_err udpai_plan_writers(udpai_plan *plan, udpa_error **ret_error);

/* plan_xds.c: when the node and plan->xds_namespace are known. */
udpa_err udpai_plan_xds(udpai_plan *plan);

/* plan_rest.c: when xDS is planned. */
udpa_err udpai_plan_rest(udpai_plan *plan, const udpai_options *options);

#endif
