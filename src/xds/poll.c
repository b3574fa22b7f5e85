/* SPDX-License-Identifier: Apache-2.0 */
/* REST: a request that is answered once, as soon as what there is, is not what the client holds
 * (version_info), and that waits for this as long as the client has patience. Then the session ends
 * in peace without a response: nothing has changed. As with Fetch, a response is the whole state of
 * what was asked for. */
#include "xds/xds_internal.h"

static udpai_xds_polling *
polling_of(udpai_session *session)
{
    return &udpai_xds_of(session)->polling;
}

static void
on_patience_end(udpai_timer *timer)
{
    udpai_xds_polling *polling = UDPAI_CONTAINER_OF(timer, udpai_xds_polling, patience);
    polling->is_over = true;
    udpai_session_ready(&UDPAI_CONTAINER_OF(polling, udpai_xds, polling)->session);
}

static udpa_err
receive(udpai_session *session, udpai_str message, udpa_error **ret_error)
{
    udpai_xds *xds = udpai_xds_of(session);
    if (xds->subscriber.subscriptions.n > 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "a poll is one request");
    uint64_t patience_ms = session->info.patience_ms;
    udpai_wheel *wheel = udpai_hub_wheel(session->hub);
    udpai_timer_init(&xds->polling.patience, on_patience_end);
    if (patience_ms)
        udpai_timer_set(wheel, &xds->polling.patience, wheel->now_ms + patience_ms);
    return udpai_xds_receive(session, message, ret_error);
}

/* A version that is none of ours is no reason to wait. */
static udpa_err
subscribe(udpai_xds *xds,
          udpai_subscription *subscription,
          const udpai_xds_request *request,
          bool is_first,
          udpa_error **ret_error)
{
    udpai_xds_polling *polling = &xds->polling;
    polling->has_version = request->version.len == sizeof(polling->version);
    if (polling->has_version)
        memcpy(polling->version, request->version.data, sizeof(polling->version));
    return udpai_xds_sotw_subscribe(xds, subscription, request, is_first, ret_error);
}

/* Is it what the client holds? */
static bool
is_held(const udpai_xds_polling *polling, const udpai_body *body)
{
    return polling->has_version &&
           udpai_str_eq(body->version, (udpai_str){polling->version, sizeof(polling->version)});
}

/* A client that holds nothing cannot be told that nothing has changed. */
static udpa_err
give_up(udpai_session *session, udpa_error **ret_error)
{
    const udpai_xds_polling *polling = polling_of(session);
    if (!polling->has_version)
        return udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE,
                          "it is not certain yet what there is: a source of this node has not said "
                          "all it has; ask again");
    udpai_session_finish(session, NULL);
    return UDPA_OK;
}

static udpa_err
next(udpai_session *session, udpai_outgoing *out, bool *ret_any, udpa_error **ret_error)
{
    udpai_xds *xds = udpai_xds_of(session);
    if (xds->polling.is_answered) {
        udpai_session_finish(session, NULL);
        return UDPA_OK;
    }
    udpa_err err;
    do {
        *ret_any = false;
        xds->last_nonce = 0; /* equal responses have equal bytes */
        err = udpai_xds_next(session, out, ret_any, ret_error);
    } while (err == UDPA_OK && *ret_any && is_held(&xds->polling, xds->writing));
    xds->polling.is_answered = *ret_any;
    if (err == UDPA_OK && !*ret_any && xds->polling.is_over)
        return give_up(session, ret_error);
    return err;
}

static udpa_err
ended(udpai_session *session, udpa_error **ret_error)
{
    return udpai_xds_of(session)->subscriber.subscriptions.n > 0
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_INVAL, "a poll needs a DiscoveryRequest");
}

/* A ttl that nobody renews must not be said: "nothing has changed" does not. */
static const udpai_renderer *
choose_renderer(const udpai_xds *xds)
{
    return &xds->audience->renderers[UDPAI_XDS_SOTW].renderer;
}

static udpai_delivery_mode
choose_mode(const udpai_xds *xds, udpai_str type_url)
{
    (void)xds;
    (void)type_url;
    return UDPAI_MODE_STATE;
}

static void
poll_free(udpai_session *session)
{
    udpai_timer *patience = &polling_of(session)->patience;
    if (patience->fire) /* a request has come */
        udpai_timer_cancel(patience);
    udpai_xds_free(session);
}

const udpai_xds_protocol udpai_xds_poll = {
    .ops =
        {
            .name = "xds-rest",
            .receive = receive,
            .next = next,
            .ended = ended,
            .order = udpai_xds_order,
            .describe = udpai_xds_describe,
            .free = poll_free,
        },
    .decode = udpai_xds_request_decode,
    .choose_renderer = choose_renderer,
    .choose_mode = choose_mode,
    .subscribe = subscribe,
};
