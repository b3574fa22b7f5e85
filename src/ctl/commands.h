/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl does, a function for each command. */
#ifndef UDPAI_CTL_COMMANDS_H
#define UDPAI_CTL_COMMANDS_H

#include "cli/client.h"
#include "ctl/options.h"

udpai_cli_exit udpai_ctl_apply(udpai_cli *cli);
udpai_cli_exit udpai_ctl_delete(udpai_cli *cli);
/* Its exit is 1 if they differ, and 2 of any error. */
udpai_cli_exit udpai_ctl_diff(udpai_cli *cli);
/* With --origin. */
udpai_cli_exit udpai_ctl_delete_origin(udpai_cli *cli);
udpai_cli_exit udpai_ctl_get(udpai_cli *cli);
udpai_cli_exit udpai_ctl_explain(udpai_cli *cli);
udpai_cli_exit udpai_ctl_watch(udpai_cli *cli);
udpai_cli_exit udpai_ctl_status(udpai_cli *cli);
udpai_cli_exit udpai_ctl_client(udpai_cli *cli);
udpai_cli_exit udpai_ctl_clients(udpai_cli *cli);
udpai_cli_exit udpai_ctl_bootstrap_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_completion(udpai_cli *cli);
udpai_cli_exit udpai_ctl_config(udpai_cli *cli);
udpai_cli_exit udpai_ctl_context(udpai_cli *cli);
udpai_cli_exit udpai_ctl_check(udpai_cli *cli);
udpai_cli_exit udpai_ctl_audit(udpai_cli *cli);
udpai_cli_exit udpai_ctl_reload(udpai_cli *cli);
udpai_cli_exit udpai_ctl_restart(udpai_cli *cli);
udpai_cli_exit udpai_ctl_freeze(udpai_cli *cli);
udpai_cli_exit udpai_ctl_thaw(udpai_cli *cli);
udpai_cli_exit udpai_ctl_top_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_bug_report(udpai_cli *cli);
udpai_cli_exit udpai_ctl_validate(udpai_cli *cli);
udpai_cli_exit udpai_ctl_wait_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_auth(udpai_cli *cli);
udpai_cli_exit udpai_ctl_sign(udpai_cli *cli);
udpai_cli_exit udpai_ctl_events(udpai_cli *cli);
udpai_cli_exit udpai_ctl_verify(udpai_cli *cli);
udpai_cli_exit udpai_ctl_runtime_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_sources_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_replicas_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_store_command(udpai_cli *cli);
udpai_cli_exit udpai_ctl_backup(udpai_cli *cli);
udpai_cli_exit udpai_ctl_restore(udpai_cli *cli);

#endif
