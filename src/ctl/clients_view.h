/* SPDX-License-Identifier: Apache-2.0 */
/* The clients of a node, and whether they have what it has for them, as a table. Pure. */
#ifndef UDPAI_CTL_CLIENTS_VIEW_H
#define UDPAI_CTL_CLIENTS_VIEW_H

#include <udpa/resource.h>

#include "base/strbuf.h"
#include "cli/table.h"

/* Of the resources those of type SessionStatus: one row for each client, whatever number of streams
 * it has. Sources are none, and unless @p is_all neither is what subscribes to nothing but status.
 * @p now_us: since 1970. */
void udpai_ctl_put_clients(udpai_strbuf *out,
                           udpai_cli_layout *layout,
                           udpa_resource *const *resources,
                           size_t n,
                           bool is_all,
                           int64_t now_us);

/* The same of those of type ClientStatus: what nodes report of their clients, which have none for
 * the nodes themselves. */
void udpai_ctl_put_client_tree(udpai_strbuf *out,
                               udpai_cli_layout *layout,
                               udpa_resource *const *resources,
                               size_t n,
                               int64_t now_us);

#endif
