/* SPDX-License-Identifier: Apache-2.0 */
/* validate --references: do the names in resources that were read lead to others of them? */
#ifndef UDPAI_CTL_REFERENCES_H
#define UDPAI_CTL_REFERENCES_H

#include "ctl/input.h"

/* Prints every name that leads nowhere, and every regular expression that does not compile, with
 * its place; UDPAI_CLI_MISTAKE if there is one, or if one of options->validate.known is no type. */
udpai_cli_exit udpai_ctl_references(const udpai_ctl_input *input, const udpai_ctl_options *options);

#endif
