/* SPDX-License-Identifier: Apache-2.0 */
/* What `udpactl help` and `udpactl VERB --help` print: the verbs in groups, and one verb on one
 * screen. `udpactl --help` lists all options (options.h). Pure. */
#ifndef UDPAI_CTL_HELP_H
#define UDPAI_CTL_HELP_H

#include "base/strbuf.h"

#define UDPAI_CTL_SCREEN_LINES 24
#define UDPAI_CTL_SCREEN_COLUMNS 80

/* Appends the verbs in groups, with a line for each. */
void udpai_ctl_help_put_verbs(udpai_strbuf *out);
/* Appends the help of a verb; false: there is no such verb, and nothing is appended. */
bool udpai_ctl_help_put_verb(udpai_strbuf *out, const char *verb);
/* Appends the forms of each verb, and what it does. */
void udpai_ctl_help_put_forms(udpai_strbuf *out);
/* The verb that "VERB --help" asks about: the first argument that is one, if --help or -? is there
 * before a "--"; NULL: nobody asks. */
const char *udpai_ctl_help_requested(int argc, char *const *argv);

#endif
