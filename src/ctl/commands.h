/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl does, a function for each command. */
#ifndef UDPAI_CTL_COMMANDS_H
#define UDPAI_CTL_COMMANDS_H

#include "ctl/client.h"
#include "ctl/options.h"

typedef udpai_ctl_exit (*udpai_ctl_command_fn)(udpai_ctl *ctl);

udpai_ctl_exit udpai_ctl_apply(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_delete(udpai_ctl *ctl);
/* With --origin. */
udpai_ctl_exit udpai_ctl_delete_origin(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_get(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_watch(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_status(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_clients(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_validate(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_wait_command(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_conform(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_bench(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_auth(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_sign(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_events(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_verify(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_runtime_command(udpai_ctl *ctl);
udpai_ctl_exit udpai_ctl_sources_command(udpai_ctl *ctl);

#endif
