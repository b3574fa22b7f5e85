/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "model/name.h"

#define DEFAULT_SERVER "127.0.0.1:18000"
#define DEFAULT_NAMESPACE "local"
#define TIMEOUT_MAX_S 86400

enum {
    SERVER = 800,
    HTTP,
    ADMIN,
    ADMIN_TOKEN,
    TIMEOUT,
    CA,
    CERTIFICATE,
    KEY,
    SERVER_NAME,
    NODE_ID,
    DESCRIPTORS,
};

static const struct argp_option known_options[] = {
    {"server", SERVER, "HOST:PORT[,...]", 0,
     "The node, or replicas of one, tried in this order (default: environment variable "
     "UDPACTL_SERVER, else " DEFAULT_SERVER ")",
     2},
    {"verbose", 'v', NULL, 0, "Report which server of several is used, and why others are not", 2},
    {"admin", ADMIN, "ADDRESS[,...]", 0,
     "Where the node is administered, unix:PATH or HOST:PORT, for runtime, sources, store, "
     "replicas "
     "and delete --origin (default: environment variable UDPACTL_ADMIN, else "
     "unix:udpa-data/admin.sock, else unix:/var/lib/udpa/admin.sock; with --server: none, see "
     "--http)",
     2},
    {"admin-token", ADMIN_TOKEN, "FILE", 0,
     "The token to send there (default: environment variable UDPACTL_ADMIN_TOKEN)", 2},
    {"http", HTTP, "HOST:PORT[,...]", 0,
     "Ask a node with http.admin_pages where it serves HTTP (default with --server: its host with "
     "port " UDPAI_CLI_HTTP_PORT "; else environment variable UDPACTL_HTTP)",
     2},
    {"timeout", TIMEOUT, "SECONDS", 0,
     "How long to wait for its answers (default 5; xds and bench 20; for what is published 15, for "
     "acknowledgements 60)",
     2},
    {"ca", CA, "FILE", 0, "Use TLS; these certificates (PEM) must have signed that of the node", 2},
    {"cert", CERTIFICATE, "FILE", 0, "Our certificate (PEM)", 2},
    {"key", KEY, "FILE", 0, "Its key (PEM); sign: the private key to sign with", 2},
    {"server-name", SERVER_NAME, "NAME", 0,
     "The name that the node's certificate must have (default: the host of --server)", 2},
    {"node-id", NODE_ID, "ID", 0,
     "The node id to publish as (default udpactl); the same id replaces and deletes what was "
     "applied",
     2},
    {"descriptors", DESCRIPTORS, "FILE", 0,
     "Descriptor set of the types to be read and shown (default envoy-v3.descriptors beside the "
     "program)",
     3},
    {0},
};

/* ---- parsing ---- */

static void
set_timeout(udpai_cli_options *common, const char *text, const struct argp_state *state)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0.001 || seconds > TIMEOUT_MAX_S)
        argp_error(state, "--timeout %s: give seconds, such as 5 or 0.5, at most %d", text,
                   TIMEOUT_MAX_S);
    common->timeout_ms = (uint64_t)(seconds * 1000);
}

static error_t
parse(int key, char *argument, struct argp_state *state)
{
    udpai_cli_options *common = state->input;
    const char **texts[] = {&common->server,      &common->http,        &common->ca,
                            &common->certificate, &common->key,         &common->server_name,
                            &common->node_id,     &common->descriptors, &common->admin,
                            &common->admin_token};
    static const int keys[] = {SERVER,      HTTP,    CA,          CERTIFICATE, KEY,
                               SERVER_NAME, NODE_ID, DESCRIPTORS, ADMIN,       ADMIN_TOKEN};
    common->has_server |= key == SERVER;
    common->has_admin |= key == ADMIN;
    common->has_http |= key == HTTP;
    common->has_node_id |= key == NODE_ID;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++)
        if (keys[i] == key) {
            *texts[i] = argument;
            return 0;
        }
    common->is_verbose |= key == 'v';
    if (key == 'v')
        return 0;
    if (key != TIMEOUT)
        return ARGP_ERR_UNKNOWN;
    set_timeout(common, argument, state);
    return 0;
}

const struct argp udpai_cli_options_parser = {.options = known_options, .parser = parse};

void
udpai_cli_format_take(udpai_cli_options *common, const char *name, const struct argp_state *state)
{
    static const char *const formats[] = {"table", "yaml", "json", "name", "path", "tap", "junit"};
    common->format_name = name;
    common->format = UDPAI_CLI_TABLE;
    if (udpai_cli_output_format_take(&common->output, name, state)) {
        common->format = common->output.jsonpath ? UDPAI_CLI_JSON : UDPAI_CLI_TABLE;
        return;
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(formats); i++)
        if (strcmp(name, formats[i]) == 0) {
            common->format = (udpai_cli_format)i;
            return;
        }
    argp_error(state,
               "-o %s: the formats are table, wide, yaml, json, jsonpath=EXPRESSION, and name, of "
               "get also path, and of conform tap and junit",
               name);
}

/* ---- checking ---- */

void
udpai_cli_connection_check(const udpai_cli_options *common, const struct argp_state *state)
{
    if (!common->certificate != !common->key)
        argp_error(state, "--cert and --key go together");
    if ((common->certificate || common->server_name) && !common->ca)
        argp_error(state, "--cert, --key and --server-name need --ca, which turns TLS on");
}

void
udpai_cli_names_check(const udpai_cli_options *common, const struct argp_state *state)
{
    if (!*common->node_id)
        argp_error(state, "--node-id: an id is not empty");
    if (common->name_space &&
        (!*common->name_space ||
         udpai_prefix_check(udpai_str_from(common->name_space), NULL) != UDPA_OK))
        argp_error(state,
                   "-n %s: a namespace has labels of a-z, 0-9 and '-', with dots between, such as "
                   "com.acme",
                   common->name_space);
}

/* ---- beginning and ending ---- */

static const char *
environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

void
udpai_cli_options_begin(udpai_cli_options *common, const char *node_id)
{
    *common = (udpai_cli_options){
        .server = environment("UDPACTL_SERVER", DEFAULT_SERVER),
        .admin = environment("UDPACTL_ADMIN", NULL),
        .admin_token = environment("UDPACTL_ADMIN_TOKEN", NULL),
        .http = environment("UDPACTL_HTTP", NULL),
        .node_id = node_id,
        .secrets = UDPA_SECRETS_USED,
    };
}

void
udpai_cli_options_done(udpai_cli_options *common)
{
    udpai_vector_done(&common->arguments);
    udpai_cli_output_options_done(&common->output);
    udpai_free(common->node_namespace);
}

const char *
udpai_cli_namespace(const udpai_cli_options *common)
{
    if (common->name_space)
        return common->name_space;
    return common->node_namespace ? common->node_namespace : DEFAULT_NAMESPACE;
}
