/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/twins.h"

#include <stdio.h>

#include "base/alloc.h"
#include "federation/held.h"

/* Others with this node's id; of more, nothing is told. */
#define TWINS_MAX 8
/* Who was sent away comes again before long. */
#define REFUSED_MS 60000

struct udpai_twins {
    UDPAI_VECTOR(udpa_bytes *) instances; /* that were met on the way of a resource */
    udpa_error *refused;                  /* the last one that was sent away … */
    uint64_t refused_ms;                  /* … and when */
    udpai_log_limit log;
};

udpa_err
udpai_twins_new(udpai_node *node)
{
    node->twins = udpai_alloc(sizeof(*node->twins));
    return node->twins ? UDPA_OK : UDPA_ERR_NOMEM;
}

void
udpai_twins_free(udpai_node *node)
{
    udpai_twins *twins = node->twins;
    if (!twins)
        return;
    for (size_t i = 0; i < twins->instances.n; i++)
        udpa_bytes_unref(twins->instances.items[i]);
    udpai_vector_done(&twins->instances);
    udpa_error_unref(twins->refused);
    udpai_free(twins);
}

/* ---- on the way of resources ---- */

/* NULL without memory. */
static udpa_error *
describe_twin(const udpai_node *node, udpai_str instance)
{
    udpai_str id = udpai_bytes_view(node->id);
    return udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "what comes here has passed another node with this node's id '%.*s', of instance %.*s: "
        "give one of them another node.id (or it was this node, before it lost its state)",
        UDPAI_SHOWN(id), UDPAI_SHOWN(instance));
}

static void
note_twin(udpai_node *node, udpai_str instance)
{
    udpai_twins *twins = node->twins;
    udpa_bytes *noted = NULL;
    for (size_t i = 0; i < twins->instances.n; i++)
        if (udpai_str_eq(udpai_bytes_view(twins->instances.items[i]), instance))
            return;
    if (twins->instances.n == TWINS_MAX ||
        udpa_bytes_new(&noted, instance.data, instance.len) != UDPA_OK)
        return;
    if (!udpai_vector_push(&twins->instances, noted)) {
        udpa_bytes_unref(noted);
        return;
    }
    UDPA_AUTO(udpa_error_unref) udpa_error *error = describe_twin(node, instance);
    if (error)
        udpai_log(UDPA_LOG_WARNING, "federation", "%s", udpa_error_message(error));
}

bool
udpai_twins_is_loop(udpai_node *node, const udpa_resource *resource)
{
    udpai_str id = udpai_bytes_view(node->id), instance = udpai_bytes_view(node->instance);
    if (udpai_resource_passed(resource, id, instance))
        return true;
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++) {
        const udpai_hop hop = udpai_resource_hop(resource, i);
        if (udpai_str_eq(hop.node_id, id))
            note_twin(node, hop.instance);
    }
    return false;
}

/* ---- peers ---- */

static udpai_str
run_of(const udpai_peer *peer)
{
    return udpai_node_info_said(peer->info, UDPAI_NODE_KEY_RUN);
}

/* Both have said which process of which instance they are, and it is the same state. */
static bool
have_one_state(const udpai_peer *a, const udpai_peer *b)
{
    udpai_str run = run_of(a), other_run = run_of(b);
    return run.len && other_run.len && !udpai_str_eq(run, other_run) &&
           udpai_str_eq(udpai_node_info_instance(a->info), udpai_node_info_instance(b->info));
}

/* Whoever shows another certificate could say any instance, to have its owner sent away. */
static bool
have_one_name(const udpai_peer *a, const udpai_peer *b)
{
    return udpai_str_eq(udpai_identity_name(a->identity), udpai_identity_name(b->identity));
}

static udpai_peer *
find_other_process(const udpai_node *node, const udpai_peer *peer)
{
    size_t at = 0;
    udpai_peer *other;
    while ((other = udpai_map_next(&node->peers, &at)))
        if (other != peer && other->is_node && other->info && !other->is_replaced &&
            have_one_state(other, peer) && have_one_name(other, peer))
            return other;
    return NULL;
}

static void
send_away(udpai_node *node, udpai_peer *peer, udpa_error *why)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    if (!order)
        return; /* nothing is taken of it */
    order->session = peer->session;
    order->error = udpa_error_ref(why);
    udpai_node_order(node, order);
}

bool
udpai_twins_refuse(udpai_node *node, udpai_peer *peer)
{
    udpai_twins *twins = node->twins;
    const udpai_peer *other =
        peer->is_node && run_of(peer).len ? find_other_process(node, peer) : NULL;
    unsigned n_suppressed;
    if (!other)
        return false;
    udpai_str id = udpai_node_info_parts(peer->info)->id;
    udpai_str instance = udpai_node_info_instance(peer->info);
    udpai_str address = other->address ? udpai_bytes_view(other->address) : UDPAI_STR("?");
    peer->is_replaced = true;
    udpa_error_unref(twins->refused);
    twins->refused = udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "two live nodes are one instance, '%.*s' %.*s, and the one at %.*s was here first: do they "
        "have copies of one state directory, or one node.id and no state? Remove the file "
        "'instance' from the copy, and give one of them another node.id",
        UDPAI_SHOWN(id), UDPAI_SHOWN(instance), UDPAI_SHOWN(address));
    twins->refused_ms = udpai_node_now(node);
    if (udpai_log_allow(&twins->log, udpai_node_now(node), &n_suppressed))
        udpai_log(UDPA_LOG_ERROR, "federation", "%s (%u more not shown)",
                  twins->refused ? udpa_error_message(twins->refused) : "out of memory",
                  n_suppressed);
    if (peer->source)
        udpai_source_refuse(peer->source, udpa_error_ref(twins->refused));
    else
        send_away(node, peer, twins->refused);
    return true;
}

/* ---- status ---- */

struct search {
    udpai_str instance;
    bool found;
};

static bool
look_for(void *userdata, const udpai_contribution *contribution)
{
    struct search *search = userdata;
    const udpa_resource *resource = contribution->resource;
    for (size_t i = 0; i < udpa_resource_n_hops(resource) && !search->found; i++)
        search->found = udpai_str_eq(udpai_resource_hop(resource, i).instance, search->instance);
    return !search->found;
}

/* Of what is not met any more nothing is told. */
static void
forget_gone(udpai_node *node)
{
    udpai_twins *twins = node->twins;
    size_t n = 0;
    for (size_t i = 0; i < twins->instances.n; i++) {
        udpa_bytes *instance = twins->instances.items[i];
        struct search search = {udpai_bytes_view(instance), false};
        udpai_store_visit_all(node->store, look_for, &search);
        if (search.found)
            twins->instances.items[n++] = instance;
        else
            udpa_bytes_unref(instance);
    }
    twins->instances.n = n;
}

/* Peers of one id that are not one instance; each pair once. */
static void
visit_pairs(const udpai_peer *peer, udpai_problem_fn visit, void *userdata)
{
    udpai_str id = udpai_node_info_parts(peer->info)->id;
    for (udpai_list *at = peer->of_id.next; at != &peer->of_id; at = at->next) {
        const udpai_peer *other = UDPAI_LIST_ENTRY(at, udpai_peer, of_id);
        udpai_str one = udpai_node_info_instance(peer->info),
                  two = udpai_node_info_instance(other->info);
        if (!other->is_node || other->session < peer->session || udpai_str_eq(one, two))
            continue;
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = udpa_error_new(
            UDPA_ERR_PRECONDITION, NULL,
            "two nodes have the id '%.*s', of instances %.*s and %.*s: give one of them another "
            "node.id",
            UDPAI_SHOWN(id), UDPAI_SHOWN(one), UDPAI_SHOWN(two));
        if (error)
            visit(userdata, udpa_error_message(error));
    }
}

void
udpai_node_visit_problems(udpai_node *node, udpai_problem_fn visit, void *userdata)
{
    udpai_twins *twins = node->twins;
    size_t at = 0;
    const udpai_peer *peer;
    forget_gone(node);
    for (size_t i = 0; i < twins->instances.n; i++) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = describe_twin(node, udpai_bytes_view(twins->instances.items[i]));
        if (error)
            visit(userdata, udpa_error_message(error));
    }
    if (twins->refused && udpai_node_now(node) < twins->refused_ms + REFUSED_MS)
        visit(userdata, udpa_error_message(twins->refused));
    while ((peer = udpai_map_next(&node->peers, &at)))
        if (peer->is_node && peer->info && udpai_list_linked(&peer->of_id))
            visit_pairs(peer, visit, userdata);
    udpai_held_visit_problems(node, visit, userdata);
}
