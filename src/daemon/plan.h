/* SPDX-License-Identifier: Apache-2.0 */
/* What udpad is to be, decided: the bootstrap file, the command line, and the defaults, in the form
 * that the rest takes. */
#ifndef UDPAI_PLAN_H
#define UDPAI_PLAN_H

#include "base/vector.h"
#include "codec/policy.h"
#include "codec/schema.h"
#include "codec/source.h"
#include "daemon/bootstrap.h"
#include "daemon/log_writer.h"
#include "daemon/options.h"
#include "daemon/reported_load.h"
#include "endpoint/endpoint.h"
#include "session/udpa_poll.h"
#include "sinks/sinks.h"
#include "transport/file/event_writer.h"
#include "transport/grpc/listener.h"
#include "transport/http/http.h"
#include "transport/tls_files.h"
#include "xds/csds.h"
#include "xds/hds.h"
#include "xds/lrs.h"
#include "xds/server.h"

/* Where what is received is kept by default. */
#define UDPAI_DEFAULT_STATE "udpa-data"

typedef struct udpai_plan_socket {
    const char *address;
    const Udpa__Config__V1__ServerTls *tls; /* NULL: none */
    bool insecure;
    size_t max_message_bytes; /* 0: the default */
    udpai_keepalive keepalive;
    const udpai_network *proxies; /* see udpai_listen_options; the plan's */
    size_t n_proxies;
    bool is_local;            /* a unix socket: the kernel proves which user connects */
    bool has_rest, has_pages; /* beside gRPC */
} udpai_plan_socket;

typedef struct udpai_plan_directory {
    const char *path;
    udpai_str name_space;    /* of names without one */
    udpai_str authority;     /* empty: the node's */
    udpai_str source;        /* the ConfigSource it is of; empty: the node itself */
    unsigned max_withdrawal; /* percent; 0: not set */
    bool must_agree;         /* what is read counts when most replicas have read the same */
    bool is_shared;          /* one replica reads it for all */
    const Udpa__Config__V1__RuntimeTreeSource *tree; /* NULL: a directory of resource files */
} udpai_plan_directory;

typedef struct udpai_plan_writer {
    const char *directory;
    const udpai_xds_audience *audience;
    udpai_node_info *client; /* of the reader, of a group of clients; NULL: of all; the plan's */
    const udpai_str *types;  /* full type URLs */
    size_t n_types;
    udpai_format format;
} udpai_plan_writer;

/* A peer that is reached with TLS. */
typedef struct udpai_plan_dialled {
    const char *kind; /* "source", "dial" */
    const char *name;
    const Udpa__Config__V1__ClientTls *tls;
    udpai_grpc_target *target; /* the plan has it */
    udpai_http_client *client; /* the target's, of kind rest; NULL: it is dialled by gRPC */
} udpai_plan_dialled;

/* A layer of the runtime that a resource brings. */
typedef struct udpai_plan_rtds {
    size_t index;     /* among all layers */
    const char *name; /* of the resource, in full */
} udpai_plan_rtds;

typedef struct udpai_plan_sinks {
    udpai_topics all;
    udpai_event_file files[UDPAI_EVENT_KINDS];
    char absent[UDPAI_EVENT_SINKS][256]; /* the error for those that are not configured */
} udpai_plan_sinks;

/* The etcd of a replica set: of the nodes that have the same prefix in it. */
typedef struct udpai_plan_etcd {
    const char *const *endpoints;     /* HOST:PORT */
    size_t n_endpoints;               /* 0: the store is not on etcd */
    const udpai_tls_files *tls;       /* NULL: plaintext */
    const char *server_name;          /* NULL: the host of each endpoint */
    const char *user, *password_file; /* NULL: none; both or neither */
    const char *prefix;               /* without a '/' at its end */
} udpai_plan_etcd;

/* Records of who has changed what (docs/design/audit.md). */
typedef struct udpai_plan_audit {
    bool is_on;
    const char *file;     /* NULL: none */
    const char *journald; /* the path of its socket; NULL: none */
    uint64_t max_bytes, max_age_ms;
} udpai_plan_audit;

/* Where spans go (docs/design/traces.md). */
typedef struct udpai_plan_traces {
    const char *address;        /* HOST:PORT; NULL: nothing is traced */
    const udpai_tls_files *tls; /* NULL: plaintext */
    const char *server_name;    /* NULL: the host */
} udpai_plan_traces;

typedef struct udpai_plan_delivery udpai_plan_delivery;
typedef struct udpai_plan_mesh udpai_plan_mesh;

/* All texts belong to the bootstrap message, the command line, or the plan. */
typedef struct udpai_plan {
    unsigned n_refs;      /* 0: it is not counted, and outlives all */
    udpai_schema *schema; /* for sources of kind rest; set before the plan is made; borrowed */
    udpai_bootstrap bootstrap;
    char host[256];
    udpai_endpoint_settings settings;
    udpai_xds_server xds;
    udpai_csds csds;
    udpai_csds_method csds_methods[2]; /* of streams, and of a Fetch */
    udpai_lrs_service lrs;
    udpai_hds_service hds;
    const char *name_space; /* of names without one, where nothing else is set */
    udpai_xdstp_authorities authorities;
    udpai_str xds_namespace; /* of plain names, where an audience does not have another */
    UDPAI_VECTOR(udpai_plan_socket) sockets;
    UDPAI_VECTOR(udpai_plan_socket) http_sockets;
    udpai_http_limits http_limits;
    bool has_admin_pages, has_open_metrics, has_open_health; /* of pages on sockets of HTTP */
    UDPAI_VECTOR(udpai_plan_socket) admin_sockets;
    udpai_http_limits admin_limits;
    const char *admin_token_file; /* NULL: none */
    bool is_admin_chosen;         /* that socket is our choice: the node starts without it, too */
    const udpai_str *http_hosts;
    size_t n_http_hosts;
    udpai_http_route http_routes[UDPAI_XDS_POLLS + 3];
    udpai_udpa_polls udpa_polls;
    UDPAI_VECTOR(udpai_plan_directory) directories;
    UDPAI_VECTOR(udpai_plan_writer) writers;
    UDPAI_VECTOR(udpai_source_config) sources;
    /* Of those, each that one replica is connected to for all: there it is one that is read. */
    UDPAI_VECTOR(udpai_source_config) read_sources;
    UDPAI_VECTOR(udpai_provider_config) providers;
    UDPAI_VECTOR(udpai_named_config) named;
    UDPAI_VECTOR(udpai_dial_config) dials;
    UDPAI_VECTOR(udpai_load_upstream_config) load_upstreams;
    UDPAI_VECTOR(udpai_reported_load_server)
    reported_load;                            /* those, as what is reported to them is kept */
    UDPAI_VECTOR(udpai_plan_dialled) dialled; /* of the sources and dials, those with TLS */
    UDPAI_VECTOR(udpai_plan_rtds) rtds;
    UDPAI_VECTOR(void *) owned; /* tables and texts, to be freed */
    udpai_plan_sinks sinks;
    const udpai_str *client_types; /* besides those that are */
    size_t n_client_types;
    udpai_plan_delivery *delivery; /* NULL: no resource becomes a source */
    const char *state_directory;   /* NULL: nothing is kept */
    bool is_forced;                /* what was kept may be lost */
    bool is_migrated;         /* what is kept goes to etcd, and is the truth; see migration.h */
    const char *restore_from; /* a backup, if there is no store; NULL: none */
    bool is_restored;         /* what is kept comes from a backup, and is meant */
    const char *const *secret_types;
    size_t n_secret_types;
    udpai_plan_etcd etcd;
    udpai_tls_files etcd_tls; /* what etcd.tls leads to */
    udpai_plan_mesh *mesh;    /* NULL: no replicas are reached */
    uint64_t drain_delay_ms, drain_time_ms, hand_over_timeout_ms;
    udpa_log_level log_level;
    udpai_log_target log_target;
    udpai_plan_audit audit;
    udpai_plan_traces traces;
    udpai_tls_files traces_tls; /* what traces.tls leads to */
    udpai_policy policy;        /* without its validator */
    bool validates;             /* anything at all */
    bool looks_for_deprecated;  /* in anything */
} udpai_plan;

/* Takes the bootstrap over, and reads the files of certificates. To be followed by
 * udpai_plan_done() in any case. */
udpa_err udpai_plan_make(udpai_plan *plan,
                         udpai_bootstrap *bootstrap,
                         const udpai_options *options,
                         udpa_error **ret_error);
void udpai_plan_done(udpai_plan *plan);
/* The same of another reading of the file, while the node runs; @p schema is borrowed. It is
 * counted, for what borrows from it and outlives its time: udpai_plan_free() lets one reference go.
 * Belongs to the loop's thread. */
udpa_err udpai_plan_new(udpai_plan **ret_plan,
                        udpai_bootstrap *bootstrap,
                        const udpai_options *options,
                        udpai_schema *schema,
                        udpa_error **ret_error);
/* Limits, times and the log alone, of a packed file: for a worker, of which the rest is as it was.
 */
udpa_err udpai_plan_values_new(udpai_plan **ret_plan,
                               udpai_str packed,
                               const udpai_options *options,
                               udpa_error **ret_error);
udpai_plan *udpai_plan_ref(udpai_plan *plan);
/* NULL does nothing. */
udpai_plan *udpai_plan_free(udpai_plan *plan);
/* Of a plan that takes the place of another: peers that are reached as before (source_changes.h)
 * are reached by the targets that there are, which become this plan's; the other one has those that
 * were made for this one, which nobody uses. */
void udpai_plan_keep_targets(udpai_plan *plan, udpai_plan *before);
/* The same target, still the other plan's; NULL: the source of this name is reached otherwise, or
 * has none. */
void *udpai_plan_kept_target(const udpai_plan *plan, const udpai_plan *before, udpai_str source);

/* How it is listened there, at an address that its own has become. */
udpai_listen_options udpai_plan_listen_options(const udpai_plan_socket *socket,
                                               const char *address,
                                               udpai_server_tls *tls);

/* A client that resumes may hold a whole namespace, of so many resources. */
void udpai_plan_raise_held(udpai_fanout_options *fanout, size_t n);

/* Is it a word of the command line for what serves the sockets, in small or capital letters: "own",
 * "grpc_core"? */
udpa_err udpai_transport_check(const char *word, udpa_error **ret_error);
/* The option, NULL if there is none, takes the place of the file's. */
bool udpai_transport_is_own(const Udpa__Config__V1__Bootstrap *message, const char *option);
/* What a word of the command line means, in small or capital letters. */
udpa_err udpai_plan_log_level(const char *word, udpa_log_level *ret_level, udpa_error **ret_error);

#endif
