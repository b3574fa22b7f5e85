/* SPDX-License-Identifier: Apache-2.0 */
/* The sections 'limits' and 'timing' of the bootstrap file. */
#include "daemon/plan_internal.h"
#include "daemon/restart.h"
#include "daemon/sections.h"
#include "daemon/shutdown.h"

/* ---- limits ---- */

static const udpai_field limits_fields[] = {
    {.name = "max_streams", UDPAI_TO(settings.limits.max_streams), .is_taken_over = true},
    {.name = "max_streams_per_identity",
     UDPAI_TO(settings.limits.max_streams_per_identity),
     .is_taken_over = true},
    {.name = "max_message_bytes_from_clients",
     UDPAI_MESSAGE_BYTES,
     UDPAI_TO(settings.limits.max_message_bytes),
     .is_taken_over = true},
    {.name = "max_message_bytes_from_sources",
     UDPAI_MESSAGE_BYTES,
     UDPAI_TO(settings.limits.max_source_message_bytes),
     .is_taken_over = true},
    {.name = "max_names_per_stream", UDPAI_TO(settings.fanout.max_names), .is_taken_over = true},
    {.name = "max_resources_per_namespace",
     UDPAI_TO(settings.node.store.max_resources_per_namespace),
     .is_taken_over = true},
    {.name = "max_bytes_per_namespace",
     UDPAI_TO(settings.node.store.max_bytes_per_namespace),
     .is_taken_over = true},
    {.name = "max_views_per_identity",
     UDPAI_TO(settings.fanout.max_views_per_owner),
     .is_taken_over = true},
    {.name = "max_views", UDPAI_TO(settings.fanout.max_views), .is_taken_over = true},
    {.name = "max_resources", UDPAI_TO(settings.node.store.max_resources), .is_taken_over = true},
    {.name = "max_bytes", UDPAI_TO(settings.node.store.max_bytes), .is_taken_over = true},
    {.name = "max_resources_per_publisher",
     UDPAI_TO(settings.node.store.max_resources_per_publisher),
     .is_taken_over = true},
    {.name = "max_bytes_per_publisher",
     UDPAI_TO(settings.node.store.max_bytes_per_publisher),
     .is_taken_over = true},
    {.name = "max_client_groups", UDPAI_TO(xds.groups.max), .is_taken_over = true},
    {.name = "max_client_groups_per_identity",
     UDPAI_TO(xds.groups.max_of_identity),
     .is_taken_over = true},
    {.name = "max_publishers_per_name",
     UDPAI_TO(settings.node.store.max_publishers_per_name),
     .is_taken_over = true},
    {.name = "max_withdrawal", UDPAI_PUBLIC, .word = udpai_percentage_check, .is_taken_over = true},
};

const udpai_section udpai_section_limits = {UDPAI_SECTION(limits, limits_fields)};

void
udpai_plan_raise_held(udpai_fanout_options *fanout, size_t n)
{
    if (n <= fanout->max_held)
        return;
    fanout->max_held_bytes = fanout->max_held_bytes / fanout->max_held * n;
    fanout->max_held = n;
}

/* What follows from them. */
udpa_err
udpai_use_limits(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const Udpa__Config__V1__Limits *limits = plan->bootstrap.message->limits;
    udpai_node_config *node = &plan->settings.node;
    if (!limits)
        return UDPA_OK;
    if (limits->max_client_groups) /* as many again may linger */
        node->max_clients = 2 * (size_t)limits->max_client_groups;
    if (*limits->max_withdrawal)
        node->store.max_withdrawal = udpai_percentage(limits->max_withdrawal);
    udpai_plan_raise_held(&plan->settings.fanout, node->store.max_resources_per_namespace);
    return UDPA_OK;
}

/* ---- timing ---- */

/* Everything is counted in milliseconds. A wait may be half of the backoff, and a node must never
 * dial more than a hundred times a second. */
#define SHORTEST_MS 1
#define SHORTEST_BACKOFF_MS 20
#define SHORTEST_STREAM_AGE_MS 1000
#define SHORTEST_HAND_OVER_MS 1000

static const udpai_field timing_fields[] = {
    {.name = "connect_grace",
     .min = SHORTEST_MS,
     UDPAI_TO(settings.node.timing.connect_grace_ms),
     .is_taken_over = true},
    {.name = "sync_timeout",
     .min = SHORTEST_MS,
     UDPAI_TO(settings.node.timing.sync_timeout_ms),
     .is_taken_over = true},
    {.name = "cycle_timeout",
     .min = SHORTEST_MS,
     UDPAI_TO(settings.fanout.cycle_timeout_ms),
     .is_taken_over = true},
    {.name = "first_answer_timeout",
     UDPAI_TO(settings.fanout.first_answer_timeout_ms),
     .is_taken_over = true},
    {.name = "fail_back_delay",
     .min = SHORTEST_MS,
     UDPAI_TO(settings.node.timing.fail_back_delay_ms),
     .is_taken_over = true},
    {.name = "backoff_base",
     .min = SHORTEST_BACKOFF_MS,
     UDPAI_TO(settings.node.timing.backoff_base_ms),
     .is_taken_over = true},
    {.name = "backoff_max",
     .min = SHORTEST_BACKOFF_MS,
     UDPAI_TO(settings.node.timing.backoff_max_ms),
     .is_taken_over = true},
    {.name = "interest_linger",
     .min = SHORTEST_MS,
     UDPAI_TO(settings.node.timing.interest_linger_ms),
     .is_taken_over = true},
    {.name = "fail_over_spread",
     UDPAI_TO(settings.node.timing.fail_over_spread_ms),
     .is_taken_over = true},
    {.name = "recover_timeout",
     .min = SHORTEST_MS,
     UDPAI_TO(settings.node.timing.recover_timeout_ms),
     .is_taken_over = true},
    {.name = "max_stream_age",
     .min = SHORTEST_STREAM_AGE_MS,
     UDPAI_TO(settings.timing.max_stream_age_ms),
     .is_taken_over = true},
    {.name = "drain_delay",
     UDPAI_TO(drain_delay_ms),
     .otherwise = UDPAI_DRAIN_DELAY_MS,
     .is_taken_over = true},
    {.name = "drain_time",
     UDPAI_TO(drain_time_ms),
     .otherwise = UDPAI_DRAIN_TIME_MS,
     .is_taken_over = true},
    {.name = "hand_over_timeout",
     .min = SHORTEST_HAND_OVER_MS,
     UDPAI_TO(hand_over_timeout_ms),
     .otherwise = UDPAI_HAND_OVER_TIMEOUT_MS,
     .is_taken_over = true},
};

typedef struct duration {
    const char *field;
    uint64_t ms;
    bool is_given;
} duration;

/* Reported where the file has one of the two. */
static void
check_order(const udpai_value *value,
            const duration *shorter,
            const duration *longer,
            bool strictly)
{
    if (shorter->ms < longer->ms || (!strictly && shorter->ms == longer->ms))
        return;
    udpai_value_error(value, (longer->is_given ? longer : shorter)->field,
                      "%s, %gs, must be %s %s, %gs", longer->field, (double)longer->ms / 1000,
                      strictly ? "above" : "at least", shorter->field, (double)shorter->ms / 1000);
}

/* With the defaults. What is wrong by itself was reported. */
static void
check_timing(const udpai_value *value)
{
    const Udpa__Config__V1__Timing *timing = value->message;
    udpai_plan *plan = udpai_alloc(sizeof(*plan));
    if (!plan) {
        value->diagnostics->has_failed = true;
        return;
    }
    udpai_endpoint_settings_init(&plan->settings);
    bool is_good = udpai_section_apply(&udpai_section_timing, timing, plan);
    const udpai_node_timing *times = &plan->settings.node.timing;
    const duration base = {"backoff_base", times->backoff_base_ms, timing->backoff_base},
                   max = {"backoff_max", times->backoff_max_ms, timing->backoff_max},
                   sync = {"sync_timeout", times->sync_timeout_ms, timing->sync_timeout},
                   cycle = {"cycle_timeout", plan->settings.fanout.cycle_timeout_ms,
                            timing->cycle_timeout};
    if (is_good) {
        check_order(value, &base, &max, false);
        check_order(value, &sync, &cycle, true);
    }
    udpai_free(plan);
}

const udpai_section udpai_section_timing = {
    UDPAI_SECTION(timing, timing_fields),
    .check = check_timing,
};
