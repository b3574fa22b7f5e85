/* SPDX-License-Identifier: Apache-2.0 */
/* What names without a namespace mean: what they mean to the node. */
#ifndef UDPAI_CTL_DEFAULT_NAMESPACE_H
#define UDPAI_CTL_DEFAULT_NAMESPACE_H

#include "ctl/client.h"

/* Asks the node, if the command line has names, or files, and no --namespace. Who may not know it,
 * and a node that does not say, leaves it as it is; that it cannot be asked, what follows will
 * tell. */
udpai_ctl_exit udpai_ctl_find_namespace(udpai_ctl *ctl, udpai_ctl_options *options);

#endif
