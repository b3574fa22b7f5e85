/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/validate_options.h"

#include <errno.h>
#include <string.h>

enum {
    REFERENCES = 720,
    KNOWN,
};

static const struct argp_option known_options[] = {
    {"references", REFERENCES, NULL, 0,
     "validate: do routes, clusters, endpoints and secrets that are named exist, and do regular "
     "expressions compile?",
     0},
    {"known", KNOWN, "TYPE[/NAME]", 0,
     "validate --references: clients have this from elsewhere, such as cluster/udpad of their "
     "bootstrap; may be given again",
     0},
    {0},
};

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_validate_options *given = state->input;
    switch (key) {
    case REFERENCES:
        given->references = true;
        return 0;
    case KNOWN:
        return udpai_vector_push(&given->known, (const char *)argument) ? 0 : ENOMEM;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_ctl_validate_parser = {.options = known_options, .parser = take};

void
udpai_ctl_validate_options_check(const udpai_ctl_validate_options *given,
                                 const char *command,
                                 const struct argp_state *state)
{
    if (given->references && strcmp(command, "validate") != 0)
        argp_error(state, "--references goes with validate");
    if (given->known.n && !given->references)
        argp_error(state, "--known goes with validate --references");
}
