/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing, and reporting what became of it. */
#ifndef UDPAI_CTL_PUBLISH_H
#define UDPAI_CTL_PUBLISH_H

#include "cli/collect.h"

#define UDPAI_CTL_PART_NAMES 2000
/* How many of them go into one message; at least one. */
size_t udpai_ctl_part_size(udpa_resource *const *resources, size_t n);

/* Publishes in parts that a node takes in one message; a line for each resource. What was applied
 * but does not count, because somebody else's goes before it, makes the result UDPAI_CLI_REFUSED.
 */
udpai_cli_exit
udpai_ctl_publish(udpai_cli *cli, udpa_resource *const *resources, size_t n_resources);
/* Withdraws the names of one request. What becomes of them is not reported. */
udpai_cli_exit udpai_ctl_withdraw(udpai_cli *cli, const udpai_cli_request *request);

#endif
