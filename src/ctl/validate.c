/* SPDX-License-Identifier: Apache-2.0 */
/* validate: files are read and checked against their types' descriptors; no node is asked. */
#include "ctl/validate.h"

#include <stdio.h>

#include "cli/names.h"
#include "codec/validate.h"
#include "ctl/commands.h"
#include "ctl/references.h"
#include "loop/clock.h"
#include "model/resource.h"

void
udpai_ctl_print_finding(void *userdata, const char *path, const char *reason)
{
    const udpai_ctl_finding *of = userdata;
    udpai_str kind = udpai_cli_type_short(udpai_resource_type_url(of->resource));
    udpai_cli_note("%s: %.*s '%s': %s%s%s", of->place, (int)kind.len, kind.data,
                   udpa_resource_name(of->resource), path, *path ? ": " : "", reason);
}

udpai_cli_exit
udpai_ctl_validate_input(const udpai_ctl_input *input)
{
    UDPA_AUTO(udpai_validator_unref) udpai_validator *validator = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_validation validation = {
        .checks = UDPAI_CHECK_UNKNOWN_FIELDS | UDPAI_CHECK_RULES,
        .refuse_unknown_types = true,
        .now_us = udpai_wall_us(),
    };
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    if (udpai_rules_absent()) {
        udpai_cli_complain("%s", udpai_rules_absent());
        return UDPAI_CLI_REFUSED;
    }
    if (udpai_validator_new(&validator, input->schema, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    for (size_t i = 0; i < input->resources.n; i++) {
        const udpa_resource *resource = input->resources.items[i];
        udpai_ctl_finding of = {input->places.items[i], resource};
        udpa_err err = udpai_validate(validator, udpai_resource_value_type(resource),
                                      udpai_resource_value(resource), &validation,
                                      udpai_ctl_print_finding, &of);
        if (err != UDPA_OK && err != UDPA_ERR_INVAL)
            udpai_ctl_print_finding(&of, "", udpa_err_text(err));
        if (err != UDPA_OK)
            result = UDPAI_CLI_MISTAKE;
    }
    return result;
}

/* Files may come behind -f or behind the command. */
static udpai_cli_exit
read_all(udpai_ctl_input *input, const udpai_ctl_options *options)
{
    udpai_ctl_options all = *options;
    memset(&all.files, 0, sizeof(all.files));
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    bool is_good = udpai_vector_reserve(&all.files, options->files.n + options->common.arguments.n);
    for (size_t i = 0; is_good && i < options->files.n; i++)
        all.files.items[all.files.n++] = options->files.items[i];
    for (size_t i = 0; is_good && i < options->common.arguments.n; i++)
        all.files.items[all.files.n++] = options->common.arguments.items[i];
    if (is_good)
        result = udpai_ctl_input_read(input, &all);
    else
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    udpai_vector_done(&all.files);
    return result;
}

udpai_cli_exit
udpai_ctl_validate(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_input input = {0};
    if (!options->common.arguments.n && !options->files.n) {
        udpai_cli_complain("validate takes files: udpactl validate FILE... (- is standard input)");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit result = read_all(&input, options);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_ctl_validate_input(&input);
    if (result == UDPAI_CLI_GOOD && options->validate.references)
        result = udpai_ctl_references(&input, options);
    if (result == UDPAI_CLI_GOOD)
        udpai_cli_print_line("%zu resource%s, no errors found", input.resources.n,
                             input.resources.n == 1 ? "" : "s");
    udpai_ctl_input_done(&input);
    return result;
}
