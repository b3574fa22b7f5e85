/* SPDX-License-Identifier: Apache-2.0 */
/* A layer by RTDS: a subscription of an endpoint to one resource. What may not be is refused, and
 * what was there before goes on counting. */
#include "base/alloc.h"
#include "base/log.h"
#include "endpoint/runtime.h"
#include "runtime/rtds.h"

#define COMPONENT "runtime"

static udpai_str
layer_name(const udpai_runtime_feed *feed)
{
    return udpai_runtime_layer_name_at(&feed->owner->runtime, feed->index);
}

/* Takes both; a layer with an error is that of the last good word. */
static udpa_err
set(udpai_runtime_feed *feed, udpai_runtime_layer *layer, udpa_error *error)
{
    udpai_runtime_load load = {feed->index, layer, error};
    return udpai_runtime_take_loads(&feed->owner->runtime, &load, 1);
}

static const udpai_runtime_layer *
layer_now(const udpai_runtime_feed *feed)
{
    return udpai_runtime_layer_at(&feed->owner->runtime, feed->index);
}

static bool
is_in_error(const udpai_runtime_feed *feed)
{
    return udpai_runtime_layer_error(&feed->owner->runtime, feed->index) != NULL;
}

/* ---- what comes ---- */

static udpa_err
read_layer(const udpai_runtime_feed *feed,
           const udpa_resource *resource,
           udpai_runtime_layer **ret_layer,
           udpa_error **ret_error)
{
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    if (udpa_resource_is_redirect(resource))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "it is a redirect, which is not followed: name what it leads to");
    return udpai_runtime_layer_of_rtds(ret_layer, layer_name(feed), (udpai_str){payload, size},
                                       ret_error);
}

/* Without memory for the error the layer is as it was, and not in error. */
static void
refuse(udpai_runtime_feed *feed, udpa_update *update, size_t index, udpa_error *error)
{
    udpai_runtime_layer *last = (udpai_runtime_layer *)(uintptr_t)layer_now(feed);
    udpa_update_refuse(update, index, udpa_error_code(error), udpa_error_message(error));
    (void)set(feed, udpai_runtime_layer_ref(last), error);
}

static void
take(udpai_runtime_feed *feed, udpa_update *update, size_t index)
{
    udpai_runtime_layer *layer = NULL;
    udpa_error *error = NULL;
    if (read_layer(feed, udpa_update_resource(update, index), &layer, &error) != UDPA_OK)
        refuse(feed, update, index, error);
    else if (!is_in_error(feed) && udpai_runtime_layer_eq(layer, layer_now(feed)))
        udpai_runtime_layer_unref(layer);
    else if (set(feed, layer, NULL) != UDPA_OK)
        udpa_update_refuse(update, index, UDPA_ERR_NOMEM, "there is no memory to use it");
}

/* Its keys go; without memory they stay until something else comes. */
static void
empty(udpai_runtime_feed *feed)
{
    udpai_runtime_layer *nothing = udpai_runtime_layer_new(layer_name(feed));
    if (!nothing || set(feed, nothing, NULL) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, COMPONENT,
                  "layer %.*s was removed, and there is no memory to go on without it",
                  UDPAI_SHOWN(layer_name(feed)));
}

/* Resources that have the name as an alias are others. */
static void
on_update(void *userdata, udpa_update *update)
{
    udpai_runtime_feed *feed = userdata;
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        const udpa_resource *resource = udpa_update_resource(update, i);
        if (strcmp(udpa_resource_name(resource), feed->resource_name) != 0)
            continue;
        if (udpa_update_is_removal(update, i))
            empty(feed);
        else
            take(feed, update, i);
    }
}

/* ---- beginning and end ---- */

udpa_err
udpai_runtime_feed_begin(udpai_runtime_feed *feed,
                         const udpa_runtime_layer *layer,
                         udpa_error **ret_error)
{
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    if (!layer->endpoint || !layer->resource_name)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "by RTDS it needs an endpoint and a resource_name");
    feed->resource_name = udpai_strdup(layer->resource_name);
    if (!feed->resource_name)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    options.type_url = UDPAI_TYPE_RUNTIME;
    options.names = &layer->resource_name;
    options.n_names = 1;
    options.update = on_update;
    options.userdata = feed;
    return udpa_subscribe(&feed->subscription, layer->endpoint, &options, ret_error);
}

void
udpai_runtime_feed_end(udpai_runtime_feed *feed)
{
    udpa_unsubscribe(feed->subscription);
    udpai_free(feed->resource_name);
    feed->subscription = NULL;
    feed->resource_name = NULL;
}
