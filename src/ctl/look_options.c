/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/look_options.h"

#include <string.h>

enum {
    STRICT = 740,
};

static const struct argp_option known_options[] = {
    {"strict", STRICT, NULL, 0, "check: the exit status is 1 for warnings, too", 0},
    {0},
};

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_look_options *given = state->input;
    (void)argument;
    switch (key) {
    case STRICT:
        given->is_strict = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_ctl_look_parser = {.options = known_options, .parser = take};

void
udpai_ctl_look_options_check(const udpai_ctl_look_options *given,
                             const char *command,
                             const struct argp_state *state)
{
    if (given->is_strict && strcmp(command, "check") != 0 && strcmp(command, "conform") != 0)
        argp_error(state, "--strict goes with check, and with conform");
}
