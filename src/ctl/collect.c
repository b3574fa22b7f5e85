/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/collect.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "ctl/names.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS_TYPE "type.googleapis.com/udpa.status.v1."
#define STATUS_NAMESPACE "udpa.node"

/* ---- wishes ---- */

udpai_ctl_wish *
udpai_ctl_wishes_add(udpai_ctl_wishes *wishes, char *type_url)
{
    const udpai_ctl_wish wish = {.type_url = type_url};
    if (type_url && udpai_vector_push(wishes, wish))
        return &wishes->items[wishes->n - 1];
    udpai_free(type_url);
    return NULL;
}

udpa_err
udpai_ctl_wish_name(udpai_ctl_wish *wish, const char *name, const char *name_space)
{
    char *full = udpai_ctl_full_name(name, name_space);
    if (full && udpai_vector_push(&wish->names, full))
        return UDPA_OK;
    udpai_free(full);
    return UDPA_ERR_NOMEM;
}

static void
wish_done(udpai_ctl_wish *wish)
{
    for (size_t i = 0; i < wish->names.n; i++)
        udpai_free(wish->names.items[i]);
    udpai_vector_done(&wish->names);
    udpai_free(wish->type_url);
}

void
udpai_ctl_wishes_done(udpai_ctl_wishes *wishes)
{
    for (size_t i = 0; i < wishes->n; i++)
        wish_done(&wishes->items[i]);
    udpai_vector_done(wishes);
}

static udpai_ctl_exit
out_of_memory(void)
{
    udpai_ctl_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CTL_REFUSED;
}

udpai_ctl_exit
udpai_ctl_wish_of_arguments(const udpai_ctl_options *options, udpai_ctl_wishes *wishes)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *type_url = NULL;
    if (udpai_ctl_type_url(options->arguments.items[0], &type_url, &error) != UDPA_OK) {
        udpai_ctl_complain_of(error);
        return UDPAI_CTL_MISTAKE;
    }
    udpai_ctl_wish *wish = udpai_ctl_wishes_add(wishes, type_url);
    if (!wish)
        return out_of_memory();
    wish->name_space = options->name_space;
    for (size_t i = 1; i < options->arguments.n; i++)
        if (udpai_ctl_wish_name(wish, options->arguments.items[i], udpai_ctl_namespace(options)) !=
            UDPA_OK)
            return out_of_memory();
    return UDPAI_CTL_GOOD;
}

/* ---- collecting ---- */

struct collecting {
    udpai_ctl *ctl;
    udpai_ctl_found *found;
    size_t n_incomplete;
};

static void
on_update(void *userdata, udpa_update *update)
{
    struct collecting *self = userdata;
    bool is_known;
    udpai_ctl_heard(self->ctl);
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        udpa_resource *resource = udpa_update_resource(update, i);
        if (udpa_update_is_removal(update, i))
            udpai_ctl_found_drop(self->found, resource);
        else if (udpai_ctl_found_put(self->found, resource, &is_known) != UDPA_OK)
            udpai_ctl_finish(self->ctl, out_of_memory());
    }
}

static void
on_complete(void *userdata)
{
    struct collecting *self = userdata;
    udpai_ctl_heard(self->ctl);
    if (--self->n_incomplete == 0)
        udpai_ctl_finish(self->ctl, UDPAI_CTL_GOOD);
}

udpai_ctl_exit
udpai_ctl_subscribe(udpai_ctl *ctl,
                    const udpai_ctl_wish *wish,
                    const udpa_subscribe_options *callbacks,
                    udpa_subscription **ret_subscription)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_subscribe_options options = *callbacks;
    options.type_url = wish->type_url;
    options.names = (const char *const *)wish->names.items;
    options.n_names = wish->names.n;
    if (wish->names.n == 0)
        options.name_space = wish->name_space;
    if (udpa_subscribe(ret_subscription, ctl->endpoint, &options, &error) == UDPA_OK)
        return UDPAI_CTL_GOOD;
    udpai_ctl_complain_of(error);
    return UDPAI_CTL_MISTAKE;
}

udpai_ctl_exit
udpai_ctl_collect(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found)
{
    struct collecting self = {ctl, found, wishes->n};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    UDPAI_VECTOR(udpa_subscription *) subscriptions = {0};
    udpai_ctl_exit result = UDPAI_CTL_GOOD;
    callbacks.update = on_update;
    callbacks.complete = on_complete;
    callbacks.userdata = &self;
    if (!udpai_vector_reserve(&subscriptions, wishes->n))
        return out_of_memory();
    for (size_t i = 0; i < wishes->n && result == UDPAI_CTL_GOOD; i++) {
        udpa_subscription *subscription = NULL;
        result = udpai_ctl_subscribe(ctl, &wishes->items[i], &callbacks, &subscription);
        if (subscription)
            subscriptions.items[subscriptions.n++] = subscription;
    }
    if (result == UDPAI_CTL_GOOD && wishes->n)
        result = udpai_ctl_wait(ctl);
    for (size_t i = 0; i < subscriptions.n; i++)
        udpa_unsubscribe(subscriptions.items[i]);
    udpai_vector_done(&subscriptions);
    return result;
}

/* ---- what the node has ---- */

udpa_err
udpai_ctl_wish_for_status(const char *kind, udpai_ctl_wishes *wishes)
{
    udpai_strbuf url = {0};
    udpai_strbuf_puts(&url, STATUS_TYPE);
    udpai_strbuf_puts(&url, kind);
    udpai_ctl_wish *wish = udpai_ctl_wishes_add(wishes, udpai_strbuf_take(&url));
    if (!wish)
        return UDPA_ERR_NOMEM;
    wish->name_space = STATUS_NAMESPACE;
    return UDPA_OK;
}

static bool
is_wished(const udpai_ctl_wishes *wishes, const char *type_url)
{
    for (size_t i = 0; i < wishes->n; i++)
        if (strcmp(wishes->items[i].type_url, type_url) == 0)
            return true;
    return false;
}

udpa_err
udpai_ctl_wish_for_types_of(const udpa_resource *node_status,
                            const char *name_space,
                            udpai_ctl_wishes *wishes)
{
    size_t size;
    const void *payload = udpa_resource_payload(node_status, &size);
    Udpa__Status__V1__NodeStatus *status =
        udpa__status__v1__node_status__unpack(NULL, size, payload);
    udpa_err err = status ? UDPA_OK : UDPA_ERR_MALFORMED;
    for (size_t i = 0; status && i < status->n_types && err == UDPA_OK; i++) {
        const char *type_url = status->types[i]->type_url;
        if (status->types[i]->n_resources == 0 || is_wished(wishes, type_url))
            continue;
        udpai_ctl_wish *wish = udpai_ctl_wishes_add(wishes, udpai_strdup(type_url));
        if (wish)
            wish->name_space = name_space;
        else
            err = UDPA_ERR_NOMEM;
    }
    udpa__status__v1__node_status__free_unpacked(status, NULL);
    return err;
}

udpai_ctl_exit
udpai_ctl_wish_for_all_types(udpai_ctl *ctl, udpai_ctl_wishes *wishes)
{
    udpai_ctl_wishes status = {0};
    udpai_ctl_found found;
    udpai_ctl_found_begin(&found);
    udpai_ctl_exit result = udpai_ctl_wish_for_status("NodeStatus", &status) == UDPA_OK
                                ? udpai_ctl_collect(ctl, &status, &found)
                                : out_of_memory();
    UDPAI_AUTO_FREE udpa_resource **nodes = udpai_ctl_found_sorted(&found);
    udpa_err err = nodes ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; err == UDPA_OK && i < udpai_ctl_found_size(&found); i++)
        err = udpai_ctl_wish_for_types_of(nodes[i], ctl->options->name_space, wishes);
    if (result == UDPAI_CTL_GOOD && udpai_ctl_found_size(&found) == 0) {
        udpai_ctl_complain("%s does not say which types it has: name one, as in 'udpactl get "
                           "cluster'",
                           ctl->options->server);
        result = UDPAI_CTL_REFUSED;
    }
    if (result == UDPAI_CTL_GOOD && err != UDPA_OK) {
        udpai_ctl_complain("the status of %s: %s", ctl->options->server, udpa_err_text(err));
        result = UDPAI_CTL_REFUSED;
    }
    udpai_ctl_found_done(&found);
    udpai_ctl_wishes_done(&status);
    return result;
}

/* ---- what it has not ---- */

bool
udpai_ctl_tell_missing(const udpai_ctl *ctl,
                       const udpai_ctl_wishes *wishes,
                       const udpai_ctl_found *found)
{
    bool any = false;
    for (size_t i = 0; i < wishes->n; i++) {
        const udpai_ctl_wish *wish = &wishes->items[i];
        udpai_str type_url = udpai_str_from(wish->type_url);
        udpai_str kind = udpai_ctl_type_short(type_url);
        for (size_t k = 0; k < wish->names.n; k++) {
            if (udpai_ctl_found_get(found, type_url, udpai_str_from(wish->names.items[k])))
                continue;
            any = true;
            udpai_ctl_complain("there is no %.*s '%s' at %s", (int)kind.len, kind.data,
                               wish->names.items[k], ctl->options->server);
        }
    }
    return any;
}
