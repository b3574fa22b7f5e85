/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what a load recorder holds of the clusters that somebody wants to know of: at once when a
 * wish comes, and at each interval as long as there is one. */
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

/* A shared one says the same to nodes that make sums as another type. */
enum {
    TO_ALL,
    TO_SUMS,
    LOAD_TYPES,
};

static const char *const load_types[LOAD_TYPES] = {UDPAI_TYPE_CLIENT_LOAD,
                                                   UDPAI_TYPE_SHARED_CLIENT_LOAD};

/* A cluster that was reported. */
typedef struct udpai_said_cluster {
    uint64_t round;    /* when it was last wanted */
    uint64_t said_ms;  /* when it was last reported */
    uint64_t audience; /* to whom */
    bool is_said[LOAD_TYPES];
    size_t len;
    char name[]; /* with a NUL behind it */
} udpai_said_cluster;

typedef struct udpai_load_reporting {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpa_load_recorder *recorder;
    udpa_wanted_watch *watch;
    udpai_load_setting otherwise; /* where no resource says another */
    udpai_load_rules *rules;      /* NULL: nobody wants anything */
    uint64_t interval_ms;         /* to the next round: the shortest of what is wanted */
    bool says_all;                /* in the next round, whether it is due or not */
    uint64_t now_ms;              /* of the round */
    udpai_audience audience;      /* of the cluster that is being looked at … */
    bool is_wanted[LOAD_TYPES];   /* … and as what it is to be said */
    udpai_timer timer;
    size_t n_wanted; /* wishes of these types */
    uint64_t round;
    udpai_map said;
    udpai_log_limit failures;
} udpai_load_reporting;

static udpai_load_reporting *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_load_reporting, service);
}

static udpai_str
said_key(const void *item)
{
    const udpai_said_cluster *said = item;
    return (udpai_str){said->name, said->len};
}

/* ---- one round ---- */

static udpai_load_setting
setting_of(const udpai_load_reporting *reporting, udpai_str cluster)
{
    return reporting->rules
               ? udpai_load_policy_find(udpai_load_rules_policy(reporting->rules), cluster)
               : reporting->otherwise;
}

/* Others are told of it, or it is said as another type. */
static bool
is_moved(const udpai_load_reporting *reporting, const udpai_said_cluster *said)
{
    return said->audience != reporting->audience.digest ||
           memcmp(said->is_said, reporting->is_wanted, sizeof(said->is_said)) != 0;
}

/* Rounds are as frequent as the most frequent cluster wants. */
static bool
is_due(udpai_load_reporting *reporting, udpai_str cluster, uint64_t interval_ms)
{
    udpai_said_cluster *said = udpai_map_get(&reporting->said, cluster);
    if (!said || reporting->says_all || is_moved(reporting, said) ||
        reporting->now_ms + interval_ms / 4 >= said->said_ms + interval_ms)
        return true;
    said->round = reporting->round;
    return false;
}

/* Who is told of the cluster, and as what; false: nobody wants to be, or it is not known. */
static bool
look_at(udpai_load_reporting *reporting, udpai_str cluster)
{
    const udpa_endpoint *endpoint = reporting->endpoint;
    UDPAI_AUTO_FREE char *name = udpai_report_name(endpoint, cluster);
    if (!name || udpai_node_load_audience(udpai_endpoint_node(endpoint), udpai_str_from(name),
                                          &reporting->audience) != UDPA_OK)
        return false;
    for (int i = 0; i < LOAD_TYPES; i++)
        reporting->is_wanted[i] =
            (i == TO_ALL || reporting->audience.n > 1) &&
            udpai_local_demand_have(endpoint, udpai_str_from(load_types[i]), udpai_str_from(name));
    return reporting->is_wanted[TO_ALL] || reporting->is_wanted[TO_SUMS];
}

static bool
wants(void *userdata, udpai_str cluster)
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
static udpai_said_cluster *
note(udpai_load_reporting *reporting, udpai_str cluster)
{
    udpai_said_cluster *said = udpai_map_get(&reporting->said, cluster);
    if (!said) {
        said = udpai_alloc(sizeof(*said) + cluster.len + 1);
        if (!said)
            return NULL;
        said->len = cluster.len;
        memcpy(said->name, cluster.data, cluster.len);
        if (!udpai_map_add(&reporting->said, said)) {
            udpai_free(said);
            return NULL;
        }
    }
    said->round = reporting->round;
    said->said_ms = reporting->now_ms;
    return said;
}

static udpa_err
put(const udpai_load_reporting *reporting,
    const udpai_said_cluster *said,
    const char *type_url,
    const udpa_bytes *load,
    udpa_error **ret_error)
{
    udpa_report_options options = UDPA_REPORT_OPTIONS_INIT;
    options.type_url = type_url;
    options.about = said->name;
    options.payload = udpa_bytes_data(load);
    options.payload_size = udpa_bytes_size(load);
    options.ttl_ms = ttl_ms(reporting, said_key(said));
    return udpai_report_put_load(reporting->endpoint, &options, ret_error);
}

/* As each type that is wanted. What one has taken was said, also if the other fails: it says the
 * same, of the same epoch, the next time. */
static udpa_err
put_wanted(const udpai_load_reporting *reporting,
           udpai_said_cluster *said,
           const udpa_bytes *load,
           udpa_error **ret_error)
{
    udpa_err errs[LOAD_TYPES] = {UDPA_OK, UDPA_OK};
    bool any = false;
    for (int i = 0; i < LOAD_TYPES; i++) {
        if (reporting->is_wanted[i]) {
            errs[i] = put(reporting, said, load_types[i], load, *ret_error ? NULL : ret_error);
            any |= errs[i] == UDPA_OK;
        } else if (said->is_said[i]) {
            udpa_report_withdraw(reporting->endpoint, load_types[i], said->name);
        }
        /* What stands of before is still to be withdrawn. */
        said->is_said[i] = reporting->is_wanted[i] && (errs[i] == UDPA_OK || said->is_said[i]);
    }
    said->audience = reporting->audience.digest;
    return any ? UDPA_OK : errs[TO_ALL] != UDPA_OK ? errs[TO_ALL] : errs[TO_SUMS];
}

static bool
take(void *userdata, udpai_str cluster, udpa_bytes *load)
{
    udpai_load_reporting *reporting = userdata;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_said_cluster *said = note(reporting, cluster);
    udpa_err err = said && load ? put_wanted(reporting, said, load, &error)
                                : udpai_fail_code(&error, UDPA_ERR_NOMEM);
    unsigned n_suppressed;
    if (err != UDPA_OK &&
        udpai_log_allow(&reporting->failures, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, "report",
                  "the load of cluster '%.*s' is not reported: %s (%u more not shown)",
                  UDPAI_SHOWN(cluster), udpa_error_message(error), n_suppressed);
    return err == UDPA_OK;
}

/* Of those that were not wanted in this round: nobody wants them any more, or they are forgotten.
 */
static void
withdraw(udpai_load_reporting *reporting)
{
    udpai_map before = reporting->said;
    size_t at = 0;
    udpai_said_cluster *said;
    udpai_map_init(&reporting->said, said_key);
    while ((said = udpai_map_next(&before, &at))) {
        if (said->round == reporting->round && udpai_map_add(&reporting->said, said))
            continue;
        for (int i = 0; i < LOAD_TYPES; i++)
            if (said->is_said[i])
                udpa_report_withdraw(reporting->endpoint, load_types[i], said->name);
        udpai_free(said);
    }
    udpai_map_done(&before);
}

static bool
has_stale(const udpai_load_reporting *reporting)
{
    size_t at = 0;
    const udpai_said_cluster *said;
    while ((said = udpai_map_next(&reporting->said, &at)))
        if (said->round != reporting->round)
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
        .wants = wants,
        .take = take,
        .userdata = reporting,
    };
    reporting->round++;
    reporting->now_ms = reading.now_ms;
    reporting->interval_ms = reporting->otherwise.interval_ms; /* others may come */
    if (reporting->n_wanted) {
        udpai_load_recorder_read(reporting->recorder, &reading);
        udpai_timer_set(udpai_endpoint_wheel(reporting->endpoint), timer,
                        reading.now_ms + reporting->interval_ms);
    }
    reporting->says_all = false;
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

/* What was said may be over before it is due again. */
static void
on_rules(void *userdata)
{
    udpai_load_reporting *reporting = userdata;
    reporting->says_all = true;
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
on_wanted(void *userdata, const udpa_wanted *wanted)
{
    udpai_load_reporting *reporting = userdata;
    if (strcmp(wanted->type_url, UDPAI_TYPE_CLIENT_LOAD) != 0 &&
        strcmp(wanted->type_url, UDPAI_TYPE_SHARED_CLIENT_LOAD) != 0)
        return;
    reporting->n_wanted += wanted->is_wanted ? 1 : (size_t)-1;
    if (reporting->n_wanted)
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
    udpai_said_cluster *said;
    udpai_timer_cancel(&reporting->timer);
    leave_rules(reporting);
    while ((said = udpai_map_next(&reporting->said, &at)))
        udpai_free(said);
    udpai_map_done(&reporting->said);
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
    udpai_map_init(&reporting->said, said_key);
    err = udpa_wanted_watch_new(&reporting->watch, endpoint, on_wanted, reporting);
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
    udpa_wanted_watch_end(reporting->watch);
    reporting->round++;
    withdraw(reporting);
    free_reporting(service);
}
