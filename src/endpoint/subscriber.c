/* SPDX-License-Identifier: Apache-2.0 */
/* Public subscriptions: those of the node in the process, called back on the application's loop.
 *
 * A subscription that is ended inside a callback is freed in the loop's next turn, because the node
 * is just walking through its list. */
#include <udpa/subscribe.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "endpoint/host.h"
#include "endpoint/local.h"
#include "endpoint/local_acks.h"
#include "endpoint/type.h"
#include "model/name.h"

struct udpa_subscription {
    udpai_list node;
    udpa_endpoint *endpoint;
    udpai_local_subscription *local;
    udpai_local_ack_notes *notes; /* NULL: what it has is not noted */
    udpa_update_fn update;
    void (*complete)(void *userdata);
    void *userdata;
    bool is_ended;
};

typedef struct subscriptions {
    udpai_service service;
    udpa_endpoint *endpoint;
    udpai_list all; /* udpa_subscription */
} subscriptions;

static subscriptions *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, subscriptions, service);
}

/* ---- updates: those of the node, under a public name ---- */

static udpai_local_update *
of_node(const udpa_update *update)
{
    return (udpai_local_update *)(uintptr_t)update;
}

size_t
udpa_update_size(const udpa_update *update)
{
    return udpai_local_update_size(of_node(update));
}

udpa_resource *
udpa_update_resource(const udpa_update *update, size_t index)
{
    return index < udpa_update_size(update)
               ? udpai_local_update_at(of_node(update), index)->resource
               : NULL;
}

int
udpa_update_is_removal(const udpa_update *update, size_t index)
{
    return index < udpa_update_size(update) &&
           udpai_local_update_at(of_node(update), index)->is_removed;
}

void
udpa_update_refuse(udpa_update *update, size_t index, udpa_err code, const char *reason)
{
    if (index >= udpa_update_size(update) || code == UDPA_OK)
        return;
    udpai_local_update_refuse(of_node(update), index,
                              udpa_error_new(code, NULL, "%s", reason ? reason : "refused"));
}

void
udpa_update_defer(udpa_update *update)
{
    udpai_local_update_defer(of_node(update));
}

void
udpa_update_done(udpa_update *update)
{
    udpai_local_ack_notes_answered(of_node(update));
    udpai_local_update_done(of_node(update));
}

/* ---- subscriptions ---- */

static bool
is_silent(const udpa_subscription *subscription)
{
    return subscription->is_ended || udpai_endpoint_is_closing(subscription->endpoint);
}

static void
on_update(void *userdata, udpai_local_update *update)
{
    const udpa_subscription *subscription = userdata;
    if (is_silent(subscription))
        return;
    subscription->update(subscription->userdata, (udpa_update *)update);
    udpai_local_ack_notes_sent(subscription->notes, update);
}

static void
on_complete(void *userdata)
{
    const udpa_subscription *subscription = userdata;
    if (subscription->complete && !is_silent(subscription))
        subscription->complete(subscription->userdata);
}

static udpa_err
check_names(const udpa_subscribe_options *options, udpa_error **ret_error)
{
    if (options->n_names && options->name_space && *options->name_space)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a subscription selects a namespace ('%s') or names (the first is '%s'), "
                          "not both: make two subscriptions",
                          options->name_space, options->names[0]);
    for (size_t i = 0; i < options->n_names; i++) {
        udpa_err err = udpai_name_check(udpai_str_from(options->names[i]), ret_error);
        if (err != UDPA_OK)
            return err;
    }
    if (!options->n_names && options->name_space && *options->name_space)
        return udpai_prefix_check(udpai_str_from(options->name_space), ret_error);
    return UDPA_OK;
}

static udpa_err
check(const udpa_subscribe_options *options, udpa_error **ret_error)
{
    if (options->struct_size < sizeof(*options))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_subscribe_options: struct_size is %zu: begin with "
                          "UDPA_SUBSCRIBE_OPTIONS_INIT",
                          options->struct_size);
    if (!options->update || !options->type_url || !*options->type_url)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a subscription needs a type_url and an update callback");
    if (strlen(options->type_url) > UDPAI_TYPE_URL_MAX ||
        !udpai_utf8_valid(udpai_str_from(options->type_url)))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "the type_url is too long, or not UTF-8");
    return check_names(options, ret_error);
}

static udpa_err
subscribe(udpa_subscription *subscription, const udpa_subscribe_options *options)
{
    UDPAI_AUTO_FREE char *type_url = udpai_type_url_complete(options->type_url);
    UDPAI_AUTO_FREE udpai_str *names = udpai_alloc_array(options->n_names, sizeof(*names));
    if (!type_url || !names)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < options->n_names; i++)
        names[i] = udpai_str_from(options->names[i]);
    const udpai_selection selection = {
        .type_url = udpai_str_from(type_url),
        .prefix = udpai_str_from(options->name_space),
        .names = names,
        .n_names = options->n_names,
    };
    const udpai_local_ops ops = {on_update, on_complete, subscription};
    udpa_endpoint *endpoint = subscription->endpoint;
    udpai_service *acks = udpai_endpoint_service(endpoint, UDPAI_PLACE_LOCAL_ACKS);
    if (acks && !(subscription->notes = udpai_local_ack_notes_new(acks, &selection)))
        return UDPA_ERR_NOMEM;
    udpa_err err =
        udpai_node_subscribe(udpai_endpoint_node(endpoint), &selection, &ops, &subscription->local);
    udpai_local_ack_notes_set_local(subscription->notes, subscription->local);
    return err;
}

udpa_err
udpa_subscribe(udpa_subscription **ret_subscription,
               udpa_endpoint *endpoint,
               const udpa_subscribe_options *options,
               udpa_error **ret_error)
{
    udpa_err err = check(options, ret_error);
    if (err == UDPA_OK && udpai_endpoint_is_closing(endpoint))
        err = udpai_fail(ret_error, UDPA_ERR_CLOSED, "the endpoint is being closed");
    if (err != UDPA_OK)
        return err;
    udpa_subscription *subscription = udpai_alloc(sizeof(*subscription));
    if (!subscription)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    subscription->endpoint = endpoint;
    subscription->update = options->update;
    subscription->complete = options->complete;
    subscription->userdata = options->userdata;
    udpai_list_init(&subscription->node);
    err = subscribe(subscription, options);
    if (err != UDPA_OK) {
        udpai_local_ack_notes_free(subscription->notes);
        udpai_free(subscription);
        return udpai_fail_code(ret_error, err);
    }
    udpai_list_append(&of(udpai_endpoint_service(endpoint, UDPAI_PLACE_SUBSCRIPTIONS))->all,
                      &subscription->node);
    udpai_endpoint_touch(endpoint);
    *ret_subscription = subscription;
    return UDPA_OK;
}

void
udpa_unsubscribe(udpa_subscription *subscription)
{
    if (!subscription)
        return;
    subscription->is_ended = true;
    udpai_endpoint_touch(subscription->endpoint);
}

/* ---- coming and going ---- */

/* Those that were ended are taken away. */
static void
run(udpai_service *service)
{
    const subscriptions *self = of(service);
    UDPAI_LIST_FOREACH_SAFE (at, &self->all) {
        udpa_subscription *subscription = UDPAI_LIST_ENTRY(at, udpa_subscription, node);
        if (!subscription->is_ended)
            continue;
        udpai_local_ack_notes_free(subscription->notes);
        udpai_node_unsubscribe(udpai_endpoint_node(self->endpoint), subscription->local);
        udpai_list_remove(&subscription->node);
        udpai_free(subscription);
    }
}

static void
free_subscriptions(udpai_service *service)
{
    subscriptions *self = of(service);
    UDPAI_LIST_FOREACH (at, &self->all)
        UDPAI_LIST_ENTRY(at, udpa_subscription, node)->is_ended = true;
    run(service);
    udpai_free(self);
}

udpa_err
udpai_subscriptions_new(udpai_service **ret_subscriptions, udpa_endpoint *endpoint)
{
    static const udpai_service_ops ops = {.run = run, .free = free_subscriptions};
    subscriptions *self = udpai_alloc(sizeof(*self));
    if (!self)
        return UDPA_ERR_NOMEM;
    self->service.ops = &ops;
    self->endpoint = endpoint;
    udpai_list_init(&self->all);
    *ret_subscriptions = &self->service;
    return UDPA_OK;
}
