/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/check_planner.h"
#include "federation/reporting.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "model/name.h"
#include "reports/health_plan.h"
#include "xds/hds.h"
#include "xds/peek.h"

/* What comes together is computed together. */
#define DELAY_MS 1000
/* A specifier outlives this node for so long. */
#define TTL_MS ((uint64_t)600 * 1000)
#define RENEWAL_MS (TTL_MS / 2)
/* A checker that is replaced goes on for so many intervals and so much longer: as long as its
 * reports would last. */
#define HANDOVER_INTERVALS 3
#define HANDOVER_MS 10000

typedef enum input_kind {
    CLUSTERS,
    ASSIGNMENTS,
    CHECKERS,
    KINDS,
} input_kind;

typedef struct udpai_check_planner udpai_check_planner;
typedef struct area area;

/* All effective resources of one type. */
typedef struct input {
    area *area;
    udpai_local_subscription *subscription;
    udpai_map resources; /* udpa_resource, by name */
    bool is_complete;
} input;

/* What was given to a checker. */
typedef struct given {
    udpa_resource *resource;
    uint64_t reported_ms;
    bool is_due; /* it was not taken, for lack of memory or room */
    bool is_there;
} given;

/* Of one rule. */
struct area {
    udpai_check_planner *planner;
    udpa_bytes *prefix;
    udpai_str name_space; /* a view of it */
    size_t redundancy;
    uint64_t interval_ms;
    input inputs[KINDS];
    udpai_timer timer;
    udpai_map given; /* by name */
    bool is_due;     /* something has changed */
    /* The last plan by which no checker was replaced; NULL: there was none. */
    udpai_health_plan *settled;
    uint64_t handover_ms;            /* when the checkers that are replaced stop; 0: none is */
    udpai_health_plan_counts logged; /* in the log */
    size_t n_logged_checkers;
};

struct udpai_check_planner {
    udpai_service service;
    udpai_node *node;
    udpai_wheel *wheel;
    area *areas;
    size_t n_areas;
};

static udpai_str
resource_key(const void *item)
{
    return udpai_resource_name(item);
}

static udpai_str
given_key(const void *item)
{
    return udpai_resource_name(((const given *)item)->resource);
}

static uint64_t
now_ms(const area *self)
{
    return self->planner->wheel->now_ms;
}

static void
arm(area *self, uint64_t at_ms)
{
    if (!udpai_timer_is_set(&self->timer) || self->timer.due_ms > at_ms)
        udpai_timer_set(self->planner->wheel, &self->timer, at_ms);
}

static void
touch(area *self)
{
    self->is_due = true;
    arm(self, now_ms(self) + DELAY_MS);
}

/* ---- what a plan is made of ---- */

typedef struct making {
    const area *area;
    UDPAI_VECTOR(udpai_health_cluster_input) clusters;
    UDPAI_VECTOR(udpai_health_checker) checkers;
    size_t n_more_checkers; /* than a plan may have */
    udpai_health_plan *plan;
} making;

static void
making_done(making *self)
{
    udpai_vector_done(&self->clusters);
    udpai_vector_done(&self->checkers);
    udpai_health_plan_free(self->plan);
}

/* The last segment of a name. */
static udpai_str
segment_of(udpai_str name)
{
    const char *slash = memrchr(name.data, '/', name.len);
    size_t skip = slash ? (size_t)(slash - name.data) + 1 : 0;
    return (udpai_str){name.data + skip, name.len - skip};
}

static int
compare_checkers(const void *a, const void *b)
{
    return udpai_str_cmp(((const udpai_health_checker *)a)->id,
                         ((const udpai_health_checker *)b)->id);
}

static udpa_err
collect_checkers(making *self)
{
    size_t at = 0;
    const udpa_resource *resource;
    while ((resource = udpai_map_next(&self->area->inputs[CHECKERS].resources, &at))) {
        udpai_health_checker checker = {.id = segment_of(udpai_resource_name(resource))};
        if (udpai_health_checker_read(udpai_resource_value(resource), &checker) &&
            !udpai_vector_push(&self->checkers, checker))
            return UDPA_ERR_NOMEM;
    }
    if (self->checkers.n)
        qsort(self->checkers.items, self->checkers.n, sizeof(*self->checkers.items),
              compare_checkers);
    if (self->checkers.n > UDPAI_HEALTH_CHECKERS_MAX) {
        self->n_more_checkers = self->checkers.n - UDPAI_HEALTH_CHECKERS_MAX;
        self->checkers.n = UDPAI_HEALTH_CHECKERS_MAX;
    }
    return UDPA_OK;
}

static const udpa_resource *
find_assignment(const area *self, udpai_str name)
{
    char room[UDPAI_NAME_MAX], *at = room;
    if (self->name_space.len + 1 + name.len > sizeof(room))
        return NULL;
    udpai_str_put(&at, self->name_space);
    *at++ = '/';
    udpai_str_put(&at, name);
    return udpai_map_get(&self->inputs[ASSIGNMENTS].resources,
                         (udpai_str){room, (size_t)(at - room)});
}

/* Of several clusters with the same endpoints the first counts: a payload begins with its name. */
static int
compare_clusters(const void *a, const void *b)
{
    const udpai_health_cluster_input *x = a, *y = b;
    int order = udpai_str_cmp(x->name, y->name);
    return order ? order : udpai_str_cmp(x->cluster, y->cluster);
}

static void
drop_repeated(making *self)
{
    size_t n = 0;
    for (size_t i = 0; i < self->clusters.n; i++)
        if (n == 0 || !udpai_str_eq(self->clusters.items[i].name, self->clusters.items[n - 1].name))
            self->clusters.items[n++] = self->clusters.items[i];
    self->clusters.n = n;
}

static udpa_err
collect_clusters(making *self)
{
    size_t at = 0;
    const udpa_resource *resource;
    while ((resource = udpai_map_next(&self->area->inputs[CLUSTERS].resources, &at))) {
        udpai_health_cluster_input cluster = {.cluster = udpai_resource_value(resource)};
        if (!udpai_health_cluster_is_checked(cluster.cluster) ||
            !udpai_xds_peek_endpoints_name(cluster.cluster, &cluster.name))
            continue;
        const udpa_resource *assignment = find_assignment(self->area, cluster.name);
        if (!assignment)
            continue;
        cluster.assignment = udpai_resource_value(assignment);
        if (!udpai_vector_push(&self->clusters, cluster))
            return UDPA_ERR_NOMEM;
    }
    if (self->clusters.n)
        qsort(self->clusters.items, self->clusters.n, sizeof(*self->clusters.items),
              compare_clusters);
    drop_repeated(self);
    return UDPA_OK;
}

static udpa_err
make_plan(making *self, const udpai_health_plan *before)
{
    udpa_err err = collect_checkers(self);
    if (err == UDPA_OK)
        err = collect_clusters(self);
    const udpai_health_plan_input from = {
        .checkers = self->checkers.items,
        .n_checkers = self->checkers.n,
        .clusters = self->clusters.items,
        .n_clusters = self->clusters.n,
        .redundancy = self->area->redundancy,
        .interval_ms = self->area->interval_ms,
        .before = before,
    };
    return err == UDPA_OK ? udpai_health_plan_new(&self->plan, &from) : err;
}

/* ---- giving ---- */

static void
free_given(given *one)
{
    udpa_resource_unref(one->resource);
    udpai_free(one);
}

static udpa_err
make_resource(const area *self, udpai_str id, udpa_bytes *specifier, udpa_resource **ret_resource)
{
    udpai_str type_url = UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE);
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(type_url, udpai_bytes_view(specifier));
    udpai_strbuf name = {0};
    udpai_strbuf_str(&name, self->name_space);
    udpai_strbuf_str(&name, UDPAI_STR("/" UDPAI_HDS_COMPUTED "/"));
    udpai_strbuf_str(&name, id);
    const udpai_resource_parts parts = {
        .name = udpai_strbuf_view(&name),
        .any = any,
        .ttl_ms = TTL_MS,
    };
    udpa_err err = any && !udpai_strbuf_failed(&name) ? udpai_resource_parts_check(&parts, NULL)
                                                      : UDPA_ERR_NOMEM;
    if (err == UDPA_OK)
        err = udpai_resource_make(ret_resource, &parts);
    udpai_strbuf_done(&name);
    return err;
}

/* Takes the reference. */
static udpa_err
note_given(area *self, udpa_resource *resource)
{
    given *one = udpai_map_get(&self->given, udpai_resource_name(resource));
    if (one) {
        one->is_due |= !udpai_resource_same_payload(one->resource, resource);
        udpa_resource *before = one->resource;
        one->resource = resource;
        one->is_there = true;
        udpa_resource_unref(before);
        return UDPA_OK;
    }
    one = udpai_alloc(sizeof(*one));
    if (one)
        *one = (given){.resource = resource, .is_due = true, .is_there = true};
    if (one && udpai_map_add(&self->given, one))
        return UDPA_OK;
    udpai_free(one);
    udpa_resource_unref(resource);
    return UDPA_ERR_NOMEM;
}

/* A checker whose name would be too long is given nothing. */
static udpa_err
give(area *self, const making *made, size_t checker)
{
    udpa_resource *resource = NULL;
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *specifier = udpai_health_plan_specifier(made->plan, checker);
    if (!specifier)
        return UDPA_ERR_NOMEM;
    udpa_err err = make_resource(self, made->checkers.items[checker].id, specifier, &resource);
    if (err == UDPA_OK)
        return note_given(self, resource);
    return err == UDPA_ERR_NOMEM ? err : UDPA_OK;
}

static udpa_err
give_all(area *self, const making *made)
{
    udpa_err err = UDPA_OK;
    size_t at = 0;
    given *one;
    while ((one = udpai_map_next(&self->given, &at)))
        one->is_there = false;
    for (size_t i = 0; i < made->checkers.n && err == UDPA_OK; i++)
        err = give(self, made, i);
    return err;
}

/* Checkers that have left need nothing. */
static void
take_back(area *self)
{
    size_t at = 0;
    given *one;
    while ((one = udpai_map_next(&self->given, &at))) {
        if (one->is_there)
            continue;
        udpai_node_withdraw_own_report(self->planner->node, UDPAI_STR(UDPAI_HEALTH_SPECIFIER_TYPE),
                                       udpai_resource_name(one->resource));
        udpai_map_remove(&self->given, udpai_resource_name(one->resource));
        free_given(one);
        at = 0; /* others may have moved */
    }
}

/* What is new, and in time what is not. */
static void
report(area *self)
{
    size_t at = 0;
    given *one;
    while ((one = udpai_map_next(&self->given, &at))) {
        if (one->is_due || now_ms(self) - one->reported_ms >= RENEWAL_MS) {
            one->is_due =
                udpai_node_report_own(self->planner->node, one->resource, NULL) != UDPA_OK;
            one->reported_ms = now_ms(self);
        }
        arm(self, one->is_due ? now_ms(self) + DELAY_MS : one->reported_ms + RENEWAL_MS);
    }
}

/* ---- planning ---- */

/* What no answer reports, an operator reads here. */
static void
log_counts(area *self, const making *made)
{
    udpai_health_plan_counts now = *udpai_health_plan_counted(made->plan);
    size_t n_checkers = made->checkers.n + made->n_more_checkers;
    now.n_leaving = 0;
    if (memcmp(&now, &self->logged, sizeof(now)) == 0 && n_checkers == self->n_logged_checkers)
        return;
    bool is_whole = now.n_left_out + now.n_unchecked + made->n_more_checkers == 0;
    self->logged = now;
    self->n_logged_checkers = n_checkers;
    udpai_log(is_whole ? UDPA_LOG_INFO : UDPA_LOG_WARNING, "health",
              "checks of '%.*s': %zu endpoints of %zu clusters, divided over %zu checkers; %zu "
              "endpoints are not checked, since no checker can; %zu clusters are left out, "
              "malformed or with too many endpoints; %zu checkers are too many",
              UDPAI_SHOWN(udpai_bytes_view(self->prefix)), now.n_endpoints, now.n_clusters,
              made->checkers.n, now.n_unchecked, now.n_left_out, made->n_more_checkers);
}

/* While a checker is replaced, what was settled before that holds, for a limited time. */
static void
note_plan(area *self, making *made)
{
    if (udpai_health_plan_counted(made->plan)->n_leaving == 0) {
        udpai_health_plan_free(self->settled);
        self->settled = UDPAI_TAKE(made->plan);
        self->handover_ms = 0;
        return;
    }
    if (self->handover_ms == 0)
        self->handover_ms = now_ms(self) + HANDOVER_INTERVALS * self->interval_ms + HANDOVER_MS;
    arm(self, self->handover_ms);
}

static udpa_err
plan_anew(area *self)
{
    making made = {.area = self};
    bool is_over = self->handover_ms && now_ms(self) >= self->handover_ms;
    udpa_err err = make_plan(&made, is_over ? NULL : self->settled);
    if (err == UDPA_OK)
        err = give_all(self, &made);
    if (err == UDPA_OK) {
        take_back(self);
        log_counts(self, &made);
        note_plan(self, &made);
    }
    making_done(&made);
    return err;
}

static bool
is_known(const area *self)
{
    return self->inputs[CLUSTERS].is_complete && self->inputs[ASSIGNMENTS].is_complete;
}

/* Before clusters and endpoints are known, no checker is sent that there is nothing to check. */
static void
on_timer(udpai_timer *timer)
{
    area *self = UDPAI_CONTAINER_OF(timer, area, timer);
    self->is_due |= self->handover_ms && now_ms(self) >= self->handover_ms;
    if (self->is_due && is_known(self)) {
        self->is_due = plan_anew(self) != UDPA_OK;
        if (self->is_due)
            arm(self, now_ms(self) + DELAY_MS);
    }
    report(self);
}

/* ---- what is there ---- */

/* Those of namespaces below it, com.acme.shop of com.acme, are not of it. */
static void
take_change(input *self, const udpai_local_change *change)
{
    udpai_str name = udpai_resource_name(change->resource);
    if (!udpai_str_eq(udpai_name_namespace(name), self->area->name_space))
        return;
    udpa_resource *before = udpai_map_get(&self->resources, name);
    if (change->is_removed) {
        udpai_map_remove(&self->resources, name);
        udpa_resource_unref(before);
    } else if (before) {
        udpa_resource_unref(
            udpai_map_replace(&self->resources, udpa_resource_ref(change->resource)));
    } else if (!udpai_map_add(&self->resources, udpa_resource_ref(change->resource))) {
        udpa_resource_unref(
            change->resource); /* it is not checked, or checks not, until it changes */
    }
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    input *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++)
        take_change(self, udpai_local_update_at(update, i));
    touch(self->area);
}

static void
on_complete(void *userdata)
{
    input *self = userdata;
    self->is_complete = true;
    touch(self->area);
}

/* ---- coming and going ---- */

static udpa_err
subscribe(area *self, input_kind kind)
{
    static const char *const types[KINDS] = {UDPAI_TYPE_CLUSTER, UDPAI_TYPE_ENDPOINTS,
                                             UDPAI_TYPE_CHECKER};
    input *one = &self->inputs[kind];
    const udpai_local_ops ops = {.update = on_update, .complete = on_complete, .userdata = one};
    const udpai_selection selection = {
        .type_url = udpai_str_from(types[kind]),
        .prefix = kind == CLUSTERS ? udpai_bytes_view(self->prefix) : self->name_space,
    };
    return udpai_node_subscribe(self->planner->node, &selection, &ops, &one->subscription);
}

static udpa_err
area_begin(area *self, const udpai_check_rule *rule)
{
    self->redundancy = rule->redundancy;
    self->interval_ms = rule->interval_ms;
    udpa_err err = udpa_bytes_new(&self->prefix, rule->prefix.data, rule->prefix.len);
    if (err != UDPA_OK)
        return err;
    self->name_space = udpai_name_namespace(udpai_bytes_view(self->prefix));
    for (input_kind kind = 0; kind < KINDS && err == UDPA_OK; kind++)
        err = subscribe(self, kind);
    return err;
}

static void
area_init(area *self, udpai_check_planner *planner)
{
    self->planner = planner;
    udpai_timer_init(&self->timer, on_timer);
    udpai_map_init(&self->given, given_key);
    for (input_kind kind = 0; kind < KINDS; kind++) {
        self->inputs[kind].area = self;
        udpai_map_init(&self->inputs[kind].resources, resource_key);
    }
}

static void
input_done(input *self)
{
    size_t at = 0;
    udpa_resource *resource;
    if (self->subscription)
        udpai_node_unsubscribe(self->area->planner->node, self->subscription);
    while ((resource = udpai_map_next(&self->resources, &at)))
        udpa_resource_unref(resource);
    udpai_map_done(&self->resources);
}

static void
area_done(area *self)
{
    size_t at = 0;
    given *one;
    udpai_timer_cancel(&self->timer);
    for (input_kind kind = 0; kind < KINDS; kind++)
        input_done(&self->inputs[kind]);
    while ((one = udpai_map_next(&self->given, &at)))
        free_given(one);
    udpai_map_done(&self->given);
    udpai_health_plan_free(self->settled);
    udpa_bytes_unref(self->prefix);
}

static void
free_planner(udpai_service *service)
{
    udpai_check_planner *planner = UDPAI_CONTAINER_OF(service, udpai_check_planner, service);
    for (size_t i = 0; i < planner->n_areas; i++)
        area_done(&planner->areas[i]);
    udpai_free(planner->areas);
    udpai_free(planner);
}

udpa_err
udpai_check_planner_new(udpai_service **ret_planner, const udpai_check_planner_options *options)
{
    static const udpai_service_ops ops = {.free = free_planner};
    udpai_check_planner *planner = udpai_alloc(sizeof(*planner));
    if (!planner)
        return UDPA_ERR_NOMEM;
    planner->service.ops = &ops;
    planner->node = options->node;
    planner->wheel = options->wheel;
    planner->areas = udpai_alloc_array(options->n_rules + 1, sizeof(*planner->areas));
    udpa_err err = planner->areas ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; i < options->n_rules && err == UDPA_OK; i++) {
        area_init(&planner->areas[planner->n_areas++], planner);
        err = area_begin(&planner->areas[i], &options->rules[i]);
    }
    if (err == UDPA_OK)
        *ret_planner = &planner->service;
    else
        free_planner(&planner->service);
    return err;
}
