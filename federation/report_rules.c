/* SPDX-License-Identifier: Apache-2.0 */
/* What a client resource must be: with a ttl, and named after the client that reports it. */
#include "federation/reports.h"

#include "federation/intake.h"
#include "model/client_type.h"
#include "model/replica_id.h"

udpa_err
udpai_report_check_ttl(const udpa_resource *resource, udpa_error **ret_error)
{
    if (udpa_resource_ttl_ms(resource))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "'%s' has no ttl: what a client reports must end when the client has disconnected",
        udpa_resource_name(resource));
}

udpa_err
udpai_reports_check(const udpai_intake *intake,
                    const udpa_resource *resource,
                    udpa_error **ret_error)
{
    const udpai_peer *peer = intake->peer;
    if (!udpai_type_is_client(udpai_resource_type_url(resource)))
        return UDPA_OK;
    udpa_err err = udpai_report_check_ttl(resource, ret_error);
    if (err != UDPA_OK || peer->is_node)
        return err; /* nodes pass on what others have reported */
    udpai_str id = peer->info ? udpai_node_info_parts(peer->info)->id : (udpai_str){0};
    return udpai_client_name_check(udpai_resource_name(resource), id, ret_error);
}

/* It is this node's own: it has passed this node alone, and no peer has published it. */
bool
udpai_reports_is_own(const udpai_context *context, const udpa_resource *resource)
{
    return udpa_resource_n_hops(resource) == 1 &&
           udpai_resource_passed(resource, udpai_bytes_view(context->reporter_id),
                                 udpai_bytes_view(context->reporter_instance)) &&
           udpai_str_eq(udpai_resource_authority(resource), udpai_bytes_view(context->authority));
}

/* By its path: the hop before this node's. */
bool
udpai_reports_is_of_set(const udpai_context *context, const udpa_resource *resource)
{
    size_t n = udpa_resource_n_hops(resource);
    return context->is_of_set && n >= 2 &&
           udpai_replica_id_is_of(udpai_resource_hop(resource, n - 2).node_id,
                                  udpai_bytes_view(context->id));
}
