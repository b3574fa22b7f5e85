/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what a load recorder holds of the clusters that are subscribed to: at once with a new
 * subscription, and at each interval as long as there is one. */
#include <udpa/load.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "endpoint/host.h"
#include "endpoint/load_rules.h"
#include "endpoint/reporting.h"
#include "federation/reporting.h"
#include "loop/clock.h"
#include "recorder/recorder.h"
#include "reports/load_stats.h"

#define INTERVAL_MS 10000
#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS ((uint64_t)24 * 3600 * 1000)
/* A report outlives this, and so many intervals without another one. */
#define TTL_MORE_MS 10000
#define TTL_INTERVALS 3

/* A shared one reports the same, as another type, to nodes that aggregate. */
enum {
    TO_ALL,
    TO_SUMS,
    LOAD_TYPES,
};

static const char *const load_types[LOAD_TYPES] = {UDPAI_TYPE_CLIENT_LOAD,
                                                   UDPAI_TYPE_SHARED_CLIENT_LOAD};

/* A cluster that was reported. */
typedef struct udpai_reported_cluster {
    uint64_t round;       /* when it was last subscribed to */
    uint64_t reported_ms; /* when it was last reported */
    uint64_t audience;    /* of those that it was reported to */
    bool is_reported[LOAD_TYPES];
    size_t len;
    char name[]; /* with a NUL behind it */
} udpai_reported_cluster;

typedef struct udpai_load_reporting {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpa_load_recorder *recorder;
    udpa_demand_watch *watch;
    udpai_load_setting otherwise;  /* where no resource sets another */
    udpai_load_rules *rules;       /* NULL: there is no subscription */
    uint64_t interval_ms;          /* to the next round: the shortest of what is subscribed to */
    bool reports_all;              /* in the next round, whether it is due or not */
    uint64_t now_ms;               /* of the round */
    udpai_audience audience;       /* of the cluster that is being looked at … */
    bool is_requested[LOAD_TYPES]; /* … and as what it is to be reported */
    udpai_timer timer;
    size_t n_subscribed; /* subscriptions to these types */
    uint64_t round;
    udpai_map reported;
    udpai_log_limit failures;
} udpai_load_reporting;

static udpai_load_reporting *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_load_reporting, service);
}

static udpai_str
reported_key(const void *item)
{
    const udpai_reported_cluster *reported = item;
    return (udpai_str){reported->name, reported->len};
}

/* ---- one round ---- */

static udpai_load_setting
setting_of(const udpai_load_reporting *reporting, udpai_str cluster)
{
    return reporting->rules
               ? udpai_load_policy_find(udpai_load_rules_policy(reporting->rules), cluster)
               : reporting->otherwise;
}

/* It has other recipients, or is reported as another type. */
static bool
is_moved(const udpai_load_reporting *reporting, const udpai_reported_cluster *reported)
{
    return reported->audience != reporting->audience.digest ||
           memcmp(reported->is_reported, reporting->is_requested, sizeof(reported->is_reported)) !=
               0;
}

/* Rounds are as frequent as those of the most frequent cluster. */
static bool
is_due(udpai_load_reporting *reporting, udpai_str cluster, uint64_t interval_ms)
{
    udpai_reported_cluster *reported = udpai_map_get(&reporting->reported, cluster);
    if (!reported || reporting->reports_all || is_moved(reporting, reported) ||
        reporting->now_ms + interval_ms / 4 >= reported->reported_ms + interval_ms)
        return true;
    reported->round = reporting->round;
    return false;
}

/* The recipients of the cluster, and as what; false: there are none, or it is not known. */
static bool
look_at(udpai_load_reporting *reporting, udpai_str cluster)
{
    const udpa_endpoint *endpoint = reporting->endpoint;
    UDPAI_AUTO_FREE char *name = udpai_report_name(endpoint, cluster);
    if (!name || udpai_node_load_audience(udpai_endpoint_node(endpoint), udpai_str_from(name),
                                          &reporting->audience) != UDPA_OK)
        return false;
    for (int i = 0; i < LOAD_TYPES; i++)
        reporting->is_requested[i] =
            (i == TO_ALL || reporting->audience.n > 1) &&
            udpai_local_demand_have(endpoint, udpai_str_from(load_types[i]), udpai_str_from(name));
    return reporting->is_requested[TO_ALL] || reporting->is_requested[TO_SUMS];
}

static bool
selects(void *userdata, udpai_str cluster)
{
    udpai_load_reporting *reporting = userdata;
    if (!look_at(reporting, cluster))
        return false;
    uint64_t interval_ms = setting_of(reporting, cluster).interval_ms;
    if (interval_ms < reporting->interval_ms)
        reporting->interval_ms = interval_ms;
    return is_due(reporting, cluster, interval_ms);
}

static uint64_t
ttl_ms(const udpai_load_reporting *reporting, udpai_str cluster)
{
    return TTL_INTERVALS * setting_of(reporting, cluster).interval_ms + TTL_MORE_MS;
}

/* It was looked at just now. */
static bool
audience_of(void *userdata, udpai_str cluster, udpai_load_audience *ret_audience)
{
    const udpai_load_reporting *reporting = userdata;
    *ret_audience = (udpai_load_audience){
        .id = reporting->audience.digest,
        .is_shared = reporting->audience.n > 1,
        .lasts_ms = ttl_ms(reporting, cluster),
    };
    return true;
}

static bool
is_per_endpoint(void *userdata, udpai_str cluster)
{
    return setting_of(userdata, cluster).per_endpoint;
}

/* Noted before it is reported, so that it can be withdrawn. NULL without memory. */
static udpai_reported_cluster *
note(udpai_load_reporting *reporting, udpai_str cluster)
{
    udpai_reported_cluster *reported = udpai_map_get(&reporting->reported, cluster);
    if (!reported) {
        reported = udpai_alloc(sizeof(*reported) + cluster.len + 1);
        if (!reported)
            return NULL;
        reported->len = cluster.len;
        memcpy(reported->name, cluster.data, cluster.len);
        if (!udpai_map_add(&reporting->reported, reported)) {
            udpai_free(reported);
            return NULL;
        }
    }
    reported->round = reporting->round;
    reported->reported_ms = reporting->now_ms;
    return reported;
}

static udpa_err
put(const udpai_load_reporting *reporting,
    const udpai_reported_cluster *reported,
    const char *type_url,
    const udpa_bytes *load,
    udpa_error **ret_error)
{
    udpa_report_options options = UDPA_REPORT_OPTIONS_INIT;
    options.type_url = type_url;
    options.about = reported->name;
    options.payload = udpa_bytes_data(load);
    options.payload_size = udpa_bytes_size(load);
    options.ttl_ms = ttl_ms(reporting, reported_key(reported));
    return udpai_report_put_load(reporting->endpoint, &options, ret_error);
}

/* As each type that is subscribed to. What one has taken was reported, also if the other fails: it
 * has the same contents, of the same epoch, the next time. */
static udpa_err
put_requested(const udpai_load_reporting *reporting,
              udpai_reported_cluster *reported,
              const udpa_bytes *load,
              udpa_error **ret_error)
{
    udpa_err errs[LOAD_TYPES] = {UDPA_OK, UDPA_OK};
    bool any = false;
    for (int i = 0; i < LOAD_TYPES; i++) {
        if (reporting->is_requested[i]) {
            errs[i] = put(reporting, reported, load_types[i], load, *ret_error ? NULL : ret_error);
            any |= errs[i] == UDPA_OK;
        } else if (reported->is_reported[i]) {
            udpa_report_withdraw(reporting->endpoint, load_types[i], reported->name);
        }
        /* What is left of before is still to be withdrawn. */
        reported->is_reported[i] =
            reporting->is_requested[i] && (errs[i] == UDPA_OK || reported->is_reported[i]);
    }
    reported->audience = reporting->audience.digest;
    return any ? UDPA_OK : errs[TO_ALL] != UDPA_OK ? errs[TO_ALL] : errs[TO_SUMS];
}

static bool
take(void *userdata, udpai_str cluster, udpa_bytes *load)
{
    udpai_load_reporting *reporting = userdata;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_reported_cluster *reported = note(reporting, cluster);
    udpa_err err = reported && load ? put_requested(reporting, reported, load, &error)
                                    : udpai_fail_code(&error, UDPA_ERR_NOMEM);
    unsigned n_suppressed;
    if (err != UDPA_OK &&
        udpai_log_allow(&reporting->failures, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "report",
                  "the load of cluster '%.*s' is not reported: %s (%u more not shown)",
                  UDPAI_SHOWN(cluster), udpa_error_message(error), n_suppressed);
    return err == UDPA_OK;
}

/* Of those not requested in this round: they have no subscription any more, or are forgotten.
 */
static void
withdraw(udpai_load_reporting *reporting)
{
    udpai_map before = reporting->reported;
    size_t at = 0;
    udpai_reported_cluster *reported;
    udpai_map_init(&reporting->reported, reported_key);
    while ((reported = udpai_map_next(&before, &at))) {
        if (reported->round == reporting->round && udpai_map_add(&reporting->reported, reported))
            continue;
        for (int i = 0; i < LOAD_TYPES; i++)
            if (reported->is_reported[i])
                udpa_report_withdraw(reporting->endpoint, load_types[i], reported->name);
        udpai_free(reported);
    }
    udpai_map_done(&before);
}

static bool
has_stale(const udpai_load_reporting *reporting)
{
    size_t at = 0;
    const udpai_reported_cluster *reported;
    while ((reported = udpai_map_next(&reporting->reported, &at)))
        if (reported->round != reporting->round)
            return true;
    return false;
}

static void
on_round(udpai_timer *timer)
{
    udpai_load_reporting *reporting = UDPAI_CONTAINER_OF(timer, udpai_load_reporting, timer);
    const udpai_load_reading reading = {
        .now_ms = udpai_monotonic_ms(),
        .max_bytes = UDPAI_REPORT_MAX_BYTES,
        .is_per_endpoint = is_per_endpoint,
        .from_now = true,
        .audience = audience_of,
        .selects = selects,
        .take = take,
        .userdata = reporting,
    };
    reporting->round++;
    reporting->now_ms = reading.now_ms;
    reporting->interval_ms = reporting->otherwise.interval_ms; /* others may come */
    if (reporting->n_subscribed) {
        udpai_load_recorder_read(reporting->recorder, &reading);
        udpai_timer_set(udpai_endpoint_wheel(reporting->endpoint), timer,
                        reading.now_ms + reporting->interval_ms);
    }
    reporting->reports_all = false;
    if (has_stale(reporting))
        withdraw(reporting);
    udpai_endpoint_touch(reporting->endpoint);
}

static void
begin_round(udpai_load_reporting *reporting)
{
    udpai_wheel *wheel = udpai_endpoint_wheel(reporting->endpoint);
    udpai_timer_set(wheel, &reporting->timer, wheel->now_ms);
    udpai_endpoint_touch(reporting->endpoint);
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    if (event->kind == UDPAI_SERVICE_AUDIENCE)
        begin_round(of(service));
}

/* What was reported may be over before it is due again. */
static void
on_rules(void *userdata)
{
    udpai_load_reporting *reporting = userdata;
    reporting->reports_all = true;
    begin_round(reporting);
}

/* Rules are asked for as long as anything is. Without memory there are none. */
static void
follow_rules(udpai_load_reporting *reporting)
{
    const udpai_load_rules_options options = {
        .node = udpai_endpoint_node(reporting->endpoint),
        .otherwise = reporting->otherwise,
        .changed = on_rules,
        .userdata = reporting,
    };
    if (!reporting->rules)
        (void)udpai_load_rules_new(&reporting->rules, &options);
}

static void
leave_rules(udpai_load_reporting *reporting)
{
    udpai_load_rules_free(reporting->rules);
    reporting->rules = NULL;
}

static void
on_demand(void *userdata, const udpa_demand *demand)
{
    udpai_load_reporting *reporting = userdata;
    if (strcmp(demand->type_url, UDPAI_TYPE_CLIENT_LOAD) != 0 &&
        strcmp(demand->type_url, UDPAI_TYPE_SHARED_CLIENT_LOAD) != 0)
        return;
    reporting->n_subscribed += demand->has_subscribers ? 1 : (size_t)-1;
    if (reporting->n_subscribed)
        follow_rules(reporting);
    else
        leave_rules(reporting);
    begin_round(reporting);
}

/* ---- begin and end ---- */

static udpa_err
check(const udpa_endpoint *endpoint,
      const udpa_load_report_options *options,
      udpa_error **ret_error)
{
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_load_report_options: struct_size is %zu: begin with "
                          "UDPA_LOAD_REPORT_OPTIONS_INIT",
                          options->struct_size);
    if (options->interval_ms &&
        (options->interval_ms < INTERVAL_MIN_MS || options->interval_ms > INTERVAL_MAX_MS))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "load cannot be reported each %llu ms: at least each %d, at most each "
                          "%llu",
                          (unsigned long long)options->interval_ms, INTERVAL_MIN_MS,
                          (unsigned long long)INTERVAL_MAX_MS);
    if (udpai_endpoint_is_closing(endpoint))
        return udpai_fail(ret_error, UDPA_ERR_CLOSED, "the endpoint is being closed");
    if (udpai_endpoint_service(endpoint, UDPAI_PLACE_LOAD_REPORTING))
        return udpai_fail(ret_error, UDPA_ERR_EXISTS,
                          "the endpoint reports a load recorder already");
    return UDPA_OK;
}

static void
free_reporting(udpai_service *service)
{
    udpai_load_reporting *reporting = of(service);
    size_t at = 0;
    udpai_reported_cluster *reported;
    udpai_timer_cancel(&reporting->timer);
    leave_rules(reporting);
    while ((reported = udpai_map_next(&reporting->reported, &at)))
        udpai_free(reported);
    udpai_map_done(&reporting->reported);
    udpai_load_recorder_leave(reporting->recorder, reporting);
    udpa_load_recorder_unref(reporting->recorder);
    udpai_free(reporting);
}

udpa_err
udpa_load_report_begin(udpa_endpoint *endpoint,
                       udpa_load_recorder *recorder,
                       const udpa_load_report_options *options,
                       udpa_error **ret_error)
{
    static const udpai_service_ops ops = {.on_event = on_event, .free = free_reporting};
    const udpa_load_report_options defaults = UDPA_LOAD_REPORT_OPTIONS_INIT;
    if (!options)
        options = &defaults;
    udpa_err err = check(endpoint, options, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_load_reporting *reporting = udpai_alloc(sizeof(*reporting));
    if (!reporting)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    reporting->service.ops = &ops;
    reporting->endpoint = endpoint;
    reporting->recorder = udpa_load_recorder_ref(recorder);
    reporting->otherwise.interval_ms = options->interval_ms ? options->interval_ms : INTERVAL_MS;
    reporting->otherwise.per_endpoint = options->per_endpoint;
    udpai_timer_init(&reporting->timer, on_round);
    udpai_map_init(&reporting->reported, reported_key);
    err = udpa_demand_watch_new(&reporting->watch, endpoint, on_demand, reporting);
    if (err == UDPA_OK)
        udpai_endpoint_put_service(endpoint, UDPAI_PLACE_LOAD_REPORTING, &reporting->service);
    else
        free_reporting(&reporting->service);
    return udpai_fail_code(ret_error, err);
}

void
udpa_load_report_end(udpa_endpoint *endpoint)
{
    udpai_service *service = udpai_endpoint_service(endpoint, UDPAI_PLACE_LOAD_REPORTING);
    if (!service || udpai_endpoint_is_closing(endpoint))
        return;
    udpai_load_reporting *reporting = of(service);
    udpai_endpoint_put_service(endpoint, UDPAI_PLACE_LOAD_REPORTING, NULL);
    udpa_demand_watch_end(reporting->watch);
    reporting->round++;
    withdraw(reporting);
    free_reporting(service);
}
