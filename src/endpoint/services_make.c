/* SPDX-License-Identifier: Apache-2.0 */
/* Which services an endpoint has, and what each is given. */
#include "endpoint/answers.h"
#include "endpoint/check_planner.h"
#include "endpoint/client_registry.h"
#include "endpoint/endpoint_internal.h"
#include "endpoint/inspection.h"
#include "endpoint/load_aggregates.h"
#include "endpoint/load_rules.h"
#include "endpoint/local.h"
#include "endpoint/propagation.h"
#include "endpoint/reporting.h"
#include "endpoint/spread.h"
#include "endpoint/status.h"
#include "federation/node_metrics.h"
#include "federation/reporting.h"
#include "loop/clock.h"

/* ---- what they are given ---- */

static void
order(void *userdata, udpai_order *order)
{
    udpai_endpoint_order(userdata, order);
}

static int64_t
wall_us(void *userdata)
{
    (void)userdata;
    return udpai_wall_us();
}

static uint64_t
clock_ms(void *userdata)
{
    (void)userdata;
    return udpai_monotonic_ms();
}

static uint64_t
random_number(void *userdata)
{
    return udpai_endpoint_random(userdata);
}

/* ---- each ---- */

typedef udpa_err (*make_fn)(udpai_service **ret_service,
                            udpa_endpoint *endpoint,
                            const udpai_endpoint_settings *settings);

static udpa_err
make_inspection(udpai_service **ret_service,
                udpa_endpoint *endpoint,
                const udpai_endpoint_settings *settings)
{
    return settings->inspector.inspect
               ? udpai_inspection_new(ret_service, endpoint, &settings->inspector)
               : UDPA_OK;
}

static udpa_err
make_load_upstreams(udpai_service **ret_service,
                    udpa_endpoint *endpoint,
                    const udpai_endpoint_settings *settings)
{
    const udpai_load_upstreams_options options = {
        .node = udpai_endpoint_node(endpoint),
        .wheel = udpai_endpoint_wheel(endpoint),
        .node_id = udpai_node_reporter_id(udpai_endpoint_node(endpoint)),
        .servers = settings->load_upstreams,
        .n_servers = settings->n_load_upstreams,
        .backoff_base_ms = settings->node.timing.backoff_base_ms,
        .backoff_max_ms = settings->node.timing.backoff_max_ms,
        .order = order,
        .random = random_number,
        .userdata = endpoint,
    };
    return udpai_load_upstreams_new(ret_service, &options);
}

static udpa_err
make_orca_collector(udpai_service **ret_service,
                    udpa_endpoint *endpoint,
                    const udpai_endpoint_settings *settings)
{
    const udpai_orca_collector_options options = {
        .node = udpai_endpoint_node(endpoint),
        .wheel = udpai_endpoint_wheel(endpoint),
        .rules = settings->orca,
        .backoff_base_ms = settings->node.timing.backoff_base_ms,
        .backoff_max_ms = settings->node.timing.backoff_max_ms,
        .order = order,
        .random = random_number,
        .userdata = endpoint,
    };
    return udpai_orca_collector_new(ret_service, &options);
}

static udpa_err
make_client_registry(udpai_service **ret_service,
                     udpa_endpoint *endpoint,
                     const udpai_endpoint_settings *settings)
{
    const udpai_client_registry_options options = {
        .node = udpai_endpoint_node(endpoint),
        .wheel = udpai_endpoint_wheel(endpoint),
        .node_id = udpai_node_reporter_id(udpai_endpoint_node(endpoint)),
        .ttl_ms = settings->client_ttl_ms,
        .n_stream_sides = 1 + settings->n_workers,
        .order = order,
        .wall_us = wall_us,
        .userdata = endpoint,
    };
    return settings->client_ttl_ms ? udpai_client_registry_new(ret_service, &options) : UDPA_OK;
}

static udpa_err
make_status(udpai_service **ret_service,
            udpa_endpoint *endpoint,
            const udpai_endpoint_settings *settings)
{
    return settings->serves_status ? udpai_own_status_new(ret_service, endpoint, settings)
                                   : UDPA_OK;
}

static udpa_err
make_acknowledgements(udpai_service **ret_service,
                      udpa_endpoint *endpoint,
                      const udpai_endpoint_settings *settings)
{
    return settings->serves_status ? udpai_questions_new(ret_service, endpoint) : UDPA_OK;
}

static udpa_err
make_access(udpai_service **ret_service,
            udpa_endpoint *endpoint,
            const udpai_endpoint_settings *settings)
{
    return settings->serves_status
               ? udpai_access_answers_new(ret_service, endpoint, settings->node.acl)
               : UDPA_OK;
}

static udpa_err
make_origins(udpai_service **ret_service,
             udpa_endpoint *endpoint,
             const udpai_endpoint_settings *settings)
{
    return settings->serves_status ? udpai_origin_answers_new(ret_service, endpoint) : UDPA_OK;
}

static udpa_err
make_check_planner(udpai_service **ret_service,
                   udpa_endpoint *endpoint,
                   const udpai_endpoint_settings *settings)
{
    const udpai_check_planner_options options = {
        .node = udpai_endpoint_node(endpoint),
        .wheel = udpai_endpoint_wheel(endpoint),
        .rules = settings->check_rules,
        .n_rules = settings->n_check_rules,
    };
    return settings->n_check_rules ? udpai_check_planner_new(ret_service, &options) : UDPA_OK;
}

static uint64_t
count_clients(void *userdata)
{
    return udpai_endpoint_stream_counts(userdata).n_clients;
}

static void
set_streams(void *userdata, uint64_t n)
{
    udpai_replication *replication = ((udpa_endpoint *)userdata)->replication;
    if (replication && replication->ops->set_streams)
        replication->ops->set_streams(replication, n);
}

static void
rebalance(void *userdata, uint64_t over_ms)
{
    udpai_replication *replication = ((udpa_endpoint *)userdata)->replication;
    if (replication && replication->ops->rebalance)
        replication->ops->rebalance(replication, over_ms);
}

static udpa_err
make_spread(udpai_service **ret_service,
            udpa_endpoint *endpoint,
            const udpai_endpoint_settings *settings)
{
    const udpai_spread_options options = {
        .wheel = udpai_endpoint_wheel(endpoint),
        .node = udpai_endpoint_node(endpoint),
        .never_rejects = settings->accepts_above_share,
        .count = count_clients,
        .set_streams = set_streams,
        .rebalance = rebalance,
        .order = order,
        .userdata = endpoint,
    };
    return settings->has_replicas ? udpai_spread_service_new(ret_service, &options) : UDPA_OK;
}

static udpa_err
make_propagation(udpai_service **ret_service,
                 udpa_endpoint *endpoint,
                 const udpai_endpoint_settings *settings)
{
    const udpai_propagation_options options = {
        .wheel = udpai_endpoint_wheel(endpoint),
        .meters = udpai_node_meters(udpai_endpoint_node(endpoint)),
        .n_sides = 1 + settings->n_workers,
        .count = count_clients,
        .userdata = endpoint,
        .take_span = settings->node.traces.take,
        .span_userdata = settings->node.traces.userdata,
    };
    return settings->node.is_endpoint ? UDPA_OK : udpai_propagation_new(ret_service, &options);
}

static udpa_err
make_load_rules(udpai_service **ret_service,
                udpa_endpoint *endpoint,
                const udpai_endpoint_settings *settings)
{
    const udpai_load_rules_options options = {
        .node = udpai_endpoint_node(endpoint),
        .otherwise = {settings->load_interval_ms, false},
        .reach = UDPAI_REACH_NOBODY, /* those are asked for while clients are */
    };
    udpai_load_rules *rules = NULL;
    udpa_err err = settings->load_interval_ms ? udpai_load_rules_new(&rules, &options) : UDPA_OK;
    *ret_service = rules ? udpai_load_rules_service(rules) : NULL;
    return err;
}

static udpa_err
make_load_aggregates(udpai_service **ret_service,
                     udpa_endpoint *endpoint,
                     const udpai_endpoint_settings *settings)
{
    const udpai_load_aggregates_options options = {
        .node = udpai_endpoint_node(endpoint),
        .wheel = udpai_endpoint_wheel(endpoint),
        .node_id = udpai_node_reporter_id(udpai_endpoint_node(endpoint)),
        .interval_ms = settings->load_interval_ms,
        .wall_us = wall_us,
        .clock_ms = clock_ms,
    };
    return settings->load_interval_ms ? udpai_load_aggregates_new(ret_service, &options) : UDPA_OK;
}

static udpa_err
make_subscriptions(udpai_service **ret_service,
                   udpa_endpoint *endpoint,
                   const udpai_endpoint_settings *settings)
{
    (void)settings;
    return udpai_subscriptions_new(ret_service, endpoint);
}

static udpa_err
make_own_reports(udpai_service **ret_service,
                 udpa_endpoint *endpoint,
                 const udpai_endpoint_settings *settings)
{
    (void)settings;
    return udpai_own_reports_new(ret_service,
                                 udpai_node_reporter_id(udpai_endpoint_node(endpoint)));
}

/* Where load is aggregated, no part of the process watches. */
static udpa_err
make_local_demand(udpai_service **ret_service,
                  udpa_endpoint *endpoint,
                  const udpai_endpoint_settings *settings)
{
    return udpai_local_demand_new(ret_service, endpoint, settings->load_interval_ms == 0);
}

static udpa_err
make_publications(udpai_service **ret_service,
                  udpa_endpoint *endpoint,
                  const udpai_endpoint_settings *settings)
{
    (void)settings;
    return udpai_publications_new(ret_service, endpoint);
}

/* ---- all ---- */

/* The others are put in by the public interface. */
static const make_fn makers[UDPAI_PLACES] = {
    [UDPAI_PLACE_INSPECTION] = make_inspection,
    [UDPAI_PLACE_LOAD_UPSTREAMS] = make_load_upstreams,
    [UDPAI_PLACE_ORCA_COLLECTOR] = make_orca_collector,
    [UDPAI_PLACE_CLIENT_REGISTRY] = make_client_registry,
    [UDPAI_PLACE_STATUS] = make_status,
    [UDPAI_PLACE_ACKNOWLEDGEMENTS] = make_acknowledgements,
    [UDPAI_PLACE_ACCESS] = make_access,
    [UDPAI_PLACE_ORIGINS] = make_origins,
    [UDPAI_PLACE_CHECK_PLANNER] = make_check_planner,
    [UDPAI_PLACE_SPREAD] = make_spread,
    [UDPAI_PLACE_PROPAGATION] = make_propagation,
    [UDPAI_PLACE_LOAD_RULES] = make_load_rules,
    [UDPAI_PLACE_LOAD_AGGREGATES] = make_load_aggregates,
    [UDPAI_PLACE_SUBSCRIPTIONS] = make_subscriptions,
    [UDPAI_PLACE_OWN_REPORTS] = make_own_reports,
    [UDPAI_PLACE_LOCAL_DEMAND] = make_local_demand,
    [UDPAI_PLACE_PUBLICATIONS] = make_publications,
};

udpa_err
udpai_endpoint_make_services(udpa_endpoint *endpoint, const udpai_endpoint_settings *settings)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_PLACES && err == UDPA_OK; i++) {
        udpai_service *made = NULL;
        if (makers[i])
            err = makers[i](&made, endpoint, settings);
        udpai_endpoint_put_service(endpoint, i, made);
    }
    return err;
}
