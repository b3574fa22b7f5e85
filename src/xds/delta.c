/* SPDX-License-Identifier: Apache-2.0 */
/* The delta protocol: requests add and take away. Whatever nonce a request has, its subscriptions
 * count. */
#include "xds/xds_internal.h"

static const udpai_renderer *
choose_renderer(const udpai_xds *xds)
{
    return udpai_xds_renderer_for(xds, UDPAI_XDS_DELTA);
}

static udpai_delivery_mode
choose_mode(const udpai_xds *xds, udpai_str type_url)
{
    (void)xds;
    (void)type_url;
    return UDPAI_MODE_DELTA;
}

static bool
resolve(const udpai_xds *xds,
        const udpai_subscription *subscription,
        udpai_str name,
        udpai_xds_name *ret_name)
{
    return udpai_xds_name_resolve(xds->audience, udpai_subscription_type_url(subscription), name,
                                  ret_name, NULL) == UDPA_OK;
}

static udpa_err
make_part(udpai_xds *xds, udpai_subscription *subscription, udpai_str text, udpa_error **ret_error)
{
    udpai_xds_name name;
    udpai_subscription *part;
    if (!udpai_xdstp_is(text) || !resolve(xds, subscription, text, &name))
        return UDPA_OK;
    return udpai_xds_get_part(xds, subscription, &name, text, &part, ret_error);
}

/* What is held is noted with the part that will bring it, so that must be there. */
static udpa_err
make_parts(udpai_xds *xds,
           udpai_subscription *subscription,
           const udpai_xds_request *request,
           udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; request->n_versions && i < request->n_names && err == UDPA_OK; i++)
        err = make_part(xds, subscription, request->names[i], ret_error);
    for (size_t i = 0; request->n_versions && i < request->n_locators && err == UDPA_OK; i++)
        err = make_part(xds, subscription, request->locators[i].name, ret_error);
    return err;
}

/* What the client holds from an earlier stream. What is not noted is sent again. */
static udpa_err
note_held(udpai_xds *xds, udpai_subscription *subscription, const udpai_xds_request *request)
{
    udpa_err err = UDPA_OK;
    udpai_xds_type_of(subscription)->has_held = request->n_versions > 0;
    for (size_t i = 0; i < request->n_versions && err == UDPA_OK; i++) {
        const udpai_held_version *held = &request->versions[i];
        udpai_xds_name name;
        if (!resolve(xds, subscription, held->name, &name))
            continue;
        err = name.is_xdstp
                  ? udpai_xds_hold_requested(udpai_xds_type_of(subscription), name.full,
                                             held->version)
                  : udpai_subscription_hold_version(subscription, name.full, held->version);
    }
    return err == UDPA_ERR_LIMIT ? UDPA_OK : err;
}

/* What it does not hold is sent in any case. */
static void
resend_awaited(udpai_xds *xds, udpai_subscription *subscription, const udpai_xds_request *request)
{
    udpai_xds_awaited *awaited =
        udpai_xds_awaited_of(xds, udpai_subscription_type_url(subscription));
    udpai_xds_name name;
    if (!awaited)
        return;
    for (size_t i = 0; udpai_xds_awaited_any(awaited) && i < request->n_versions; i++)
        if (resolve(xds, subscription, request->versions[i].name, &name) &&
            udpai_xds_awaited_has(awaited, name.full))
            udpai_xds_resend(xds, subscription, &name);
    udpai_xds_awaited_done(awaited);
}

/* A wildcard may hold the name still, so its present state is sent. */
static udpa_err
unsubscribe_one(udpai_xds *xds, udpai_subscription *subscription, udpai_str name)
{
    udpai_xds_name resolved;
    if (udpai_str_eq(name, UDPAI_XDS_WILDCARD))
        return udpai_unsubscribe_all_wildcards(subscription);
    udpai_xds_unbar(udpai_xds_type_of(subscription), name);
    if (!resolve(xds, subscription, name, &resolved))
        return UDPA_OK;
    if (resolved.is_xdstp)
        udpai_xds_unsubscribe_requested(xds, udpai_xds_type_of(subscription), &resolved);
    else
        udpai_unsubscribe_name(subscription, resolved.full, true);
    return UDPA_OK;
}

/* The wildcard goes first: what it will bring, names need not. */
static udpa_err
subscribe_all(udpai_xds *xds,
              udpai_subscription *subscription,
              const udpai_xds_request *request,
              udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < request->n_names && err == UDPA_OK; i++)
        if (udpai_str_eq(request->names[i], UDPAI_XDS_WILDCARD))
            err = udpai_xds_subscribe_wildcard(xds, subscription, ret_error);
    if (err == UDPA_OK && udpai_xds_locates_all(request))
        err = udpai_xds_subscribe_wildcard(xds, subscription, ret_error);
    for (size_t i = 0; i < request->n_names && err == UDPA_OK; i++)
        if (!udpai_str_eq(request->names[i], UDPAI_XDS_WILDCARD))
            err = udpai_xds_subscribe_name(xds, subscription, request->names[i], ret_error);
    return err == UDPA_OK ? udpai_xds_subscribe_locators(xds, subscription, request, ret_error)
                          : err;
}

static udpa_err
subscribe(udpai_xds *xds,
          udpai_subscription *subscription,
          const udpai_xds_request *request,
          bool is_first,
          udpa_error **ret_error)
{
    bool is_empty = request->n_names == 0 && request->n_unsubscribed == 0 &&
                    request->n_locators == 0 && request->n_unsubscribed_locators == 0;
    udpa_err err = UDPA_OK;
    xds->asks_nothing_new = is_empty && !is_first;
    for (size_t i = 0; i < request->n_unsubscribed && err == UDPA_OK; i++)
        err = unsubscribe_one(xds, subscription, request->unsubscribed[i]);
    if (err == UDPA_OK)
        err = udpai_xds_unsubscribe_locators(xds, subscription, request);
    if (err == UDPA_OK && is_first)
        err = make_parts(xds, subscription, request, ret_error);
    if (err == UDPA_OK && is_first)
        err = note_held(xds, subscription, request);
    if (err == UDPA_OK && is_first && is_empty && !udpai_xds_type_of(subscription)->is_named)
        return udpai_xds_subscribe_wildcard(xds, subscription, ret_error);
    if (err == UDPA_OK)
        err = subscribe_all(xds, subscription, request, ret_error);
    if (err == UDPA_OK && is_first)
        resend_awaited(xds, subscription, request);
    return err;
}

const udpai_xds_protocol udpai_xds_delta = {
    .ops =
        {
            .name = "xds-delta",
            .size = sizeof(udpai_xds),
            .receive = udpai_xds_receive,
            .next = udpai_xds_next,
            .order = udpai_xds_order,
            .describe = udpai_xds_describe,
            .ack_status = udpai_xds_ack_status,
            .unanswered = udpai_xds_unanswered,
            .peer = udpai_xds_peer,
            .subscriber = udpai_xds_subscriber,
            .call = udpai_xds_call,
            .free = udpai_xds_free,
        },
    .decode = udpai_xds_delta_request_decode,
    .choose_renderer = choose_renderer,
    .choose_mode = choose_mode,
    .has_siblings = true,
    .subscribe = subscribe,
    .has_removals = true,
    .has_parts = true,
};
