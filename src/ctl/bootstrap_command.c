/* SPDX-License-Identifier: Apache-2.0 */
/* bootstrap: the file by which an Envoy, or a client of gRPC, finds the node. */
#include <unistd.h>

#include "base/alloc.h"
#include "cli/output.h"
#include "codec/reader.h"
#include "codec/yaml_writer.h"
#include "ctl/bootstrap.h"
#include "ctl/commands.h"
#include "ctl/whole_path.h"

#define ENVOY_ADMIN "127.0.0.1:9901"

static udpai_cli_exit
fail(const udpa_error *error)
{
    udpai_cli_complain_of(error);
    return UDPAI_CLI_MISTAKE;
}

/* The client is started in another directory. NULL: it is not given, or *ret_failed. */
static char *
whole_path(const char *path, bool *ret_failed)
{
    udpai_strbuf whole = {0};
    char *text = path && udpai_ctl_put_whole_path(&whole, udpai_str_from(path))
                     ? udpai_strbuf_take(&whole)
                     : NULL;
    *ret_failed |= path && !text;
    return text;
}

static udpai_cli_exit
print_yaml(udpai_strbuf *json)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_documents *documents = NULL;
    udpai_strbuf out = {0};
    const udpai_source source = {.name = "the bootstrap",
                                 .text = udpai_strbuf_view(json),
                                 .format = UDPAI_FORMAT_JSON,
                                 .max_size = json->len};
    udpa_err err = udpai_strbuf_failed(json) ? udpai_fail_code(&error, UDPA_ERR_NOMEM)
                                             : udpai_documents_read(&documents, &source, &error);
    udpai_strbuf_done(json);
    if (err != UDPA_OK)
        return fail(error);
    udpai_yaml_write(&out, documents->roots.items[0]);
    udpai_documents_free(documents);
    return udpai_cli_print(&out);
}

static udpai_cli_exit
put(const udpai_ctl_options *options, const udpai_ctl_bootstrap *bootstrap, bool is_envoy)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_strbuf out = {0};
    udpa_err err = is_envoy ? udpai_ctl_bootstrap_put_envoy(&out, bootstrap, &error)
                            : udpai_ctl_bootstrap_put_grpc(&out, bootstrap, &error);
    if (err != UDPA_OK) {
        udpai_strbuf_done(&out);
        return fail(error);
    }
    if (is_envoy && options->common.format != UDPAI_CLI_JSON)
        return print_yaml(&out);
    return udpai_cli_print_json(&options->common, &out);
}

static udpai_cli_exit
print(const udpai_ctl_options *options, bool is_envoy)
{
    const udpai_cli_options *common = &options->common;
    const udpai_ctl_bootstrap_options *given = &options->bootstrap;
    char host[256] = "";
    (void)gethostname(host, sizeof(host) - 1);
    bool has_failed = false;
    UDPAI_AUTO_FREE char *ca = whole_path(common->ca, &has_failed),
                         *certificate = whole_path(common->certificate, &has_failed),
                         *key = whole_path(common->key, &has_failed);
    const char *id = given->client_id ? given->client_id
                     : *host          ? host
                                      : "client",
               *admin = given->envoy_admin ? given->envoy_admin : ENVOY_ADMIN;
    const udpai_ctl_bootstrap bootstrap = {
        .servers = common->server,
        .client_id = id,
        .client_cluster = given->client_cluster ? given->client_cluster : id,
        .locality = given->locality,
        .ca = ca,
        .certificate = certificate,
        .private_key = key,
        .server_name = common->server_name,
        .envoy_admin = *admin ? admin : NULL,
    };
    return has_failed ? UDPAI_CLI_REFUSED : put(options, &bootstrap, is_envoy);
}

/* NULL: all is as it may be. */
static const char *
what_is_wrong(const udpai_ctl_options *options, const char *client)
{
    const char *admin = options->bootstrap.envoy_admin;
    udpai_cli_format format = options->common.format;
    bool is_envoy = strcmp(client, "envoy") == 0;
    if (!is_envoy && strcmp(client, "grpc") != 0)
        return "bootstrap takes the kind of the client: udpactl bootstrap envoy|grpc";
    if (!is_envoy && admin)
        return "--envoy-admin goes with bootstrap envoy";
    if (admin && *admin && !udpai_ctl_bootstrap_is_admin(udpai_str_from(admin)))
        return "--envoy-admin takes an address and a port, such as 127.0.0.1:9901, or unix:PATH";
    if (format == UDPAI_CLI_JSON || !options->common.format_name)
        return NULL;
    if (!is_envoy)
        return "-o: clients of gRPC read json alone";
    return format == UDPAI_CLI_YAML ? NULL : "-o: bootstrap envoy has yaml and json";
}

udpai_cli_exit
udpai_ctl_bootstrap_command(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    const char *client = options->common.arguments.n == 1 ? options->common.arguments.items[0] : "";
    const char *wrong = what_is_wrong(options, client);
    if (!wrong)
        return print(options, strcmp(client, "envoy") == 0);
    udpai_cli_complain("%s", wrong);
    return UDPAI_CLI_MISTAKE;
}
