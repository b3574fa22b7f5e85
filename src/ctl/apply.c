/* SPDX-License-Identifier: Apache-2.0 */
/* apply: files are read whole before anything is published. */
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/prune.h"
#include "ctl/publish.h"
#include "ctl/validate.h"
#include "ctl/wait.h"
#include "model/resource.h"

/* A signature is of contents, and so is a version that is their hash: of what keeps its version.
 * Nodes would report no more than that the signature is wrong. */
static bool
is_changed(const udpa_resource *resource)
{
    char hash[UDPAI_CONTENT_HASH_HEX];
    udpai_str version = udpai_resource_version(resource);
    if (udpa_resource_generation(resource) == 0 || version.len != sizeof(hash))
        return false;
    udpai_resource_content_hex(resource, hash);
    return memcmp(version.data, hash, sizeof(hash)) != 0;
}

static udpai_cli_exit
check_signed(const udpai_ctl_input *input)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < input->resources.n; i++) {
        const udpa_resource *resource = input->resources.items[i];
        if (!is_changed(resource))
            continue;
        bool is_signed = udpai_resource_signature(resource) != NULL;
        udpai_cli_complain("%s: '%s' is not what %s version, and in origin_info generation%s",
                           input->places.items[i], udpa_resource_name(resource),
                           is_signed ? "was signed: sign it again ('udpactl sign'), or remove"
                                     : "has this version: remove",
                           is_signed ? " and signature" : "");
        result = UDPAI_CLI_MISTAKE;
    }
    return result;
}

/* ---- trying it first ---- */

/* What the files would do, and what would be removed that they lack. */
static udpai_cli_exit
try_all(udpai_cli *cli, const udpai_ctl_input *input, udpai_ctl_trial *trial)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_cli_exit result =
        udpai_ctl_try_resources(cli, trial, input->resources.items, input->resources.n);
    if (result == UDPAI_CLI_GOOD && options->apply.is_pruning)
        result = udpai_ctl_find_lacking(cli, input, trial);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_trial_find_clients(cli, trial);
    return result;
}

static udpai_cli_exit
show_trial(udpai_cli *cli, const udpai_ctl_input *input)
{
    udpai_ctl_trial trial = {0};
    udpai_cli_exit result = try_all(cli, input, &trial);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_trial_print(&trial, true);
    udpai_ctl_trial_done(&trial);
    return result;
}

/* ---- publishing ---- */

static udpai_cli_exit
publish(udpai_cli *cli, const udpai_ctl_input *input)
{
    udpai_cli_exit result = udpai_ctl_publish(cli, input->resources.items, input->resources.n);
    if (result == UDPAI_CLI_GOOD && udpai_ctl_options_of(cli->options)->is_waiting)
        result = udpai_ctl_wait_for_applied(cli, input->resources.items, input->resources.n);
    return result;
}

static bool
has_refused(const udpai_ctl_trial *trial)
{
    for (size_t i = 0; i < trial->items.n; i++)
        if (trial->items.items[i].refusal)
            return true;
    return false;
}

/* Nothing is begun that would be left half done, and nothing is removed before what takes its place
 * is applied. */
static udpai_cli_exit
publish_and_prune(udpai_cli *cli, const udpai_ctl_input *input)
{
    udpai_ctl_trial trial = {0};
    udpai_cli_exit result = try_all(cli, input, &trial);
    if (result == UDPAI_CLI_GOOD && has_refused(&trial)) {
        (void)udpai_ctl_trial_print(&trial, true);
        result = UDPAI_CLI_REFUSED;
    }
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_prune_bound(cli, &trial);
    if (result == UDPAI_CLI_GOOD) {
        udpai_ctl_prune_list(&trial);
        result = publish(cli, input);
        if (result != UDPAI_CLI_GOOD)
            udpai_cli_complain("--prune: nothing was removed");
    }
    if (result == UDPAI_CLI_GOOD && udpai_ctl_options_of(cli->options)->is_waiting)
        result = udpai_cli_connect(cli); /* who waits disconnects */
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_prune(cli, &trial);
    udpai_ctl_trial_done(&trial);
    return result;
}

udpai_cli_exit
udpai_ctl_apply(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    if (options->common.arguments.n || !options->files.n) {
        udpai_cli_complain("apply takes files: udpactl apply -f FILE (- is standard input)");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_ctl_input input;
    udpai_cli_exit result = udpai_ctl_input_read(&input, options);
    if (result == UDPAI_CLI_GOOD)
        result = check_signed(&input);
    if (result == UDPAI_CLI_GOOD && options->apply.validates)
        result = udpai_ctl_validate_input(&input);
    if (result == UDPAI_CLI_GOOD && options->apply.is_pruning)
        result = udpai_ctl_prune_check(&input, options);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = (options->is_dry_run         ? show_trial
                  : options->apply.is_pruning ? publish_and_prune
                                              : publish)(cli, &input);
    udpai_ctl_input_done(&input);
    return result;
}
