/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/sign_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/duration.h"

#define VALIDITY_MAX_S ((uint64_t)10 * 365 * 24 * 3600)

enum {
    KEY_ID = 640,
    AUTHORITY,
    VALIDITY,
    GENERATION,
    TRUSTED,
};

static const struct argp_option known_options[] = {
    {"key-id", KEY_ID, "ID", 0, "sign: what trusted keys call the one of --key", 0},
    {"authority", AUTHORITY, "NAME", 0,
     "sign: the signing authority (default: as in the file); conform: of names xdstp://NAME/… that "
     "are "
     "made up (default the namespace of --apply-to, or conform.example)",
     0},
    {"validity", VALIDITY, "TIME", 0,
     "sign: how long the signature is valid, such as 90s, 30m, 24h (default) or 7d", 0},
    {"generation", GENERATION, "NUMBER", 0,
     "sign: a number that grows with each change (default: microseconds since 1970)", 0},
    {"trusted", TRUSTED, "AUTHORITY/KEYID=FILE", 0,
     "verify: a public key, or a certificate (PEM), and whose it is; may be given again", 0},
    {0},
};

static void
set_validity(udpai_ctl_sign_options *given, const char *text, const struct argp_state *state)
{
    given->validity_s = (int64_t)udpai_ctl_seconds_of(text, VALIDITY_MAX_S);
    if (given->validity_s == 0)
        argp_error(state,
                   "--validity %s: give a number and s, m, h or d, such as 24h; at most ten years",
                   text);
}

static void
set_generation(udpai_ctl_sign_options *given, const char *text, const struct argp_state *state)
{
    char *end;
    errno = 0;
    given->generation = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || given->generation == 0)
        argp_error(state, "--generation %s: give a number above 0", text);
}

static error_t
take_trusted(udpai_ctl_sign_options *given, const char *text, const struct argp_state *state)
{
    const char *equal = strchr(text, '='), *slash = NULL;
    for (const char *at = text; equal && at < equal; at++)
        if (*at == '/')
            slash = at;
    if (!slash || slash == text || slash + 1 == equal || !equal[1])
        argp_error(state, "--trusted %s: write AUTHORITY/KEYID=FILE, such as acme/2026=acme.pub",
                   text);
    return udpai_vector_push(&given->trusted, text) ? 0 : ENOMEM;
}

static error_t
take(int key, char *argument, struct argp_state *state)
{
    udpai_ctl_sign_options *given = state->input;
    switch (key) {
    case KEY_ID:
        given->key_id = argument;
        return 0;
    case AUTHORITY:
        given->authority = argument;
        return 0;
    case VALIDITY:
        set_validity(given, argument, state);
        return 0;
    case GENERATION:
        set_generation(given, argument, state);
        return 0;
    case TRUSTED:
        return take_trusted(given, argument, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp udpai_ctl_sign_parser = {.options = known_options, .parser = take};

void
udpai_ctl_sign_options_check(const udpai_ctl_sign_options *given,
                             const char *command,
                             const struct argp_state *state)
{
    bool signs = strcmp(command, "sign") == 0;
    if (!signs && (given->key_id || given->validity_s || given->generation))
        argp_error(state, "--key-id, --validity and --generation go with sign");
    if (!signs && given->authority && strcmp(command, "conform") != 0)
        argp_error(state, "--authority goes with sign, and with conform");
    if (given->trusted.n && strcmp(command, "verify") != 0)
        argp_error(state, "--trusted goes with verify");
}
