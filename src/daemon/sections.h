/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the bootstrap file (fields.h), a section_*.c for each section or a few of a kind,
 * and what is made of them for the plan. bootstrap_fields.c has the rows of the file itself. */
#ifndef UDPAI_DAEMON_SECTIONS_H
#define UDPAI_DAEMON_SECTIONS_H

#include "daemon/fields.h"

/* ---- messages that several sections have ---- */

extern const udpai_section udpai_section_client_tls, udpai_section_credential,
    udpai_section_keepalive, udpai_section_locality, udpai_section_rest_source,
    udpai_section_rtds_layer, udpai_section_server_tls, udpai_section_source,
    udpai_section_tree_source, udpai_section_xds_client, udpai_section_xds_source;

/* An address that is dialled by gRPC, and is not this node's own. */
#define UDPAI_DIALLED UDPAI_REQUIRED, .word = udpai_dial_address_check, .check = udpai_check_dialled
void udpai_check_dialled(const udpai_value *value);
/* One of a server of REST: not this node's own. */
void udpai_check_polled(const udpai_value *value);
/* How large a message may be. */
#define UDPAI_MESSAGE_BYTES .min = 4096, .bounds = "hardly a message could come in"
/* A namespace that is not one of an audience. */
void udpai_check_no_braces(const udpai_value *value);

/* ---- sections ---- */

extern const udpai_section udpai_section_acl, udpai_section_admin, udpai_section_audience,
    udpai_section_audit, udpai_section_authority, udpai_section_client_status,
    udpai_section_delegation, udpai_section_dial, udpai_section_dynamic_sources,
    udpai_section_health, udpai_section_http, udpai_section_limits, udpai_section_load,
    udpai_section_log, udpai_section_node, udpai_section_orca, udpai_section_provider,
    udpai_section_push, udpai_section_runtime, udpai_section_shim, udpai_section_signatures,
    udpai_section_sink, udpai_section_socket, udpai_section_static, udpai_section_store,
    udpai_section_timing, udpai_section_traces, udpai_section_validation, udpai_section_write_files;

typedef udpa_err
udpai_use_fn(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error);

udpai_use_fn udpai_use_acl, udpai_use_admin, udpai_use_audiences, udpai_use_audit,
    udpai_use_authorities, udpai_use_client_status, udpai_use_client_types, udpai_use_delegation,
    udpai_use_dial, udpai_use_dynamic_sources, udpai_use_health, udpai_use_http, udpai_use_limits,
    udpai_use_load, udpai_use_log, udpai_use_node, udpai_use_orca, udpai_use_providers,
    udpai_use_push, udpai_use_runtime, udpai_use_shim, udpai_use_signatures, udpai_use_sinks,
    udpai_use_sockets, udpai_use_static, udpai_use_store, udpai_use_traces, udpai_use_transport,
    udpai_use_validation, udpai_use_workers, udpai_use_write_files;

/* ---- what sections need of each other ---- */

/* Of client_types. */
void udpai_check_client_type(const udpai_value *value);
/* Of a layer: what it has if it is an rtds_layer. */
void udpai_check_rtds(const udpai_value *value);
/* Are payloads of this type never written in the clear? @p store may be NULL. */
bool udpai_store_is_secret(const Udpa__Config__V1__Store *store, const char *type);
/* Of a number that is not 0: does the node have replicas? */
void udpai_check_has_replicas(const udpai_value *value);
/* 'replicas' of what is read from files, and of other sources. */
void udpai_check_replicas(const udpai_value *value);
void udpai_check_source_replicas(const udpai_value *value);
/* Of a descriptor in a provider: may that take this from its source? */
void udpai_check_shared_source(const udpai_value *value);
/* Is the node a replica, by engine: ETCD? @p store may be NULL. */
bool udpai_store_is_replicated(const Udpa__Config__V1__Store *store);
/* The state directory, and the key. */
void udpai_store_check_files(const Udpa__Config__V1__Bootstrap *message,
                             const udpai_options *options,
                             udpai_diagnostics *diagnostics);

#endif
