/* SPDX-License-Identifier: Apache-2.0 */
/* What has come is put into use by the loop, once the node has done its work: it may be the node
 * that the values of the runtime change. */
#include "daemon/rtds.h"

#include "base/alloc.h"
#include "base/log.h"
#include "loop/clock.h"
#include "runtime/rtds.h"

#define COMPONENT "runtime"
#define AGAIN_MS 100 /* after there was no memory */

/* A layer, as it is to be from its resource. */
typedef struct follower {
    udpai_daemon_rtds *owner;
    size_t index;     /* of the layer */
    const char *name; /* of the resource */
    udpai_local_subscription *subscription;
    udpai_runtime_layer *layer; /* of the last good word; NULL: there was none */
    udpa_error *error;          /* what is wrong with the last word */
    bool has_news;
    udpai_log_limit log; /* a publisher may remove it again and again */
} follower;

struct udpai_daemon_rtds {
    udpai_daemon_rtds_env env;
    uv_timer_t soon;
    size_t n_followers;
    follower followers[];
};

/* ---- putting into use ---- */

static size_t
collect(udpai_daemon_rtds *self, udpai_runtime_load *loads)
{
    size_t n = 0;
    for (size_t i = 0; i < self->n_followers; i++) {
        follower *one = &self->followers[i];
        if (!one->has_news)
            continue;
        one->has_news = false;
        loads[n++] = (udpai_runtime_load){one->index, udpai_runtime_layer_ref(one->layer),
                                          udpa_error_ref(one->error)};
    }
    return n;
}

static void
on_soon(uv_timer_t *timer)
{
    udpai_daemon_rtds *self = timer->data;
    udpai_runtime_load loads[UDPAI_RUNTIME_LAYERS_MAX];
    size_t indexes[UDPAI_RUNTIME_LAYERS_MAX], n = collect(self, loads);
    for (size_t i = 0; i < n; i++)
        indexes[i] = loads[i].index;
    if (udpai_runtime_take_loads(self->env.runtime, loads, n) == UDPA_OK)
        return;
    for (size_t i = 0; i < self->n_followers; i++)
        for (size_t k = 0; k < n; k++)
            self->followers[i].has_news |= self->followers[i].index == indexes[k];
    uv_timer_start(timer, on_soon, AGAIN_MS, 0);
}

/* Takes both. */
static void
set(follower *one, udpai_runtime_layer *layer, udpa_error *error)
{
    udpai_runtime_layer_unref(one->layer);
    udpa_error_unref(one->error);
    one->layer = layer;
    one->error = error;
    one->has_news = true;
    uv_timer_start(&one->owner->soon, on_soon, 0, 0);
}

/* ---- what comes ---- */

static udpai_str
layer_name(const follower *one)
{
    return udpai_runtime_layer_name_at(one->owner->env.runtime, one->index);
}

static udpa_err
read_layer(const follower *one,
           const udpa_resource *resource,
           udpai_runtime_layer **ret_layer,
           udpa_error **ret_error)
{
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    UDPA_AUTO(udpa_error_unref) udpa_error *why = NULL;
    udpa_err err = udpa_resource_is_redirect(resource)
                       ? udpai_fail(&why, UDPA_ERR_INVAL,
                                    "it is a redirect, which is not followed: name the resource "
                                    "that it leads to in the rtds_layer")
                       : udpai_runtime_layer_of_rtds(ret_layer, layer_name(one),
                                                     (udpai_str){payload, size}, &why);
    return err == UDPA_OK
               ? UDPA_OK
               : udpai_fail(ret_error, err, "the resource '%s' of '%s' cannot be its contents: %s",
                            one->name, udpa_resource_authority(resource), udpa_error_message(why));
}

static void
take(follower *one, udpai_local_update *update, size_t index)
{
    udpai_runtime_layer *layer = NULL;
    udpa_error *error = NULL;
    const udpa_resource *resource = udpai_local_update_at(update, index)->resource;
    if (read_layer(one, resource, &layer, &error) != UDPA_OK) {
        udpai_local_update_refuse(update, index, udpa_error_ref(error));
        set(one, udpai_runtime_layer_ref(one->layer), error);
    } else if (!one->error && udpai_runtime_layer_eq(layer, one->layer)) {
        udpai_runtime_layer_unref(layer);
    } else {
        set(one, layer, NULL);
    }
}

/* Its keys go; without memory they stay until something else comes. */
static void
empty(follower *one)
{
    udpai_runtime_layer *nothing = udpai_runtime_layer_new(layer_name(one));
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    if (udpai_log_allow(&one->log, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_INFO, COMPONENT, UDPAI_ABOUT({UDPAI_LOG_NAME, udpai_str_from(one->name)}),
            "layer %.*s is empty: the resource '%s' was removed%s", UDPAI_SHOWN(layer_name(one)),
            one->name, udpai_log_more(more, n_suppressed));
    if (nothing)
        set(one, nothing, NULL);
}

/* Resources that have the name as an alias are others. */
static void
on_update(void *userdata, udpai_local_update *update)
{
    follower *one = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        if (strcmp(udpa_resource_name(change->resource), one->name) != 0)
            continue;
        if (change->is_removed)
            empty(one);
        else
            take(one, update, i);
    }
}

/* Most often, the name is not the right one. */
static void
on_complete(void *userdata)
{
    const follower *one = userdata;
    if (!one->layer && !one->error)
        udpai_log(UDPA_LOG_INFO, COMPONENT,
                  "layer %.*s is not there: there is no resource '%s' of type %s so far",
                  UDPAI_SHOWN(layer_name(one)), one->name, UDPAI_TYPE_RUNTIME);
}

/* ---- beginning and end ---- */

static udpa_err
follow(follower *one)
{
    const udpai_str name = udpai_str_from(one->name);
    const udpai_selection selection = {
        .type_url = UDPAI_STR(UDPAI_TYPE_RUNTIME),
        .names = &name,
        .n_names = 1,
    };
    const udpai_local_ops ops = {on_update, on_complete, one};
    return udpai_node_subscribe(one->owner->env.node, &selection, &ops, &one->subscription);
}

udpa_err
udpai_daemon_rtds_open(udpai_daemon_rtds **ret_rtds,
                       const udpai_daemon_rtds_env *env,
                       udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    if (env->n_layers == 0)
        return UDPA_OK;
    udpai_daemon_rtds *self =
        udpai_alloc(sizeof(*self) + env->n_layers * sizeof(self->followers[0]));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    *ret_rtds = self;
    self->env = *env;
    uv_timer_init(env->loop, &self->soon); /* cannot fail */
    self->soon.data = self;
    for (size_t i = 0; i < env->n_layers && err == UDPA_OK; i++) {
        const udpai_plan_rtds *plan = &env->layers[i];
        self->followers[i] = (follower){.owner = self, .index = plan->index, .name = plan->name};
        self->n_followers++;
        err = follow(&self->followers[i]);
    }
    return udpai_fail_code(ret_error, err);
}

static void
on_closed(uv_handle_t *handle)
{
    udpai_free(handle->data);
}

void
udpai_daemon_rtds_close(udpai_daemon_rtds *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < self->n_followers; i++) {
        if (self->followers[i].subscription)
            udpai_node_unsubscribe(self->env.node, self->followers[i].subscription);
        udpai_runtime_layer_unref(self->followers[i].layer);
        udpa_error_unref(self->followers[i].error);
    }
    uv_close((uv_handle_t *)&self->soon, on_closed);
}
