/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/reports.h"
#include "federation/egress_internal.h"
#include "federation/receiver.h"

#include "base/alloc.h"
#include "model/client_type.h"
#include "model/name.h"

#define OWN_REPORTS "report"

/* ---- what this node reports itself ---- */

static udpai_origin *
own_origin(udpai_egress *egress)
{
    udpai_origin *origin = udpai_store_origin(egress->context->store, UDPAI_STR(OWN_REPORTS));
    if (origin)
        udpai_origin_set_rank(egress->context->store, origin, UDPAI_ORIGIN_NODE, 1);
    return origin;
}

udpa_err
udpai_reports_publish_own(udpai_egress *egress, udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str name = udpai_resource_name(resource);
    udpa_err err = udpai_report_check_ttl(resource, ret_error);
    if (err == UDPA_OK && udpai_type_names_client(udpai_resource_type_url(resource)))
        err = udpai_client_name_check(name, udpai_bytes_view(egress->context->reporter_id),
                                      ret_error);
    if (err == UDPA_OK && udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name))
        err = udpai_fail(ret_error, UDPA_ERR_DENIED, "'%s' lies in the reserved namespace %s",
                         udpa_resource_name(resource), UDPAI_NODE_NAMESPACE);
    if (err != UDPA_OK)
        return err;
    udpai_origin *origin = own_origin(egress);
    if (!origin)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_put_options options = {.authority = udpai_bytes_view(egress->context->authority)};
    err = udpai_intake_put(egress->receiver, origin, resource, &options, ret_error);
    return err == UDPA_OK
               ? udpai_fail_code(ret_error, udpai_report_targets_published(egress, resource))
               : err;
}

udpa_err
udpai_reports_publish_load(udpai_egress *egress,
                           udpa_resource *resource,
                           bool may_bind,
                           udpa_error **ret_error)
{
    udpa_bytes *members =
        may_bind ? udpai_report_target_audience(egress, udpai_resource_name(resource)) : NULL;
    if (!members)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = udpai_reports_publish_own(egress, resource, ret_error);
    if (err != UDPA_OK) {
        udpa_bytes_unref(members);
        return err;
    }
    err = udpai_report_targets_bind(egress, resource, members);
    if (err != UDPA_OK) /* it is new, so it was not sent */
        udpai_reports_withdraw_own(egress, udpai_resource_type_url(resource),
                                   udpai_resource_name(resource));
    return udpai_fail_code(ret_error, err);
}

void
udpai_reports_withdraw_own(udpai_egress *egress, udpai_str type_url, udpai_str name)
{
    udpai_origin *origin = own_origin(egress);
    if (origin)
        udpai_store_withdraw(egress->context->store, origin, type_url, name);
    udpai_report_targets_withdrawn(egress, type_url, name);
}

udpa_err
udpai_reports_pick(const udpai_egress *egress,
                   const udpai_change_set *changes,
                   udpai_change_set **ret_picked)
{
    UDPA_AUTO(udpai_change_set_unref) udpai_change_set *picked = NULL;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < udpai_change_set_size(changes) && err == UDPA_OK; i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        if (!udpai_reports_is_own(egress->context, change->resource))
            continue;
        if (!picked && !(picked = udpai_change_set_new()))
            return UDPA_ERR_NOMEM;
        err = udpai_change_set_add(picked, change);
    }
    if (err == UDPA_OK)
        *ret_picked = UDPAI_TAKE(picked);
    return err;
}
