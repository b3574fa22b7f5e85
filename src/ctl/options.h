/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl was called with. */
#ifndef UDPAI_CTL_OPTIONS_H
#define UDPAI_CTL_OPTIONS_H

#include "base/util.h"
#include "base/vector.h"
#include "ctl/bench_options.h"
#include "ctl/conform_options.h"
#include "ctl/output_options.h"
#include "ctl/sign_options.h"
#include "ctl/validate_options.h"

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
    UDPAI_CTL_PATH, /* of get: the way of each */
} udpai_ctl_format;

/* NULL anywhere: not given. */
typedef struct udpai_ctl_options {
    const char *server;
    bool has_server;      /* on the command line */
    bool has_http;        /* the same */
    const char *http;     /* where the node has its pages */
    char *http_of_server; /* owned; NULL: it was given otherwise */
    const char *ca, *certificate, *key, *server_name;
    const char *descriptors;
    const char *node_id;
    const char *name_space; /* as given */
    char
        *node_namespace; /* owned: the node's default, once it was asked; see default_namespace.h */
    bool validates;
    uint64_t timeout_ms;
    uint64_t wait_ms; /* for acknowledgements */
    const char *resource_version;
    uint64_t at_least;
    const char *at_least_text; /* as given */
    bool is_gone, is_waiting, despite_refusals;
    udpai_ctl_format format;
    const char *format_name; /* as given */
    bool is_following;       /* events */
    bool with_own_session;   /* status, clients */
    bool is_of_tree;         /* clients: of nodes below, too */
    bool all_origins;        /* of get: what everybody says, not what counts alone */
    bool is_xds;             /* the server is one of xDS, and we are its client */
    bool is_state_of_the_world;
    bool is_rest;
    const char *origin; /* of delete: the node that has read it … */
    bool is_dry_run;    /* … and only show it */
    bool as_source;     /* of sources accept: what the node itself does not have */
    bool is_all;        /* of get: a file to restore from */
    bool with_secrets;  /* of get --all */
    bool is_restore;    /* of apply: such a file */
    const char *command;
    UDPAI_VECTOR(const char *) arguments; /* behind the command */
    UDPAI_VECTOR(const char *) files;
    udpai_ctl_output_options output;
    udpai_conform_options conform;
    udpai_ctl_sign_options sign;
    udpai_ctl_validate_options validate;
    udpai_bench_options bench;
} udpai_ctl_options;

/* Ends the program for --help, --version, and what cannot be understood. */
void udpai_ctl_options_parse(udpai_ctl_options *options, int argc, char **argv);
void udpai_ctl_options_done(udpai_ctl_options *options);
/* The namespace of resources that have none. */
const char *udpai_ctl_namespace(const udpai_ctl_options *options);

#endif
