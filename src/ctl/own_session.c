/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/own_session.h"

#include "base/alloc.h"
#include "model/types.h"
#include "udpa/status/v1/status.pb-c.h"

#define CLOCKS_US 5000000 /* by so much the clock of the node may differ from ours */

typedef Udpa__Status__V1__SessionStatus session_status;

/* A node that takes long to answer is asked for its status, too (waits.h). */
static bool
is_asked_for(const char *type_url, const udpai_cli_requests *asked)
{
    return udpai_cli_is_requested(asked, type_url) || strcmp(type_url, UDPAI_TYPE_NODE_STATUS) == 0;
}

static bool
may_be_own(const session_status *session, const char *node_id, const udpai_cli_requests *asked)
{
    for (size_t i = 0; i < session->n_subscriptions; i++)
        if (!is_asked_for(session->subscriptions[i]->type_url, asked))
            return false;
    bool is_new = !*session->peer_node_id && !*session->peer_identity;
    return (is_new || strcmp(session->peer_node_id, node_id) == 0) && !*session->source &&
           (!*session->protocol || strcmp(session->protocol, "udpa") == 0);
}

/* Microseconds since 1970; of a session that cannot be ours -1. */
static int64_t
begin_of(const udpa_resource *resource, const char *node_id, const udpai_cli_requests *asked)
{
    size_t size;
    const void *payload = udpa_resource_payload(resource, &size);
    int64_t begin = -1;
    if (strcmp(udpa_resource_type_url(resource), UDPAI_TYPE_SESSION_STATUS) != 0)
        return begin;
    session_status *session = udpa__status__v1__session_status__unpack(NULL, size, payload);
    if (session && may_be_own(session, node_id, asked))
        begin =
            session->since ? session->since->seconds * 1000000 + session->since->nanos / 1000 : 0;
    udpa__status__v1__session_status__free_unpacked(session, NULL);
    return begin;
}

bool
udpai_ctl_hide_own_session(udpai_cli_found *found,
                           const char *node_id,
                           const udpai_cli_requests *asked,
                           int64_t begun_us)
{
    UDPAI_AUTO_FREE udpa_resource **all = udpai_cli_found_sorted(found);
    const udpa_resource *own = NULL;
    int64_t youngest = begun_us - CLOCKS_US;
    for (size_t i = 0; all && i < udpai_cli_found_size(found); i++) {
        int64_t begin = begin_of(all[i], node_id, asked);
        if (begin > youngest) {
            youngest = begin;
            own = all[i];
        }
    }
    return own && udpai_cli_found_drop(found, own);
}
