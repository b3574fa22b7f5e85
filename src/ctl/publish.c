/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/publish.h"

#include <stdio.h>

#include "base/alloc.h"
#include "cli/names.h"
#include "ctl/show.h"
#include "model/resource.h"

/* Nodes take 4 MiB in a message. */
#define PART_BYTES ((size_t)3 << 20)

typedef struct publishing {
    udpai_cli *cli;
    const udpa_publish_options *options;
    udpai_cli_exit result;
    bool *is_applied; /* of each resource; NULL: not needed */
} publishing;

/* ---- receipts ---- */

static void
report_refused(const publishing *self, const udpa_receipt *receipt, size_t index)
{
    const char *type_url = self->options->removed_type_url;
    if (index < self->options->n_resources)
        type_url = udpa_resource_type_url(self->options->resources[index]);
    udpai_str kind = udpai_cli_type_short(udpai_str_from(type_url));
    udpai_cli_complain("%.*s %s refused: %s", (int)kind.len, kind.data,
                       udpa_receipt_name(receipt, index),
                       udpa_error_message(udpa_receipt_refusal(receipt, index)));
}

static void
on_receipt(void *userdata, const udpa_receipt *receipt)
{
    publishing *self = userdata;
    const udpa_error *error = udpa_receipt_error(receipt);
    if (error && udpa_error_code(error) == UDPA_ERR_CLOSED)
        return; /* nobody waits for it any more */
    udpai_cli_answered(self->cli);
    if (error) {
        udpai_cli_complain_of(error);
        self->result = UDPAI_CLI_TIMED_OUT;
    }
    for (size_t i = 0; !error && i < udpa_receipt_size(receipt); i++) {
        if (udpa_receipt_refusal(receipt, i)) {
            report_refused(self, receipt, i);
            self->result = UDPAI_CLI_REFUSED;
        } else if (self->is_applied) {
            self->is_applied[i] = true;
        }
    }
    udpai_cli_finish(self->cli, self->result);
}

/* ---- publishing ---- */

static udpai_cli_exit
publish(udpai_cli *cli, udpa_publish_options *options, bool *is_applied)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    publishing self = {cli, options, UDPAI_CLI_GOOD, is_applied};
    options->receipt = on_receipt;
    options->userdata = &self;
    options->timeout_ms = 2 * cli->options->receipt_timeout_ms; /* we ourselves give up before */
    if (udpa_publish(cli->endpoint, options, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    udpai_cli_exit result = udpai_cli_wait_receipt(cli);
    if (result > UDPAI_CLI_REFUSED)
        udpai_cli_disconnect(cli); /* the receipt must not come any more */
    return result;
}

size_t
udpai_ctl_part_size(udpa_resource *const *resources, size_t n)
{
    size_t size = 0, i = 0;
    while (i < n && i < UDPAI_CTL_PART_NAMES) {
        size += udpai_resource_footprint(resources[i]);
        if (i && size > PART_BYTES)
            break;
        i++;
    }
    return i;
}

/* A receipt means that the node has taken it, not that it is effective there: another may have, or
 * somebody else who publishes under this name, and came later. */
static bool
report_applied(const udpai_cli *cli, const udpa_resource *resource, const udpa_resource *effective)
{
    udpai_str kind = udpai_cli_type_short(udpai_resource_type_url(resource));
    if (!effective ||
        strcmp(udpa_resource_version(effective), udpa_resource_version(resource)) == 0) {
        udpai_cli_print_line("%.*s %s applied (version %s)", (int)kind.len, kind.data,
                             udpa_resource_name(resource), udpa_resource_version(resource));
        return true;
    }
    if (strcmp(udpa_resource_authority(effective), cli->options->node_id) == 0) {
        udpai_cli_print_line("%.*s %s applied (version %s), and replaced since (version %s)",
                             (int)kind.len, kind.data, udpa_resource_name(resource),
                             udpa_resource_version(resource), udpa_resource_version(effective));
        return true;
    }
    udpai_cli_complain(
        "%.*s %s is applied, but is shadowed by the contribution of '%s' (version %s)",
        (int)kind.len, kind.data, udpa_resource_name(resource), udpa_resource_authority(effective),
        udpa_resource_version(effective));
    return false;
}

struct part {
    udpa_resource *const *resources;
    size_t n;
    bool *is_applied;
};

static udpai_cli_exit
look(udpai_cli *cli, const struct part *part, udpai_cli_found *found)
{
    udpai_cli_requests requests = {0};
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < part->n && result == UDPAI_CLI_GOOD; i++) {
        if (!part->is_applied[i])
            continue;
        udpai_cli_request *request =
            udpai_cli_requests_of_type(&requests, udpa_resource_type_url(part->resources[i]));
        if (!request || udpai_cli_request_full_name(
                            request, udpa_resource_name(part->resources[i])) != UDPA_OK) {
            udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
            result = UDPAI_CLI_REFUSED;
        }
    }
    cli->may_be_denied = true; /* a publisher need not be allowed to see it */
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect_names(cli, &requests, found);
    cli->may_be_denied = false;
    udpai_cli_requests_done(&requests);
    return result;
}

/* What was applied is reported even if it cannot be seen what became of it. */
static udpai_cli_exit
look_and_report(udpai_cli *cli, const struct part *part)
{
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = look(cli, part, &found);
    for (size_t i = 0; i < part->n; i++) {
        const udpa_resource *resource = part->resources[i];
        udpa_resource *effective =
            udpai_cli_found_get(&found, udpai_resource_type_url(resource),
                                udpai_str_from(udpa_resource_name(resource)));
        if (part->is_applied[i] && !report_applied(cli, resource, effective) &&
            result == UDPAI_CLI_GOOD)
            result = UDPAI_CLI_REFUSED;
    }
    udpai_cli_found_done(&found);
    return result;
}

static udpai_cli_exit
publish_part(udpai_cli *cli, const struct part *part)
{
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    options.resources = part->resources;
    options.n_resources = part->n;
    udpai_cli_exit result = publish(cli, &options, part->is_applied);
    if (result > UDPAI_CLI_REFUSED)
        return result;
    udpai_cli_exit reported = look_and_report(cli, part);
    return reported == UDPAI_CLI_GOOD ? result : reported;
}

udpai_cli_exit
udpai_ctl_publish(udpai_cli *cli, udpa_resource *const *resources, size_t n_resources)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    while (n_resources && result <= UDPAI_CLI_REFUSED) {
        struct part part = {resources, udpai_ctl_part_size(resources, n_resources), NULL};
        part.is_applied = udpai_alloc_array(part.n, sizeof(bool));
        udpai_cli_exit now = UDPAI_CLI_REFUSED;
        if (part.is_applied)
            now = publish_part(cli, &part);
        else
            udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
        if (now != UDPAI_CLI_GOOD)
            result = now;
        udpai_free(part.is_applied);
        resources += part.n;
        n_resources -= part.n;
    }
    return result;
}

udpai_cli_exit
udpai_ctl_withdraw(udpai_cli *cli, const udpai_cli_request *request)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < request->names.n && result == UDPAI_CLI_GOOD;
         i += UDPAI_CTL_PART_NAMES) {
        udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
        options.removed_type_url = request->type_url;
        options.removed_names = (const char *const *)request->names.items + i;
        options.n_removed_names = udpai_min_size(request->names.n - i, UDPAI_CTL_PART_NAMES);
        result = publish(cli, &options, NULL);
    }
    return result;
}
