/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/twins.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "federation/held.h"
#include "federation/servers.h"
#include "federation/source.h"
#include "model/twin_notices.h"

/* Others with this node's id; of more, nothing is reported. */
#define TWINS_MAX 8
/* A peer that was sent away comes again before long. */
#define REFUSED_MS 60000

/* What is met is looked for so often, and notices are sent no more often than that. */
#define LOOK_MS 60000
#define PAUSE_MS 1000
/* Each is compared with all peers, for people. */
#define REPLICAS_MAX 64

typedef struct twin {
    udpa_bytes *instance;
    bool is_met;      /* on the way of a resource */
    bool is_reported; /* by a peer, or by one further downstream */
} twin;

struct udpai_twins {
    udpai_context *context;
    udpai_peers *peers;
    udpai_sources *sources;
    UDPAI_VECTOR(twin) all;
    udpa_error *refused; /* the last one that was sent away … */
    uint64_t refused_ms; /* … and when */
    udpai_log_limit log, reported_log;
    udpai_timer later;
    uint64_t looked_ms, may_ms;
    udpa_bytes *announced; /* to sources; NULL: nothing */
};

static void on_later(udpai_timer *timer);

udpa_err
udpai_twins_new(udpai_twins **ret_twins, const udpai_parts *parts)
{
    udpai_twins *twins = udpai_alloc(sizeof(*twins));
    if (!twins)
        return UDPA_ERR_NOMEM;
    twins->context = parts->context;
    twins->peers = parts->peers;
    twins->sources = parts->sources;
    udpai_timer_init(&twins->later, on_later);
    *ret_twins = twins;
    return UDPA_OK;
}

void
udpai_twins_free(udpai_twins *twins)
{
    if (!twins)
        return;
    udpai_timer_cancel(&twins->later);
    for (size_t i = 0; i < twins->all.n; i++)
        udpa_bytes_unref(twins->all.items[i].instance);
    udpai_vector_done(&twins->all);
    udpa_error_unref(twins->refused);
    udpa_bytes_unref(twins->announced);
    udpai_free(twins);
}

/* ---- others with this id ---- */

/* NULL without memory. */
static udpa_error *
describe_twin(const udpai_twins *twins, const twin *one)
{
    udpai_str id = udpai_bytes_view(twins->context->id), instance = udpai_bytes_view(one->instance);
    if (one->is_met)
        return udpa_error_new(
            UDPA_ERR_PRECONDITION, NULL,
            "what is received here has passed another node with this node's id '%.*s', of instance "
            "%.*s: give one of them another node.id (or it was this node, before it lost its "
            "state)",
            UDPAI_SHOWN(id), UDPAI_SHOWN(instance));
    return udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "what is sent from here reaches another node with this node's id '%.*s', of instance %.*s, "
        "as a downstream node has reported: give one of them another node.id",
        UDPAI_SHOWN(id), UDPAI_SHOWN(instance));
}

static twin *
find_twin(udpai_twins *twins, udpai_str instance)
{
    for (size_t i = 0; i < twins->all.n; i++)
        if (udpai_str_eq(udpai_bytes_view(twins->all.items[i].instance), instance))
            return &twins->all.items[i];
    return NULL;
}

/* NULL: there are too many, or there is no memory. */
static twin *
add_twin(udpai_twins *twins, udpai_str instance)
{
    twin one = {0};
    if (twins->all.n == TWINS_MAX ||
        udpa_bytes_new(&one.instance, instance.data, instance.len) != UDPA_OK)
        return NULL;
    if (udpai_vector_push(&twins->all, one))
        return &twins->all.items[twins->all.n - 1];
    udpa_bytes_unref(one.instance);
    return NULL;
}

static void
log_twin(const udpai_twins *twins, const twin *one)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = describe_twin(twins, one);
    if (error)
        udpai_log(UDPA_LOG_WARNING, "federation", "%s", udpa_error_message(error));
}

/* Of what is neither met nor reported any more nothing is known. */
static void
forget_ended(udpai_twins *twins)
{
    size_t n = 0;
    for (size_t i = 0; i < twins->all.n; i++) {
        const twin one = twins->all.items[i];
        if (one.is_met || one.is_reported)
            twins->all.items[n++] = one;
        else
            udpa_bytes_unref(one.instance);
    }
    twins->all.n = n;
}

/* ---- on the way of resources ---- */

/* Sources are notified behind what is being done now. */
static void
look_soon(udpai_twins *twins)
{
    udpai_timer_set(twins->context->wheel, &twins->later, twins->may_ms);
}

static void
note_twin(udpai_twins *twins, udpai_str instance)
{
    twin *one = find_twin(twins, instance);
    bool is_new = !one;
    if ((one && one->is_met) || (is_new && !(one = add_twin(twins, instance))))
        return;
    one->is_met = true;
    if (is_new)
        log_twin(twins, one);
    look_soon(twins);
}

bool
udpai_twins_has_passed(const udpai_twins *twins, const udpa_resource *resource)
{
    const udpai_context *context = twins->context;
    return udpai_resource_passed(resource, udpai_bytes_view(context->id),
                                 udpai_bytes_view(context->instance)) ||
           udpai_resource_passed(resource, udpai_bytes_view(context->reporter_id),
                                 udpai_bytes_view(context->reporter_instance));
}

bool
udpai_twins_is_loop(udpai_twins *twins, const udpa_resource *resource)
{
    udpai_str id = udpai_bytes_view(twins->context->id);
    if (udpai_twins_has_passed(twins, resource))
        return true;
    for (size_t i = 0; i < udpa_resource_n_hops(resource); i++) {
        const udpai_hop hop = udpai_resource_hop(resource, i);
        if (udpai_str_eq(hop.node_id, id))
            note_twin(twins, hop.instance);
    }
    return false;
}

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

static void
look_for_met(udpai_twins *twins)
{
    for (size_t i = 0; i < twins->all.n; i++) {
        twin *one = &twins->all.items[i];
        struct search search = {udpai_bytes_view(one->instance), false};
        if (!one->is_met)
            continue;
        udpai_store_visit_all(twins->context->store, look_for, &search);
        one->is_met = search.found;
    }
}

/* ---- what nodes report to each other ---- */

/* As notices are written, with percent signs. */
typedef struct own_texts {
    udpai_strbuf notices; /* those that this node has met */
    udpai_strbuf id, instance;
} own_texts;

static void
write_own(const udpai_twins *twins, own_texts *own)
{
    udpai_str id = udpai_bytes_view(twins->context->id),
              instance = udpai_bytes_view(twins->context->instance);
    *own = (own_texts){0};
    udpai_percent_encode_segment(&own->id, id);
    udpai_percent_encode_segment(&own->instance, instance);
    for (size_t i = 0; i < twins->all.n; i++)
        if (twins->all.items[i].is_met)
            udpai_twin_notices_put_own(&own->notices, id,
                                       udpai_bytes_view(twins->all.items[i].instance), instance);
}

static void
free_own(own_texts *own)
{
    udpai_strbuf_done(&own->notices);
    udpai_strbuf_done(&own->id);
    udpai_strbuf_done(&own->instance);
}

/* A peer reports one that has this node's id. */
static void
note_reported(udpai_twins *twins, udpai_str encoded)
{
    char room[UDPAI_AUTHORITY_MAX], *at = room; /* no field is longer */
    udpai_str instance;
    unsigned n_suppressed;
    if (!udpai_percent_decode(encoded, &at, &instance))
        return;
    twin *one = find_twin(twins, instance);
    bool is_new = !one;
    if (is_new && !(one = add_twin(twins, instance)))
        return;
    one->is_reported = true;
    if (is_new &&
        udpai_log_allow(&twins->reported_log, udpai_context_now(twins->context), &n_suppressed))
        log_twin(twins, one);
}

/* What is about this node ends here, and what it has announced itself. */
static void
take_notice(udpai_twins *twins,
            const own_texts *own,
            udpai_twin_notice *notice,
            udpai_twin_notices *notices)
{
    udpai_str instance = udpai_strbuf_view(&own->instance);
    if (udpai_str_eq(notice->by, instance))
        return;
    if (udpai_str_eq(notice->node_id, udpai_strbuf_view(&own->id)))
        note_reported(twins, notice->by);
    if (!udpai_str_eq(notice->met, instance) && ++notice->distance <= UDPAI_TWIN_DISTANCE_MAX)
        udpai_twin_notices_add(notices, notice);
}

static void
collect_notices(udpai_twins *twins, const own_texts *own, udpai_twin_notices *notices)
{
    size_t at = 0;
    const udpai_peer *peer;
    while ((peer = udpai_peers_next(twins->peers, &at))) {
        udpai_twin_notice notice;
        if (!peer->is_node || !peer->is_extended || !peer->info || peer->is_replaced)
            continue;
        udpai_str reported = udpai_node_info_metadata(peer->info, UDPAI_NODE_KEY_TWINS);
        while (udpai_twin_notices_next(&reported, &notice))
            take_notice(twins, own, &notice, notices);
    }
}

/* Without memory nothing is announced. */
static void
announce(udpai_twins *twins, const udpai_twin_notices *notices)
{
    udpai_strbuf text = {0};
    udpai_twin_notices_put(notices, &text);
    udpai_str view = udpai_strbuf_view(&text);
    bool is_announced =
        !udpai_strbuf_failed(&text) &&
        udpai_str_eq(view, twins->announced ? udpai_bytes_view(twins->announced) : (udpai_str){0});
    udpai_order *order = is_announced ? NULL : udpai_order_new(UDPAI_ORDER_TWINS);
    udpa_bytes *announced = order && view.len ? udpai_bytes_of(&text) : NULL;
    if (order) {
        udpa_bytes_unref(twins->announced);
        twins->announced = announced;
        order->announced = announced ? udpa_bytes_ref(announced) : NULL;
        udpai_context_order(twins->context, order);
    }
    udpai_strbuf_done(&text);
}

static void
on_later(udpai_timer *timer)
{
    udpai_twins *twins = UDPAI_CONTAINER_OF(timer, udpai_twins, later);
    uint64_t now = udpai_context_now(twins->context);
    own_texts own;
    udpai_twin_notices notices = {0};
    udpai_twin_notice notice;
    twins->may_ms = now + PAUSE_MS;
    if (now >= twins->looked_ms + LOOK_MS) {
        look_for_met(twins);
        twins->looked_ms = now;
    }
    for (size_t i = 0; i < twins->all.n; i++)
        twins->all.items[i].is_reported = false;
    write_own(twins, &own);
    udpai_str met = udpai_strbuf_view(&own.notices);
    while (udpai_twin_notices_next(&met, &notice))
        udpai_twin_notices_add(&notices, &notice);
    collect_notices(twins, &own, &notices);
    forget_ended(twins);
    announce(twins, &notices);
    free_own(&own);
    if (twins->all.n)
        udpai_timer_set(twins->context->wheel, &twins->later, now + LOOK_MS);
}

void
udpai_twins_review(udpai_twins *twins, const udpai_node_info *info)
{
    if (info && udpai_node_info_metadata(info, UDPAI_NODE_KEY_TWINS).len)
        look_soon(twins);
}

/* ---- peers ---- */

static udpai_str
run_of(const udpai_peer *peer)
{
    return udpai_node_info_metadata(peer->info, UDPAI_NODE_KEY_RUN);
}

/* Both have reported which process of which instance they are, and it is the same state. */
static bool
have_one_state(const udpai_peer *a, const udpai_peer *b)
{
    udpai_str run = run_of(a), other_run = run_of(b);
    return run.len && other_run.len && !udpai_str_eq(run, other_run) &&
           udpai_str_eq(udpai_node_info_instance(a->info), udpai_node_info_instance(b->info));
}

/* A peer with another certificate could claim any instance, to have its owner sent away. */
static bool
have_one_name(const udpai_peer *a, const udpai_peer *b)
{
    return udpai_str_eq(udpai_identity_name(a->identity), udpai_identity_name(b->identity));
}

static udpai_peer *
find_other_process(const udpai_twins *twins, const udpai_peer *peer)
{
    size_t at = 0;
    udpai_peer *other;
    while ((other = udpai_peers_next(twins->peers, &at)))
        if (other != peer && other->is_node && other->info && !other->is_replaced &&
            have_one_state(other, peer) && have_one_name(other, peer))
            return other;
    return NULL;
}

static void
send_away(udpai_twins *twins, udpai_peer *peer, udpa_error *why)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    if (!order)
        return; /* nothing is taken of it */
    order->session = peer->session;
    order->error = udpa_error_ref(why);
    udpai_context_order(twins->context, order);
}

bool
udpai_twins_refuse(udpai_twins *twins, udpai_peer *peer)
{
    const udpai_peer *other =
        peer->is_node && run_of(peer).len ? find_other_process(twins, peer) : NULL;
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
    twins->refused_ms = udpai_context_now(twins->context);
    if (udpai_log_allow(&twins->log, udpai_context_now(twins->context), &n_suppressed))
        udpai_log_about(UDPA_LOG_ERROR, "federation",
                        UDPAI_ABOUT({UDPAI_LOG_PEER, id}, {UDPAI_LOG_ADDRESS, address},
                                    {UDPAI_LOG_CODE, udpai_log_code(twins->refused)}),
                        "%s (%u more not shown)",
                        twins->refused ? udpa_error_message(twins->refused) : "out of memory",
                        n_suppressed);
    if (peer->source)
        udpai_source_refuse(peer->source, udpa_error_ref(twins->refused));
    else
        send_away(twins, peer, twins->refused);
    return true;
}

/* ---- status ---- */

static void
visit_pair(const udpai_peer *peer, const udpai_peer *other, udpai_problem_fn visit, void *userdata)
{
    udpai_str id = udpai_node_info_parts(peer->info)->id;
    udpai_str one = udpai_node_info_instance(peer->info),
              two = udpai_node_info_instance(other->info);
    if (!other->is_node || udpai_str_eq(one, two))
        return;
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error = udpa_error_new(
        UDPA_ERR_PRECONDITION, NULL,
        "two nodes have the id '%.*s', of instances %.*s and %.*s: give one of them another "
        "node.id",
        UDPAI_SHOWN(id), UDPAI_SHOWN(one), UDPAI_SHOWN(two));
    if (error)
        visit(userdata, udpa_error_message(error));
}

/* Peers of one id that are not one instance; each pair once. */
static void
visit_pairs(const udpai_peer *peer, udpai_problem_fn visit, void *userdata)
{
    for (udpai_list *at = peer->of_id.next; at != &peer->of_id; at = at->next) {
        const udpai_peer *other = UDPAI_LIST_ENTRY(at, udpai_peer, of_id);
        if (other->session >= peer->session)
            visit_pair(peer, other, visit, userdata);
    }
}

/* Replicas of another set, or a single node, may have the id of this one's node. */
static void
visit_pairs_of_replica(const udpai_twins *twins,
                       const udpai_peer *peer,
                       udpai_problem_fn visit,
                       void *userdata)
{
    size_t at = 0;
    const udpai_peer *other;
    while ((other = udpai_peers_next(twins->peers, &at)))
        if (other->info && (!other->is_replica || other->session > peer->session) &&
            udpai_str_eq(udpai_node_info_parts(other->info)->id,
                         udpai_node_info_parts(peer->info)->id))
            visit_pair(peer, other, visit, userdata);
}

void
udpai_twins_visit_problems(udpai_twins *twins, udpai_problem_fn visit, void *userdata)
{
    size_t at = 0;
    const udpai_peer *peer;
    size_t n_replicas = 0;
    look_for_met(twins);
    forget_ended(twins);
    for (size_t i = 0; i < twins->all.n; i++) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = describe_twin(twins, &twins->all.items[i]);
        if (error)
            visit(userdata, udpa_error_message(error));
    }
    if (twins->refused && udpai_context_now(twins->context) < twins->refused_ms + REFUSED_MS)
        visit(userdata, udpa_error_message(twins->refused));
    while ((peer = udpai_peers_next(twins->peers, &at))) {
        if (peer->is_node && peer->info && udpai_list_linked(&peer->of_id))
            visit_pairs(peer, visit, userdata);
        if (peer->is_node && peer->is_replica && n_replicas++ < REPLICAS_MAX)
            visit_pairs_of_replica(twins, peer, visit, userdata);
    }
    udpai_held_visit_problems(twins->sources, visit, userdata);
    udpai_servers_visit_problems(twins->sources, visit, userdata);
}
