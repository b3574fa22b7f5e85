/* SPDX-License-Identifier: Apache-2.0 */
/* A command line that is being written: which of its words are options, what they are given, and
 * what the last word is. Pure. */
#ifndef UDPAI_CTL_WORDS_H
#define UDPAI_CTL_WORDS_H

#include <argp.h>

#include "base/util.h"
#include "base/vector.h"
#include "ctl/verbs.h"

typedef struct udpai_ctl_words {
    const udpai_ctl_verb *verb;            /* NULL: none yet, or one that is not known */
    bool has_command;                      /* there is a first word that is no option */
    UDPAI_VECTOR(const char *) arguments;  /* behind it */
    UDPAI_VECTOR(const char *) connection; /* options of it, with what they are given, as written */
    const char *last;                      /* what is to be completed; "": nothing yet */
    const char *value;                     /* of that, the value of `option` */
    const struct argp_option *option;      /* the last word is its value; NULL: of none */
    bool ends_options;                     /* "--" is before it */
} udpai_ctl_words;

/* Visits each option that has a long name. */
typedef void (*udpai_ctl_option_fn)(void *userdata, const struct argp_option *option);
void udpai_ctl_options_visit(const struct argp *parser, udpai_ctl_option_fn visit, void *userdata);

/* Reads words, the last of which may be empty; they must outlive it. UDPA_ERR_NOMEM. To be ended
 * in any case. @p connection: those of its options are kept. */
udpa_err udpai_ctl_words_read(udpai_ctl_words *words,
                              const char *const *given,
                              size_t n_given,
                              const struct argp *parser,
                              const struct argp *connection);
void udpai_ctl_words_done(udpai_ctl_words *words);

#endif
