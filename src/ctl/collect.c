/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/collect.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "ctl/names.h"
#include "ctl/node_status.h"
#include "ctl/waits.h"

static udpai_ctl_exit
out_of_memory(void)
{
    udpai_ctl_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CTL_REFUSED;
}

/* ---- wishes ---- */

udpai_ctl_exit
udpai_ctl_wish_of_arguments(const udpai_ctl_common *options, udpai_ctl_wishes *wishes)
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
    if (!wish->name_space && udpai_ctl_is_status(wish->type_url))
        wish->name_space = UDPAI_CTL_STATUS_NAMESPACE; /* of others nothing is waited for */
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
    size_t n_wanted; /* so many are enough */
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
    if (udpai_ctl_found_size(self->found) >= self->n_wanted)
        udpai_ctl_finish(self->ctl, UDPAI_CTL_GOOD);
}

static void
on_complete(void *userdata)
{
    struct collecting *self = userdata;
    udpai_ctl_heard(self->ctl);
    if (--self->n_incomplete == 0)
        udpai_ctl_heard_all(self->ctl);
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

static udpai_ctl_exit
collect(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found, size_t n_wanted)
{
    struct collecting self = {ctl, found, wishes->n, n_wanted};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    UDPAI_VECTOR(udpa_subscription *) subscriptions = {0};
    udpai_ctl_waits waits;
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
    udpai_ctl_waits_begin(&waits, ctl, wishes);
    if (result == UDPAI_CTL_GOOD && wishes->n)
        result = udpai_ctl_wait(ctl);
    udpai_ctl_waits_end(&waits);
    for (size_t i = 0; i < subscriptions.n; i++)
        udpa_unsubscribe(subscriptions.items[i]);
    udpai_vector_done(&subscriptions);
    return result;
}

udpai_ctl_exit
udpai_ctl_collect(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found)
{
    return collect(ctl, wishes, found, SIZE_MAX);
}

udpai_ctl_exit
udpai_ctl_collect_names(udpai_ctl *ctl, const udpai_ctl_wishes *wishes, udpai_ctl_found *found)
{
    size_t n = 0;
    for (size_t i = 0; i < wishes->n; i++)
        n += wishes->items[i].names.n;
    return collect(ctl, wishes, found, n);
}

/* ---- what the node has ---- */

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
    if (err == UDPA_OK && wishes->n == 0)
        err = udpai_ctl_wish_for_common_types(ctl->options->name_space, wishes);
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
