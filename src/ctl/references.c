/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/references.h"

#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/names.h"
#include "codec/references.h"
#include "ctl/validate.h"
#include "model/resource.h"

/* "cluster/udpad", or "cluster": a type's short or full name, which has no slash. */
static udpai_cli_exit
know(udpai_references *set, const char *given)
{
    const char *slash = strchr(given, '/');
    size_t n = slash ? (size_t)(slash - given) : strlen(given);
    udpai_str name = slash ? udpai_str_from(slash + 1) : (udpai_str){"", 0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    char *type = udpai_strndup(given, n), *url = NULL;
    udpa_err err = type ? udpai_cli_type_url(type, &url, &error) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && slash && !name.len)
        err = udpai_fail(&error, UDPA_ERR_INVAL, "give TYPE, or TYPE/NAME such as cluster/udpad");
    if (err == UDPA_OK)
        err = udpai_references_know(set, udpai_str_from(url), name);
    if (err != UDPA_OK)
        udpai_cli_complain("--known %s: %s", given,
                           error ? udpa_error_message(error) : udpa_err_text(err));
    udpai_free(type);
    udpai_free(url);
    return err == UDPA_OK ? UDPAI_CLI_GOOD : UDPAI_CLI_MISTAKE;
}

static udpai_referrer
referrer(const udpa_resource *resource)
{
    return (udpai_referrer){
        .type_url = udpai_resource_type_url(resource),
        .name = udpai_resource_name(resource),
        .value_type = udpai_resource_value_type(resource),
        .value = udpai_resource_value(resource),
    };
}

static udpa_err
add(udpai_references *set, const udpa_resource *resource)
{
    const udpai_referrer it = referrer(resource);
    udpa_err err = udpai_references_add(set, &it);
    for (size_t i = 0; err == UDPA_OK && i < udpa_resource_n_aliases(resource); i++)
        err = udpai_references_know(set, it.type_url, udpai_resource_alias(resource, i));
    return err;
}

static udpai_cli_exit
add_all(udpai_references *set, const udpai_ctl_input *input)
{
    for (size_t i = 0; i < input->resources.n; i++) {
        udpa_err err = add(set, input->resources.items[i]);
        if (err == UDPA_OK)
            continue;
        udpai_cli_complain("%s: %s", input->places.items[i], udpa_err_text(err));
        return UDPAI_CLI_REFUSED;
    }
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
check_all(const udpai_references *set, const udpai_ctl_input *input)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    for (size_t i = 0; i < input->resources.n; i++) {
        udpai_ctl_finding of = {input->places.items[i], input->resources.items[i]};
        const udpai_referrer it = referrer(of.resource);
        udpa_err err = udpai_references_check(set, &it, udpai_ctl_print_finding, &of);
        if (err != UDPA_OK && err != UDPA_ERR_INVAL)
            udpai_ctl_print_finding(&of, "", udpa_err_text(err));
        if (err != UDPA_OK)
            result = UDPAI_CLI_MISTAKE;
    }
    if (result != UDPAI_CLI_GOOD)
        udpai_cli_complain("add what is missing to the files, or give --known TYPE/NAME for what "
                           "clients have from elsewhere, such as their bootstrap");
    return result;
}

udpai_cli_exit
udpai_ctl_references(const udpai_ctl_input *input, const udpai_ctl_options *options)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_references *set = NULL;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    if (udpai_references_new(&set, input->schema, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_REFUSED;
    }
    for (size_t i = 0; result == UDPAI_CLI_GOOD && i < options->validate.known.n; i++)
        result = know(set, options->validate.known.items[i]);
    if (result == UDPAI_CLI_GOOD)
        result = add_all(set, input);
    if (result == UDPAI_CLI_GOOD)
        result = check_all(set, input);
    udpai_references_free(set);
    return result;
}
