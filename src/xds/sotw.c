/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the world protocol: each request has all names. It takes the place of the one
 * before, whatever nonce it has (why: docs/design/xds.md): what differs is carried out, and a
 * request that differs in nothing is answered by nothing. */
#include "base/alloc.h"
#include "base/map.h"
#include "model/digest.h"
#include "model/types.h"
#include "model/variant.h"
#include "xds/xds_internal.h"

/* The feature has two spellings: what clients send, and what the protocol's text has. */
static bool
takes_wrapped(const udpai_node_info *peer)
{
    return udpai_node_info_has_feature(peer, "xds.config.resource-in-sotw") ||
           udpai_node_info_has_feature(peer, "xds.config.supports-resource-in-sotw");
}

/* Some clients take what is wrapped and nothing without a payload: for them a ttl is renewed with
 * the payload. */
const udpai_renderer *
udpai_xds_sotw_choose_renderer(const udpai_xds *xds)
{
    udpai_xds_form form = UDPAI_XDS_SOTW;
    if (xds->peer && takes_wrapped(xds->peer))
        form = udpai_node_info_has_feature(xds->peer, "xds.config.supports-resource-ttl")
                   ? UDPAI_XDS_SOTW_HEARTBEAT
                   : UDPAI_XDS_SOTW_WRAPPED;
    return udpai_xds_renderer_for(xds, form);
}

static udpai_delivery_mode
choose_mode(const udpai_xds *xds, udpai_str type_url)
{
    if (udpai_type_is_whole(type_url))
        return UDPAI_MODE_STATE;
    return xds->sends_errors ? UDPAI_MODE_ERRORS : UDPAI_MODE_GROUPED;
}

/* ---- which names are no longer in the list ---- */

static udpai_str
name_key(const void *item)
{
    return *(const udpai_str *)item;
}

/* The names of a request, as UDPA knows them; behind each a zero byte and the parameters that it is
 * asked for with, if there are any. */
struct requested {
    udpai_xds *xds;
    udpai_str type_url;
    udpai_map names;  /* of udpai_str */
    udpai_str *views; /* what it points to */
    char *text;
    UDPAI_VECTOR(udpai_locator) unsubscribed;
    bool failed;
};

static bool
resolve(const struct requested *requested, udpai_str name, udpai_xds_name *ret_name)
{
    return udpai_xds_name_resolve(requested->xds->audience, requested->type_url, name, ret_name,
                                  NULL) == UDPA_OK;
}

static size_t
text_size(const struct requested *requested, const udpai_xds_request *request)
{
    udpai_xds_name name;
    size_t size = 0;
    for (size_t i = 0; i < request->n_names; i++)
        size += resolve(requested, request->names[i], &name) ? name.full.len : 0;
    for (size_t i = 0; i < request->n_locators; i++)
        if (resolve(requested, request->locators[i].name, &name))
            size += name.full.len + 1 + request->locators[i].parameters.len;
    return size;
}

static udpai_str
put_key(char **at, const udpai_locator *locator)
{
    udpai_str key = udpai_str_put(at, locator->name);
    if (locator->parameters.len == 0)
        return key;
    *(*at)++ = '\0';
    key.len += 1 + udpai_str_put(at, locator->parameters).len;
    return key;
}

static void
request_name(struct requested *requested, const udpai_locator *asked, udpai_str *view, char **at)
{
    udpai_xds_name resolved;
    if (!resolve(requested, asked->name, &resolved))
        return;
    char *start = *at;
    *view = put_key(at, &(udpai_locator){resolved.full, asked->parameters});
    if (udpai_map_get(&requested->names, *view))
        *at = start;
    else
        requested->failed |= !udpai_map_add(&requested->names, view);
}

static void
request_all(struct requested *requested, const udpai_xds_request *request)
{
    udpai_str *view = requested->views;
    char *at = requested->text;
    for (size_t i = 0; i < request->n_names && !requested->failed; i++)
        request_name(requested, &(udpai_locator){.name = request->names[i]}, view++, &at);
    for (size_t i = 0; i < request->n_locators && !requested->failed; i++) {
        const udpai_xds_locator *asked = &request->locators[i];
        if (!asked->is_bad)
            request_name(requested, &(udpai_locator){asked->name, asked->parameters}, view++, &at);
    }
}

static void
note_if_unsubscribed(void *userdata, const udpai_locator *locator)
{
    char room[UDPAI_NAME_MAX + 1 + UDPAI_PARAMETERS_BYTES_MAX], *at = room;
    struct requested *requested = userdata;
    if (!udpai_map_get(&requested->names, put_key(&at, locator)))
        requested->failed |= !udpai_vector_push(&requested->unsubscribed, *locator);
}

static void
unsubscribe(udpai_xds *xds, udpai_subscription *subscription, const udpai_locator *locator)
{
    if (udpai_subscription_n_asking(subscription, locator->name) == 1)
        udpai_xds_forget_spelling(xds, udpai_xds_type_of(subscription), locator->name);
    udpai_unsubscribe_locator(subscription, locator, false);
}

static udpa_err
unsubscribe_others(udpai_xds *xds,
                   udpai_subscription *subscription,
                   const udpai_xds_request *request)
{
    struct requested requested = {xds, .type_url = udpai_subscription_type_url(subscription)};
    if (udpai_subscription_n_names(subscription) == 0)
        return UDPA_OK;
    udpai_map_init(&requested.names, name_key);
    requested.views =
        udpai_alloc_array(request->n_names + request->n_locators, sizeof(*requested.views));
    requested.text = udpai_alloc(text_size(&requested, request));
    requested.failed = !requested.views || !requested.text;
    request_all(&requested, request);
    if (!requested.failed)
        udpai_subscription_visit_names(subscription, note_if_unsubscribed, &requested);
    for (size_t i = 0; i < requested.unsubscribed.n && !requested.failed; i++)
        unsubscribe(xds, subscription, &requested.unsubscribed.items[i]);
    udpai_vector_done(&requested.unsubscribed);
    udpai_map_done(&requested.names);
    udpai_free(requested.views);
    udpai_free(requested.text);
    return requested.failed ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* ---- which are new ---- */

static bool
is_subscribed(const udpai_xds *xds, const udpai_subscription *subscription, udpai_str name)
{
    udpai_xds_name resolved;
    return udpai_xds_name_resolve(xds->audience, udpai_subscription_type_url(subscription), name,
                                  &resolved, NULL) == UDPA_OK &&
           udpai_subscription_has_name(subscription, resolved.full);
}

static udpa_err
subscribe_new(udpai_xds *xds,
              udpai_subscription *subscription,
              const udpai_xds_request *request,
              udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < request->n_names && err == UDPA_OK; i++)
        if (!udpai_str_eq(request->names[i], UDPAI_XDS_WILDCARD) &&
            !is_subscribed(xds, subscription, request->names[i]))
            err = udpai_xds_subscribe_name(xds, subscription, request->names[i], ret_error);
    return err;
}

static bool
has_wildcard(const udpai_xds_request *request)
{
    for (size_t i = 0; i < request->n_names; i++)
        if (udpai_str_eq(request->names[i], UDPAI_XDS_WILDCARD))
            return true;
    return udpai_xds_locates_all(request);
}

/* Of the names and the order in which they come. */
static uint64_t
digest_of_names(const udpai_xds_request *request)
{
    uint64_t digest = request->n_names;
    for (size_t i = 0; i < request->n_names; i++)
        digest = udpai_digest_behind(digest, request->names[i]);
    for (size_t i = 0; i < request->n_locators; i++) {
        digest = udpai_digest_behind(digest, request->locators[i].name);
        digest = udpai_digest_behind(digest, request->locators[i].parameters);
        digest += request->locators[i].is_bad;
    }
    return digest;
}

static udpa_err
carry_out(udpai_xds *xds,
          udpai_subscription *subscription,
          const udpai_xds_request *request,
          udpa_error **ret_error)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    type->is_named |= request->n_names + request->n_locators > 0;
    bool is_all = !type->is_named || has_wildcard(request),
         was_all = udpai_subscription_has_wildcard(subscription);
    udpa_err err = UDPA_OK;
    if (is_all && !was_all)
        err = udpai_xds_subscribe_wildcard(xds, subscription, ret_error);
    if (err == UDPA_OK)
        err = unsubscribe_others(xds, subscription, request);
    udpai_xds_begin_names(type);
    udpai_xds_unbar_all(type); /* what is still barred is asked for anew */
    if (err == UDPA_OK)
        err = subscribe_new(xds, subscription, request, ret_error);
    if (err == UDPA_OK)
        err = udpai_xds_subscribe_locators(xds, subscription, request, ret_error);
    udpai_xds_end_names(xds, subscription);
    if (err == UDPA_OK && !is_all && was_all)
        err = udpai_unsubscribe_all_wildcards(subscription);
    return err;
}

/* Nearly all requests repeat the one before, and acknowledge. */
udpa_err
udpai_xds_sotw_subscribe(udpai_xds *xds,
                         udpai_subscription *subscription,
                         const udpai_xds_request *request,
                         bool is_first,
                         udpa_error **ret_error)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    uint64_t digest = digest_of_names(request);
    (void)is_first;
    xds->asks_nothing_new = type->has_asked && type->asked_for == digest;
    if (xds->asks_nothing_new)
        return UDPA_OK;
    udpa_err err = carry_out(xds, subscription, request, ret_error);
    type->asked_for = digest;
    type->has_asked = err == UDPA_OK;
    return err;
}

const udpai_xds_protocol udpai_xds_sotw = {
    .ops =
        {
            .name = "xds-sotw",
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
    .decode = udpai_xds_request_decode,
    .choose_renderer = udpai_xds_sotw_choose_renderer,
    .choose_mode = choose_mode,
    .has_siblings = true,
    .subscribe = udpai_xds_sotw_subscribe,
};
