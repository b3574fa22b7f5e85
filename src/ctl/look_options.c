/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/look_options.h"

#include <string.h>

#include "base/util.h"
#include "ctl/duration.h"

#define INTERVAL_MAX_S 3600
#define SINCE_MAX_S ((uint64_t)10 * 365 * 86400)

enum {
    STRICT = 740,
    ONCE,
    LOG,
    INTERVAL,
    SINCE,
    IDENTITY,
    NAME,
    LIMIT,
    BECAUSE,
    YES,
    FORCE,
};

static const struct argp_option known_options[] = {
    {"strict", STRICT, NULL, 0, "check: the exit status is 1 for warnings, too", 0},
    {"once", ONCE, NULL, 0, "top: one block, and no more", 0},
    {"log", LOG, "FILE", 0, "bug-report: the end of this log, too", 0},
    {"since", SINCE, "TIME", 0, "audit: from so long ago, such as 90s, 30m, 24h or 7d", 0},
    {"identity", IDENTITY, "NAME", 0, "audit: of this one; with stars", 0},
    {"name", NAME, "NAME", 0, "audit: about this resource; with stars", 0},
    {"limit", LIMIT, "N", 0, "audit: at most so many records (default 100; with --since all)", 0},
    {"because", BECAUSE, "TEXT", 0, "freeze: the reason, which publishers are shown", 0},
    {"yes", YES, NULL, 0,
     "thaw: do it, and not only show what waits; apply --prune: however much would go", 0},
    {"force", FORCE, NULL, 0, "reload: also if more would go than max_withdrawal allows", 0},
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
    case SINCE:
        given->audit.since_s = udpai_ctl_seconds_of(argument, SINCE_MAX_S);
        if (given->audit.since_s == 0)
            argp_error(state, "--since %s: give a number and s, m, h or d, such as 24h", argument);
        return 0;
    case IDENTITY:
        given->audit.identity = argument;
        return 0;
    case NAME:
        given->audit.name = argument;
        return 0;
    case LIMIT:
        if (!udpai_str_number(udpai_str_from(argument), &given->audit.limit) ||
            given->audit.limit == 0)
            argp_error(state, "--limit %s: give a number from 1 on", argument);
        return 0;
    case BECAUSE:
        given->because = argument;
        return 0;
    case FORCE:
        given->is_forced = true;
        return 0;
    case YES:
        given->is_confirmed = true;
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
    const udpai_ctl_audit_options *audit = &given->audit;
    if ((audit->since_s || audit->limit || audit->identity || audit->name) &&
        strcmp(command, "audit") != 0)
        argp_error(state, "--since, --identity, --name and --limit go with audit");
    if (given->because && strcmp(command, "freeze") != 0)
        argp_error(state, "--because goes with freeze");
    if (given->is_forced && strcmp(command, "reload") != 0)
        argp_error(state, "--force goes with reload");
    if (given->interval_s == 0)
        given->interval_s = 1;
}
