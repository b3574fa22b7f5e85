/* SPDX-License-Identifier: Apache-2.0 */
/* What every program of the command line takes: the connection to a server, the form of the output,
 * and words. */
#ifndef UDPAI_CTL_COMMON_OPTIONS_H
#define UDPAI_CTL_COMMON_OPTIONS_H

#include <udpa/endpoint.h>

#include "base/util.h"
#include "base/vector.h"
#include "ctl/output_options.h"

#define UDPAI_CTL_VERSION "0.1.0"
#define UDPAI_CTL_HTTP_PORT "18080"

/* What the program's exit says. */
typedef enum udpai_ctl_exit {
    UDPAI_CTL_GOOD = 0,
    UDPAI_CTL_REFUSED = 1, /* or not found */
    UDPAI_CTL_MISTAKE = 2, /* in the command line, or in a file */
    UDPAI_CTL_NO_CONNECTION = 3,
    UDPAI_CTL_TIMED_OUT = 4,
    UDPAI_CTL_SUPERSEDED = 5, /* what was waited for was there, and is not any more */
} udpai_ctl_exit;

typedef enum udpai_ctl_format {
    UDPAI_CTL_TABLE,
    UDPAI_CTL_YAML,
    UDPAI_CTL_JSON,
    UDPAI_CTL_NAME,
    UDPAI_CTL_PATH, /* of get: the path of each */
    UDPAI_CTL_TAP,  /* of conform, and the next one */
    UDPAI_CTL_JUNIT,
} udpai_ctl_format;

/* NULL anywhere: not given. */
typedef struct udpai_ctl_common {
    const char *command;
    UDPAI_VECTOR(const char *) arguments; /* behind the command */
    const char *server;
    bool has_server;  /* on the command line */
    const char *http; /* where the node has its pages */
    bool has_http;    /* on the command line */
    const char *ca, *certificate, *key, *server_name;
    const char *descriptors;
    const char *node_id;
    const char *name_space; /* as given */
    /* Owned: the node's default, once the node was asked; see default_namespace.h. */
    char *node_namespace;
    uint64_t timeout_ms; /* 0: not given */
    bool is_xds;         /* the server is one of xDS, and we are its client */
    bool is_state_of_the_world;
    udpa_secrets secrets;
    udpai_ctl_format format;
    const char *format_name; /* as given */
    udpai_ctl_output_options output;
} udpai_ctl_common;

/* The options of the connection; its input is a udpai_ctl_common. */
extern const struct argp udpai_ctl_common_parser;

/* The defaults; @p node_id: unless --node-id is given. */
void udpai_ctl_common_begin(udpai_ctl_common *common, const char *node_id);
void udpai_ctl_common_done(udpai_ctl_common *common);
/* Takes the format that -o names. */
void
udpai_ctl_format_take(udpai_ctl_common *common, const char *name, const struct argp_state *state);
/* At the end of the command line: TLS is given as a whole. */
void udpai_ctl_connection_check(const udpai_ctl_common *common, const struct argp_state *state);
/* The same of the node id and the namespace. */
void udpai_ctl_names_check(const udpai_ctl_common *common, const struct argp_state *state);
/* The namespace of resources that have none. */
const char *udpai_ctl_namespace(const udpai_ctl_common *common);

#endif
