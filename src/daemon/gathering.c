/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/gathering.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"

static void
take_complete(void *userdata)
{
    udpai_gathering *self = userdata;
    self->is_complete = true;
    self->complete(self->userdata);
}

static void
take_update(void *userdata, udpai_local_update *update)
{
    udpai_gathering *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        const udpai_gathered one = {
            .resource = udpa_resource_ref(change->resource),
            .number = self->n_seen++,
            .is_removed = change->is_removed,
        };
        if (udpai_vector_push(&self->all, one))
            continue;
        udpa_resource_unref(one.resource);
        self->has_failed = true;
    }
    if (self->name)
        take_complete(self);
}

udpa_err
udpai_gathering_begin(udpai_gathering *self,
                      udpa_endpoint *endpoint,
                      const udpai_selection *selection,
                      char *name,
                      void (*complete)(void *userdata),
                      void *userdata)
{
    const udpai_local_ops ops = {take_update, name ? NULL : take_complete, self};
    self->endpoint = endpoint;
    self->selection = *selection;
    self->name = name;
    self->names[0] = udpai_str_from(name);
    if (name) {
        self->selection.names = self->names;
        self->selection.n_names = 1;
    }
    self->complete = complete;
    self->userdata = userdata;
    udpa_err err = udpai_endpoint_note_interest(endpoint, &self->selection, true);
    self->has_asked = err == UDPA_OK;
    if (err == UDPA_OK)
        err = udpai_node_subscribe(udpai_endpoint_node(endpoint), &self->selection, &ops,
                                   &self->subscription);
    return err;
}

static int
compare(const void *left, const void *right)
{
    const udpai_gathered *a = left, *b = right;
    int order = udpai_str_cmp(udpai_resource_name(a->resource), udpai_resource_name(b->resource));
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

void
udpai_gathering_sort(udpai_gathering *self)
{
    udpai_gathered *all = self->all.items;
    size_t n = 0;
    if (self->all.n)
        qsort(all, self->all.n, sizeof(*all), compare);
    for (size_t i = 0; i < self->all.n; i++) {
        bool is_newest =
            i + 1 == self->all.n || !udpai_str_eq(udpai_resource_name(all[i].resource),
                                                  udpai_resource_name(all[i + 1].resource));
        if (is_newest && !all[i].is_removed)
            all[n++] = all[i];
        else
            udpa_resource_unref(all[i].resource);
    }
    self->all.n = n;
}

void
udpai_gathering_end(udpai_gathering *self)
{
    if (self->subscription)
        udpai_node_unsubscribe(udpai_endpoint_node(self->endpoint), self->subscription);
    if (self->has_asked &&
        udpai_endpoint_note_interest(self->endpoint, &self->selection, false) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "admin",
                  "out of memory: the status is made until the node ends, without subscribers");
    for (size_t i = 0; i < self->all.n; i++)
        udpa_resource_unref(self->all.items[i].resource);
    udpai_vector_done(&self->all);
    udpai_free(self->name);
    *self = (udpai_gathering){0};
}
