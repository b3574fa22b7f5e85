/* SPDX-License-Identifier: Apache-2.0 */
/* The node is asked what it has in the namespace, then what removing each of these would do: what
 * is not this publisher's it would not remove. So nothing but the node decides whose a resource is.
 */
#include "ctl/prune.h"

#include "base/alloc.h"
#include "cli/names.h"
#include "ctl/publish.h"
#include "model/client_type.h"
#include "model/resource.h"

static udpai_cli_exit
out_of_memory(void)
{
    udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CLI_REFUSED;
}

/* NULL: all. */
static bool
is_of_namespace(const udpa_resource *resource, const char *name_space)
{
    return !name_space || udpai_str_eq(udpai_name_namespace(udpai_resource_name(resource)),
                                       udpai_str_from(name_space));
}

/* ---- what must be given ---- */

udpai_cli_exit
udpai_ctl_prune_check(const udpai_ctl_input *input, const udpai_ctl_options *given)
{
    const char *name_space = given->common.name_space;
    for (size_t i = 0; i < input->resources.n; i++) {
        const udpa_resource *one = input->resources.items[i];
        if (is_of_namespace(one, name_space))
            continue;
        udpai_cli_complain("--prune: %s: '%s' lies outside the namespace '%s' (-n): apply it "
                           "by itself",
                           input->places.items[i], udpa_resource_name(one), name_space);
        return UDPAI_CLI_MISTAKE;
    }
    return UDPAI_CLI_GOOD;
}

/* ---- what the files lack ---- */

static bool
is_candidate(const udpai_ctl_input *input, const udpa_resource *one, const char *name_space)
{
    udpai_str type_url = udpai_resource_type_url(one);
    return is_of_namespace(one, name_space) && !udpai_type_is_client(type_url) &&
           !udpai_ctl_input_has(input, one);
}

static udpai_cli_exit
find_candidates(udpai_cli *cli, const udpai_ctl_input *input, udpai_cli_requests *candidates)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found all;
    udpai_cli_found_begin(&all);
    udpai_cli_exit result = udpai_cli_request_all_types(cli, &requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(cli, &requests, &all);
    UDPAI_AUTO_FREE udpa_resource **sorted =
        result == UDPAI_CLI_GOOD ? udpai_cli_found_sorted(&all) : NULL;
    if (result == UDPAI_CLI_GOOD && !sorted)
        result = out_of_memory();
    for (size_t i = 0; result == UDPAI_CLI_GOOD && i < udpai_cli_found_size(&all); i++) {
        if (!is_candidate(input, sorted[i], cli->options->name_space))
            continue;
        udpai_cli_request *of =
            udpai_cli_requests_of_type(candidates, udpa_resource_type_url(sorted[i]));
        if (!of || udpai_cli_request_full_name(of, udpa_resource_name(sorted[i])) != UDPA_OK)
            result = out_of_memory();
    }
    udpai_cli_found_done(&all);
    udpai_cli_requests_done(&requests);
    return result;
}

static void
note_kept(const udpai_cli *cli, const udpai_ctl_tried *one)
{
    udpai_str kind = udpai_cli_type_short(udpai_str_from(one->type_url));
    udpai_cli_note("not in the files, but of another authority, on behalf of which %s has "
                   "published it: %.*s '%s'",
                   cli->options->node_id, UDPAI_SHOWN(kind), one->name);
}

/* Those that would do nothing are of others. */
static udpai_cli_exit
take_own(const udpai_cli *cli, udpai_ctl_trial *trial, udpai_ctl_trial *tried)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    trial->is_unknown = tried->is_unknown;
    for (size_t i = 0; i < tried->items.n; i++) {
        udpai_ctl_tried *one = &tried->items.items[i];
        if (one->effect == UDPA_EFFECT_REMOVES_ON_BEHALF)
            note_kept(cli, one);
        if (one->effect != UDPA_EFFECT_REMOVES && !one->refusal)
            continue;
        if (!udpai_vector_push(&trial->items, *one)) {
            result = out_of_memory();
            break;
        }
        *one = (udpai_ctl_tried){0}; /* its texts are the other one's */
    }
    udpai_ctl_trial_done(tried);
    return result;
}

udpai_cli_exit
udpai_ctl_find_lacking(udpai_cli *cli, const udpai_ctl_input *input, udpai_ctl_trial *trial)
{
    udpai_cli_requests candidates = {0};
    udpai_ctl_trial tried = {0};
    udpai_cli_exit result = find_candidates(cli, input, &candidates);
    for (size_t i = 0; i < candidates.n && result == UDPAI_CLI_GOOD; i++)
        result = udpai_ctl_try_removals(cli, &tried, &candidates.items[i]);
    udpai_cli_requests_done(&candidates);
    udpai_cli_exit taken = take_own(cli, trial, &tried);
    return result == UDPAI_CLI_GOOD ? taken : result;
}

/* ---- how much may go ---- */

udpai_cli_exit
udpai_ctl_prune_bound(const udpai_cli *cli, const udpai_ctl_trial *trial)
{
    size_t n_removed = udpai_ctl_trial_count(trial, UDPA_EFFECT_REMOVES);
    size_t n_kept = udpai_ctl_trial_count(trial, UDPA_EFFECT_CHANGES) +
                    udpai_ctl_trial_count(trial, UDPA_EFFECT_NOTHING);
    if (n_removed <= n_kept || udpai_ctl_options_of(cli->options)->look.is_confirmed)
        return UDPAI_CLI_GOOD;
    (void)udpai_ctl_trial_print(trial, true);
    udpai_cli_complain("--prune: %zu of the %zu resources that node id '%s' has published in "
                       "namespace '%s' are not in the files: more than half, and nothing is done. "
                       "If that is meant, add --yes",
                       n_removed, n_removed + n_kept, cli->options->node_id,
                       cli->options->name_space);
    return UDPAI_CLI_REFUSED;
}

/* ---- removing ---- */

void
udpai_ctl_prune_list(const udpai_ctl_trial *trial)
{
    for (size_t i = 0; i < trial->items.n; i++) {
        const udpai_ctl_tried *one = &trial->items.items[i];
        udpai_str kind = udpai_cli_type_short(udpai_str_from(one->type_url));
        if (one->is_removal)
            udpai_cli_print_line("%.*s %s is not in the files, and will be removed",
                                 UDPAI_SHOWN(kind), one->name);
    }
}

static void
print_removed(const udpai_ctl_trial *trial)
{
    for (size_t i = 0; i < trial->items.n; i++) {
        const udpai_ctl_tried *one = &trial->items.items[i];
        udpai_str kind = udpai_cli_type_short(udpai_str_from(one->type_url));
        if (one->is_removal)
            udpai_cli_print_line("%.*s %s removed%s%s%s", UDPAI_SHOWN(kind), one->name,
                                 one->effective ? "; '" : "", one->effective ? one->effective : "",
                                 one->effective ? "' provides it still" : "");
    }
}

udpai_cli_exit
udpai_ctl_prune(udpai_cli *cli, const udpai_ctl_trial *trial)
{
    udpai_cli_requests requests = {0};
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < trial->items.n && result == UDPAI_CLI_GOOD; i++) {
        const udpai_ctl_tried *one = &trial->items.items[i];
        if (!one->is_removal)
            continue;
        udpai_cli_request *of = udpai_cli_requests_of_type(&requests, one->type_url);
        if (!of || udpai_cli_request_full_name(of, one->name) != UDPA_OK)
            result = out_of_memory();
    }
    for (size_t i = 0; i < requests.n && result == UDPAI_CLI_GOOD; i++)
        result = udpai_ctl_withdraw(cli, &requests.items[i]);
    if (result == UDPAI_CLI_GOOD)
        print_removed(trial);
    udpai_cli_requests_done(&requests);
    return result;
}
