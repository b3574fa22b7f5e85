/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of udpad. */
#ifndef UDPAI_OPTIONS_H
#define UDPAI_OPTIONS_H

#include <stdbool.h>

/* Everything borrowed from argv; NULL: not given. What is given goes before the bootstrap file. */
typedef struct udpai_options {
    const char *program;     /* as it was called */
    const char *config_file; /* NULL: no bootstrap file */
    const char *listen;
    const char *http;
    const char *resources;
    const char *state;
    const char *descriptors;
    const char *name_space;
    const char *node_id;
    const char *log_level;
    const char *transport;
    bool only_check;
    bool not_dumpable;         /* nobody may look into the memory */
    bool is_forced;            /* what was kept may be lost */
    const char *restore_from;  /* a backup, for a state directory without a store; NULL: none */
    bool is_restored;          /* the state comes from a backup, and is meant */
    unsigned worker;           /* which one this process is; 0: none */
    const char *instance;      /* of a worker: which node it is of */
    const char *run;           /* the same: in which life */
    const char *replica;       /* the same: which replica of it; NULL or empty: it has none */
    const char *local_sockets; /* the same: a 1 for each socket of the bootstrap file that is a unix
                                  socket, and a 0 for each other one */
    char *const *arguments;    /* all that were given, the program first, and then NULL */
} udpai_options;

/* Ends the process with a message if the line is not understood, or only help was requested. */
void udpai_options_parse(udpai_options *ret_options, int argc, char **argv);

#endif
