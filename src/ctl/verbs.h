/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of udpactl, a row for each: what does it, which options it takes, and its help. */
#ifndef UDPAI_CTL_VERBS_H
#define UDPAI_CTL_VERBS_H

#include "cli/client.h"

/* Options and arguments that several verbs take, but not all. */
enum {
    UDPAI_CTL_TAKES_FILES = 1 << 0,     /* -f */
    UDPAI_CTL_TAKES_FORMAT = 1 << 1,    /* -o */
    UDPAI_CTL_TAKES_NAMESPACE = 1 << 2, /* -n */
    UDPAI_CTL_TAKES_NAMES = 1 << 3,     /* of resources that a node of UDPA has */
    UDPAI_CTL_TAKES_WAIT = 1 << 4,      /* --wait, and then how long */
    UDPAI_CTL_TAKES_ACKS = 1 << 5,      /* it waits for acknowledgements anyway */
    UDPAI_CTL_TAKES_NO_NODE = 1 << 6,   /* it asks none */
    UDPAI_CTL_TAKES_NOTHING = 1 << 7,   /* neither does it use the environment, or a context */
};

typedef struct udpai_ctl_verb {
    const char *name;
    const char *group;                     /* NULL: that of the verb before */
    udpai_cli_exit (*run)(udpai_cli *cli); /* NULL: a program of its own, or a word before others */
    unsigned takes;
    unsigned tables; /* what they can do (cli/output_options.h); 0: it has none */
    const char *summary;
    const char *usage; /* lines behind "udpactl " */
    const char *text;  /* NULL: that of the program which does it */
} udpai_ctl_verb;

/* In the order of the help; NULL: there are no more. */
const udpai_ctl_verb *udpai_ctl_verb_at(size_t index);
/* NULL: there is none. */
const udpai_ctl_verb *udpai_ctl_verb_find(const char *name);

#endif
