/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl was called with. */
#ifndef UDPAI_CTL_OPTIONS_H
#define UDPAI_CTL_OPTIONS_H

#include "base/util.h"
#include "base/vector.h"
#include "cli/options.h"
#include "cli/tool.h"
#include "ctl/apply_options.h"
#include "ctl/bootstrap_options.h"
#include "ctl/look_options.h"
#include "ctl/sign_options.h"
#include "ctl/validate_options.h"

/* What is printed of a page that could not be asked for. */
typedef enum udpai_ctl_failures {
    UDPAI_CTL_FAILURES_WITH_HELP, /* where else it may be */
    UDPAI_CTL_FAILURES_ALONE,     /* it has been there */
    UDPAI_CTL_FAILURES_SILENT,    /* that was printed before */
} udpai_ctl_failures;

/* NULL anywhere: not given. */
typedef struct udpai_ctl_options {
    udpai_cli_options common;
    udpai_ctl_failures failures;
    char *http_of_server; /* owned: of --server; NULL: it was given otherwise */
    uint64_t wait_ms;     /* for acknowledgements */
    const char *resource_version;
    uint64_t at_least;
    const char *at_least_text; /* as given */
    bool is_removed, is_waiting, despite_refusals;
    bool is_following;     /* audit, events, explain */
    bool with_own_session; /* status, clients */
    bool lists_all;        /* client: what is as it should be, too */
    bool freezes_all;      /* freeze: endpoints and secrets, too */
    bool is_of_tree;       /* clients: of nodes below, too */
    bool all_origins;      /* of get: all contributions, not the effective one alone */
    bool is_rest;
    const char *client; /* of explain */
    const char *origin; /* of delete: the node that has read it … */
    bool is_dry_run;    /* … and only show it; also of apply, store and reload */
    bool as_source;     /* of sources accept: what the node itself does not have */
    uint64_t over_s;    /* of replicas rebalance; 0: not given */
    bool is_all;        /* of get: a file to restore from */
    bool with_secrets;  /* of get --all */
    const char *state;  /* of restore: the directory */
    UDPAI_VECTOR(const char *) files;
    const udpai_cli_tool *tool; /* the program that the command is; NULL: it is none */
    const char *bench_option, *conform_option; /* the first one of its own options */
    udpai_ctl_apply_options apply;
    udpai_ctl_bootstrap_options bootstrap;
    udpai_ctl_sign_options sign;
    udpai_ctl_validate_options validate;
    udpai_ctl_look_options look;
} udpai_ctl_options;

/* All options; its input is a udpai_ctl_options. */
extern const struct argp udpai_ctl_options_parser;
/* Ends the program for --help, --version, and what cannot be understood. */
void udpai_ctl_options_parse(udpai_ctl_options *options, int argc, char **argv);
void udpai_ctl_options_done(udpai_ctl_options *options);

/* Of those that a client has (client.h): udpactl's own. */
static inline const udpai_ctl_options *
udpai_ctl_options_of(const udpai_cli_options *common)
{
    return UDPAI_CONTAINER_OF(common, udpai_ctl_options, common);
}

#endif
