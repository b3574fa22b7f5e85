/* SPDX-License-Identifier: Apache-2.0 */
/* The pages /restart and /process: begins a restart without a gap, and shows which process answers
 * and how far a restart is. */
#ifndef UDPAI_RESTART_PAGE_H
#define UDPAI_RESTART_PAGE_H

#include "base/strbuf.h"
#include "daemon/effective.h"
#include "daemon/restart.h"

/* @p restart: NULL while the node begins or ends. Answers as the other one. */
udpa_err udpai_restart_page(udpai_restart *restart,
                            const udpai_effective *effective,
                            udpai_strbuf *text,
                            udpa_error **ret_error);
/* JSON: "process", its id; "successor", that of the one which takes over, 0: none does; "failure",
 * why the last one did not. */
void udpai_process_page(const udpai_restart *restart, udpai_strbuf *text);

#endif
