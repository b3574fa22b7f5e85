/* SPDX-License-Identifier: Apache-2.0 */
/* sign: resources of files are printed again, with a signature; no node is asked, so that the key
 * can lie on a machine without a network. */
#include <stdio.h>

#include "certs/signature.h"
#include "cli/names.h"
#include "ctl/commands.h"
#include "ctl/input.h"
#include "ctl/show.h"
#include "loop/clock.h"
#include "transport/key_file.h"

#define VALIDITY_S (24 * 3600)
#define US_PER_S 1000000

typedef struct signer {
    const udpai_ctl_options *options;
    udpai_signing how;
    uint64_t generation;
} signer;

/* The one given, or the next after that which the file has. */
static uint64_t
generation_of(const signer *self, const udpa_resource *resource)
{
    uint64_t before = udpa_resource_generation(resource);
    if (self->options->sign.generation)
        return self->options->sign.generation;
    return before < self->generation ? self->generation : before + 1;
}

/* UDPA_ERR_INVAL: it has no authority. */
static udpa_err
sign_one(const signer *self, const udpa_resource *resource, udpa_resource **ret_resource)
{
    udpai_resource_room room;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = NULL;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    if (self->options->sign.authority)
        parts.authority = udpai_str_from(self->options->sign.authority);
    if (parts.authority.len == 0)
        return UDPA_ERR_INVAL;
    parts.generation = generation_of(self, resource);
    parts.version = (udpai_str){0}; /* that of the contents, whatever was there before */
    parts.signature = (udpai_signature){0};
    udpa_err err = udpai_resource_make(&bare, &parts);
    return err == UDPA_OK ? udpai_resource_sign(ret_resource, bare, &self->how) : err;
}

static bool
put_one(const signer *self, const udpai_ctl_input *input, size_t index, udpai_strbuf *out)
{
    const udpa_resource *resource = input->resources.items[index];
    bool is_json = self->options->common.format == UDPAI_CLI_JSON;
    UDPA_AUTO(udpa_resource_unref) udpa_resource *made = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = sign_one(self, resource, &made);
    if (err == UDPA_ERR_INVAL) {
        udpai_cli_complain("%s: '%s' has no authority: name it with --authority",
                           input->places.items[index], udpa_resource_name(resource));
        return false;
    }
    if (err == UDPA_OK) {
        udpai_strbuf_puts(out, index == 0 ? (is_json ? "[\n" : "") : is_json ? ",\n" : "---\n");
        err = udpai_ctl_put_signed(out, input->schema, made,
                                   is_json ? UDPAI_FORMAT_JSON_PRETTY : UDPAI_FORMAT_YAML, &error);
        udpai_strbuf_puts(out, is_json ? "" : "\n");
    }
    if (err != UDPA_OK)
        udpai_cli_complain("%s: '%s' cannot be signed: %s", input->places.items[index],
                           udpa_resource_name(resource),
                           error ? udpa_error_message(error) : udpa_err_text(err));
    return err == UDPA_OK;
}

/* All of them, or nothing is printed. */
static udpai_cli_exit
sign_all(const signer *self, const udpai_ctl_input *input)
{
    udpai_strbuf out = {0};
    bool is_good = true;
    for (size_t i = 0; i < input->resources.n; i++)
        is_good = put_one(self, input, i, &out) && is_good;
    udpai_strbuf_puts(&out, self->options->common.format == UDPAI_CLI_JSON ? "\n]\n" : "");
    if (is_good)
        return self->options->common.format == UDPAI_CLI_JSON
                   ? udpai_cli_print_json(&self->options->common, &out)
                   : udpai_cli_print(&out);
    udpai_strbuf_done(&out);
    return UDPAI_CLI_MISTAKE;
}

static udpai_cli_exit
sign_with(const udpai_ctl_options *options, const udpai_key *key, const udpai_ctl_input *input)
{
    int64_t now_us = udpai_wall_us(), now_s = now_us / US_PER_S;
    int64_t validity_s = options->sign.validity_s ? options->sign.validity_s : VALIDITY_S;
    const signer self = {
        .options = options,
        .how = {key, udpai_str_from(options->sign.key_id), now_s - UDPAI_SIGNATURE_BACKDATED_S,
                now_s + validity_s},
        .generation = (uint64_t)now_us,
    };
    return sign_all(&self, input);
}

udpai_cli_exit
udpai_ctl_sign(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_input input = {0};
    UDPA_AUTO(udpai_key_unref) udpai_key *key = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (options->common.arguments.n || !options->files.n) {
        udpai_cli_complain("sign takes files: udpactl sign -f FILE (- is standard input)");
        return UDPAI_CLI_MISTAKE;
    }
    if (udpai_key_file_read_private(&key, options->common.key, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    udpai_cli_exit result = udpai_ctl_input_read(&input, options);
    if (result == UDPAI_CLI_GOOD)
        result = sign_with(options, key, &input);
    udpai_ctl_input_done(&input);
    return result;
}
