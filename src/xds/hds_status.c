/* SPDX-License-Identifier: Apache-2.0 */
/* A session, described as udpa.status.v1.SessionStatus. */
#include "session/status.h"
#include "xds/hds_internal.h"

enum { /* field numbers in SessionStatus */
    UNASKED = 13,
    PUBLISH_ERROR = 14,
};

static void
put(udpai_proto_writer *writer, const void *what)
{
    const udpai_hds *hds = what;
    udpai_status_put_session(writer, &hds->session, hds->peer, hds->n_received);
    if (hds->belonging.audience)
        udpai_xds_audience_put(writer, hds->belonging.audience);
    udpai_proto_put_varint_opt(writer, UNASKED, hds->n_unasked);
    if (hds->last_error)
        udpai_proto_put_bytes(writer, PUBLISH_ERROR,
                              udpai_str_from(udpa_error_message(hds->last_error)));
    const udpai_subscription_facts facts = {.n_resources = hds->n_specifiers};
    if (hds->subscription)
        udpai_status_put_subscription(writer, hds->subscription, &facts);
}

udpa_bytes *
udpai_hds_describe(const udpai_session *session)
{
    return udpai_proto_encode(put, UDPAI_CONTAINER_OF(session, const udpai_hds, session));
}
