/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were asked for and cannot be any, or are not for this client: they certainly do not
 * exist, and are reported once. In delta that is the end of them. In the state of the world, where
 * only clients that read resource_errors can be sent it, a name is in every request for as long as
 * it is subscribed, so it is remembered that it was reported. Some names that may come yet are
 * reported later. */
#include "xds/xds_internal.h"

static bool
is_state(const udpai_subscription *subscription)
{
    return subscription && udpai_subscription_mode(subscription) == UDPAI_MODE_STATE;
}

static void
free_one(udpai_xds_unnameable *one)
{
    udpa_bytes_unref(one->name);
    udpa_error_unref(one->why);
}

void
udpai_xds_unnameable_done(udpai_xds_type *type)
{
    for (size_t i = 0; i < type->unnameable.n; i++)
        free_one(&type->unnameable.items[i]);
    udpai_vector_done(&type->unnameable);
}

udpai_xds_missing
udpai_xds_unnameable_view(const udpai_xds_type *type, size_t index)
{
    const udpai_xds_unnameable *one = &type->unnameable.items[index];
    bool is_denied = udpa_error_code(one->why) == UDPA_ERR_DENIED;
    return (udpai_xds_missing){
        .name = udpai_bytes_view(one->name),
        .why = is_denied ? UDPA_ERR_DENIED : UDPA_ERR_NOT_FOUND,
        .reason = udpai_str_from(udpa_error_message(one->why)),
    };
}

/* ---- noting ---- */

static udpai_xds_unnameable *
find(const udpai_xds_type *type, udpai_str name)
{
    for (size_t i = 0; i < type->unnameable.n; i++)
        if (udpai_str_eq(udpai_bytes_view(type->unnameable.items[i].name), name))
            return &type->unnameable.items[i];
    return NULL;
}

static udpa_err
add(udpai_xds *xds, udpai_xds_type *type, udpai_str name, udpa_error *why)
{
    udpai_xds_unnameable one = {.why = why, .is_asked = true};
    udpa_err err = udpa_bytes_new(&one.name, name.data, name.len);
    if (err == UDPA_OK && !udpai_vector_push(&type->unnameable, one))
        err = UDPA_ERR_NOMEM;
    if (err != UDPA_OK) {
        free_one(&one);
        return err;
    }
    type->n_unreported++;
    xds->n_unreported++;
    udpai_session_ready(&xds->session);
    return UDPA_OK;
}

/* Most clients cannot be sent the reason. */
static void
warn(udpai_xds *xds, udpai_str name, const udpa_error *why)
{
    unsigned n_suppressed;
    if (!udpai_xdstp_is(name) ||
        !udpai_log_allow(&xds->server->bad_names, udpai_hub_wheel(xds->session.hub)->now_ms,
                         &n_suppressed))
        return;
    udpai_str id = xds->peer ? udpai_node_info_parts(xds->peer)->id : (udpai_str){0};
    udpai_log_about(
        UDPA_LOG_WARNING, "xds",
        UDPAI_ABOUT({UDPAI_LOG_PEER, id}, {UDPAI_LOG_NAME, name},
                    {UDPAI_LOG_CODE, udpai_log_code(why)}),
        "client '%.*s' has subscribed to a name that can never exist: %s (%u more not shown)",
        UDPAI_SHOWN(id), udpa_error_message(why), n_suppressed);
}

udpa_err
udpai_xds_note_unnameable(udpai_xds *xds,
                          udpai_subscription *subscription,
                          udpai_str name,
                          udpa_error *why,
                          udpa_error **ret_error)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    udpai_xds_unnameable *known = xds->protocol->has_removals ? NULL : find(type, name);
    bool can_report = xds->protocol->has_removals || xds->sends_errors;
    warn(xds, name, why);
    if (known)
        known->is_asked = true;
    if (!can_report || known) {
        udpa_error_unref(why);
        return UDPA_OK;
    }
    if (type->unnameable.n < UDPAI_XDS_UNNAMEABLE_MAX)
        return add(xds, type, name, why);
    udpa_error_unref(why);
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "more than %d names that are empty, longer than %d bytes or otherwise none "
                      "wait for their answer; the last one is '%.*s'",
                      UDPAI_XDS_UNNAMEABLE_MAX, UDPAI_NAME_MAX, UDPAI_SHOWN(name));
}

/* ---- the names of a request of the state of the world ---- */

void
udpai_xds_begin_names(udpai_xds_type *type)
{
    for (size_t i = 0; i < type->unnameable.n; i++)
        type->unnameable.items[i].is_asked = false;
}

static void
count_reported(udpai_xds *xds, udpai_xds_type *type, udpai_xds_unnameable *one)
{
    if (one->is_reported)
        return;
    one->is_reported = true;
    type->n_unreported--;
    xds->n_unreported--;
}

/* A response without resources would be a state in which there is nothing: beside others they are
 * sent with the state of those. */
void
udpai_xds_end_names(udpai_xds *xds, udpai_subscription *subscription)
{
    udpai_xds_type *type = udpai_xds_type_of(subscription);
    for (size_t i = type->unnameable.n; i-- > 0;) {
        udpai_xds_unnameable *one = &type->unnameable.items[i];
        if (one->is_asked)
            continue;
        count_reported(xds, type, one);
        free_one(one);
        udpai_vector_remove_unordered(&type->unnameable, i);
    }
    bool has_others = udpai_subscription_n_names(subscription) > 0 ||
                      udpai_subscription_has_wildcard(subscription);
    if (type->n_unreported == 0 || !is_state(subscription) || !has_others)
        return;
    for (size_t i = 0; i < type->unnameable.n; i++)
        count_reported(xds, type, &type->unnameable.items[i]);
    udpai_subscription_resend_state(subscription);
}

/* ---- reporting ---- */

size_t
udpai_xds_unreported(const udpai_xds_type *type, udpai_xds_missing *ret_missing, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < type->unnameable.n && n < max; i++)
        if (!type->unnameable.items[i].is_reported)
            ret_missing[n++] = udpai_xds_unnameable_view(type, i);
    return n;
}

void
udpai_xds_reported(udpai_xds *xds, udpai_xds_type *type)
{
    for (size_t i = 0; i < type->unnameable.n; i++)
        count_reported(xds, type, &type->unnameable.items[i]);
    if (!xds->protocol->has_removals)
        return;
    for (size_t i = 0; i < type->unnameable.n; i++)
        free_one(&type->unnameable.items[i]);
    type->unnameable.n = 0;
}

/* An Envoy that starts takes "removed" for an update, of which nothing is ready, and then never
 * serves anything, not even by listeners that have all of theirs. Of silence it has enough after
 * 15 s. Of secrets and clusters that are removed it knows what to do. */
void
udpai_xds_delay_absence(const udpai_xds *xds, udpai_subscription *subscription)
{
    udpai_str type_url = udpai_subscription_type_url(subscription);
    bool is_awaited = udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_ROUTES)) ||
                      udpai_str_eq(type_url, UDPAI_STR(UDPAI_TYPE_EXTENSION));
    bool is_envoy = xds->peer && udpai_str_eq(udpai_node_info_parts(xds->peer)->user_agent_name,
                                              UDPAI_STR("envoy"));
    if (is_envoy && is_awaited && xds->protocol->has_removals && !xds->sends_errors)
        udpai_subscription_delay_absence(subscription, xds->server->absent_route_delay_ms);
}
