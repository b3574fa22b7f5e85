/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a node, as far as it decides what to ask it for. Pure. */
#ifndef UDPAI_CLI_NODE_STATUS_H
#define UDPAI_CLI_NODE_STATUS_H

#include <udpa/resource.h>

#include "base/strbuf.h"
#include "cli/requests.h"

#define UDPAI_CLI_STATUS_NAMESPACE "udpa.node"

/* Is it one of the types of status? They are in the namespace above. */
bool udpai_cli_is_status(const char *type_url);
/* The request for one kind of status: "NodeStatus", … */
udpa_err udpai_cli_request_status(const char *kind, udpai_cli_requests *requests);
/* Adds, of a NodeStatus, the types that are not among the requests: those of which the node has
 * something, and those of which its sources have not sent all. */
udpa_err udpai_cli_request_types_of(const udpa_resource *node_status,
                                    const char *name_space,
                                    udpai_cli_requests *requests);
/* Where names without a namespace lie there; NULL: not known. To be freed with udpai_free(). */
char *udpai_cli_default_namespace_of(const udpa_resource *node_status);
/* Appends "core, cloud": what the node itself waits for, by its NodeStatus, before it can report
 * that what it has of these types is all. */
void udpai_cli_put_waits_for(udpai_strbuf *out,
                             const udpa_resource *node_status,
                             const udpai_cli_requests *requests);

#endif
