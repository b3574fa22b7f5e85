/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/load_aggregates_internal.h"
#include "federation/reporting.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/percent.h"
#include "base/strbuf.h"
#include "endpoint/load_names.h"
#include "endpoint/load_state.h"
#include "model/name.h"
#include "reports/load_stats_kept.h"
#include "reports/load_stats_split.h"

/* Whatever comes together is reported together. */
#define DELAY_MS 1000
#define TTL_SPARE_MS 10000
/* How much older than its stream the counts of a new reporter may be: clocks count in steps. */
#define SLACK_NS ((uint64_t)100 * 1000000)
#define AGGREGATES_MAX 10000
/* What has no subscription is remembered for so long: its subscriber may be away, and clients count
 * on. */
#define SLEEP_MS ((uint64_t)3600 * 1000)

/* Of one cluster. */
typedef struct cluster_aggregate {
    udpai_load_stats_split *split;
    udpa_resource *resource; /* that was reported last; NULL: nothing was */
    uint64_t since_ms, reported_ms, epoch;
    uint64_t sleeps_until_ms; /* it has no subscription, and goes on with the next; 0: it has one */
    bool is_due;
    udpa_bytes *cluster;
} cluster_aggregate;

static udpai_str
aggregate_key(const void *item)
{
    return udpai_bytes_view(((const cluster_aggregate *)item)->cluster);
}

static uint64_t
now_ms(const udpai_load_aggregates *self)
{
    return self->options.wheel->now_ms;
}

/* Of the clock as if it had never been set back, so that nothing looks younger than it is. */
static int64_t
wall_us(udpai_load_aggregates *self)
{
    int64_t clock_us = (int64_t)self->options.clock_ms(self->options.userdata) * 1000;
    int64_t ahead_us = self->options.wall_us(self->options.userdata) - clock_us;
    if (ahead_us > self->ahead_us)
        self->ahead_us = ahead_us;
    return clock_us + self->ahead_us;
}

static uint64_t
ttl_ms(const udpai_load_aggregates *self)
{
    return 3 * self->options.interval_ms + TTL_SPARE_MS;
}

/* ---- reporting ---- */

static void
arm(udpai_load_aggregates *self, uint64_t at_ms)
{
    if (self->timer_for_ms && self->timer_for_ms <= at_ms)
        return;
    self->timer_for_ms = at_ms;
    udpai_timer_set(self->options.wheel, &self->timer, at_ms);
}

static udpa_resource *
make_resource(const udpai_load_aggregates *self, const cluster_aggregate *aggregate)
{
    const udpai_load_stats *total = udpai_load_stats_split_total(
        aggregate->split, (now_ms(self) - aggregate->since_ms) * 1000000);
    return total
               ? udpai_load_aggregate_resource(total, udpai_bytes_view(self->node_id), ttl_ms(self))
               : NULL;
}

static udpai_load_stats_state
state_of(const udpai_load_aggregates *self, const cluster_aggregate *aggregate)
{
    return (udpai_load_stats_state){
        .cluster = aggregate_key(aggregate),
        .epoch = aggregate->epoch,
        .elapsed_ns = (now_ms(self) - aggregate->since_ms) * 1000000,
    };
}

/* What has not changed is reported again, in time, with the present time: what was stated of an
 * earlier time would look younger than it is. Without memory it is with the next turn. */
static void
report(udpai_load_aggregates *self, cluster_aggregate *aggregate)
{
    udpa_resource *resource = make_resource(self, aggregate);
    const udpai_load_stats_state state = state_of(self, aggregate);
    if (resource) {
        udpai_load_state_save(self->state, &state, aggregate->split);
        udpa_resource_unref(aggregate->resource);
        aggregate->resource = resource;
        aggregate->is_due = false;
    }
    if (aggregate->resource &&
        udpai_node_report_own(self->options.node, aggregate->resource, NULL) == UDPA_OK)
        aggregate->reported_ms = now_ms(self);
}

/* Or when it is forgotten. */
static uint64_t
next_report_ms(const udpai_load_aggregates *self, const cluster_aggregate *aggregate)
{
    if (aggregate->sleeps_until_ms)
        return aggregate->sleeps_until_ms;
    if (aggregate->is_due)
        return aggregate->reported_ms + (self->is_ending ? 0 : DELAY_MS);
    return aggregate->reported_ms + ttl_ms(self) / 2;
}

static void
set_due(udpai_load_aggregates *self, cluster_aggregate *aggregate)
{
    aggregate->is_due = true;
    arm(self, now_ms(self) + (self->is_ending ? 0 : DELAY_MS));
}

static void
withdraw(udpai_load_aggregates *self, cluster_aggregate *aggregate)
{
    if (aggregate->resource)
        udpai_node_withdraw_own_report(self->options.node, UDPAI_STR(UDPAI_TYPE_CLUSTER_LOAD),
                                       udpai_resource_name(aggregate->resource));
    aggregate->resource = udpa_resource_unref(aggregate->resource);
}

/* ---- aggregates ---- */

static void
free_aggregate(cluster_aggregate *aggregate)
{
    udpai_load_stats_split_free(aggregate->split);
    udpa_resource_unref(aggregate->resource);
    udpa_bytes_unref(aggregate->cluster);
    udpai_free(aggregate);
}

static void
end_aggregate(udpai_load_aggregates *self, cluster_aggregate *aggregate)
{
    withdraw(self, aggregate);
    udpai_map_remove(&self->aggregates, aggregate_key(aggregate));
    const udpai_load_stats_state state = state_of(self, aggregate);
    udpai_load_state_end(self->state, &state);
    self->ended_ms = self->options.clock_ms(self->options.userdata);
    /* Whatever has lain somewhere since now has expired by then. */
    uint64_t until_ms = now_ms(self) + 2 * ttl_ms(self);
    udpai_load_stats_nodes counted;
    udpai_load_stats_split_end(UDPAI_TAKE(aggregate->split), &counted);
    udpai_load_stats_kept_put(&self->kept, aggregate->cluster, &counted, until_ms);
    arm(self, until_ms);
    free_aggregate(aggregate);
}

/* It is kept as it is: reporters go on counting, and so does it when it wakes. */
static void
put_to_sleep(udpai_load_aggregates *self, cluster_aggregate *aggregate)
{
    const udpai_load_stats_state state = state_of(self, aggregate);
    udpai_load_stats_split_rest(aggregate->split);
    if (udpai_load_stats_split_total(aggregate->split, state.elapsed_ns))
        udpai_load_state_save(self->state, &state, aggregate->split);
    withdraw(self, aggregate);
    aggregate->is_due = false;
    aggregate->sleeps_until_ms = now_ms(self) + self->options.sleep_ms;
    arm(self, aggregate->sleeps_until_ms);
}

/* What sleeps longest; NULL: nothing does. */
static cluster_aggregate *
find_sleeper(const udpai_load_aggregates *self)
{
    size_t at = 0;
    cluster_aggregate *aggregate, *found = NULL;
    while ((aggregate = udpai_map_next(&self->aggregates, &at)))
        if (aggregate->sleeps_until_ms &&
            (!found || aggregate->sleeps_until_ms < found->sleeps_until_ms))
            found = aggregate;
    return found;
}

/* As long as a reporter is waited for. */
static void
end_sleepers(udpai_load_aggregates *self)
{
    cluster_aggregate *aggregate;
    while ((aggregate = find_sleeper(self)) && aggregate->sleeps_until_ms <= now_ms(self))
        end_aggregate(self, aggregate);
}

/* ---- time ---- */

static void
on_timer(udpai_timer *timer)
{
    udpai_load_aggregates *self = UDPAI_CONTAINER_OF(timer, udpai_load_aggregates, timer);
    self->timer_for_ms = 0;
    end_sleepers(self);
    uint64_t next_ms = udpai_load_stats_kept_expire(&self->kept, now_ms(self));
    if (self->earlier_until_ms > now_ms(self))
        next_ms = self->earlier_until_ms < next_ms ? self->earlier_until_ms : next_ms;
    else if (udpai_load_state_forget(self->state)) /* they may have what clients report now */
        self->ended_ms = self->options.clock_ms(self->options.userdata);
    size_t at = 0;
    cluster_aggregate *aggregate;
    while ((aggregate = udpai_map_next(&self->aggregates, &at))) {
        if (next_report_ms(self, aggregate) <= now_ms(self))
            report(self, aggregate);
        uint64_t ms = next_report_ms(self, aggregate);
        if (ms <= now_ms(self))
            ms = now_ms(self) + DELAY_MS;
        next_ms = ms < next_ms ? ms : next_ms;
    }
    if (next_ms != UINT64_MAX)
        arm(self, next_ms);
}

/* ---- beginning ---- */

/* There was one before this node began anew. Its time goes on with the clock, and never back. */
static bool
go_on(udpai_load_aggregates *self, cluster_aggregate *aggregate, udpai_str cluster)
{
    udpai_load_stats_state of;
    int64_t now_us = wall_us(self);
    if (!(aggregate->split = udpai_load_state_take(self->state, cluster, &of)))
        return false;
    uint64_t elapsed_ms = of.elapsed_ns / 1000000 + 1;
    if (now_us > 0 && (uint64_t)now_us / 1000 > of.epoch / 1000 + elapsed_ms)
        elapsed_ms = (uint64_t)now_us / 1000 - of.epoch / 1000;
    aggregate->epoch = of.epoch;
    aggregate->since_ms = now_ms(self) - elapsed_ms; /* may be before the clock began, and wrap */
    return true;
}

static udpa_err
fill_aggregate(udpai_load_aggregates *self, cluster_aggregate *aggregate, udpai_str cluster)
{
    const udpai_load_aggregate_options options = {
        .cluster = cluster,
        .node_id = udpai_bytes_view(self->node_id),
        .lasts_ns = ttl_ms(self) * 1000000,
        .counted = udpai_load_stats_kept_find(&self->kept, cluster),
        .epoch = (uint64_t)wall_us(self),
    };
    aggregate->since_ms = now_ms(self);
    aggregate->epoch = options.epoch;
    udpa_err err = udpa_bytes_new(&aggregate->cluster, cluster.data, cluster.len);
    if (err == UDPA_OK && go_on(self, aggregate, cluster))
        return UDPA_OK;
    if (err == UDPA_OK)
        err = udpai_load_stats_split_new(&aggregate->split, &options);
    if (err == UDPA_OK)
        udpai_load_stats_kept_forget(&self->kept, cluster);
    return err;
}

static udpa_err
get_aggregate(udpai_load_aggregates *self,
              udpai_str cluster,
              cluster_aggregate **ret_aggregate,
              udpa_error **ret_error)
{
    cluster_aggregate *aggregate = *ret_aggregate = udpai_map_get(&self->aggregates, cluster);
    if (aggregate)
        return UDPA_OK;
    if (self->aggregates.n >= AGGREGATES_MAX && (aggregate = find_sleeper(self)))
        end_aggregate(self, aggregate);
    if (self->aggregates.n >= AGGREGATES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "there are aggregates of %d clusters already",
                          AGGREGATES_MAX);
    aggregate = udpai_alloc(sizeof(*aggregate));
    udpa_err err = aggregate ? fill_aggregate(self, aggregate, cluster) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !udpai_map_add(&self->aggregates, aggregate))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        *ret_aggregate = aggregate;
    else if (aggregate)
        free_aggregate(aggregate);
    return udpai_fail_code(ret_error, err);
}

/* ---- what is reported ---- */

bool
udpai_load_aggregates_is_own(const udpai_load_aggregates *self, udpai_str id)
{
    return udpai_load_is_id(id, udpai_bytes_view(self->node_id));
}

/* Since when its reporter could have reported to this node alone. */
static bool
is_here_since(const udpai_load_aggregates *self, udpai_str id, uint64_t *ret_ms)
{
    char room[UDPAI_NAME_MAX], *at = room;
    udpai_str decoded;
    return id.len <= sizeof(room) && udpai_percent_decode(id, &at, &decoded) &&
           udpai_node_peer_since(self->options.node, decoded, ret_ms);
}

/* Whether it has counted before its stream began, for then it may have reported to others, which
 * have counted it; or before an aggregate of this node has ended, that may have had it. Its age is
 * that of now, so how long it is here must be, too: the wheel may be behind by all that came in
 * this turn. */
static bool
was_counted(udpai_load_aggregates *self,
            udpai_str id,
            const udpa_resource *resource,
            const udpai_load_stats *stats)
{
    uint64_t since_ms;
    if (!is_here_since(self, id, &since_ms))
        return true;
    if (since_ms < self->ended_ms)
        since_ms = self->ended_ms;
    uint64_t here_ms = self->options.clock_ms(self->options.userdata) - since_ms;
    return udpai_load_age_ns(resource, stats, wall_us(self)) > here_ms * 1000000 + SLACK_NS;
}

/* Is that longer than there is an aggregate of this node? */
static bool
is_from_before(const udpai_load_aggregates *self, uint64_t age_ns)
{
    uint64_t since_ms = self->began_ms > self->ended_ms ? self->began_ms : self->ended_ms;
    uint64_t here_ms = self->options.clock_ms(self->options.userdata) - since_ms;
    return age_ns + SLACK_NS > here_ms * 1000000;
}

/* Others are welcome to have counted it, for it is not taken from them. But an earlier aggregate of
 * this node may have. By a long way it may come as it was then, and what it had grown by until this
 * node began comes with what it has grown by since. */
static void
date_shared(udpai_load_aggregates *self,
            const udpa_resource *resource,
            udpai_load_stats *stats,
            bool is_known)
{
    uint64_t begin_ns = udpai_load_age_ns(resource, stats, wall_us(self));
    stats->was_counted = !is_known && (stats->lasts_ns < udpa_resource_ttl_ms(resource) * 1000000 ||
                                       is_from_before(self, begin_ns));
    stats->is_old = is_from_before(self, begin_ns - stats->elapsed_ns);
}

static udpa_err
read(udpai_load_aggregates *self,
     const udpa_resource *resource,
     udpai_load_stats_kind kind,
     udpai_load_stats **ret_stats,
     udpa_error **ret_error)
{
    const udpai_load_stats_limits *limits = kind == UDPAI_LOAD_STATS_OF_NODE
                                                ? &udpai_load_aggregate_limits
                                                : &udpai_load_stats_client_limits;
    return udpai_load_stats_decode(&self->arena, udpai_resource_value(resource), limits, ret_stats,
                                   ret_error);
}

static void
leave(udpai_load_aggregates *self, const udpa_resource *resource, udpai_load_stats_kind kind)
{
    udpai_str cluster, id;
    char room[1 + UDPAI_NAME_MAX];
    cluster_aggregate *aggregate = NULL;
    if (udpai_load_name_split(udpai_resource_name(resource), &cluster, &id) &&
        id.len <= UDPAI_NAME_MAX)
        aggregate = udpai_map_get(&self->aggregates, cluster);
    if (!aggregate || !udpai_load_counts_here(resource, id, kind))
        return;
    udpai_load_stats_split_leave(aggregate->split, kind, udpai_load_reporter(id, kind, room));
    set_due(self, aggregate);
}

static udpa_err
take(udpai_load_aggregates *self,
     const udpa_resource *resource,
     udpai_load_stats_kind kind,
     udpa_error **ret_error)
{
    udpai_str cluster, id;
    cluster_aggregate *aggregate;
    UDPA_AUTO(udpai_load_stats_free) udpai_load_stats *stats = NULL;
    char room[1 + UDPAI_NAME_MAX];
    if (udpai_node_is_of_set(self->options.node, resource)) { /* that replica adds it up */
        if (kind != UDPAI_LOAD_STATS_OF_NODE)
            leave(self, resource, kind); /* the client may have been here before */
        return UDPA_OK;
    }
    if (!udpai_load_name_split(udpai_resource_name(resource), &cluster, &id) ||
        id.len > UDPAI_NAME_MAX || !udpai_load_counts_here(resource, id, kind) ||
        (kind == UDPAI_LOAD_STATS_OF_NODE && udpai_load_aggregates_is_own(self, id)))
        return UDPA_OK;
    udpa_err err = read(self, resource, kind, &stats, ret_error);
    if (err == UDPA_OK)
        err = get_aggregate(self, cluster, &aggregate, ret_error);
    if (err != UDPA_OK)
        return err;
    const udpai_str name = udpai_load_reporter(id, kind, room);
    stats->is_lasting = kind != UDPAI_LOAD_STATS_OF_CLIENT || udpa_resource_n_hops(resource) == 2;
    stats->at_ns = (now_ms(self) - aggregate->since_ms) * 1000000;
    bool is_known = udpai_load_stats_split_knows(aggregate->split, kind, name, stats->epoch);
    if (kind == UDPAI_LOAD_STATS_OF_SHARED)
        date_shared(self, resource, stats, is_known);
    else
        stats->was_counted = !is_known && was_counted(self, id, resource, stats);
    err = udpai_load_stats_split_take(aggregate->split, kind, name, UDPAI_TAKE(stats), ret_error);
    set_due(self, aggregate);
    return err;
}

static void
log_refused(udpai_load_aggregates *self, const udpa_resource *resource, const udpa_error *error)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&self->refused_log, now_ms(self), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "load", "ignored load reported by '%s': %s (%u more not shown)",
                  udpa_resource_name(resource), udpa_error_message(error), n_suppressed);
}

/* The publisher of what cannot be true gets an error, if it asks for a receipt. */
void
udpai_load_aggregates_take(udpai_load_aggregates *self,
                           udpai_local_update *update,
                           udpai_load_stats_kind kind)
{
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        udpa_error *error = NULL;
        if (change->is_removed) {
            leave(self, change->resource, kind);
        } else if (take(self, change->resource, kind, &error) != UDPA_OK) {
            log_refused(self, change->resource, error);
            if (error)
                udpai_local_update_refuse(update, i, error);
        }
    }
}

/* ---- demand ---- */

static void
wake_sleepers(udpai_load_aggregates *self, udpai_str prefix)
{
    size_t at = 0;
    cluster_aggregate *aggregate;
    while ((aggregate = udpai_map_next(&self->aggregates, &at))) {
        if (!aggregate->sleeps_until_ms || !udpai_prefix_covers(prefix, aggregate_key(aggregate)))
            continue;
        aggregate->sleeps_until_ms = 0;
        report(self, aggregate);
        arm(self, next_report_ms(self, aggregate));
    }
}

/* Earlier aggregates are reported at once: what comes now is more than that. Without memory they
 * are there with the next report for them. */
void
udpai_load_aggregates_wake(udpai_load_aggregates *self, udpai_str prefix)
{
    udpa_bytes *cluster;
    cluster_aggregate *aggregate = NULL;
    wake_sleepers(self, prefix);
    while ((cluster = udpai_load_state_find(self->state, prefix))) {
        udpa_err err = get_aggregate(self, udpai_bytes_view(cluster), &aggregate, NULL);
        udpa_bytes_unref(cluster);
        if (err != UDPA_OK)
            return;
        report(self, aggregate);
        arm(self, next_report_ms(self, aggregate));
    }
}

void
udpai_load_aggregates_rest(udpai_load_aggregates *self)
{
    UDPAI_VECTOR(cluster_aggregate *) unused = {0};
    size_t at = 0;
    cluster_aggregate *aggregate;
    while ((aggregate = udpai_map_next(&self->aggregates, &at)))
        if (!aggregate->sleeps_until_ms &&
            !udpai_load_areas_have_demand(self, aggregate_key(aggregate)))
            (void)udpai_vector_push(&unused,
                                    aggregate); /* else it is there without a use, for a while */
    for (size_t i = 0; i < unused.n; i++)
        put_to_sleep(self, unused.items[i]);
    udpai_vector_done(&unused);
}

/* ---- coming and going ---- */

/* All aggregates there are, for what keeps them. */
static udpa_err
visit(void *userdata, udpai_load_state *state)
{
    udpai_load_aggregates *self = userdata;
    udpa_err err = UDPA_OK;
    size_t at = 0;
    cluster_aggregate *aggregate;
    while (err == UDPA_OK && (aggregate = udpai_map_next(&self->aggregates, &at))) {
        const udpai_load_stats_state of = state_of(self, aggregate);
        bool is_whole = udpai_load_stats_split_total(aggregate->split, of.elapsed_ns) != NULL;
        err = is_whole ? udpai_load_state_save_all(state, &of, aggregate->split) : UDPA_ERR_NOMEM;
    }
    return err;
}

static udpai_load_aggregates *
of_service(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_load_aggregates, service);
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    if (event->kind == UDPAI_SERVICE_DEMAND)
        udpai_load_areas_note(of_service(service), event->type_url, event->text,
                              event->is_subscribed);
}

/* What has come is reported at once, and so is what comes yet. */
static bool
flush(udpai_service *service)
{
    udpai_load_aggregates *self = of_service(service);
    size_t at = 0;
    cluster_aggregate *aggregate;
    if (self->aggregates.n == 0)
        return false;
    self->is_ending = true;
    while ((aggregate = udpai_map_next(&self->aggregates, &at)))
        if (aggregate->is_due)
            report(self, aggregate);
    return true;
}

udpa_err
udpai_load_aggregates_keep(udpai_service *aggregates, const char *path, udpai_str owner)
{
    udpai_load_aggregates *self = of_service(aggregates);
    const udpai_load_state_options options = {
        .path = path,
        .owner = owner,
        .node_id = udpai_bytes_view(self->node_id),
        .lasts_ns = ttl_ms(self) * 1000000,
        .visit = visit,
        .userdata = self,
    };
    udpa_err err = udpai_load_state_open(&self->state, &options);
    self->earlier_until_ms = now_ms(self) + self->options.sleep_ms;
    if (err == UDPA_OK)
        arm(self, self->earlier_until_ms);
    return err;
}

static void
free_aggregates(udpai_service *service)
{
    udpai_load_aggregates *self = of_service(service);
    udpai_timer_cancel(&self->timer);
    udpai_load_areas_free(self);
    size_t at = 0;
    cluster_aggregate *aggregate;
    while ((aggregate = udpai_map_next(&self->aggregates, &at))) {
        const udpai_load_stats_state of = state_of(self, aggregate);
        if (aggregate->is_due && udpai_load_stats_split_total(aggregate->split, of.elapsed_ns))
            udpai_load_state_save(self->state, &of, aggregate->split);
    }
    at = 0;
    while ((aggregate = udpai_map_next(&self->aggregates, &at)))
        free_aggregate(aggregate);
    udpai_load_state_close(self->state);
    udpai_map_done(&self->aggregates);
    udpai_load_stats_kept_done(&self->kept);
    udpai_arena_done(&self->arena);
    udpa_bytes_unref(self->node_id);
    udpai_free(self);
}

udpa_err
udpai_load_aggregates_new(udpai_service **ret_aggregates,
                          const udpai_load_aggregates_options *options)
{
    static const udpai_service_ops ops = {
        .on_event = on_event,
        .flush = flush,
        .free = free_aggregates,
    };
    udpai_load_aggregates *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->options = *options;
    if (self->options.sleep_ms == 0)
        self->options.sleep_ms = SLEEP_MS;
    self->began_ms = options->clock_ms(options->userdata);
    udpai_load_areas_init(self);
    udpai_map_init(&self->aggregates, aggregate_key);
    udpai_load_stats_kept_init(&self->kept);
    udpai_timer_init(&self->timer, on_timer);
    udpai_arena_init(&self->arena);
    self->ahead_us = INT64_MIN;
    (void)wall_us(self);
    udpa_err err = udpa_bytes_new(&self->node_id, options->node_id.data, options->node_id.len);
    if (err == UDPA_OK)
        *ret_aggregates = &self->service;
    else
        free_aggregates(&self->service);
    return err;
}
