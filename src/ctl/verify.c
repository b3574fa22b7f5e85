/* SPDX-License-Identifier: Apache-2.0 */
/* verify: is what a file or a node has signed, by which key, and until when? */
#include <stdio.h>

#include "base/alloc.h"
#include "certs/keyring.h"
#include "cli/collect.h"
#include "cli/names.h"
#include "cli/table.h"
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/show.h"
#include "loop/clock.h"
#include "transport/key_file.h"

/* ---- keys ---- */

/* Of AUTHORITY/KEYID=FILE: the key's id has no '/'. */
static udpai_cli_exit
read_key(const char *text, udpai_named_key *ret_key)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const char *equal = strchr(text, '=');
    const udpai_str name = {text, (size_t)(equal - text)};
    size_t slash = name.len;
    while (text[slash - 1] != '/')
        slash--;
    *ret_key = (udpai_named_key){
        .authority = {text, slash - 1},
        .key_id = {text + slash, name.len - slash},
    };
    if (udpai_key_file_read_public(&ret_key->key, equal + 1, &error) == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain_of(error);
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
make_keyring(const udpai_named_key *keys, size_t n, udpai_keyring **ret_keyring)
{
    static const udpai_signature_requirement everything = {0};
    const udpai_keyring_options options = {
        .trusted = keys,
        .n_trusted = n,
        .required = &everything,
        .n_required = 1,
        .place = "the keys of --trusted",
    };
    udpa_err err = udpai_keyring_new(ret_keyring, &options);
    if (err != UDPA_OK)
        udpai_cli_complain("--trusted: %s", udpa_err_text(err));
    return err == UDPA_OK ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
read_keys(const udpai_ctl_options *options, udpai_keyring **ret_keyring)
{
    size_t n = options->sign.trusted.n;
    UDPAI_AUTO_FREE udpai_named_key *keys = udpai_alloc_array(n + 1, sizeof(*keys));
    udpai_cli_exit result = keys ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
    for (size_t i = 0; i < n && result == UDPAI_CLI_GOOD; i++)
        result = read_key(options->sign.trusted.items[i], &keys[i]);
    if (result == UDPAI_CLI_GOOD)
        result = make_keyring(keys, n, ret_keyring);
    for (size_t i = 0; keys && i < n; i++)
        udpai_key_unref(keys[i].key);
    return result;
}

/* ---- what comes of it ---- */

static void
put_end(udpai_strbuf *out, const udpai_signature *signature)
{
    char text[32] = "ever";
    struct tm utc;
    time_t end = (time_t)udpai_signature_not_after_s(signature);
    if (gmtime_r(&end, &utc))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    udpai_strbuf_puts(out, text);
}

static void
report_good(udpai_strbuf *out, const udpa_resource *resource)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    udpai_ctl_put_name(out, resource);
    udpai_strbuf_puts(out, " is signed by ");
    udpai_cli_put_text(out, udpai_resource_authority(resource));
    udpai_strbuf_puts(out, " with key ");
    udpai_cli_put_text(out, signature->key_id);
    udpai_strbuf_puts(out, " until ");
    put_end(out, signature);
    udpai_strbuf_putc(out, '\n');
}

static bool
verify_one(const udpai_keyring *keyring, const udpa_resource *resource, udpai_strbuf *out)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (!udpai_resource_signature(resource)) {
        udpai_str kind = udpai_cli_type_short(udpai_resource_type_url(resource));
        udpai_cli_complain("%.*s '%s' is not signed", (int)kind.len, kind.data,
                           udpa_resource_name(resource));
        return false;
    }
    if (udpai_keyring_verify(keyring, resource, udpai_wall_us() / 1000000, false, &error) ==
        UDPA_OK) {
        report_good(out, resource);
        return true;
    }
    udpai_cli_complain_of(error);
    return false;
}

static udpai_cli_exit
verify_all(const udpai_keyring *keyring, udpa_resource *const *resources, size_t n)
{
    udpai_strbuf out = {0};
    bool is_good = true;
    for (size_t i = 0; i < n; i++)
        is_good = verify_one(keyring, resources[i], &out) && is_good;
    udpai_cli_exit printed = udpai_cli_print(&out);
    return is_good ? printed : UDPAI_CLI_REFUSED;
}

/* ---- files and nodes ---- */

static udpai_cli_exit
verify_files(const udpai_ctl_options *options, const udpai_keyring *keyring)
{
    udpai_ctl_input input = {0};
    udpai_cli_exit result = udpai_ctl_input_read(&input, options);
    if (result == UDPAI_CLI_GOOD)
        result = verify_all(keyring, input.resources.items, input.resources.n);
    udpai_ctl_input_done(&input);
    return result;
}

static udpai_cli_exit
verify_found(const udpai_cli *cli,
             const udpai_keyring *keyring,
             const udpai_cli_requests *requests,
             const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    if (!resources) {
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
        return UDPAI_CLI_REFUSED;
    }
    bool is_missing = udpai_cli_report_missing(cli, requests, found);
    udpai_cli_exit result = verify_all(keyring, resources, udpai_cli_found_size(found));
    return is_missing ? UDPAI_CLI_REFUSED : result;
}

static udpai_cli_exit
verify_at_node(udpai_cli *cli, const udpai_keyring *keyring)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_exit result = udpai_cli_connect(cli);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_request_of_arguments(cli->options, &requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_collect(cli, &requests, &found);
    udpai_cli_requests_decide(&requests, &found);
    if (result == UDPAI_CLI_GOOD)
        result = verify_found(cli, keyring, &requests, &found);
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
    return result;
}

udpai_cli_exit
udpai_ctl_verify(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    UDPA_AUTO(udpai_keyring_unref) udpai_keyring *keyring = NULL;
    if (!options->common.arguments.n == !options->files.n) {
        udpai_cli_complain("verify takes resources of a node, 'verify TYPE [NAME...]', or files, "
                           "'verify -f FILE'");
        return UDPAI_CLI_MISTAKE;
    }
    if (!options->sign.trusted.n) {
        udpai_cli_complain("verify needs keys to verify with: --trusted AUTHORITY/KEYID=FILE");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit result = read_keys(options, &keyring);
    if (result != UDPAI_CLI_GOOD)
        return result;
    return options->files.n ? verify_files(options, keyring) : verify_at_node(cli, keyring);
}
