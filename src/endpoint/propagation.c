/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/propagation.h"

#include "base/alloc.h"
#include "base/map.h"
#include "session/marks.h"

/* A side that has not reported by then has ended, or is lost in its work. */
#define PATIENCE_MS (UDPAI_MARK_PATIENCE_MS + 10000)
/* Besides its looks at clients, a mark costs about so many of them. */
#define COST_OF_MARK 100
#define TYPES_MAX 1024

typedef struct type {
    udpai_str url;
    uint64_t n_left_out; /* changes since the last one that was marked */
    char text[];
} type;

typedef struct measured {
    udpai_list node;
    uint64_t number, weight;
    size_t n_unreported; /* sides */
    const type *type;
    udpai_mark_outcome outcome; /* so far */
    uint64_t took_ms, due_ms;
    udpai_span *span; /* it is measured for this alone; NULL: it is one of those that are counted */
} measured;

typedef struct exemplar {
    udpai_metric_exemplar what;
    const type *type;
} exemplar;

typedef struct propagation {
    udpai_service service; /* first: callers hold a pointer to it */
    udpai_propagation_options options;
    udpai_map types;
    udpai_list open; /* the oldest first */
    size_t n_open;
    uint64_t last_number;
    uint64_t looks, filled_ms; /* looks that are left, since then */
    udpai_timer overdue;
    exemplar exemplars[UDPAI_PROPAGATION_EXEMPLARS];
    size_t n_exemplars; /* so far */
} propagation;

static propagation *
of(const udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, propagation, service);
}

/* ---- types ---- */

static udpai_str
type_key(const void *item)
{
    return ((const type *)item)->url;
}

/* NULL: not one that is measured, for there are too many, or for want of memory. */
static type *
find_type(propagation *self, udpai_str url)
{
    type *found = udpai_map_get(&self->types, url);
    if (found || self->types.n >= TYPES_MAX)
        return found;
    found = udpai_alloc(sizeof(*found) + url.len);
    if (!found)
        return NULL;
    memcpy(found->text, url.data, url.len);
    found->url = (udpai_str){found->text, url.len};
    if (udpai_map_add(&self->types, found))
        return found;
    udpai_free(found);
    return NULL;
}

/* ---- what has been seen ---- */

static const char *const outcomes[UDPAI_MARK_OUTCOMES] = {
    [UDPAI_MARK_GONE] = "gone",
    [UDPAI_MARK_ACKNOWLEDGED] = "acknowledged",
    [UDPAI_MARK_NACKED] = "nacked",
    [UDPAI_MARK_OPEN] = "open",
};

static void
drop(propagation *self, measured *one)
{
    udpai_list_remove(&one->node);
    self->n_open--;
    udpai_span_free(one->span);
    udpai_free(one);
}

static void
note_exemplar(propagation *self, const measured *one)
{
    const udpai_span *span = one->span;
    const type *found =
        span->type ? find_type(self, udpai_str_from(udpa_bytes_data(span->type))) : NULL;
    if (one->outcome != UDPAI_MARK_ACKNOWLEDGED || !found)
        return;
    uint64_t us = one->took_ms * 1000;
    self->exemplars[self->n_exemplars++ % UDPAI_PROPAGATION_EXEMPLARS] = (exemplar){
        .what = {us, (double)(span->effective_us + (int64_t)us) / 1e6, span->trace},
        .type = found,
    };
}

static void
end_span(propagation *self, measured *one)
{
    note_exemplar(self, one);
    udpai_span *span = UDPAI_TAKE(one->span);
    span->outcome = outcomes[one->outcome] ? outcomes[one->outcome] : "unsubscribed";
    span->end_us = span->effective_us + (int64_t)one->took_ms * 1000;
    self->options.take_span(self->options.span_userdata, span);
}

static void
count(propagation *self, measured *one)
{
    udpai_meters *meters = self->options.meters;
    if (one->span) {
        end_span(self, one);
        drop(self, one);
        return;
    }
    if (one->outcome == UDPAI_MARK_ACKNOWLEDGED)
        udpai_meter_observe_many(
            udpai_meters_get(meters, UDPAI_METRIC_PROPAGATION_TIME, one->type->url),
            one->took_ms * 1000, one->weight);
    if (outcomes[one->outcome])
        udpai_meter_add(udpai_meters_get(meters, UDPAI_METRIC_PROPAGATIONS,
                                         udpai_str_from(outcomes[one->outcome])),
                        one->weight);
    drop(self, one);
}

static void
set_overdue(propagation *self)
{
    if (udpai_list_empty(&self->open))
        udpai_timer_cancel(&self->overdue);
    else
        udpai_timer_set(self->options.wheel, &self->overdue,
                        UDPAI_LIST_ENTRY(self->open.next, measured, node)->due_ms);
}

static void
on_overdue(udpai_timer *timer)
{
    propagation *self = UDPAI_CONTAINER_OF(timer, propagation, overdue);
    while (!udpai_list_empty(&self->open)) {
        measured *one = UDPAI_LIST_ENTRY(self->open.next, measured, node);
        if (one->due_ms > self->options.wheel->now_ms)
            break;
        one->outcome = UDPAI_MARK_OPEN;
        count(self, one);
    }
    set_overdue(self);
}

static measured *
find(const propagation *self, uint64_t number)
{
    UDPAI_LIST_FOREACH (node, &self->open) {
        measured *one = UDPAI_LIST_ENTRY(node, measured, node);
        if (one->number == number)
            return one;
    }
    return NULL;
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    propagation *self = of(service);
    if (report->kind != UDPAI_REPORT_MARK)
        return false;
    measured *one = find(self, report->ticket);
    if (one) {
        one->outcome = report->outcome > one->outcome ? report->outcome : one->outcome;
        if (one->span && report->address && report->took_ms >= one->took_ms) {
            udpa_bytes_unref(one->span->last);
            one->span->last = UDPAI_TAKE(report->address);
        }
        one->took_ms = report->took_ms > one->took_ms ? report->took_ms : one->took_ms;
        if (--one->n_unreported == 0)
            count(self, one);
        set_overdue(self);
    }
    udpai_report_free(report);
    return true;
}

/* ---- marking ---- */

/* Those of one type in one set. */
typedef struct batch {
    type *type;
    size_t last;
} batch;

typedef struct batches {
    batch items[UDPAI_MARKS_MAX];
    size_t n, at; /* at: that of the change before */
} batches;

static bool
is_of(const batch *one, udpai_str url)
{
    return udpai_str_eq(one->type->url, url);
}

/* NULL: the set has too many types. */
static batch *
find_batch(propagation *self, batches *all, udpai_str url)
{
    if (all->n && is_of(&all->items[all->at], url))
        return &all->items[all->at];
    for (size_t i = 0; i < all->n; i++)
        if (is_of(&all->items[i], url))
            return &all->items[all->at = i];
    if (all->n == UDPAI_MARKS_MAX)
        return NULL;
    type *found = find_type(self, url);
    if (!found)
        return NULL;
    all->items[all->n] = (batch){.type = found};
    return &all->items[all->at = all->n++];
}

static void
sort(propagation *self, const udpai_change_set *set, batches *all)
{
    for (size_t i = 0; i < udpai_change_set_size(set); i++) {
        const udpai_change *change = udpai_change_set_at(set, i);
        if (change->kind == UDPAI_CHANGE_REFRESH)
            continue;
        batch *one = find_batch(self, all, udpai_resource_type_url(change->resource));
        if (!one)
            continue;
        one->type->n_left_out++;
        one->last = i;
    }
}

/* Is there room for one more, and may so many clients be looked at? */
static bool
may_mark(propagation *self)
{
    uint64_t now_ms = self->options.wheel->now_ms;
    uint64_t earned = (now_ms - self->filled_ms) * (UDPAI_PROPAGATION_LOOKS_MAX / 1000);
    uint64_t cost = COST_OF_MARK + self->options.count(self->options.userdata);
    self->filled_ms = now_ms;
    self->looks = self->looks + earned < UDPAI_PROPAGATION_LOOKS_MAX ? self->looks + earned
                                                                     : UDPAI_PROPAGATION_LOOKS_MAX;
    /* More clients than that are looked at once in a while all the same. */
    cost = cost < UDPAI_PROPAGATION_LOOKS_MAX ? cost : UDPAI_PROPAGATION_LOOKS_MAX;
    if (self->n_open >= UDPAI_PROPAGATION_OPEN_MAX || self->looks < cost)
        return false;
    self->looks -= cost;
    return true;
}

/* NULL without memory. */
static measured *
add(propagation *self, udpai_order *order, size_t change, const udpai_trace *trace)
{
    measured *one = udpai_alloc(sizeof(*one));
    const udpai_change_mark put = {self->last_number + 1, change, *trace};
    if (!one || !udpai_vector_push(&order->marks, put)) {
        udpai_free(one);
        return NULL;
    }
    one->number = ++self->last_number;
    one->n_unreported = self->options.n_sides;
    one->due_ms = self->options.wheel->now_ms + PATIENCE_MS;
    udpai_list_init(&one->node);
    udpai_list_append(&self->open, &one->node);
    self->n_open++;
    return one;
}

/* Without memory it is left out. */
static void
mark(propagation *self, udpai_order *order, const batch *what)
{
    static const udpai_trace none;
    measured *one = add(self, order, what->last, &none);
    if (!one)
        return;
    one->weight = what->type->n_left_out;
    one->type = what->type;
    what->type->n_left_out = 0;
}

/* Without memory it is not traced; beyond the bound, nobody knows how long it takes. */
static void
mark_span(propagation *self, udpai_order *order, udpai_span *span, bool has_room)
{
    measured *one = has_room ? add(self, order, span->change, &span->trace) : NULL;
    if (one) {
        one->span = span;
        return;
    }
    span->outcome = "unmeasured";
    span->end_us = span->effective_us;
    self->options.take_span(self->options.span_userdata, span);
}

static void
mark_spans(propagation *self, udpai_order *order)
{
    udpai_list *at;
    for (size_t n = 0; (at = udpai_list_pop(&order->spans)); n++)
        mark_span(self, order, UDPAI_LIST_ENTRY(at, udpai_span, node),
                  n < UDPAI_TRACED_MAX && self->n_open < UDPAI_PROPAGATION_OPEN_MAX);
}

void
udpai_propagation_mark(udpai_service *service, udpai_order *order)
{
    batches all = {.n = 0};
    if (!service)
        return;
    propagation *self = of(service);
    mark_spans(self, order);
    if (UDPAI_MEASURES)
        sort(self, order->changes, &all);
    for (size_t i = 0; i < all.n && may_mark(self); i++)
        mark(self, order, &all.items[i]);
    set_overdue(self);
}

/* ---- reading ---- */

void
udpai_propagation_put_exemplars(const udpai_service *service, udpai_metric_snapshot *snapshot)
{
    if (!service)
        return;
    const propagation *self = of(service);
    size_t n = self->n_exemplars, kept = UDPAI_PROPAGATION_EXEMPLARS;
    for (size_t i = n > kept ? n - kept : 0; i < n; i++) {
        const exemplar *one = &self->exemplars[i % kept];
        udpai_metric_put_exemplar(snapshot, UDPAI_METRIC_PROPAGATION_TIME, one->type->url,
                                  &one->what);
    }
}

/* ---- begin and end ---- */

static void
free_service(udpai_service *service)
{
    propagation *self = of(service);
    size_t at = 0;
    type *one;
    while (!udpai_list_empty(&self->open)) {
        measured *left = UDPAI_LIST_ENTRY(self->open.next, measured, node);
        left->outcome = UDPAI_MARK_GONE; /* and so are all clients */
        if (left->span)
            end_span(self, left);
        drop(self, left);
    }
    while ((one = udpai_map_next(&self->types, &at)))
        udpai_free(one);
    udpai_map_done(&self->types);
    udpai_timer_cancel(&self->overdue);
    udpai_free(self);
}

static const udpai_service_ops ops = {.on_report = on_report, .free = free_service};

udpa_err
udpai_propagation_new(udpai_service **ret_service, const udpai_propagation_options *options)
{
    propagation *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->options = *options;
    self->filled_ms = options->wheel->now_ms;
    self->looks = UDPAI_PROPAGATION_LOOKS_MAX;
    udpai_map_init(&self->types, type_key);
    udpai_list_init(&self->open);
    udpai_timer_init(&self->overdue, on_overdue);
    *ret_service = &self->service;
    return UDPA_OK;
}
