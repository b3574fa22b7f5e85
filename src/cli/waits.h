/* SPDX-License-Identifier: Apache-2.0 */
/* A node that does not answer may itself wait for others. One that takes long is asked for what, so
 * that the user is shown that; not before, since a node that describes itself has some work. */
#ifndef UDPAI_CLI_WAITS_H
#define UDPAI_CLI_WAITS_H

#include <udpa/subscribe.h>

#include "cli/client.h"
#include "cli/requests.h"

typedef struct udpai_cli_waits {
    udpai_cli *cli;
    const udpai_cli_requests *requests; /* what the node is waited for with */
    udpa_subscription *subscription;    /* to its status; NULL: none */
} udpai_cli_waits;

/* The connection must be there; both are borrowed until the end. */
void
udpai_cli_waits_begin(udpai_cli_waits *waits, udpai_cli *cli, const udpai_cli_requests *requests);
/* Before the connection ends. */
void udpai_cli_waits_end(udpai_cli_waits *waits);

#endif
