/* SPDX-License-Identifier: Apache-2.0 */
/* apply --prune: what the publisher has applied before in one namespace, and is not in the files
 * any more. Only what the node itself reports to be this publisher's. */
#ifndef UDPAI_CTL_PRUNE_H
#define UDPAI_CTL_PRUNE_H

#include "ctl/input.h"
#include "ctl/trial.h"

/* Are the files all of the namespace, and is it known whose they are? Prints why not. */
udpai_cli_exit udpai_ctl_prune_check(const udpai_ctl_input *input, const udpai_ctl_options *given);
/* Adds the removals of what this publisher has in the namespace (without one: in all) and the files
 * do not; the node is connected. What it has published on behalf of another authority is printed,
 * and is not among them. */
udpai_cli_exit
udpai_ctl_find_lacking(udpai_cli *cli, const udpai_ctl_input *input, udpai_ctl_trial *trial);
/* Is it more than half of what the publisher has in the namespace? Then it is printed what would
 * go, and the result is UDPAI_CLI_REFUSED, unless --yes is given. */
udpai_cli_exit udpai_ctl_prune_bound(const udpai_cli *cli, const udpai_ctl_trial *trial);
/* Prints what will be removed. */
void udpai_ctl_prune_list(const udpai_ctl_trial *trial);
/* Removes it, with a line for each. */
udpai_cli_exit udpai_ctl_prune(udpai_cli *cli, const udpai_ctl_trial *trial);

#endif
