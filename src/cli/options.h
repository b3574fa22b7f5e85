/* SPDX-License-Identifier: Apache-2.0 */
/* What every program of the command line takes: the connection to a server, the form of the output,
 * and words. */
#ifndef UDPAI_CLI_OPTIONS_H
#define UDPAI_CLI_OPTIONS_H

#include <udpa/endpoint.h>

#include "base/util.h"
#include "base/vector.h"
#include "cli/output_options.h"

#define UDPAI_CLI_VERSION "0.1.0"
#define UDPAI_CLI_HTTP_PORT "18080"
/* Of a node that was started here, and of one by the packages. */
#define UDPAI_CLI_ADMIN "unix:udpa-data/admin.sock,unix:/var/lib/udpa/admin.sock"

/* The exit code of the program. */
typedef enum udpai_cli_exit {
    UDPAI_CLI_GOOD = 0,
    UDPAI_CLI_REFUSED = 1, /* or not found */
    UDPAI_CLI_MISTAKE = 2, /* in the command line, or in a file */
    UDPAI_CLI_NO_CONNECTION = 3,
    UDPAI_CLI_TIMED_OUT = 4,
    UDPAI_CLI_SUPERSEDED = 5, /* what was waited for was there, and is not any more */
} udpai_cli_exit;

typedef enum udpai_cli_format {
    UDPAI_CLI_TABLE,
    UDPAI_CLI_YAML,
    UDPAI_CLI_JSON,
    UDPAI_CLI_NAME,
    UDPAI_CLI_PATH, /* of get: the path of each */
    UDPAI_CLI_TAP,  /* of conform, and the next one */
    UDPAI_CLI_JUNIT,
} udpai_cli_format;

/* NULL anywhere: not given. */
typedef struct udpai_cli_options {
    const char *command;
    UDPAI_VECTOR(const char *) arguments; /* behind the command */
    const char *server;                   /* or several (model/server_list.h) */
    bool has_server;                      /* on the command line */
    bool is_verbose;                      /* which server is used, and why others are not */
    const char *admin;                    /* where the node is administered; or several */
    bool has_admin;                       /* on the command line */
    const char *admin_token;              /* the file */
    const char *http;                     /* where the node has its pages; or several */
    bool has_http;                        /* on the command line */
    const char *ca, *certificate, *key, *server_name;
    const char *descriptors;
    const char *node_id;
    bool has_node_id;       /* on the command line */
    const char *name_space; /* as given */
    /* Owned: the node's default, once the node was asked; see default_namespace.h. */
    char *node_namespace;
    uint64_t timeout_ms; /* 0: not given */
    /* Of a receipt: a replica may need a third of it to find out that it does not know. */
    uint64_t receipt_timeout_ms;
    bool is_xds; /* the server is one of xDS, and we are its client */
    bool is_state_of_the_world;
    udpa_secrets secrets;
    udpai_cli_format format;
    const char *format_name; /* as given */
    udpai_cli_output_options output;
} udpai_cli_options;

/* The options of the connection; its input is a udpai_cli_options. */
extern const struct argp udpai_cli_options_parser;

/* The defaults; @p node_id: unless --node-id is given. */
void udpai_cli_options_begin(udpai_cli_options *common, const char *node_id);
void udpai_cli_options_done(udpai_cli_options *common);
/* Takes the format that -o names. */
void
udpai_cli_format_take(udpai_cli_options *common, const char *name, const struct argp_state *state);
/* At the end of the command line: TLS is given as a whole. */
void udpai_cli_connection_check(const udpai_cli_options *common, const struct argp_state *state);
/* The same of the node id and the namespace. */
void udpai_cli_names_check(const udpai_cli_options *common, const struct argp_state *state);
/* The namespace of resources that have none. */
const char *udpai_cli_namespace(const udpai_cli_options *common);

#endif
