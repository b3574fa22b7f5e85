/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a node, as tables. Pure. */
#ifndef UDPAI_CTL_STATUS_VIEW_H
#define UDPAI_CTL_STATUS_VIEW_H

#include <udpa/resource.h>

#include "base/strbuf.h"
#include "cli/table.h"
#include "google/protobuf/timestamp.pb-c.h"

/* Each takes the resources of its type out of the array. @p n_hidden: sessions that are not
 * printed, and not counted. @p now_us: since 1970. */
void udpai_ctl_put_nodes(udpai_strbuf *out,
                         udpai_cli_layout *layout,
                         udpa_resource *const *resources,
                         size_t n,
                         size_t n_hidden,
                         int64_t now_us);
void udpai_ctl_put_sources(udpai_strbuf *out,
                           udpai_cli_layout *layout,
                           udpa_resource *const *resources,
                           size_t n,
                           int64_t now_us);
void udpai_ctl_put_replicas(udpai_strbuf *out,
                            udpai_cli_layout *layout,
                            udpa_resource *const *resources,
                            size_t n,
                            int64_t now_us);
void udpai_ctl_put_sessions(udpai_strbuf *out,
                            udpai_cli_layout *layout,
                            udpa_resource *const *resources,
                            size_t n,
                            int64_t now_us);
/* How long ago @p since was; NULL or 0: never. */
void udpai_ctl_table_add_age(udpai_cli_table *table,
                             const Google__Protobuf__Timestamp *since,
                             int64_t now_us);
/* "3 d 4 h", "12 min", "5 s": the two largest units. */
void udpai_ctl_put_age(udpai_strbuf *out, int64_t seconds);

#endif
