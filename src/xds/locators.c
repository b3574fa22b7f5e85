/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are asked for with dynamic parameters (TP2): what is sent of a name's variants is the
 * one with constraints that they satisfy. The same name with other parameters is another
 * subscription, and with none it is the name as resource_names has it. A client that uses locators
 * is sent variants with their constraints from then on. */
#include "xds/xds_internal.h"

#include "model/variant.h"

static bool
is_wildcard(const udpai_xds_locator *locator)
{
    return udpai_str_eq(locator->name, UDPAI_XDS_WILDCARD);
}

bool
udpai_xds_locates_all(const udpai_xds_request *request)
{
    for (size_t i = 0; i < request->n_locators; i++)
        if (is_wildcard(&request->locators[i]))
            return true;
    return false;
}

/* What a locator means; in `ret_why`, why it means nothing here. */
static udpa_err
resolve(const udpai_xds *xds,
        const udpai_subscription *subscription,
        const udpai_xds_locator *locator,
        udpai_xds_name *ret_name,
        udpa_error **ret_why)
{
    if (locator->is_bad)
        return udpai_fail(ret_why, UDPA_ERR_INVAL,
                          "'%.*s' is asked for with more than %d dynamic parameters, more than %zu "
                          "bytes of them, or one without a key",
                          UDPAI_SHOWN(locator->name), UDPAI_PARAMETERS_MAX,
                          UDPAI_PARAMETERS_BYTES_MAX);
    udpa_err err = udpai_xds_name_resolve(xds->audience, udpai_subscription_type_url(subscription),
                                          locator->name, ret_name, ret_why);
    if (err != UDPA_OK)
        return err;
    if (ret_name->is_glob && !xds->protocol->has_parts)
        return udpai_fail(ret_why, UDPA_ERR_INVAL,
                          "'%.*s' is a collection by glob, which the delta protocol alone has",
                          UDPAI_SHOWN(locator->name));
    ret_name->parameters = locator->parameters;
    return UDPA_OK;
}

/* In the state of the world each request has all of them. */
static bool
is_repeated(const udpai_xds *xds,
            const udpai_subscription *subscription,
            const udpai_locator *locator)
{
    return !xds->protocol->has_removals && udpai_subscription_has_locator(subscription, locator);
}

static udpa_err
check_access(udpai_xds *xds,
             const udpai_subscription *subscription,
             udpai_str full_name,
             udpa_error **ret_why)
{
    const udpai_asked_for asked = {udpai_subscription_type_url(subscription), full_name, false};
    return udpai_session_check_subscription(&xds->session, xds->peer, &asked, ret_why);
}

static udpa_err
subscribe(udpai_xds *xds,
          udpai_subscription *subscription,
          const udpai_xds_locator *asked,
          udpa_error **ret_error)
{
    udpai_xds_name name;
    udpa_error *why = NULL;
    udpa_err err = resolve(xds, subscription, asked, &name, &why);
    if (err == UDPA_OK)
        err = check_access(xds, subscription, name.full, &why);
    if (err != UDPA_OK)
        return udpai_xds_note_unnameable(xds, subscription, asked->name, why, ret_error);
    const udpai_locator locator = {name.full, name.parameters};
    if (name.is_xdstp && xds->protocol->has_parts)
        return udpai_xds_subscribe_requested(xds, subscription, &name, asked->name, ret_error);
    if (is_repeated(xds, subscription, &locator))
        return UDPA_OK;
    err = name.is_xdstp ? udpai_xds_spell(xds, udpai_xds_type_of(subscription), name.full,
                                          asked->name, ret_error)
                        : UDPA_OK;
    return err == UDPA_OK ? udpai_subscribe_locator(subscription, &locator, ret_error) : err;
}

udpa_err
udpai_xds_subscribe_locators(udpai_xds *xds,
                             udpai_subscription *subscription,
                             const udpai_xds_request *request,
                             udpa_error **ret_error)
{
    if (request->n_locators == 0)
        return UDPA_OK;
    udpa_err err = udpai_xds_distinguish_variants(udpai_xds_type_of(subscription), subscription);
    for (size_t i = 0; i < request->n_locators && err == UDPA_OK; i++)
        if (!is_wildcard(&request->locators[i]))
            err = subscribe(xds, subscription, &request->locators[i], ret_error);
    return udpai_fail_code(ret_error, err);
}

static udpa_err
unsubscribe(udpai_xds *xds, udpai_subscription *subscription, const udpai_xds_locator *given_back)
{
    udpai_xds_name name;
    if (is_wildcard(given_back))
        return udpai_unsubscribe_all_wildcards(subscription);
    if (resolve(xds, subscription, given_back, &name, NULL) != UDPA_OK)
        return UDPA_OK;
    const udpai_locator locator = {name.full, name.parameters};
    if (name.is_xdstp)
        udpai_xds_unsubscribe_requested(xds, udpai_xds_type_of(subscription), &name);
    else
        udpai_unsubscribe_locator(subscription, &locator, true);
    return UDPA_OK;
}

udpa_err
udpai_xds_unsubscribe_locators(udpai_xds *xds,
                               udpai_subscription *subscription,
                               const udpai_xds_request *request)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < request->n_unsubscribed_locators && err == UDPA_OK; i++)
        err = unsubscribe(xds, subscription, &request->unsubscribed_locators[i]);
    return err;
}
