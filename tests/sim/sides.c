/* SPDX-License-Identifier: Apache-2.0 */
/* The stream sides of a node. Most have one. Workers are others, in processes of their own: what
 * crosses to them and back does as bytes, and a pool makes one side of all (session/worker_pool.h).
 * One that ends ends the node, so they live and die with it. */
#include <stdio.h>
#include <stdlib.h>

#include "network.h"

uint64_t
sim_hesitation_us(sim_world *world)
{
    return sim_once_in(&world->random, 50) ? sim_below(&world->random, 20000)
                                           : sim_below(&world->random, 300);
}

/* ---- time ---- */

static void
tick(sim_side *side)
{
    sim_hub_begin(side);
    sim_hub_end(side);
}

static void
schedule_tick(sim_side *side)
{
    const sim_world *world = side->node->world;
    uint64_t next_ms = udpai_wheel_next(&side->wheel);
    if (next_ms == UDPAI_WHEEL_NEVER)
        return;
    uint64_t at_us = next_ms * 1000 > world->now_us ? next_ms * 1000 : world->now_us;
    if (at_us >= side->tick_us && side->tick_us > world->now_us)
        return;
    side->tick_us = at_us;
    sim_side_after(side, at_us - world->now_us, tick);
}

void
sim_hub_begin(sim_side *side)
{
    udpai_wheel_advance(&side->wheel, sim_ms(side->node->world));
}

void
sim_hub_end(sim_side *side)
{
    udpai_hub_run(side->hub);
    schedule_tick(side);
}

static void
run_hub(sim_side *side)
{
    side->hub_due = false;
    tick(side);
}

static void
on_wake(void *userdata)
{
    sim_side *side = userdata;
    if (!side->hub_due) {
        side->hub_due = true;
        sim_side_after(side, sim_below(&side->node->world->random, 100), run_hub);
    }
}

/* ---- orders ---- */

static void
deliver_orders(sim_side *side)
{
    sim_world *world = side->node->world;
    side->orders_due = false;
    sim_hub_begin(side);
    size_t n = side->n_orders;
    if (sim_once_in(&world->random, 3))
        n = 1 + sim_below(&world->random, n);
    udpai_list *at;
    while (n-- > 0 && (at = udpai_list_pop(&side->orders))) {
        side->n_orders--;
        udpai_hub_order(side->hub, UDPAI_LIST_ENTRY(at, udpai_order, node));
    }
    if (side->n_orders) {
        side->orders_due = true;
        sim_side_after(side, sim_hesitation_us(world), deliver_orders);
    }
    sim_hub_end(side);
}

/* Takes the order. */
static void
give(sim_side *side, udpai_order *order)
{
    sim_node *node = side->node;
    if (order->kind == UDPAI_ORDER_EPOCH) { /* before there is any stream */
        udpai_hub_order(side->hub, order);
        return;
    }
    udpai_list_append(&side->orders, &order->node);
    side->n_orders++;
    node->most_orders = udpai_max_size(node->most_orders, side->n_orders);
    if (!side->orders_due) {
        side->orders_due = true;
        sim_side_after(side, sim_hesitation_us(node->world), deliver_orders);
    }
}

static void
on_own_order(void *userdata, udpai_order *order)
{
    sim_node *node = userdata;
    give(&node->sides[0], order);
}

static void
on_worker_order(void *userdata, size_t member, const udpai_order *order)
{
    sim_node *node = userdata;
    sim_side *side = &node->sides[member];
    udpai_strbuf bytes = {0};
    udpai_order *heard;
    if (udpai_order_encode(order, &bytes) != UDPA_OK ||
        udpai_order_decode(&side->down, udpai_strbuf_view(&bytes), &heard, NULL) != UDPA_OK)
        abort();
    udpai_strbuf_done(&bytes);
    give(side, heard);
}

void
sim_on_order(void *userdata, udpai_order *order)
{
    sim_node *node = userdata;
    if (node->pool)
        udpai_worker_pool_order(node->pool, order);
    else
        give(&node->sides[0], order);
}

void
sim_order(sim_node *node, udpai_order *order)
{
    sim_on_order(node, order);
}

/* ---- reports ---- */

static udpai_report *
cross(sim_side *side, udpai_report *report)
{
    udpai_strbuf bytes = {0};
    udpai_report *heard;
    if (udpai_report_encode(report, &bytes) != UDPA_OK ||
        udpai_report_decode(&side->up, udpai_strbuf_view(&bytes), &heard, NULL) != UDPA_OK)
        abort();
    udpai_strbuf_done(&bytes);
    udpai_report_free(report);
    return heard;
}

static void
on_pool_report(void *userdata, udpai_report *report)
{
    udpai_node_report(((sim_node *)userdata)->node, report);
}

static void
hand_up(sim_side *side, udpai_report *report)
{
    sim_node *node = side->node;
    if (node->pool)
        udpai_worker_pool_report(node->pool, side->number,
                                 side->number ? cross(side, report) : report);
    else
        udpai_node_report(node->node, report);
}

static void
deliver_reports(sim_side *side)
{
    sim_node *node = side->node;
    sim_world *world = node->world;
    if (world->now_us < node->stalls_until_us) {
        sim_side_after(side, node->stalls_until_us - world->now_us, deliver_reports);
        return;
    }
    side->reports_due = false;
    sim_loop_begin(node);
    size_t n = side->n_reports;
    if (sim_once_in(&world->random, 3))
        n = 1 + sim_below(&world->random, n);
    udpai_list *at;
    while (n-- > 0 && (at = udpai_list_pop(&side->reports))) {
        side->n_reports--;
        hand_up(side, UDPAI_LIST_ENTRY(at, udpai_report, node));
    }
    if (side->n_reports) {
        side->reports_due = true;
        sim_side_after(side, sim_hesitation_us(world), deliver_reports);
    }
    sim_loop_end(node);
}

void
sim_report(sim_side *side, udpai_report *report)
{
    sim_node *node = side->node;
    udpai_list_append(&side->reports, &report->node);
    side->n_reports++;
    node->most_reports = udpai_max_size(node->most_reports, side->n_reports);
    if (!side->reports_due) {
        side->reports_due = true;
        sim_side_after(side, sim_hesitation_us(node->world), deliver_reports);
    }
}

static void
on_report(void *userdata, udpai_report *report)
{
    sim_report(userdata, report);
}

/* ---- life ---- */

static int64_t
wall_us(void *userdata)
{
    return sim_wall_us(((sim_side *)userdata)->node);
}

/* At every other node clients wait. What of it goes wrong by chance goes wrong here: a wait has no
 * chance of its own. */
static const udpai_debounce_rule debounce = {UDPAI_STR(""), 100, 1000};

static void
make_hub(sim_side *side, const sim_node_plan *plan, udpai_node_info *info)
{
    UDPA_AUTO(udpai_debounce_rules_unref) udpai_debounce_rules *rules = NULL;
    if (side->node->index / 2 % 2 && udpai_debounce_rules_new(&rules, &debounce, 1) != UDPA_OK)
        abort();
    const udpai_hub_options options = {
        .fanout = {.cycle_timeout_ms = 20000,
                   .view_linger_ms = 1000,
                   .tombstones_min = 8,
                   .max_views = 1000,
                   .max_views_per_owner = 1000,
                   .max_names = 1000,
                   .max_held = 10000,
                   .max_held_bytes = 1 << 20,
                   .body_cache_bytes = 1 << 20,
                   .response_bytes = 2000},
        .debounce = rules,
        .info = info,
        .acl = plan->config.acl,
        .is_worker = side->number > 0,
        .has_barriers = side->node->replication != NULL,
        .first_session = side->number,
        .session_step = plan->n_workers ? UDPAI_WORKER_POOL_STEP : 0,
        .max_pending = 4,
        .max_pending_bytes = 1 << 20,
    };
    const udpai_hub_env env = {
        .report = on_report,
        .dial = sim_on_dial,
        .stop_dialling = sim_on_stop_dialling,
        .wake = on_wake,
        .wall_us = wall_us,
        .userdata = side,
    };
    if (udpai_hub_new(&side->hub, &side->wheel, &options, &env) != UDPA_OK)
        abort();
}

/* Takes the info. */
void
sim_sides_make(sim_node *node, const sim_node_plan *plan, udpai_node_info *info)
{
    const udpai_worker_pool_env env = {on_worker_order, on_own_order, on_pool_report, node};
    node->n_sides = 1 + plan->n_workers;
    if (plan->n_workers && !(node->pool = udpai_worker_pool_new(node->n_sides, &env)))
        abort();
    for (size_t i = 0; i < node->n_sides; i++) {
        sim_side *side = &node->sides[i];
        *side = (sim_side){.node = node, .number = i};
        udpai_wheel_init(&side->wheel, sim_ms(node->world));
        udpai_list_init(&side->orders);
        udpai_list_init(&side->reports);
        udpai_transfer_init(&side->down);
        udpai_transfer_init(&side->up);
        make_hub(side, plan, info);
    }
    udpai_node_info_unref(info);
}

static void
drop_messages(sim_side *side)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&side->orders)))
        udpai_order_free(UDPAI_LIST_ENTRY(at, udpai_order, node));
    while ((at = udpai_list_pop(&side->reports)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
}

/* What is under way is lost. */
void
sim_sides_free(sim_node *node)
{
    for (size_t i = 0; i < node->n_sides; i++) {
        sim_side *side = &node->sides[i];
        side->hub = udpai_hub_free(side->hub);
        drop_messages(side);
        udpai_transfer_done(&side->down);
        udpai_transfer_done(&side->up);
    }
    node->pool = udpai_worker_pool_free(node->pool);
}

sim_side *
sim_accepting_side(sim_node *node)
{
    size_t n_workers = node->n_sides - 1;
    return &node->sides[n_workers ? 1 + sim_below(&node->world->random, n_workers) : 0];
}
