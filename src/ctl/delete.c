/* SPDX-License-Identifier: Apache-2.0 */
/* delete: a node takes the removal of what is not there, or is somebody else's, for no error. So it
 * is looked what is there before, and what is still there afterwards. */
#include <stdio.h>

#include "base/alloc.h"
#include "cli/names.h"
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/origins.h"
#include "ctl/publish.h"
#include "ctl/wait.h"

/* ---- what to delete ---- */

static udpai_cli_exit
request_of_files(const udpai_ctl_options *options, udpai_cli_requests *requests)
{
    udpai_ctl_input input;
    udpai_cli_exit result = udpai_ctl_input_read(&input, options);
    for (size_t i = 0; i < input.resources.n && result == UDPAI_CLI_GOOD; i++) {
        const udpa_resource *resource = input.resources.items[i];
        udpai_cli_request *request =
            udpai_cli_requests_of_type(requests, udpa_resource_type_url(resource));
        if (!request ||
            udpai_cli_request_full_name(request, udpa_resource_name(resource)) != UDPA_OK) {
            udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
            result = UDPAI_CLI_REFUSED;
        }
    }
    udpai_ctl_input_done(&input);
    return result;
}

static udpai_cli_exit
find_requests(const udpai_ctl_options *options, udpai_cli_requests *requests)
{
    if (options->files.n && !options->common.arguments.n)
        return request_of_files(options, requests);
    if (!options->files.n && options->common.arguments.n >= 2)
        return udpai_cli_request_of_arguments(&options->common, requests);
    udpai_cli_complain("delete takes a type and names, or files: udpactl delete TYPE NAME..., or "
                       "udpactl delete -f FILE");
    return UDPAI_CLI_MISTAKE;
}

/* ---- deleting ---- */

/* What there is, and what contributes to it. */
typedef struct view {
    udpai_cli_found resources, origins;
    udpa_resource **answers; /* those of origins; owned; NULL: not asked for */
} view;

static udpai_cli_exit
look(udpai_cli *cli, const udpai_cli_requests *requests, view *seen)
{
    *seen = (view){.answers = NULL};
    udpai_cli_found_begin(&seen->resources);
    udpai_cli_found_begin(&seen->origins);
    udpai_cli_exit result = udpai_cli_connect(cli);
    return result == UDPAI_CLI_GOOD ? udpai_cli_collect(cli, requests, &seen->resources) : result;
}

static void
view_done(view *seen)
{
    udpai_cli_found_done(&seen->resources);
    udpai_cli_found_done(&seen->origins);
    udpai_free(seen->answers);
}

/* A user that may not ask for them deletes all the same, and reads less. */
static udpai_cli_exit
find_origins(udpai_cli *cli, view *seen)
{
    static const udpai_cli_requests none;
    if (udpai_cli_found_size(&seen->resources) == 0)
        return UDPAI_CLI_GOOD;
    cli->may_be_denied = true;
    udpai_cli_exit result = udpai_ctl_find_origins(cli, &none, &seen->resources, &seen->origins);
    cli->may_be_denied = false;
    seen->answers = udpai_cli_found_sorted(&seen->origins);
    return result;
}

static udpai_ctl_contributions
contributions_of(const udpai_cli *cli, const view *seen, const udpa_resource *resource)
{
    size_t n = seen->answers ? udpai_cli_found_size(&seen->origins) : 0;
    return udpai_ctl_contributions_of(seen->answers, n, resource, cli->options->node_id);
}

/* Something else had the name, too. */
static bool
report_left(const udpai_cli *cli,
            const udpa_resource *deleted,
            const udpa_resource *left,
            const view *before,
            const view *after)
{
    const char *node_id = cli->options->node_id;
    udpai_str kind = udpai_cli_type_short(udpai_str_from(udpa_resource_type_url(deleted)));
    udpai_ctl_contributions was = contributions_of(cli, before, deleted);
    udpai_ctl_contributions is = contributions_of(cli, after, left);
    bool is_deleted = was.has_own && !is.has_own;
    if (is_deleted)
        udpai_cli_print_line(
            "%.*s %s: what node id '%s' had published is deleted; %s (authority '%s') provides it "
            "still",
            UDPAI_SHOWN(kind), udpa_resource_name(deleted), node_id,
            is.effective ? is.effective : "another node", udpa_resource_authority(left));
    else if (!is.effective)
        udpai_cli_complain(
            "%.*s %s is still there, as '%s' states it: what node id '%s' had published is "
            "deleted, if there was any; the action ADMIN is needed to see more",
            UDPAI_SHOWN(kind), udpa_resource_name(deleted), udpa_resource_authority(left), node_id);
    else
        udpai_cli_complain("%.*s %s is still there: it comes from %s (authority '%s'), and udpactl "
                           "takes back only what was applied as node id '%s' (--node-id)",
                           UDPAI_SHOWN(kind), udpa_resource_name(deleted), is.effective,
                           udpa_resource_authority(left), node_id);
    udpai_ctl_contributions_done(&was);
    udpai_ctl_contributions_done(&is);
    return is_deleted;
}

static udpai_cli_exit
report_all(const udpai_cli *cli, const view *before, const view *after)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(&before->resources);
    udpai_cli_exit result = sorted ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
    for (size_t i = 0; sorted && i < udpai_cli_found_size(&before->resources); i++) {
        udpai_str type_url = udpai_str_from(udpa_resource_type_url(sorted[i]));
        udpai_str kind = udpai_cli_type_short(type_url);
        const udpa_resource *left = udpai_cli_found_get(
            &after->resources, type_url, udpai_str_from(udpa_resource_name(sorted[i])));
        if (!left)
            udpai_cli_print_line("%.*s %s deleted", UDPAI_SHOWN(kind),
                                 udpa_resource_name(sorted[i]));
        else if (!report_left(cli, sorted[i], left, before, after))
            result = UDPAI_CLI_REFUSED;
    }
    return result;
}

/* Clients keep what is still provided: there is nothing to wait for. */
static void
forget_left(view *before, const view *after)
{
    UDPAI_AUTO_FREE udpa_resource **left = udpai_cli_found_sorted(&after->resources);
    for (size_t i = 0; left && i < udpai_cli_found_size(&after->resources); i++)
        (void)udpai_cli_found_drop(&before->resources, left[i]);
}

/* A new connection is asked, because this one is sent the removal some time. */
static udpai_cli_exit
look_again(udpai_cli *cli, const udpai_cli_requests *requests, view *before)
{
    view after;
    udpai_cli_exit result = look(cli, requests, &after);
    if (result == UDPAI_CLI_GOOD)
        result = find_origins(cli, &after);
    if (result == UDPAI_CLI_GOOD)
        result = report_all(cli, before, &after);
    forget_left(before, &after);
    view_done(&after);
    return result;
}

static udpai_cli_exit
delete_request(udpai_cli *cli, udpai_cli_requests *requests)
{
    view before;
    udpai_cli_exit result = look(cli, requests, &before);
    bool any = udpai_cli_found_size(&before.resources) > 0;
    udpai_cli_requests_decide(requests, &before.resources);
    bool any_missing =
        result == UDPAI_CLI_GOOD && udpai_cli_report_missing(cli, requests, &before.resources);
    if (result == UDPAI_CLI_GOOD)
        result = find_origins(cli, &before);
    if (result == UDPAI_CLI_GOOD && any) /* what was denied is no error of what follows */
        result = udpai_cli_connect(cli);
    for (size_t i = 0; i < requests->n && result == UDPAI_CLI_GOOD; i++)
        result = udpai_ctl_withdraw(cli, &requests->items[i]);
    if (result == UDPAI_CLI_GOOD && any)
        result = look_again(cli, requests, &before);
    if (result == UDPAI_CLI_GOOD && udpai_ctl_options_of(cli->options)->is_waiting &&
        udpai_cli_found_size(&before.resources))
        result = udpai_ctl_wait_for_deleted(cli, &before.resources);
    view_done(&before);
    return result == UDPAI_CLI_GOOD && any_missing ? UDPAI_CLI_REFUSED : result;
}

udpai_cli_exit
udpai_ctl_delete(udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    if (udpai_ctl_options_of(cli->options)->origin)
        return udpai_ctl_delete_origin(cli);
    udpai_cli_exit result = find_requests(udpai_ctl_options_of(cli->options), &requests);
    if (result == UDPAI_CLI_GOOD)
        result = delete_request(cli, &requests);
    udpai_cli_requests_done(&requests);
    return result;
}
