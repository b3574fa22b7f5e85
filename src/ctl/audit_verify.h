/* SPDX-License-Identifier: Apache-2.0 */
/* Files of an audit: is each line there, as it was written? */
#ifndef UDPAI_CTL_AUDIT_VERIFY_H
#define UDPAI_CTL_AUDIT_VERIFY_H

#include "cli/client.h"

/* Files in the order in which they were written; "-" is standard input. UDPAI_CLI_REFUSED: lines do
 * not follow each other. */
udpai_cli_exit udpai_ctl_audit_verify(const char *const *files, size_t n);

#endif
