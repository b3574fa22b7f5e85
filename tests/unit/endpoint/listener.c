/* SPDX-License-Identifier: Apache-2.0 */
#include "listener.h"

#include <stdio.h>

static void
on_update(void *userdata, udpa_update *update)
{
    test_listener *listener = userdata;
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        const udpa_resource *resource = udpa_update_resource(update, i);
        size_t size;
        const void *payload = udpa_resource_payload(resource, &size);
        snprintf(listener->name, sizeof(listener->name), "%s", udpa_resource_name(resource));
        if (udpa_update_is_removal(update, i)) {
            listener->n_removals++;
            continue;
        }
        udpa_bytes_unref(listener->payload);
        listener->payload = NULL;
        assert_ok(udpa_bytes_new(&listener->payload, payload, size));
        listener->ttl_ms = udpa_resource_ttl_ms(resource);
        listener->n_reports++;
    }
}

void
listener_open(test_listener *listener,
              udpa_endpoint *endpoint,
              const char *type_url,
              const char *name_space,
              const char *name)
{
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    options.type_url = type_url;
    options.name_space = name_space;
    options.names = &name;
    options.n_names = name ? 1 : 0;
    options.update = on_update;
    options.userdata = listener;
    assert_ok(udpa_subscribe(&listener->subscription, endpoint, &options, NULL));
}

udpai_str
listener_payload(const test_listener *listener)
{
    assert_non_null(listener->payload);
    return udpai_bytes_view(listener->payload);
}

void
listener_done(test_listener *listener)
{
    listener->payload = udpa_bytes_unref(listener->payload);
}

static void
on_wanted(void *userdata, const udpa_demand *wanted)
{
    test_watch *watch = userdata;
    assert_int_equal(!wanted->name + !wanted->name_space, 1);
    assert_int_equal(wanted->struct_size, sizeof(*wanted));
    snprintf(watch->type_url, sizeof(watch->type_url), "%s", wanted->type_url);
    snprintf(watch->text, sizeof(watch->text), "%s%s", wanted->name ? "" : "*",
             wanted->name ? wanted->name : wanted->name_space);
    if (wanted->has_subscribers)
        watch->n_wanted++;
    else
        watch->n_unwanted++;
    if (watch->also)
        watch->also(watch);
}

void
watch_open(test_watch *watch, test_pair *pair)
{
    watch->pair = pair;
    assert_ok(udpa_demand_watch_new(&watch->watch, pair->client, on_wanted, watch));
}
