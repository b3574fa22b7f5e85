/* SPDX-License-Identifier: Apache-2.0 */
/* delete --origin: what a node has read that will not come back. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/names.h"
#include "cli/table.h"
#include "codec/json_text.h"
#include "ctl/commands.h"
#include "ctl/http.h"

#define GOOD 200

static void
put_value(udpai_strbuf *body, const char *key, const char *value)
{
    udpai_strbuf_printf(body, "%s\"%s\": ", body->len ? ", " : "{", key);
    udpai_json_put_string(body, udpai_str_from(value));
}

/* False: the reason was printed. */
static bool
make_body(const udpai_ctl_options *options, udpai_strbuf *body)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPAI_AUTO_FREE char *type_url = NULL;
    if (options->common.arguments.n &&
        udpai_cli_type_url(options->common.arguments.items[0], &type_url, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return false;
    }
    put_value(body, "node", options->origin);
    if (type_url)
        put_value(body, "type", type_url);
    if (options->common.name_space)
        put_value(body, "namespace", options->common.name_space);
    udpai_strbuf_puts(body, options->is_dry_run ? ", \"dry_run\": true}" : "}");
    if (udpai_strbuf_failed(body))
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return !udpai_strbuf_failed(body);
}

static bool
has_stayed(udpai_str line)
{
    static const char mark[] = " stays: ";
    for (size_t i = 0; i + sizeof(mark) - 1 <= line.len; i++)
        if (memcmp(line.data + i, mark, sizeof(mark) - 1) == 0)
            return true;
    return false;
}

/* One line for each. */
static udpai_cli_exit
report_all(const udpai_ctl_options *options, udpai_str text)
{
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    if (text.len == 0) {
        udpai_cli_complain("%s holds nothing that '%s' has read%s: 'udpactl get -o path' shows by "
                           "which nodes each resource has come",
                           options->common.http, options->origin,
                           options->common.arguments.n || options->common.name_space ? " of that"
                                                                                     : "");
        return UDPAI_CLI_REFUSED;
    }
    while (text.len) {
        const char *end = memchr(text.data, '\n', text.len);
        udpai_str line = {text.data, end ? (size_t)(end - text.data) : text.len};
        if (has_stayed(line)) {
            udpai_cli_complain("%.*s", (int)line.len, line.data);
            result = UDPAI_CLI_REFUSED;
        } else {
            udpai_cli_print_line("%.*s", (int)line.len, line.data);
        }
        size_t n = line.len + (end != NULL);
        text = (udpai_str){text.data + n, text.len - n};
    }
    return result;
}

udpai_cli_exit
udpai_ctl_delete_origin(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_answer answer = {0};
    udpai_strbuf body = {0};
    udpai_cli_exit result = UDPAI_CLI_MISTAKE;
    if (options->common.arguments.n > 1 || options->files.n || options->is_waiting)
        udpai_cli_complain("write 'udpactl delete --origin NODE [TYPE]', and -n NAMESPACE for one "
                           "namespace alone; each deleted resource is printed on a line");
    else if (make_body(options, &body))
        result = udpai_ctl_http_ask(options, "/origins_delete", &body, &answer);
    if (result == UDPAI_CLI_GOOD)
        result = answer.status == GOOD ? report_all(options, udpai_strbuf_view(&answer.text))
                                       : udpai_ctl_http_refused(options, &answer, "");
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&body);
    return result;
}
