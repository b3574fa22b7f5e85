/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client_session.h"

#include <string.h>

typedef Udpa__Status__V1__SessionStatus session_status;

static bool
is_client(const session_status *session, bool is_all)
{
    size_t n_status = 0;
    bool is_served = strcmp(session->protocol, "udpa") == 0 ||
                     strcmp(session->protocol, "xds-delta") == 0 ||
                     strcmp(session->protocol, "xds-sotw") == 0;
    for (size_t i = 0; i < session->n_subscriptions; i++)
        n_status += strncmp(session->subscriptions[i]->type_url, UDPAI_CLI_STATUS_TYPES,
                            strlen(UDPAI_CLI_STATUS_TYPES)) == 0;
    return is_served && !*session->source && (is_all || session->n_subscriptions > n_status);
}

session_status *
udpai_cli_client_session_read(udpa_resource *resource, bool is_all)
{
    size_t size;
    if (strcmp(udpa_resource_type_url(resource), UDPAI_TYPE_SESSION_STATUS) != 0)
        return NULL;
    const void *payload = udpa_resource_payload(resource, &size);
    session_status *session = udpa__status__v1__session_status__unpack(NULL, size, payload);
    if (session && is_client(session, is_all))
        return session;
    udpa__status__v1__session_status__free_unpacked(session, NULL);
    return NULL;
}
