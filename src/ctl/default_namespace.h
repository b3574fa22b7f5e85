/* SPDX-License-Identifier: Apache-2.0 */
/* What names without a namespace mean: what they mean to the node. */
#ifndef UDPAI_CTL_DEFAULT_NAMESPACE_H
#define UDPAI_CTL_DEFAULT_NAMESPACE_H

#include "ctl/client.h"

/* Asks the node for it, if the command line has names, or files, and no --namespace. It stays unset
 * if the node denies the question or does not answer; the command that follows reports a failed
 * connection. */
udpai_ctl_exit udpai_ctl_find_namespace(udpai_ctl *ctl, udpai_ctl_common *options);

#endif
