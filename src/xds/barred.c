/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a client has asked for and may not see. When it may, because the rules or its Node
 * have changed, they are asked for: in delta it does not send them again, and in the state of the
 * world not before it is sent something. */
#include "xds/xds_internal.h"

/* UDPAI_XDS_BARRED_MAX: there is none. */
static size_t
find(const udpai_xds_type *type, udpai_str name)
{
    for (size_t i = 0; i < type->barred.n; i++)
        if (udpai_str_eq(udpai_bytes_view(type->barred.items[i]), name))
            return i;
    return UDPAI_XDS_BARRED_MAX;
}

udpa_err
udpai_xds_bar(udpai_xds_type *type, udpai_str name)
{
    udpa_bytes *copy = NULL;
    if (type->barred.n >= UDPAI_XDS_BARRED_MAX || find(type, name) < type->barred.n)
        return UDPA_OK;
    udpa_err err = udpa_bytes_new(&copy, name.data, name.len);
    if (err == UDPA_OK && !udpai_vector_push(&type->barred, copy)) {
        udpa_bytes_unref(copy);
        err = UDPA_ERR_NOMEM;
    }
    return err;
}

void
udpai_xds_unbar(udpai_xds_type *type, udpai_str name)
{
    size_t at = find(type, name);
    if (at == UDPAI_XDS_BARRED_MAX)
        return;
    udpa_bytes_unref(type->barred.items[at]);
    udpai_vector_remove_unordered(&type->barred, at);
}

void
udpai_xds_unbar_all(udpai_xds_type *type)
{
    for (size_t i = 0; i < type->barred.n; i++)
        udpa_bytes_unref(type->barred.items[i]);
    udpai_vector_done(&type->barred);
}

static bool
may_ask(const udpai_xds *xds, const udpai_subscription *subscription, udpai_str name)
{
    udpai_xds_name resolved;
    udpai_str type_url = udpai_subscription_type_url(subscription);
    if (udpai_xds_name_resolve(xds->audience, type_url, name, &resolved, NULL) != UDPA_OK)
        return false;
    const udpai_asked_for asked = {type_url, resolved.full, false};
    return udpai_session_may_ask(&xds->session, xds->peer, &asked);
}

static udpa_err
ask_of_type(udpai_xds *xds, udpai_subscription *subscription, udpa_error **ret_error)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    udpa_err err = UDPA_OK;
    for (size_t i = type->barred.n; i-- > 0 && err == UDPA_OK;) {
        udpa_bytes *name = type->barred.items[i];
        if (!may_ask(xds, subscription, udpai_bytes_view(name)))
            continue;
        udpai_vector_remove_unordered(&type->barred, i);
        err = udpai_xds_subscribe_name(xds, subscription, udpai_bytes_view(name), ret_error);
        udpa_bytes_unref(name);
    }
    return err;
}

udpa_err
udpai_xds_ask_barred(udpai_xds *xds, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < xds->subscriber.subscriptions.n && err == UDPA_OK; i++) {
        udpai_subscription *subscription = xds->subscriber.subscriptions.items[i];
        if (udpai_subscription_label(subscription).len == 0) /* parts share the type */
            err = ask_of_type(xds, subscription, ret_error);
    }
    return udpai_fail_code(ret_error, err);
}
