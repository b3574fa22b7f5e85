/* SPDX-License-Identifier: Apache-2.0 */
/* Fetch: a stream of one request and one response. The response is the whole state of what was
 * asked for, and waits until that is certain; how long, is up to the client's deadline. */
#include "xds/xds_internal.h"

static bool
is_asked(const udpai_xds *xds)
{
    return xds->subscriber.subscriptions.n > 0;
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    if (is_asked(udpai_xds_of(session)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a Fetch is one request: more are for the Stream method of the service");
    return udpai_xds_receive(session, message, ret_error);
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    if (udpai_xds_of(session)->last_nonce == 0)
        return udpai_xds_next(session, out, ret_any, ret_error);
    udpai_session_finish(session, NULL);
    return UDPA_OK;
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    return is_asked(udpai_xds_of(session))
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_INVAL, "a Fetch needs a DiscoveryRequest");
}

/* Nothing can be said later, so all types are told as a whole. */
static udpai_delivery_mode
choose_mode(const udpai_xds *xds, udpai_str type_url)
{
    (void)xds;
    (void)type_url;
    return UDPAI_MODE_STATE;
}

const udpai_xds_protocol udpai_xds_fetch = {
    .ops =
        {
            .name = "xds-fetch",
            .receive = receive,
            .next = next,
            .ended = ended,
            .order = udpai_xds_order,
            .describe = udpai_xds_describe,
            .free = udpai_xds_free,
        },
    .decode = udpai_xds_request_decode,
    .choose_renderer = udpai_xds_sotw_choose_renderer,
    .choose_mode = choose_mode,
    .subscribe = udpai_xds_sotw_subscribe,
};
