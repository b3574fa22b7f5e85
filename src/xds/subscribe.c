/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of subscribing that both protocols take. */
#include "xds/xds_internal.h"

#include "base/alloc.h"

/* In the delta protocol something is always answered; whether there was anything is known when all
 * that there is has been sent (session.c). */
static udpa_err
add_prefixes(udpai_xds *xds, udpai_subscription *subscription, bool is_new, udpa_error **ret_error)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    bool awaits = xds->protocol->has_removals && type->n_awaited == 0;
    if (!is_new && !awaits)
        return UDPA_OK;
    size_t n = xds->audience->n_namespaces + 1;
    char room[UDPAI_NAME_MAX]; /* of the first one */
    udpai_str *prefixes = udpai_alloc_array(n, sizeof(*prefixes));
    if (!prefixes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    for (size_t i = 0; i < n; i++) {
        prefixes[i] = udpai_xds_wildcard_prefix(xds->audience, i, room);
        const udpai_asked_for asked = {udpai_subscription_type_url(subscription), prefixes[i],
                                       true};
        if (is_new) /* counted and logged; what it may not see it is not sent */
            (void)udpai_session_check_subscription(&xds->session, xds->peer, &asked, NULL);
    }
    udpa_err err =
        is_new ? udpai_subscribe_wildcards(subscription, prefixes, n, ret_error) : UDPA_OK;
    for (size_t i = 0; i < n && err == UDPA_OK && awaits; i++) {
        err = udpai_subscription_await_complete(subscription, prefixes[i], NULL, 0);
        type->n_awaited += err == UDPA_OK;
    }
    udpai_free(prefixes);
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpai_xds_subscribe_wildcard(udpai_xds *xds,
                             udpai_subscription *subscription,
                             udpa_error **ret_error)
{
    bool is_new = !udpai_subscription_has_wildcard(subscription);
    udpai_xds_type_of(subscription)->is_answered = false;
    if (!is_new)
        udpai_subscription_resend_all(subscription);
    return add_prefixes(xds, subscription, is_new, ret_error);
}

/* What a name means; in `ret_why`, why it means nothing here. */
static udpa_err
resolve(udpai_xds *xds,
        const udpai_subscription *subscription,
        udpai_str name,
        udpai_xds_name *ret_name,
        udpa_error **ret_why)
{
    udpa_err err = udpai_xds_name_resolve(xds->audience, udpai_subscription_type_url(subscription),
                                          name, ret_name, ret_why);
    if (err == UDPA_OK && ret_name->is_glob && !xds->protocol->has_parts)
        return udpai_fail(ret_why, UDPA_ERR_INVAL,
                          "'%.*s' is a collection by glob, which the delta protocol alone has",
                          UDPAI_SHOWN(name));
    const udpai_asked_for asked = {udpai_subscription_type_url(subscription), ret_name->full,
                                   false};
    return err == UDPA_OK
               ? udpai_session_check_subscription(&xds->session, xds->peer, &asked, ret_why)
               : err;
}

udpa_err
udpai_xds_subscribe_name(udpai_xds *xds,
                         udpai_subscription *subscription,
                         udpai_str name,
                         udpa_error **ret_error)
{
    udpai_xds_name resolved;
    udpa_error *why = NULL;
    udpa_err err = resolve(xds, subscription, name, &resolved, &why);
    if (err == UDPA_ERR_DENIED && udpai_xds_bar(udpai_xds_type_of(subscription), name) != UDPA_OK) {
        udpa_error_unref(why);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    if (err != UDPA_OK)
        return udpai_xds_note_unnameable(xds, subscription, name, why, ret_error);
    if (resolved.is_xdstp && xds->protocol->has_parts)
        return udpai_xds_subscribe_requested(xds, subscription, &resolved, name, ret_error);
    err = resolved.is_xdstp ? udpai_xds_spell(xds, udpai_xds_type_of(subscription), resolved.full,
                                              name, ret_error)
                            : UDPA_OK;
    return err == UDPA_OK ? udpai_subscribe_name(subscription, resolved.full, ret_error) : err;
}
