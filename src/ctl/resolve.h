/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl uses where the command line gives nothing: the environment, a context, a default. */
#ifndef UDPAI_CTL_RESOLVE_H
#define UDPAI_CTL_RESOLVE_H

#include <argp.h>

#include "ctl/options.h"

/* At the end of the command line. Ends the program if a context is asked for that is not there. */
void udpai_ctl_resolve(udpai_ctl_options *given, const struct argp_state *state);

#endif
