/* SPDX-License-Identifier: Apache-2.0 */
/* May a peer publish a resource, and is it valid? Each is checked by itself. */
#include "federation/access.h"
#include "federation/freezes.h"
#include "federation/reports.h"

#include "federation/intake.h"
#include "model/name.h"

#define FUTURE_MAX_US ((uint64_t)5 * 60 * 1000000)

/* Management nodes take what others publish unasked; endpoints have sources alone. */
static udpa_err
check_publisher(const udpai_intake *intake, udpa_error **ret_error)
{
    udpai_str name = udpai_peer_name(intake->peer);
    if (!intake->receiver->context->is_endpoint)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_DENIED,
        "'%.*s' is no source of this endpoint, which takes resources from its sources "
        "alone",
        (int)name.len, name.data);
}

static udpa_err
check_scope(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    if (!udpai_intake_is_from_source(intake))
        return check_publisher(intake, ret_error);
    if (udpai_source_covers(intake->peer->source, type_url, name))
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_DENIED,
                      "'%.*s' lies outside the namespaces of type %.*s that this source is "
                      "configured for",
                      (int)name.len, name.data, (int)type_url.len, type_url.data);
}

/* An endpoint passes nothing on, and its sources have checked it by their clocks: a wrong clock
 * here must not cost it what it is configured with. */
udpa_err
udpai_intake_check_path(const udpai_intake *intake,
                        const udpa_resource *resource,
                        udpa_error **ret_error)
{
    if (udpa_resource_n_hops(resource) >= UDPAI_HOPS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' has passed %d nodes, which is the limit: is there a loop?",
                          udpa_resource_name(resource), UDPAI_HOPS_MAX);
    int64_t wall = udpai_context_wall_us(intake->receiver->context);
    uint64_t limit = (wall > 0 ? (uint64_t)wall : 0) + FUTURE_MAX_US;
    if (udpai_intake_is_of_endpoint(intake) || udpa_resource_generation(resource) <= limit)
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "'%s': generation %llu lies more than five minutes ahead of this node's clock: "
        "compare the clocks",
        udpa_resource_name(resource), (unsigned long long)udpa_resource_generation(resource));
}

/* A version identifies bytes: the same one with other bytes, of the same authority, is an error. */
static udpa_err
check_version(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_contribution held;
    if (!udpai_store_get(intake->receiver->context->store, intake->origin,
                         udpai_resource_type_url(resource), udpai_resource_name(resource), &held))
        return UDPA_OK;
    udpai_str authority = udpai_resource_authority(resource);
    if (authority.len == 0)
        authority = udpai_peer_name(intake->peer);
    if (!udpai_str_eq(udpai_resource_version(held.resource), udpai_resource_version(resource)) ||
        !udpai_str_eq(udpai_resource_authority(held.resource), authority) ||
        udpai_resource_same_payload(held.resource, resource))
        return UDPA_OK;
    return udpai_fail(
        ret_error, UDPA_ERR_INVAL,
        "'%s': version '%s' was published before with other contents: give what changes "
        "another version",
        udpa_resource_name(resource), udpa_resource_version(resource));
}

static udpa_err
fail_replay(const udpa_resource *resource, udpa_error **ret_error)
{
    return udpai_fail(
        ret_error, UDPA_ERR_PRECONDITION,
        "'%s': generation %llu of authority '%s' is older than what is known here: an "
        "older signed state changes nothing; sign it anew, with a higher generation",
        udpa_resource_name(resource), (unsigned long long)udpa_resource_generation(resource),
        udpa_resource_authority(resource));
}

/* Sources may be behind, by longer paths. A publisher that sends an older signed state, by error or
 * to undo something, gets an answer. */
static bool
must_check_age(const udpai_intake *intake, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) && !udpai_intake_is_from_source(intake);
}

struct age {
    const udpa_resource *resource;
    bool is_older;
};

static bool
compare_age(void *userdata, const udpai_contribution *held)
{
    struct age *age = userdata;
    age->is_older =
        udpai_resource_signature(held->resource) &&
        udpai_str_eq(udpai_resource_authority(held->resource),
                     udpai_resource_authority(age->resource)) &&
        udpa_resource_generation(held->resource) > udpa_resource_generation(age->resource);
    return !age->is_older;
}

/* Older than what any publisher has published. */
static udpa_err
check_replay(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    struct age age = {.resource = resource};
    if (must_check_age(intake, resource))
        udpai_store_visit_name(intake->receiver->context->store, udpai_resource_type_url(resource),
                               udpai_resource_name(resource), compare_age, &age);
    return age.is_older ? fail_replay(resource, ret_error) : UDPA_OK;
}

/* Is it older than what was removed? Then so is what the origin has. */
udpa_err
udpai_intake_check_outlived(const udpai_intake *intake,
                            const udpa_resource *resource,
                            udpa_error **ret_error)
{
    udpai_store *store = intake->receiver->context->store;
    if (!must_check_age(intake, resource) || !udpai_store_is_outlived(store, resource))
        return UDPA_OK;
    udpai_staging_withdraw(intake->staging, store, intake->origin,
                           udpai_resource_type_url(resource), udpai_resource_name(resource));
    return fail_replay(resource, ret_error);
}

udpa_err
udpai_intake_check_frozen(const udpai_intake *intake,
                          udpai_str type_url,
                          udpai_str name,
                          udpa_error **ret_error)
{
    return udpai_intake_is_from_source(intake)
               ? UDPA_OK
               : udpai_freezes_check(intake->receiver->freezes, type_url, name, ret_error);
}

/* What its publisher has published before changes nothing: it may have connected again. */
static udpa_err
check_frozen(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_str type_url = udpai_resource_type_url(resource), name = udpai_resource_name(resource);
    udpai_contribution held;
    if (udpai_intake_check_frozen(intake, type_url, name, NULL) == UDPA_OK ||
        (udpai_store_get(intake->receiver->context->store, intake->origin, type_url, name, &held) &&
         udpai_resource_same_payload(held.resource, resource)))
        return UDPA_OK;
    return udpai_intake_check_frozen(intake, type_url, name, ret_error);
}

static udpa_err
check_access(const udpai_intake *intake, const udpa_resource *resource, udpa_error **ret_error)
{
    udpai_access *access = intake->receiver->access;
    return intake->publication->is_trial
               ? udpai_access_try_publication(access, intake->peer, resource, ret_error)
               : udpai_access_check_publication(access, intake->peer, resource, ret_error);
}

udpa_err
udpai_intake_check(const udpai_intake *intake,
                   const udpa_resource *resource,
                   udpa_error **ret_error)
{
    udpa_err err = check_scope(intake, resource, ret_error);
    if (err == UDPA_OK && !udpai_intake_is_of_endpoint(intake) &&
        udpai_prefix_covers(UDPAI_STR(UDPAI_NODE_NAMESPACE), udpai_resource_name(resource)))
        err = udpai_fail(ret_error, UDPA_ERR_DENIED,
                         "'%s' lies in the reserved namespace %s, where only the node itself "
                         "publishes: use another namespace",
                         udpa_resource_name(resource), UDPAI_NODE_NAMESPACE);
    if (err == UDPA_OK)
        err = udpai_intake_check_path(intake, resource, ret_error);
    if (err == UDPA_OK && !udpai_intake_is_from_source(intake))
        err = udpai_reports_check(intake, resource, ret_error);
    if (err == UDPA_OK)
        err = check_access(intake, resource, ret_error);
    if (err == UDPA_OK)
        err = check_version(intake, resource, ret_error);
    if (err == UDPA_OK)
        err = check_replay(intake, resource, ret_error);
    if (err == UDPA_OK)
        err = check_frozen(intake, resource, ret_error);
    return err;
}

/* A publisher's resource with a name and a generation that is newer than all that is known here: it
 * is restored from what another node had. */
static bool
is_restored(const udpai_intake *intake, const udpa_resource *resource)
{
    uint64_t generation = udpa_resource_generation(resource);
    return generation && udpai_resource_authority(resource).len &&
           generation > udpai_store_highest_generation(intake->receiver->context->store,
                                                       udpai_resource_type_url(resource),
                                                       udpai_resource_name(resource));
}

bool
udpai_intake_keeps_generation(const udpai_intake *intake, const udpa_resource *resource)
{
    return udpai_resource_signature(resource) || udpa_resource_n_hops(resource) > 0 ||
           (intake->peer->is_node && udpa_resource_generation(resource)) ||
           is_restored(intake, resource);
}

void
udpai_intake_note_refused(const udpai_intake *intake)
{
    if (udpai_intake_is_from_source(intake))
        udpai_source_note_refused(intake->peer->source);
}
