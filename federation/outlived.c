/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/outlived.h"

#include "base/alloc.h"
#include "federation/directories.h"
#include "federation/shares.h"
#include "federation/signatures.h"
#include "federation/stamp.h"
#include "federation/twins.h"
#include "model/removal.h"

/* More are sent when the peer publishes them again. */
#define SENT_MAX 2000
#define KEPT_MAX 100000
#define FUTURE_MAX_US ((uint64_t)5 * 60 * 1000000)

/* Removals that others remember of what this node has read, until it is known whether it still
 * does. */
struct udpai_outlived {
    UDPAI_VECTOR(udpa_resource *) removals;
};

/* Of what is read, no peer is noted from which it was taken. */
static bool
is_read(const udpa_resource *resource)
{
    return udpa_resource_n_hops(resource) == 1 &&
           udpai_resource_hop(resource, 0).authority.len == 0;
}

/* ---- nodes that remember ---- */

void
udpai_outlived_look(udpai_intake *intake, const udpa_resource *resource)
{
    const udpai_peer *peer = intake->peer;
    uint64_t generation =
        udpai_store_removal_generation(intake->receiver->context->store, resource);
    udpai_str type_url = udpai_resource_type_url(resource);
    if (generation <= udpa_resource_generation(resource) || !peer->is_node || !peer->info ||
        !is_read(resource) ||
        !udpai_resource_passed(resource, udpai_node_info_parts(peer->info)->id,
                               udpai_node_info_instance(peer->info)))
        return;
    if (!intake->outlived && (intake->outlived = udpai_publication_new()))
        (void)udpai_publication_set(&intake->outlived->type_url, type_url);
    udpai_publication *outlived = intake->outlived;
    if (!outlived || outlived->removals.n == SENT_MAX ||
        !udpai_str_eq(outlived->type_url, type_url))
        return;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = udpai_removal_of(resource, generation);
    if (removal)
        (void)udpai_publication_remove_stated(outlived, udpai_resource_name(resource), removal);
}

/* Without memory it is sent when it comes again. */
void
udpai_outlived_send(udpai_intake *intake)
{
    udpai_order *order = intake->outlived && intake->outlived->removals.n
                             ? udpai_order_new(UDPAI_ORDER_PUBLISH)
                             : NULL;
    if (order) {
        order->publication = UDPAI_TAKE(intake->outlived);
        order->session = intake->peer->session;
        udpai_context_order(intake->receiver->context, order);
    }
    udpai_publication_free(intake->outlived);
    intake->outlived = NULL;
}

/* ---- the node that has read it ---- */

bool
udpai_outlived_take(const udpai_intake *intake, udpa_resource *removal)
{
    udpai_receiver *receiver = intake->receiver;
    if (!intake->peer->is_node || !is_read(removal) ||
        !udpai_resource_passed(removal, udpai_bytes_view(receiver->context->id),
                               udpai_bytes_view(receiver->context->instance)))
        return false;
    if (!receiver->outlived)
        receiver->outlived = udpai_alloc(sizeof(*receiver->outlived));
    if (receiver->outlived && receiver->outlived->removals.n < KEPT_MAX &&
        udpai_vector_push(&receiver->outlived->removals, removal))
        udpa_resource_ref(removal);
    udpai_context_touch(receiver->context);
    return true;
}

struct search {
    const udpa_resource *removal;
    udpai_contribution found;
};

static bool
compare(void *userdata, const udpai_contribution *contribution)
{
    struct search *search = userdata;
    int rank = udpai_origin_rank(contribution->origin);
    bool is_it = (rank == UDPAI_ORIGIN_FILES || rank == UDPAI_ORIGIN_SOURCE) &&
                 is_read(contribution->resource) &&
                 udpai_str_eq(udpai_resource_authority(contribution->resource),
                              udpai_resource_authority(search->removal));
    if (is_it)
        search->found = *contribution;
    return !is_it;
}

/* Has it been read in this life? What was kept may have been removed meanwhile. */
static bool
is_read_again(const udpai_receiver *receiver, const udpai_contribution *held)
{
    const udpai_source *source = udpai_sources_of_origin(receiver->sources, held->origin);
    if (held->absence != UDPAI_ABSENCE_NONE)
        return false;
    size_t at = 0;
    const udpai_expected *expected;
    const udpai_roots *directories = udpai_sources_directories(receiver->sources);
    while (!source && (expected = udpai_roots_next(directories, &at)))
        if (!expected->is_known)
            return false;
    if (!source || udpai_source_is_path(source))
        return !source || udpai_source_is_active(source);
    return udpai_source_has_read(source, udpai_resource_type_url(held->resource),
                                 udpai_resource_name(held->resource));
}

static void
renew(udpai_receiver *receiver, const udpai_contribution *held, const udpa_resource *removal)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(held->resource, &room);
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *renewed = NULL;
    uint64_t next = udpai_stamp_generation(receiver->context, held->resource);
    uint64_t above = udpa_resource_generation(removal) + 1;
    if (parts.signature.algorithm && !udpai_signatures_is_own(receiver->signatures, held->resource))
        return; /* its signer gives its generation */
    parts.generation = next > above ? next : above;
    parts.signature = (udpai_signature){0};
    parts.hops = NULL;
    parts.n_hops = 0;
    parts.hop_path = NULL;
    const udpai_put_options options = {.keeps_generation = true};
    udpa_err err = udpai_resource_make(&renewed, &parts);
    if (err == UDPA_OK)
        err = udpai_intake_put(receiver, held->origin, renewed, &options, &error);
    if (err != UDPA_OK && error &&
        udpai_log_allow(&receiver->context->refused_log, udpai_context_now(receiver->context),
                        &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, "federation",
                        UDPAI_ABOUT({UDPAI_LOG_TYPE, udpai_resource_type_url(held->resource)},
                                    {UDPAI_LOG_NAME, udpai_resource_name(held->resource)},
                                    {UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "a resource that is still read here was removed elsewhere, and cannot be "
                        "published again: %s%s",
                        udpa_error_message(error), udpai_log_more(more, n_suppressed));
}

/* False: it is still to be seen. */
static bool
settle(udpai_receiver *receiver, const udpa_resource *removal)
{
    struct search search = {.removal = removal};
    int64_t wall = udpai_context_wall_us(receiver->context);
    udpai_store_visit_name(receiver->context->store, udpai_resource_type_url(removal),
                           udpai_resource_name(removal), compare, &search);
    const udpai_contribution *held = &search.found;
    if (!held->resource ||
        udpa_resource_generation(held->resource) >= udpa_resource_generation(removal) ||
        udpa_resource_generation(removal) > (uint64_t)(wall > 0 ? wall : 0) + FUTURE_MAX_US)
        return true;
    if (udpai_shares_find(receiver->shares, udpai_origin_key(held->origin)))
        return true; /* all replicas have it as it is */
    if (!is_read_again(receiver, held))
        return false;
    renew(receiver, held, removal);
    return true;
}

void
udpai_outlived_settle(udpai_receiver *receiver)
{
    struct udpai_outlived *outlived = receiver->outlived;
    size_t n_left = 0;
    if (!outlived)
        return;
    for (size_t i = 0; i < outlived->removals.n; i++) {
        udpa_resource *removal = outlived->removals.items[i];
        if (settle(receiver, removal))
            udpa_resource_unref(removal);
        else
            outlived->removals.items[n_left++] = removal;
    }
    outlived->removals.n = n_left;
    if (n_left == 0)
        udpai_outlived_free(receiver);
}

void
udpai_outlived_free(udpai_receiver *receiver)
{
    for (size_t i = 0; receiver->outlived && i < receiver->outlived->removals.n; i++)
        udpa_resource_unref(receiver->outlived->removals.items[i]);
    if (receiver->outlived)
        udpai_vector_done(&receiver->outlived->removals);
    udpai_free(receiver->outlived);
    receiver->outlived = NULL;
}
