/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/resolve.h"

#include <stdlib.h>

#include "base/strbuf.h"
#include "ctl/verbs.h"
#include "model/server_list.h"

/* ---- where the node has its pages ---- */

static bool
has_host_before(udpai_str list, udpai_str until, udpai_str host)
{
    udpai_str server;
    while (udpai_server_list_cut(&list, &server) && server.data != until.data) {
        const char *colon = server.len ? memrchr(server.data, ':', server.len) : NULL;
        if (colon && udpai_str_eq((udpai_str){server.data, (size_t)(colon - server.data)}, host))
            return true;
    }
    return false;
}

/* Of the node of --server it is the usual one; a unix socket has no host. */
static void
choose_http_of_server(udpai_ctl_options *given)
{
    udpai_strbuf http = {0};
    udpai_str rest = udpai_str_from(given->common.server), server;
    while (udpai_server_list_cut(&rest, &server)) {
        const char *colon = server.len ? memrchr(server.data, ':', server.len) : NULL;
        udpai_str host = {server.data, colon ? (size_t)(colon - server.data) : 0};
        if (!colon || udpai_str_starts(server, UDPAI_STR("unix:")) ||
            has_host_before(udpai_str_from(given->common.server), server, host))
            continue;
        udpai_strbuf_puts(&http, http.len ? "," : "");
        udpai_strbuf_str(&http, host);
        udpai_strbuf_puts(&http, ":" UDPAI_CLI_HTTP_PORT);
    }
    if (http.len == 0)
        return;
    given->http_of_server = udpai_strbuf_take(&http);
    if (!given->http_of_server)
        abort();
    given->common.http = given->http_of_server;
}

/* Pages of a node have an address of their own. What is of a higher level goes before the rest; and
 * with a server there, or in the context, nothing is asked of, or changed at, the node that is
 * here.
 */
static void
choose_http(udpai_ctl_options *given)
{
    udpai_cli_options *common = &given->common;
    udpai_cli_level admin = common->levels[UDPAI_CLI_ADMIN_ADDRESS],
                    http = common->levels[UDPAI_CLI_HTTP],
                    server = common->levels[UDPAI_CLI_SERVER];
    bool is_of_server = admin < server && http < server && server != UDPAI_CLI_ENVIRONMENT;
    if (is_of_server)
        choose_http_of_server(given);
    else if (common->admin && admin >= http)
        common->http = common->admin;
    if (!common->http)
        common->http = common->admin ? common->admin : UDPAI_CLI_ADMIN;
}

/* ---- all ---- */

/* "config use NAME", as kubectl calls it; without such a word it is the node's configuration. */
static void
take_config_of_contexts(udpai_cli_options *common)
{
    static const char *const words[] = {"list", "contexts", "current", "use",
                                        "show", "set",      "delete"};
    bool is_config =
        common->command && strcmp(common->command, "config") == 0 && common->arguments.n;
    for (size_t i = 0; is_config && i < UDPAI_ARRAY_LEN(words); i++)
        if (strcmp(common->arguments.items[0], words[i]) == 0)
            common->command = "context";
}

/* What is read of files alone is of no server; the key of sign is another one. A namespace that is
 * set elsewhere is for those who take one. */
void
udpai_ctl_resolve(udpai_ctl_options *given, const struct argp_state *state)
{
    static const unsigned of_files = 1u << UDPAI_CLI_NAMESPACE | 1u << UDPAI_CLI_DESCRIPTORS;
    udpai_cli_options *common = &given->common;
    take_config_of_contexts(common);
    const udpai_ctl_verb *verb = common->command ? udpai_ctl_verb_find(common->command) : NULL;
    unsigned settings = UDPAI_CLI_ALL_SETTINGS;
    if (verb && verb->takes & UDPAI_CTL_TAKES_NO_NODE)
        settings = of_files;
    if (verb && (!(verb->takes & UDPAI_CTL_TAKES_NAMESPACE) || given->is_all))
        settings &= ~(1u << UDPAI_CLI_NAMESPACE);
    if (given->tool || !verb || verb->takes & UDPAI_CTL_TAKES_NOTHING)
        settings = 0; /* a program of its own resolves them itself */
    udpai_cli_options_resolve(common, settings, state);
    choose_http(given);
}
