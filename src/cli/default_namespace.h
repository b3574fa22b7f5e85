/* SPDX-License-Identifier: Apache-2.0 */
/* What names without a namespace mean: what they mean to the node. */
#ifndef UDPAI_CLI_DEFAULT_NAMESPACE_H
#define UDPAI_CLI_DEFAULT_NAMESPACE_H

#include "cli/client.h"

/* Asks the node for it, if the command line has names, or files, and no --namespace. It stays unset
 * if the node denies the question or does not answer; the command that follows reports a failed
 * connection. */
udpai_cli_exit udpai_cli_find_namespace(udpai_cli *cli, udpai_cli_options *options);

#endif
