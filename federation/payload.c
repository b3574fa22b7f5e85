/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads: each is checked by itself; what is good becomes a contribution of the peer's origin. */
#include "federation/difference.h"
#include "federation/outlived.h"
#include "federation/take_back.h"
#include "federation/twins.h"

#include "federation/adoption.h"
#include "model/name.h"

/* What an xDS server has was not published to it as a resource: like a file, it has no publisher.
 */
static udpai_str
taken_from(const udpai_peer *peer)
{
    bool is_xds = peer->source && udpai_source_is_xds(peer->source);
    return is_xds ? UDPAI_STR("") : udpai_peer_name(peer);
}

/* What is denied because of where it comes from must not stay as it was before; nor what has come
 * too far now, for then the path by which it came before is closed. */
static bool
withdraws_earlier(const udpa_resource *resource, udpa_err err)
{
    return err == UDPA_ERR_DENIED || udpa_resource_n_hops(resource) >= UDPAI_HOPS_MAX;
}

/* The publisher has sent it again. */
static void
end_taken_back(const udpai_intake *intake, udpai_str type_url, udpai_str name)
{
    udpai_origin *origin = udpai_take_back_origin(intake);
    if (origin)
        udpai_staging_withdraw(intake->staging, intake->receiver->context->store, origin, type_url,
                               name);
}

/* Of what is only tried nothing is noted. */
static bool
is_loop(const udpai_intake *intake, const udpa_resource *resource)
{
    udpai_receiver *receiver = intake->receiver;
    if (intake->publication->is_trial)
        return udpai_twins_has_passed(receiver->twins, resource);
    bool is_loop = udpai_twins_is_loop(receiver->twins, resource);
    receiver->n_loops += is_loop; /* our own has come back: no error, and nothing new */
    return is_loop;
}

void
udpai_intake_payload(udpai_intake *intake, udpai_publication_entry *entry)
{
    udpai_receiver *receiver = intake->receiver;
    udpa_resource *resource = entry->resource;
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpa_error *error = NULL;
    if (intake->peer->source && !udpai_intake_is_of_endpoint(intake) &&
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), name))
        return; /* what a source reports of itself must come from itself */
    if (udpai_take_back_concerns(intake, type_url, resource)) {
        udpai_take_back(intake, entry);
        return;
    }
    if (is_loop(intake, resource)) {
        udpai_staging_leave(intake->staging, receiver->context->store, intake->origin, type_url,
                            name);
        return;
    }
    const udpai_put_options options = {
        .authority = udpai_peer_name(intake->peer),
        .from = taken_from(intake->peer),
        .keeps_generation = udpai_intake_keeps_generation(intake, resource),
        .staging = intake->staging,
    };
    udpa_err err = udpai_intake_check(intake, resource, &error);
    if (err == UDPA_OK)
        err = udpai_intake_check_outlived(intake, resource, &error);
    if (err == UDPA_OK)
        err = udpai_intake_put(receiver, intake->origin, resource, &options, &error);
    if (err == UDPA_OK)
        err = udpai_recovery_taken(intake, resource, &error);
    if (err == UDPA_OK) {
        end_taken_back(intake, type_url, name);
        udpai_intake_look_for_difference(intake, type_url, resource);
        udpai_outlived_look(intake, resource);
        return;
    }
    udpai_publication_refuse(&entry->error, error);
    if (withdraws_earlier(resource, err)) {
        udpai_intake_note_refused(intake);
        udpai_staging_withdraw(intake->staging, receiver->context->store, intake->origin, type_url,
                               name);
    }
}
