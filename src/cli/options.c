/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/context_file.h"
#include "cli/messages.h"
#include "model/name.h"
#include "transport/grpc/stream_thread.h"

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
    CONTEXT,
};

static const struct argp_option known_options[] = {
    {"context", CONTEXT, "NAME", 0,
     "What the environment (UDPACTL_SERVER, UDPACTL_CA, ...) does not set of these is from this "
     "context (default: the current one; '' for none); see 'udpactl context'",
     2},
    {"server", SERVER, "HOST:PORT[,...]", 0,
     "The node, or replicas of one, tried in this order (default " DEFAULT_SERVER ")", 2},
    {"verbose", 'v', NULL, 0, "Report which server of several is used, and why others are not", 2},
    {"admin", ADMIN, "ADDRESS[,...]", 0,
     "Where the node is administered, unix:PATH or HOST:PORT, for runtime, sources, store, "
     "replicas "
     "and delete --origin (default unix:udpa-data/admin.sock, else unix:/var/lib/udpa/admin.sock; "
     "with --server: none, see --http)",
     2},
    {"admin-token", ADMIN_TOKEN, "FILE", 0, "The token to send there", 2},
    {"http", HTTP, "HOST:PORT[,...]", 0,
     "Ask a node with http.admin_pages where it serves HTTP (default with --server: its host with "
     "port " UDPAI_CLI_HTTP_PORT ")",
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

/* Where the value of each is. */
static const char **
value_of(udpai_cli_options *common, udpai_cli_setting setting)
{
    const char **values[UDPAI_CLI_SETTINGS] = {
        [UDPAI_CLI_SERVER] = &common->server,
        [UDPAI_CLI_ADMIN_ADDRESS] = &common->admin,
        [UDPAI_CLI_ADMIN_TOKEN] = &common->admin_token,
        [UDPAI_CLI_HTTP] = &common->http,
        [UDPAI_CLI_CA] = &common->ca,
        [UDPAI_CLI_CERTIFICATE] = &common->certificate,
        [UDPAI_CLI_KEY] = &common->key,
        [UDPAI_CLI_SERVER_NAME] = &common->server_name,
        [UDPAI_CLI_NODE_ID] = &common->node_id,
        [UDPAI_CLI_NAMESPACE] = &common->name_space,
        [UDPAI_CLI_TIMEOUT] = &common->timeout,
        [UDPAI_CLI_DESCRIPTORS] = &common->descriptors,
    };
    return values[setting];
}

const char *
udpai_cli_setting_value(const udpai_cli_options *common, udpai_cli_setting setting)
{
    return *value_of((udpai_cli_options *)(uintptr_t)common, setting);
}

static error_t
parse(int key, char *argument, struct argp_state *state)
{
    udpai_cli_options *common = state->input;

    static const struct {
        int key;
        udpai_cli_setting setting;
    } known[] = {
        {SERVER, UDPAI_CLI_SERVER},           {HTTP, UDPAI_CLI_HTTP},
        {ADMIN, UDPAI_CLI_ADMIN_ADDRESS},     {ADMIN_TOKEN, UDPAI_CLI_ADMIN_TOKEN},
        {TIMEOUT, UDPAI_CLI_TIMEOUT},         {CA, UDPAI_CLI_CA},
        {CERTIFICATE, UDPAI_CLI_CERTIFICATE}, {KEY, UDPAI_CLI_KEY},
        {SERVER_NAME, UDPAI_CLI_SERVER_NAME}, {NODE_ID, UDPAI_CLI_NODE_ID},
        {DESCRIPTORS, UDPAI_CLI_DESCRIPTORS},
    };

    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++)
        if (known[i].key == key) {
            *value_of(common, known[i].setting) = argument;
            return 0;
        }
    if (key == CONTEXT)
        common->context = argument;
    common->is_verbose |= key == 'v';
    return key == 'v' || key == CONTEXT ? 0 : ARGP_ERR_UNKNOWN;
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

static void
check_servers(const udpai_cli_options *common, const struct argp_state *state)
{
    char origin[UDPAI_CLI_ORIGIN_TEXT];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_dial_list_check(common->server, &error) != UDPA_OK)
        argp_error(state, "%s %s: %s", udpai_cli_setting_origin(common, UDPAI_CLI_SERVER, origin),
                   common->server, udpa_error_message(error));
}

/* One of them is given, and not what it needs: where it is from, if that is not the command line.
 */
static void
fail_tls(const udpai_cli_options *common,
         const char *what,
         udpai_cli_setting given,
         const struct argp_state *state)
{
    char origin[UDPAI_CLI_ORIGIN_TEXT];
    if (common->levels[given] == UDPAI_CLI_OPTION)
        argp_error(state, "%s", what);
    argp_error(state, "%s: %s is set by %s", what, udpai_cli_setting_info_of(given)->option,
               udpai_cli_setting_origin(common, given, origin));
}

/* As ssh has it; a file that cannot be read is an error of the connection. */
static void
warn_of_key(const udpai_cli_options *common)
{
    struct stat info;
    if (common->key && stat(common->key, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_mode & (S_IWGRP | S_IRWXO))
        udpai_cli_note("warning: others than its owner and its group have rights for the private "
                       "key %s (mode %04o): chmod 600 it",
                       common->key, (unsigned)info.st_mode & 07777);
}

void
udpai_cli_connection_check(const udpai_cli_options *common, const struct argp_state *state)
{
    check_servers(common, state);
    if (!common->certificate != !common->key)
        fail_tls(common, "--cert and --key go together",
                 common->key ? UDPAI_CLI_KEY : UDPAI_CLI_CERTIFICATE, state);
    if ((common->certificate || common->server_name) && !common->ca)
        fail_tls(common, "--cert, --key and --server-name need --ca, which turns TLS on",
                 common->certificate ? UDPAI_CLI_CERTIFICATE : UDPAI_CLI_SERVER_NAME, state);
    warn_of_key(common);
}

void
udpai_cli_names_check(const udpai_cli_options *common, const struct argp_state *state)
{
    char origin[UDPAI_CLI_ORIGIN_TEXT];
    if (!*common->node_id)
        argp_error(state, "--node-id: an id is not empty");
    if (common->name_space &&
        (!*common->name_space ||
         udpai_prefix_check(udpai_str_from(common->name_space), NULL) != UDPA_OK))
        argp_error(state,
                   "%s %s: a namespace has labels of a-z, 0-9 and '-', with dots between, such as "
                   "com.acme",
                   udpai_cli_setting_origin(common, UDPAI_CLI_NAMESPACE, origin),
                   common->name_space);
}

/* ---- where values are from ---- */

const char *
udpai_cli_setting_origin(const udpai_cli_options *common,
                         udpai_cli_setting setting,
                         char text[UDPAI_CLI_ORIGIN_TEXT])
{
    const udpai_cli_setting_info *info = udpai_cli_setting_info_of(setting);
    if (common->levels[setting] == UDPAI_CLI_ENVIRONMENT)
        return info->variable;
    if (common->levels[setting] != UDPAI_CLI_CONTEXT)
        return info->option;
    snprintf(text, UDPAI_CLI_ORIGIN_TEXT, "'%s' of context '%s'", info->field, common->used->name);
    return text;
}

void
udpai_cli_note_origins(const udpai_cli_options *common, unsigned settings)
{
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++) {
        udpai_cli_setting setting = (udpai_cli_setting)i;
        const udpai_cli_setting_info *info = udpai_cli_setting_info_of(setting);
        if (!(settings & 1u << i))
            continue;
        if (common->levels[i] == UDPAI_CLI_ENVIRONMENT)
            udpai_cli_note("%s is set by the environment variable %s.", info->option,
                           info->variable);
        else if (common->levels[i] == UDPAI_CLI_CONTEXT)
            udpai_cli_note("%s is set by context '%s' in %s.", info->option, common->used->name,
                           common->context_file);
    }
}

/* ---- resolving ---- */

static const char *
variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void
load_contexts(udpai_cli_options *common, const struct argp_state *state)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    common->context_file = udpai_cli_context_file_path();
    if (common->context_file &&
        udpai_cli_context_file_load(common->context_file, &common->contexts, &error) != UDPA_OK)
        argp_error(state, "%s", udpa_error_message(error));
}

/* Which one is meant, and by what; NULL: none. */
static const char *
choose_context(const udpai_cli_options *common, const char **ret_by)
{
    const char *set = variable("UDPACTL_CONTEXT");
    *ret_by = common->context ? "--context" : set ? "UDPACTL_CONTEXT" : "'current'";
    const char *name = common->context ? common->context : set ? set : common->contexts.current;
    return name && *name ? name : NULL;
}

static void
use_context(udpai_cli_options *common, const struct argp_state *state)
{
    char text[512];
    const char *by, *name;
    if (common->context && !*common->context)
        return;
    load_contexts(common, state);
    name = choose_context(common, &by);
    if (!name)
        return;
    common->used = udpai_cli_contexts_find(&common->contexts, udpai_str_from(name));
    if (!common->used)
        argp_error(state, "%s %s: there is no such context in %s%s", by, name,
                   common->context_file ? common->context_file : "~/.config/udpa/config.yaml",
                   udpai_cli_contexts_suggest(&common->contexts, name, text, sizeof(text)));
}

static void
take_higher(udpai_cli_options *common, unsigned settings)
{
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++) {
        const char **value = value_of(common, (udpai_cli_setting)i);
        common->levels[i] = *value ? UDPAI_CLI_OPTION : UDPAI_CLI_DEFAULT;
        if (*value || !(settings & 1u << i))
            continue;
        *value = variable(udpai_cli_setting_info_of((udpai_cli_setting)i)->variable);
        if (*value)
            common->levels[i] = UDPAI_CLI_ENVIRONMENT;
    }
}

/* A context is of its server: what belongs to that is used with no other one, and its token is sent
 * nowhere else. */
static bool
is_of_context(const udpai_cli_options *common, udpai_cli_setting setting)
{
    const udpai_cli_level *levels = common->levels;
    if (!udpai_cli_setting_info_of(setting)->is_of_connection)
        return true;
    if (levels[UDPAI_CLI_SERVER] > UDPAI_CLI_CONTEXT)
        return false;
    return setting != UDPAI_CLI_ADMIN_TOKEN ||
           (levels[UDPAI_CLI_ADMIN_ADDRESS] <= UDPAI_CLI_CONTEXT &&
            levels[UDPAI_CLI_HTTP] <= UDPAI_CLI_CONTEXT);
}

static void
take_of_context(udpai_cli_options *common, unsigned settings)
{
    for (size_t i = 0; i < UDPAI_CLI_SETTINGS; i++) {
        udpai_cli_setting setting = (udpai_cli_setting)i;
        const char **value = value_of(common, setting);
        bool is_meant = settings & 1u << i && common->used->values[i] && !*value;
        if (!is_meant || !is_of_context(common, setting))
            continue;
        *value = common->used->values[i];
        common->levels[i] = UDPAI_CLI_CONTEXT;
    }
}

static void
set_timeout(udpai_cli_options *common, const struct argp_state *state)
{
    char *end, origin[UDPAI_CLI_ORIGIN_TEXT];
    const char *text = common->timeout;
    double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0.001 || seconds > TIMEOUT_MAX_S)
        argp_error(state, "%s %s: give seconds, such as 5 or 0.5, at most %d",
                   udpai_cli_setting_origin(common, UDPAI_CLI_TIMEOUT, origin), text,
                   TIMEOUT_MAX_S);
    common->timeout_ms = (uint64_t)(seconds * 1000);
}

void
udpai_cli_options_resolve(udpai_cli_options *common,
                          unsigned settings,
                          const struct argp_state *state)
{
    const char *verbose = variable("UDPACTL_VERBOSE");
    take_higher(common, settings);
    if (settings)
        use_context(common, state);
    if (common->used)
        take_of_context(common, settings);
    if (!common->server)
        common->server = DEFAULT_SERVER;
    if (!common->node_id)
        common->node_id = common->default_node_id;
    if (common->timeout && *common->timeout)
        set_timeout(common, state);
    common->is_verbose |= verbose && strcmp(verbose, "0") != 0;
    if (common->is_verbose && common->used)
        udpai_cli_note("context '%s' of %s", common->used->name, common->context_file);
}

/* ---- beginning and ending ---- */

void
udpai_cli_options_begin(udpai_cli_options *common, const char *node_id)
{
    *common = (udpai_cli_options){
        .default_node_id = node_id,
        .secrets = UDPA_SECRETS_USED,
    };
}

void
udpai_cli_options_done(udpai_cli_options *common)
{
    udpai_vector_done(&common->arguments);
    udpai_cli_output_options_done(&common->output);
    udpai_cli_contexts_done(&common->contexts);
    udpai_free(common->context_file);
    udpai_free(common->node_namespace);
}

const char *
udpai_cli_namespace(const udpai_cli_options *common)
{
    if (common->name_space)
        return common->name_space;
    return common->node_namespace ? common->node_namespace : DEFAULT_NAMESPACE;
}
