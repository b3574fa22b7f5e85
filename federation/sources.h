/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of a node, by name and by link. */
#ifndef UDPAI_SOURCES_H
#define UDPAI_SOURCES_H

#include "federation/node_internal.h"

void udpai_sources_init(udpai_node *node);
/* Makes one that is of no group of clients. */
udpa_err udpai_sources_add(udpai_node *node,
                           const udpai_source_config *config,
                           bool serves_us,
                           udpa_error **ret_error);

/* *ret_source: NULL, if there is none and can be none. */
udpa_err udpai_sources_find(udpai_node *node,
                            udpai_str name,
                            udpai_awaited_by who,
                            const udpai_source **ret_source,
                            udpa_error **ret_error);

#endif
