/* SPDX-License-Identifier: Apache-2.0 */
/* A layer by RTDS: a subscription of an endpoint to one resource. What may not be is refused, and
 * what was there before goes on counting. */
#include "base/log.h"
#include "endpoint/runtime.h"
#include "runtime/rtds.h"

#define COMPONENT "runtime"

static udpai_str
layer_name(const udpai_runtime_feed *feed)
{
    return udpai_runtime_layer_name_at(&feed->owner->runtime, feed->index);
}

/* Takes the layer; NULL: it is not there. */
static udpa_err
set(udpai_runtime_feed *feed, udpai_runtime_layer *layer, udpa_error **ret_error)
{
    udpai_runtime_load load = {.index = feed->index, .layer = layer};
    udpa_err err = udpai_runtime_take_loads(&feed->owner->runtime, &load, 1);
    return udpai_fail_code(ret_error, err);
}

static udpa_err
read_resource(udpai_runtime_feed *feed, const udpa_resource *resource, udpa_error **ret_error)
{
    size_t size;
    udpai_runtime_layer *layer = NULL;
    if (udpa_resource_is_redirect(resource))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "it is a redirect: subscribe to what it leads to");
    const char *payload = udpa_resource_payload(resource, &size);
    udpa_err err = udpai_runtime_layer_of_rtds(&layer, layer_name(feed), (udpai_str){payload, size},
                                               ret_error);
    return err ? err : set(feed, layer, ret_error);
}

static void
refuse(udpai_runtime_feed *feed, udpa_update *update, size_t index, udpa_error *error)
{
    udpa_update_refuse(update, index, udpa_error_code(error), udpa_error_message(error));
    feed->owner->runtime.statistics.load_error++;
    udpa_error_unref(feed->refusal);
    feed->refusal = error;
}

static void
forget(udpai_runtime_feed *feed)
{
    if (set(feed, NULL, NULL) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, COMPONENT,
                  "layer %.*s was removed, and there is no memory to go on without it",
                  UDPAI_SHOWN(layer_name(feed)));
}

static void
on_update(void *userdata, udpa_update *update)
{
    udpai_runtime_feed *feed = userdata;
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        udpa_error *error = NULL;
        if (udpa_update_is_removal(update, i))
            forget(feed);
        else if (read_resource(feed, udpa_update_resource(update, i), &error) != UDPA_OK) {
            refuse(feed, update, i, error);
            continue;
        }
        feed->refusal = udpa_error_unref(feed->refusal);
    }
}

udpa_err
udpai_runtime_feed_begin(udpai_runtime_feed *feed,
                         const udpa_runtime_layer *layer,
                         udpa_error **ret_error)
{
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    if (!layer->endpoint || !layer->resource_name)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "by RTDS it needs an endpoint and a resource_name");
    options.type_url = UDPAI_RUNTIME_TYPE_URL;
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
    feed->subscription = NULL;
    feed->refusal = udpa_error_unref(feed->refusal);
}
