/* SPDX-License-Identifier: Apache-2.0 */
/* One request, and one response, which is the whole state of what was asked for (session/poll.h):
 * by REST (Poll), which waits for another state than that of version_info; by gRPC (Fetch), which
 * is answered whatever the client has, and waits as long as its deadline lets it. */
#include "xds/xds_internal.h"

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpa_err err = udpai_poll_begin(&udpai_xds_of(session)->poll, ret_error);
    return err == UDPA_OK ? udpai_xds_receive(session, message, ret_error) : err;
}

static udpa_err
subscribe(udpai_xds *xds,
          udpai_subscription *subscription,
          const udpai_xds_request *request,
          bool is_first,
          udpa_error **ret_error)
{
    udpai_poll_set_version(&xds->poll, request->version);
    udpa_err err = udpai_xds_sotw_subscribe(xds, subscription, request, is_first, ret_error);
    if (xds->poll.has_version)
        udpai_subscription_wait_with_others(subscription);
    return err;
}

static udpa_err
find(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_xds *xds = udpai_xds_of(session);
    udpa_err err;
    do {
        *ret_any = false;
        xds->last_nonce = 0; /* equal responses have equal bytes */
        err = udpai_xds_next(session, out, ret_any, ret_error);
    } while (err == UDPA_OK && *ret_any &&
             udpai_poll_is_current(&xds->poll, xds->writing->version));
    return err;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    return udpai_poll_next(&udpai_xds_of(session)->poll, find, out, ret_any, ret_error);
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    return udpai_poll_ended(&udpai_xds_of(session)->poll, ret_error);
}

/* A ttl that nobody renews must not be sent: "nothing has changed" does not. */
static const udpai_renderer *
choose_renderer(const udpai_xds *xds)
{
    return &xds->audience->renderers[UDPAI_XDS_SOTW].renderer;
}

/* Nothing can be sent later, so all types are sent as a whole. */
static udpai_delivery_mode
choose_mode(const udpai_xds *xds, udpai_str type_url)
{
    (void)xds;
    (void)type_url;
    return UDPAI_MODE_STATE;
}

#define POLL_OPS(called)                                                                           \
    {                                                                                              \
        .name = (called), .size = sizeof(udpai_xds), .receive = receive, .next = next,             \
        .ended = ended, .order = udpai_xds_order, .describe = udpai_xds_describe,                  \
        .free = udpai_xds_free,                                                                    \
    }

const udpai_xds_protocol udpai_xds_poll = {
    .ops = POLL_OPS("xds-rest"),
    .poll_texts = {"a poll is one request", "a poll needs a DiscoveryRequest", "there is"},
    .decode = udpai_xds_request_decode,
    .choose_renderer = choose_renderer,
    .choose_mode = choose_mode,
    .subscribe = subscribe,
};

const udpai_xds_protocol udpai_xds_fetch = {
    .ops = POLL_OPS("xds-fetch"),
    .poll_texts = {"a Fetch is one request: more are for the Stream method of the service",
                   "a Fetch needs a DiscoveryRequest", "there is"},
    .decode = udpai_xds_request_decode,
    .choose_renderer = udpai_xds_sotw_choose_renderer,
    .choose_mode = choose_mode,
    .subscribe = udpai_xds_sotw_subscribe,
};
