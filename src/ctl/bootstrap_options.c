/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/bootstrap_options.h"

#include <stdbool.h>
#include <string.h>

enum {
    CLIENT_ID = 750,
    CLIENT_CLUSTER,
    LOCALITY,
    ENVOY_ADMIN,
};

static const struct argp_option known_options[] = {
    {"client-id", CLIENT_ID, "ID", 0,
     "bootstrap: the node id of the client, another one for each (default: the name of this "
     "machine)",
     0},
    {"client-cluster", CLIENT_CLUSTER, "NAME", 0,
     "bootstrap: the cluster of the client (default: its node id)", 0},
    {"locality", LOCALITY, "REGION[/ZONE[/SUB_ZONE]]", 0, "bootstrap: where the client is", 0},
    {"envoy-admin", ENVOY_ADMIN, "HOST:PORT", 0,
     "bootstrap envoy: where it is administered (default 127.0.0.1:9901; '' for nowhere)", 0},
    {0},
};

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_bootstrap_options *given = state->input;
    const char **texts[] = {&given->client_id, &given->client_cluster, &given->locality,
                            &given->envoy_admin};
    if (key < CLIENT_ID || key > ENVOY_ADMIN)
        return ARGP_ERR_UNKNOWN;
    *texts[key - CLIENT_ID] = argument;
    return 0;
}

const struct argp udpai_ctl_bootstrap_parser = {.options = known_options, .parser = take};

void
udpai_ctl_bootstrap_options_check(const udpai_ctl_bootstrap_options *given,
                                  const char *command,
                                  const struct argp_state *state)
{
    bool is_any =
        given->client_id || given->client_cluster || given->locality || given->envoy_admin;
    if (is_any && strcmp(command, "bootstrap") != 0)
        argp_error(state, "--client-id, --client-cluster, --locality and --envoy-admin go with "
                          "bootstrap");
    if (given->client_id && !*given->client_id)
        argp_error(state, "--client-id: an id is not empty");
}
