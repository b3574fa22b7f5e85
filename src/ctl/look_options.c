/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/look_options.h"

#include <string.h>

#include "base/util.h"

#define INTERVAL_MAX_S 3600

enum {
    STRICT = 740,
    ONCE,
    LOG,
    INTERVAL,
};

static const struct argp_option known_options[] = {
    {"strict", STRICT, NULL, 0, "check: the exit status is 1 for warnings, too", 0},
    {"once", ONCE, NULL, 0, "top: one block, and no more", 0},
    {"log", LOG, "FILE", 0, "bug-report: the end of this log, too", 0},
    {"interval", INTERVAL, "SECONDS", 0, "top: so long between two blocks (default 1)", 0},
    {0},
};

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_look_options *given = state->input;
    switch (key) {
    case ONCE:
        given->is_once = true;
        return 0;
    case LOG:
        given->log = argument;
        return 0;
    case INTERVAL:
        if (!udpai_str_number(udpai_str_from(argument), &given->interval_s) ||
            given->interval_s == 0 || given->interval_s > INTERVAL_MAX_S)
            argp_error(state, "--interval %s: give a number of seconds, from 1 to 3600", argument);
        return 0;
    case STRICT:
        given->is_strict = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_ctl_look_parser = {.options = known_options, .parser = take};

void
udpai_ctl_look_options_check(udpai_ctl_look_options *given,
                             const char *command,
                             const struct argp_state *state)
{
    if (given->is_strict && strcmp(command, "check") != 0 && strcmp(command, "conform") != 0)
        argp_error(state, "--strict goes with check, and with conform");
    if ((given->is_once || given->interval_s) && strcmp(command, "top") != 0)
        argp_error(state, "--once and --interval go with top");
    if ((given->log || given->file) && strcmp(command, "bug-report") != 0)
        argp_error(state, "%s goes with bug-report", given->log ? "--log" : "-o FILE.tar");
    if (given->interval_s == 0)
        given->interval_s = 1;
}
