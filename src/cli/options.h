/* SPDX-License-Identifier: Apache-2.0 */
/* What every program of the command line takes: the connection to a server, the form of the output,
 * and words. */
#ifndef UDPAI_CLI_OPTIONS_H
#define UDPAI_CLI_OPTIONS_H

#include <udpa/endpoint.h>

#include "base/util.h"
#include "base/vector.h"
#include "cli/contexts.h"
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

/* NULL anywhere: not given. What is a setting has its value from udpai_cli_options_resolve() on. */
typedef struct udpai_cli_options {
    const char *command;
    UDPAI_VECTOR(const char *) arguments; /* behind the command */
    const char *server;                   /* or several (model/server_list.h) */
    bool is_verbose;                      /* which server is used, and why others are not */
    const char *admin;                    /* where the node is administered; or several */
    const char *admin_token;              /* the file */
    const char *http;                     /* where the node has its pages; or several */
    const char *ca, *certificate, *key, *server_name;
    const char *descriptors;
    const char *node_id;
    const char *name_space; /* as given */
    const char *timeout;    /* as given */
    const char *context;    /* --context; "": none */
    udpai_cli_level levels[UDPAI_CLI_SETTINGS];
    udpai_cli_contexts contexts;
    char *context_file;            /* owned; that has them; NULL: not looked for */
    const udpai_cli_context *used; /* NULL: none */
    const char *default_node_id;
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
/* At the end of the command line: what it does not set, the environment does, else the context,
 * else it has its default. Those that are not in @p settings (bits, 1 << setting) are defaults
 * without the command line. Ends the program if a context is asked for that is not there. */
#define UDPAI_CLI_ALL_SETTINGS ((1u << UDPAI_CLI_SETTINGS) - 1)
void udpai_cli_options_resolve(udpai_cli_options *common,
                               unsigned settings,
                               const struct argp_state *state);
/* Where the value is from, for an error: "--ca", "UDPACTL_CA", "'ca' of context 'prod'". */
#define UDPAI_CLI_ORIGIN_TEXT 128
const char *udpai_cli_setting_origin(const udpai_cli_options *common,
                                     udpai_cli_setting setting,
                                     char text[UDPAI_CLI_ORIGIN_TEXT]);
/* As given; NULL: it is not set. */
const char *udpai_cli_setting_value(const udpai_cli_options *common, udpai_cli_setting setting);
/* Prints which of these are not from the command line, and where from; nothing if all are. */
void udpai_cli_note_origins(const udpai_cli_options *common, unsigned settings);
/* Takes the format that -o names. */
void
udpai_cli_format_take(udpai_cli_options *common, const char *name, const struct argp_state *state);
/* At the end of the command line: TLS is given as a whole. Warns of a private key that others have
 * rights for. */
void udpai_cli_connection_check(const udpai_cli_options *common, const struct argp_state *state);
/* The same of the node id and the namespace. */
void udpai_cli_names_check(const udpai_cli_options *common, const struct argp_state *state);
/* The namespace of resources that have none. */
const char *udpai_cli_namespace(const udpai_cli_options *common);

#endif
