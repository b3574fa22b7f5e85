/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of the model of etcd. */
#include "tests/harness/etcd_model_internal.h"

#define WATCH_LATE_MS 2000

typedef struct model_watch {
    etcd_model *model;
    etcd_model_client *client;
    udpai_list node;
    udpai_etcd_watch *watch; /* NULL: it was ended */
    udpai_str key, end;
    int64_t next; /* revision */
    size_t at;    /* in the history: sent before that */
    udpai_timer deliver;
    bool is_created, is_silent, wants_progress;
} model_watch;

static void
free_watch(model_watch *self)
{
    udpai_list_remove(&self->node);
    udpai_timer_cancel(&self->deliver);
    etcd_model_release(self->key);
    etcd_model_release(self->end);
    free(self);
}

static void
end_watch(model_watch *self, int64_t compact_revision)
{
    udpai_etcd_watch *watch = self->watch;
    udpa_error *why = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "the watch was cut");
    free_watch(self);
    watch->engine = NULL;
    watch->ended(watch, compact_revision, why);
    udpa_error_unref(why);
}

static bool
is_for(const model_watch *self, const etcd_model_event *event)
{
    return event->revision >= self->next &&
           etcd_model_is_in(udpai_str_from(event->key), self->key, self->end);
}

/* From where it stands, as many as come in one response. True: the watch is still there. */
static bool
send_events(model_watch *self)
{
    etcd_model *model = self->model;
    static udpai_etcd_event events[KVS_MAX];
    size_t n = 0, most = 1 + test_random_below(&model->random, 8);
    bool is_part = false;
    if (etcd_model_happens(model, model->faults.repeated) && self->at)
        self->at -= 1 + test_random_below(&model->random, udpai_min_size(self->at, 5));
    for (; self->at < model->history.n; self->at++) {
        const etcd_model_event *event = &model->history.items[self->at];
        if (event->revision > etcd_model_last_revision(self->client))
            break;
        bool is_next = n && events[n - 1].kv.mod_revision != event->revision;
        if (is_next && n >= most)
            break;
        if (n >= most && etcd_model_happens(model, model->faults.parts)) {
            is_part = true;
            break;
        }
        if (!is_for(self, event) || etcd_model_happens(model, model->faults.left_out))
            continue;
        etcd_model_must(n < KVS_MAX);
        events[n++] = (udpai_etcd_event){event->is_delete, etcd_model_kv_of(event)};
    }
    if (!n && !self->wants_progress)
        return true;
    udpai_etcd_header header = etcd_model_header_of(model);
    header.revision = etcd_model_last_revision(self->client);
    self->wants_progress = self->wants_progress && n;
    self->watch->changed(self->watch, &header, events, n, is_part);
    return true;
}

static void
on_deliver(udpai_timer *timer)
{
    model_watch *self = UDPAI_CONTAINER_OF(timer, model_watch, deliver);
    etcd_model *model = self->model;
    if (etcd_model_is_away(self->client) || self->is_silent)
        return;
    if (self->next <= model->compacted && !self->is_created) {
        end_watch(self, model->compacted);
        return;
    }
    if (etcd_model_happens(model, model->faults.cut_watches)) {
        end_watch(self, 0);
        return;
    }
    if (etcd_model_happens(model, model->faults.silent_watches)) {
        self->is_silent = true;
        return;
    }
    udpai_timer_set(model->wheel, &self->deliver,
                    etcd_model_soon(model) + (etcd_model_happens(model, model->faults.late_watches)
                                                  ? test_random_below(&model->random, WATCH_LATE_MS)
                                                  : 0));
    if (self->is_created) {
        send_events(self);
        return;
    }
    udpai_etcd_header header = etcd_model_header_of(model);
    self->is_created = true;
    if (etcd_model_happens(model, model->faults.old_members))
        header.revision -= (int64_t)test_random_below(&model->random, (size_t)header.revision);
    self->watch->created(self->watch, &header);
}

void
etcd_model_wake_watches(etcd_model *model)
{
    UDPAI_LIST_FOREACH (at, &model->watches) {
        model_watch *self = UDPAI_LIST_ENTRY(at, model_watch, node);
        if (!udpai_timer_is_set(&self->deliver))
            udpai_timer_set(model->wheel, &self->deliver, etcd_model_soon(model));
    }
}

udpa_err
etcd_model_watch(
    udpai_etcd *etcd, udpai_etcd_watch *what, udpai_str key, udpai_str end, int64_t revision)
{
    etcd_model_client *client = etcd_model_client_of(etcd);
    etcd_model *model = client->model;
    model_watch *self = calloc(1, sizeof(*self));
    self->model = model;
    self->client = client;
    client->old_revision = 0; /* it is another member */
    self->watch = what;
    self->key = etcd_model_copy(key);
    self->end = etcd_model_copy(end);
    self->next = revision;
    udpai_timer_init(&self->deliver, on_deliver);
    udpai_timer_set(model->wheel, &self->deliver, etcd_model_soon(model));
    udpai_list_append(&model->watches, &self->node);
    what->engine = self;
    model->n_watches++;
    return UDPA_OK;
}

void
etcd_model_unwatch(udpai_etcd *etcd, udpai_etcd_watch *what)
{
    (void)etcd;
    if (what->engine)
        free_watch(what->engine);
    what->engine = NULL;
}

void
etcd_model_ask_progress(udpai_etcd *etcd, udpai_etcd_watch *what)
{
    (void)etcd;
    model_watch *self = what->engine;
    if (!self)
        return;
    self->wants_progress = true;
    if (!udpai_timer_is_set(&self->deliver))
        udpai_timer_set(self->model->wheel, &self->deliver, etcd_model_soon(self->model));
}

void
etcd_model_cut_watches(etcd_model *model)
{
    UDPAI_LIST_FOREACH_SAFE (at, &model->watches) {
        model_watch *self = UDPAI_LIST_ENTRY(at, model_watch, node);
        end_watch(self, 0);
    }
}
