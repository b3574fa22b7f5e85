/* SPDX-License-Identifier: Apache-2.0 */
/* Between the stream thread and the node: publications that an inspector selects wait here while it
 * looks at them on libuv's pool, and with each all that its session sends behind it, so that the
 * order stays. Other sessions are not held up.
 *
 * What waits is bounded by what sessions hand up without an answer. A publication under inspection
 * is the pool's; all else here is the loop's. */
#include "endpoint/inspection.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "endpoint/host.h"

/* Files and names are looked up on the pool, too: some of its threads stay free for that. */
#define AT_ONCE 2

/* A session with a first report that is being inspected, or waits to be. */
typedef struct held_session {
    udpai_list node; /* in `waiting`, while it waits */
    struct udpai_inspection *owner;
    uint64_t session;
    udpai_list reports;
    udpai_publication *publication; /* of the first report, for the pool */
    char *from;                     /* its publisher, for the pool; NULL: it is not known */
    uv_work_t work;
} held_session;

typedef struct udpai_inspection {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_inspector inspector;
    udpai_map held; /* held_session */
    udpai_list waiting;
    size_t n_working;
} udpai_inspection;

static udpai_inspection *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_inspection, service);
}

static udpai_str
key_of(const void *item)
{
    const held_session *held = item;
    return (udpai_str){(const char *)&held->session, sizeof(held->session)};
}

static void
free_held(held_session *held)
{
    udpai_list *at;
    while ((at = udpai_list_pop(&held->reports)))
        udpai_report_free(UDPAI_LIST_ENTRY(at, udpai_report, node));
    udpai_list_remove(&held->node);
    udpai_free(held->from);
    udpai_free(held);
}

/* ---- inspecting ---- */

static bool
is_to_be_seen(const udpai_inspection *self, const udpai_publication_entry *entry)
{
    return !entry->error && !entry->is_ignored && !entry->is_refresh &&
           self->inspector.selects(self->inspector.userdata, entry->resource);
}

static bool
selects(const udpai_inspection *self, const udpai_report *report)
{
    if (report->kind != UDPAI_REPORT_PUBLICATION)
        return false;
    for (size_t i = 0; i < report->publication->entries.n; i++)
        if (is_to_be_seen(self, &report->publication->entries.items[i]))
            return true;
    return false;
}

static udpai_report *
first_report(const held_session *held)
{
    return UDPAI_LIST_ENTRY(held->reports.next, udpai_report, node);
}

/* The pool's. */
static void
on_work(uv_work_t *work)
{
    const held_session *held = UDPAI_CONTAINER_OF(work, held_session, work);
    const udpai_inspection *self = held->owner;
    udpai_publication *publication = held->publication;
    for (size_t i = 0; i < publication->entries.n; i++) {
        udpai_publication_entry *entry = &publication->entries.items[i];
        udpa_error *error = NULL;
        if (!is_to_be_seen(self, entry))
            continue;
        udpa_err err =
            self->inspector.inspect(self->inspector.userdata, entry->resource,
                                    udpai_str_from(held->from ? held->from : ""), &error);
        if (err != UDPA_OK)
            udpai_publication_refuse(
                &entry->error, error ? error : udpa_error_new(err, NULL, "%s", "out of memory"));
    }
}

static void on_worked(uv_work_t *work, int status);

/* Sessions identify themselves before they publish, and may do so anew. */
static void
note_speaker(const udpai_inspection *self, held_session *held)
{
    udpai_str from = udpai_node_speaker(udpai_endpoint_node(self->endpoint), held->session);
    udpai_free(held->from);
    held->from = udpai_strndup(from.data ? from.data : "", from.len);
}

static void
begin_waiting(udpai_inspection *self)
{
    while (self->n_working < AT_ONCE && !udpai_list_empty(&self->waiting)) {
        held_session *held = UDPAI_LIST_ENTRY(udpai_list_pop(&self->waiting), held_session, node);
        held->publication = first_report(held)->publication;
        note_speaker(self, held);
        self->n_working++;
        if (uv_queue_work(udpai_endpoint_loop(self->endpoint), &held->work, on_work, on_worked) !=
            0)
            abort(); /* it fails for a missing callback alone */
    }
}

/* Passes on what need not wait any more; the session is freed if nothing is left. */
static void
let_go(udpai_inspection *self, held_session *held)
{
    udpai_list *at = udpai_list_pop(&held->reports);
    while (at) {
        udpai_endpoint_resume_report(self->endpoint, UDPAI_PLACE_INSPECTION + 1,
                                     UDPAI_LIST_ENTRY(at, udpai_report, node));
        if (udpai_list_empty(&held->reports) || selects(self, first_report(held)))
            break;
        at = udpai_list_pop(&held->reports);
    }
    if (!udpai_list_empty(&held->reports)) {
        udpai_list_append(&self->waiting, &held->node);
        return;
    }
    udpai_map_remove(&self->held, key_of(held));
    free_held(held);
}

static void
on_worked(uv_work_t *work, int status)
{
    held_session *held = UDPAI_CONTAINER_OF(work, held_session, work);
    udpai_inspection *self = held->owner;
    udpa_endpoint *endpoint = self->endpoint;
    (void)status;
    self->n_working--;
    if (!udpai_endpoint_is_closing(endpoint)) {
        udpai_endpoint_advance(endpoint);
        let_go(self, held);
        if (!udpai_endpoint_is_closing(endpoint))
            begin_waiting(self);
    }
    udpai_endpoint_resume(endpoint);
}

/* ---- taking in ---- */

static held_session *
hold(udpai_inspection *self, uint64_t session)
{
    held_session *held = udpai_alloc(sizeof(*held));
    if (!held)
        return NULL;
    held->owner = self;
    held->session = session;
    udpai_list_init(&held->node);
    udpai_list_init(&held->reports);
    if (udpai_map_add(&self->held, held))
        return held;
    udpai_free(held);
    return NULL;
}

static bool
on_report(udpai_service *service, udpai_report *report)
{
    udpai_inspection *self = of(service);
    const held_session sought = {.session = report->session};
    held_session *held = udpai_map_get(&self->held, key_of(&sought));
    if (!held) {
        if (!selects(self, report))
            return false;
        held = hold(self, report->session);
        if (!held) {
            udpai_publication_refuse_all(report->publication, UDPA_ERR_NOMEM, "out of memory");
            return false;
        }
        udpai_list_append(&self->waiting, &held->node);
    }
    udpai_list_append(&held->reports, &report->node);
    begin_waiting(self);
    return true;
}

static void
on_event(udpai_service *service, const udpai_service_event *event)
{
    const udpai_inspector *inspector = &of(service)->inspector;
    if (event->kind != UDPAI_SERVICE_CHANGES || !inspector->removed)
        return;
    for (size_t i = 0; i < udpai_change_set_size(event->changes); i++) {
        const udpai_change *change = udpai_change_set_at(event->changes, i);
        if (change->kind == UDPAI_CHANGE_REMOVE)
            inspector->removed(inspector->userdata, change->resource);
    }
}

/* ---- coming and going ---- */

static bool
is_busy(const udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, const udpai_inspection, service)->n_working > 0;
}

static void
free_inspection(udpai_service *service)
{
    udpai_inspection *self = of(service);
    size_t at = 0;
    held_session *held;
    while ((held = udpai_map_next(&self->held, &at)))
        free_held(held);
    udpai_map_done(&self->held);
    udpai_free(self);
}

udpa_err
udpai_inspection_new(udpai_service **ret_inspection,
                     udpa_endpoint *endpoint,
                     const udpai_inspector *inspector)
{
    static const udpai_service_ops ops = {
        .on_report = on_report,
        .on_event = on_event,
        .is_busy = is_busy,
        .free = free_inspection,
    };
    udpai_inspection *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->endpoint = endpoint;
    self->inspector = *inspector;
    udpai_map_init(&self->held, key_of);
    udpai_list_init(&self->waiting);
    *ret_inspection = &self->service;
    return UDPA_OK;
}
