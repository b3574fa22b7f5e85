/* SPDX-License-Identifier: Apache-2.0 */
/* Which sessions of a node are those of clients. Pure. */
#ifndef UDPAI_CLI_CLIENT_SESSION_H
#define UDPAI_CLI_CLIENT_SESSION_H

#include <udpa/resource.h>

#include "model/types.h"
#include "udpa/status/v1/status.pb-c.h"

#define UDPAI_CLI_STATUS_TYPES UDPAI_TYPE_PREFIX "udpa.status.v1."

/* The SessionStatus of a client; NULL: the resource is none. Sources are none, and unless @p is_all
 * neither is what subscribes to nothing but status, such as udpactl. To be freed with
 * udpa__status__v1__session_status__free_unpacked(). */
Udpa__Status__V1__SessionStatus *udpai_cli_client_session_read(udpa_resource *resource,
                                                               bool is_all);

#endif
