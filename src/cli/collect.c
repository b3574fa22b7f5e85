/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/collect.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "cli/names.h"
#include "cli/node_status.h"
#include "cli/waits.h"

static udpai_cli_exit
out_of_memory(void)
{
    udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CLI_REFUSED;
}

/* ---- requests ---- */

udpai_cli_exit
udpai_cli_request_of_arguments(const udpai_cli_options *options, udpai_cli_requests *requests)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *type_url = NULL;
    if (udpai_cli_type_url(options->arguments.items[0], &type_url, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_request *request = udpai_cli_requests_add(requests, type_url);
    if (!request)
        return out_of_memory();
    request->name_space = options->name_space;
    if (!request->name_space && udpai_cli_is_status(request->type_url))
        request->name_space = UDPAI_CLI_STATUS_NAMESPACE; /* of others nothing is waited for */
    for (size_t i = 1; i < options->arguments.n; i++)
        if (udpai_cli_request_name(request, options->arguments.items[i],
                                   udpai_cli_namespace(options)) != UDPA_OK)
            return out_of_memory();
    return UDPAI_CLI_GOOD;
}

/* ---- collecting ---- */

struct collecting {
    udpai_cli *cli;
    udpai_cli_found *found;
    size_t n_incomplete;
    size_t n_requested; /* so many are enough */
};

static void
on_update(void *userdata, udpa_update *update)
{
    struct collecting *self = userdata;
    bool is_known;
    udpai_cli_answered(self->cli);
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        udpa_resource *resource = udpa_update_resource(update, i);
        if (udpa_update_is_removal(update, i))
            udpai_cli_found_drop(self->found, resource);
        else if (udpai_cli_found_put(self->found, resource, &is_known) != UDPA_OK)
            udpai_cli_finish(self->cli, out_of_memory());
    }
    if (udpai_cli_found_size(self->found) >= self->n_requested)
        udpai_cli_finish(self->cli, UDPAI_CLI_GOOD);
}

static void
on_complete(void *userdata)
{
    struct collecting *self = userdata;
    udpai_cli_answered(self->cli);
    if (--self->n_incomplete == 0)
        udpai_cli_answered_all(self->cli);
}

udpai_cli_exit
udpai_cli_subscribe(udpai_cli *cli,
                    const udpai_cli_request *request,
                    const udpa_subscribe_options *callbacks,
                    udpa_subscription **ret_subscription)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_subscribe_options options = *callbacks;
    options.type_url = request->type_url;
    options.names = (const char *const *)request->names.items;
    options.n_names = request->names.n;
    if (request->names.n == 0)
        options.name_space = request->name_space;
    if (udpa_subscribe(ret_subscription, cli->endpoint, &options, &error) == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain_of(error);
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
collect(udpai_cli *cli,
        const udpai_cli_requests *requests,
        udpai_cli_found *found,
        size_t n_requested)
{
    struct collecting self = {cli, found, requests->n, n_requested};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    UDPAI_VECTOR(udpa_subscription *) subscriptions = {0};
    udpai_cli_waits waits;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    callbacks.update = on_update;
    callbacks.complete = on_complete;
    callbacks.userdata = &self;
    if (!udpai_vector_reserve(&subscriptions, requests->n))
        return out_of_memory();
    for (size_t i = 0; i < requests->n && result == UDPAI_CLI_GOOD; i++) {
        udpa_subscription *subscription = NULL;
        result = udpai_cli_subscribe(cli, &requests->items[i], &callbacks, &subscription);
        if (subscription)
            subscriptions.items[subscriptions.n++] = subscription;
    }
    udpai_cli_waits_begin(&waits, cli, requests);
    if (result == UDPAI_CLI_GOOD && requests->n)
        result = udpai_cli_wait(cli);
    udpai_cli_waits_end(&waits);
    for (size_t i = 0; i < subscriptions.n; i++)
        udpa_unsubscribe(subscriptions.items[i]);
    udpai_vector_done(&subscriptions);
    return result;
}

udpai_cli_exit
udpai_cli_collect(udpai_cli *cli, const udpai_cli_requests *requests, udpai_cli_found *found)
{
    return collect(cli, requests, found, SIZE_MAX);
}

udpai_cli_exit
udpai_cli_collect_names(udpai_cli *cli, const udpai_cli_requests *requests, udpai_cli_found *found)
{
    size_t n = 0;
    for (size_t i = 0; i < requests->n; i++)
        n += requests->items[i].names.n;
    return collect(cli, requests, found, n);
}

/* ---- what the node has ---- */

udpai_cli_exit
udpai_cli_request_all_types(udpai_cli *cli, udpai_cli_requests *requests)
{
    udpai_cli_requests status = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_cli_request_status("NodeStatus", &status) == UDPA_OK
                                ? udpai_cli_collect(cli, &status, &found)
                                : out_of_memory();
    UDPAI_AUTO_FREE udpa_resource **nodes = udpai_cli_found_sorted(&found);
    udpa_err err = nodes ? UDPA_OK : UDPA_ERR_NOMEM;
    for (size_t i = 0; err == UDPA_OK && i < udpai_cli_found_size(&found); i++)
        err = udpai_cli_request_types_of(nodes[i], cli->options->name_space, requests);
    if (err == UDPA_OK && requests->n == 0)
        err = udpai_cli_request_common_types(cli->options->name_space, requests);
    if (result == UDPAI_CLI_GOOD && udpai_cli_found_size(&found) == 0) {
        udpai_cli_complain("%s does not report which types it has: name one, as in 'udpactl get "
                           "cluster'",
                           udpai_cli_server(cli));
        result = UDPAI_CLI_REFUSED;
    }
    if (result == UDPAI_CLI_GOOD && err != UDPA_OK) {
        udpai_cli_complain("the status of %s: %s", udpai_cli_server(cli), udpa_err_text(err));
        result = UDPAI_CLI_REFUSED;
    }
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&status);
    return result;
}

/* ---- what it has not ---- */

bool
udpai_cli_report_missing(const udpai_cli *cli,
                         const udpai_cli_requests *requests,
                         const udpai_cli_found *found)
{
    bool any = false;
    for (size_t i = 0; i < requests->n; i++) {
        const udpai_cli_request *request = &requests->items[i];
        udpai_str type_url = udpai_str_from(request->type_url);
        udpai_str kind = udpai_cli_type_short(type_url);
        for (size_t k = 0; k < request->names.n; k++) {
            if (udpai_cli_found_get(found, type_url, udpai_str_from(request->names.items[k])))
                continue;
            any = true;
            udpai_cli_complain("there is no %.*s '%s' at %s", (int)kind.len, kind.data,
                               request->names.items[k], udpai_cli_server(cli));
        }
    }
    return any;
}
