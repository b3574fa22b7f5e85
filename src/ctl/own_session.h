/* SPDX-License-Identifier: Apache-2.0 */
/* Of the sessions that a node describes, the one in which it was asked to. Pure. */
#ifndef UDPAI_CTL_OWN_SESSION_H
#define UDPAI_CTL_OWN_SESSION_H

#include "cli/found.h"
#include "cli/requests.h"

/* Takes it out of what was found: the youngest of those with this node id that subscribe to nothing
 * but what was asked for, @p asked, or the status of the node. A node describes itself once a
 * second: it may have seen a session before its Node. Others with the same id stay, such as one
 * that watches, and so does what is clearly older than @p begun_us, when we began (since 1970).
 * Returns whether there was one. */
bool udpai_ctl_hide_own_session(udpai_cli_found *found,
                                const char *node_id,
                                const udpai_cli_requests *asked,
                                int64_t begun_us);

#endif
