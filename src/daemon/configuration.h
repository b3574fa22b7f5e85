/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a bootstrap file over while the node runs: all of it in one step, or nothing
 * (docs/design/reload.md). Belongs to the loop's thread. */
#ifndef UDPAI_CONFIGURATION_H
#define UDPAI_CONFIGURATION_H

#include "daemon/directories.h"
#include "daemon/effective.h"
#include "daemon/problems.h"
#include "daemon/replicas.h"
#include "daemon/sockets.h"
#include "daemon/storage.h"
#include "daemon/tunables_follow.h"
#include "daemon/writers.h"

/* Borrowed for good. */
typedef struct udpai_configuration_env {
    udpa_endpoint *endpoint;
    const udpai_plan *plan; /* of the start */
    udpai_schema *schema;
    const udpai_options *options; /* with a config_file */
    udpai_problems *problems;
    udpai_replicas *replicas;     /* NULL: none */
    udpai_durable_engine *engine; /* SQLite; NULL: nothing is kept */
    udpai_directories *directories;
    udpai_readers *readers; /* NULL: none */
    udpai_workers *workers; /* NULL: none */
    udpai_tunables_follower *follower;
    udpai_effective *effective; /* is kept up to date */
    udpai_sockets *sockets;
    udpai_writers *writers;
    udpai_daemon_storage *storage;
} udpai_configuration_env;

typedef struct udpai_configuration_request {
    bool is_dry_run;      /* only finds out what would change, and notes nothing */
    bool is_forced;       /* however much would go */
    udpai_strbuf *report; /* what has changed, or would, as JSON, without an error; NULL: none */
} udpai_configuration_request;

/* With an error nothing has changed; it is in the status from then on, and in the log if it was not
 * there before. */
udpa_err udpai_configuration_reload(const udpai_configuration_env *env,
                                    const udpai_configuration_request *request,
                                    udpa_error **ret_error);

#endif
