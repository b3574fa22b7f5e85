/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/apply_options.h"

#include <string.h>

#include "ctl/options.h"

enum {
    VALIDATE = 700,
    PRUNE,
    RESTORE,
};

static const struct argp_option known_options[] = {
    {"validate", VALIDATE, NULL, 0, "apply: publish nothing if 'validate' would find an error", 0},
    {"prune", PRUNE, NULL, 0,
     "apply: then remove what the same node id has applied in the namespace of -n, and is not in "
     "the files",
     0},
    {"restore", RESTORE, NULL, 0,
     "apply: what get --all has printed, with the versions and generations that it had", 0},
    {0},
};

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_apply_options *given = state->input;
    (void)argument;
    switch (key) {
    case VALIDATE:
        given->validates = true;
        return 0;
    case PRUNE:
        given->is_pruning = true;
        return 0;
    case RESTORE:
        given->is_restore = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_ctl_apply_parser = {.options = known_options, .parser = take};

/* The namespace and the node id of what may be removed are those of the command line: nothing that
 * is set elsewhere chooses what goes. */
static void
check_pruning(const udpai_ctl_options *given, const struct argp_state *state)
{
    const udpai_cli_level *levels = given->common.levels;
    if (levels[UDPAI_CLI_NAMESPACE] != UDPAI_CLI_OPTION ||
        levels[UDPAI_CLI_NODE_ID] != UDPAI_CLI_OPTION)
        argp_error(state, "--prune needs -n NAMESPACE and --node-id ID: it removes what this node "
                          "id has applied there, and is not in the files");
    if (given->apply.is_restore)
        argp_error(state, "--prune does not go with --restore");
}

void
udpai_ctl_apply_options_check(const udpai_ctl_options *given, const struct argp_state *state)
{
    const char *command = given->common.command;
    bool is_apply = strcmp(command, "apply") == 0;
    if (given->apply.validates && !is_apply)
        argp_error(state, "--validate: %s publishes nothing", command);
    if (given->apply.is_pruning && !is_apply)
        argp_error(state, "--prune goes with apply");
    if (given->apply.is_restore && !is_apply)
        argp_error(state, "--restore goes with apply");
    if (given->apply.is_pruning)
        check_pruning(given, state);
    if (given->is_dry_run && given->is_waiting)
        argp_error(state, "--dry-run changes nothing that --wait could wait for");
    if (given->look.is_confirmed && strcmp(command, "thaw") != 0 && !given->apply.is_pruning)
        argp_error(state, "--yes goes with thaw, and with apply --prune");
}
