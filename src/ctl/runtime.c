/* SPDX-License-Identifier: Apache-2.0 */
/* runtime: looks at the values that change while a node runs, and changes them, by the pages that
 * it serves for that (src/daemon/pages.c). */
#include <stdio.h>

#include "cli/table.h"
#include "codec/json_text.h"
#include "ctl/commands.h"
#include "ctl/http.h"
#include "ctl/runtime_page.h"
#include "ctl/show.h"

#define NOT_FOUND 404
#define UNAVAILABLE 503

/* ---- talking ---- */

static udpai_cli_exit
report_refusal(const udpai_ctl_options *options, const udpai_ctl_answer *answer)
{
    const udpai_strbuf *text = &answer->text;
    bool has_no_admin = answer->status == UNAVAILABLE && text->len &&
                        strstr(text->data, "no layer for the administrator");
    return udpai_ctl_http_refused(
        options, answer,
        has_no_admin ? " (runtime.layers in the bootstrap file of the node: one with "
                       "admin_layer: {}); nothing was changed"
        : answer->status == NOT_FOUND ? "; is it a node of UDPA that is administered there?"
                                      : "");
}

static udpai_cli_exit
ask(const udpai_ctl_options *options,
    const char *path,
    const udpai_strbuf *body,
    udpai_ctl_answer *ret_answer)
{
    udpai_cli_exit result = udpai_ctl_http_ask(options, path, body, ret_answer);
    return result == UDPAI_CLI_GOOD && ret_answer->status != 200
               ? report_refusal(options, ret_answer)
               : result;
}

static udpai_cli_exit
read_page(const udpai_ctl_options *options,
          udpai_ctl_runtime *ret_runtime,
          udpai_ctl_answer *ret_answer)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    *ret_runtime = (udpai_ctl_runtime){0};
    udpai_cli_exit result = ask(options, "/runtime", NULL, ret_answer);
    if (result != UDPAI_CLI_GOOD ||
        udpai_ctl_runtime_read(ret_runtime, udpai_strbuf_view(&ret_answer->text), &error) ==
            UDPA_OK)
        return result;
    udpai_cli_complain("%s: %s", options->common.http, udpa_error_message(error));
    return UDPAI_CLI_REFUSED;
}

/* ---- looking ---- */

static udpai_cli_exit
print_values(const udpai_ctl_options *options, const udpai_ctl_runtime *runtime)
{
    const char *const *keys = options->common.arguments.items + 1;
    size_t n = options->common.arguments.n - 1;
    udpai_strbuf out = {0};
    udpai_str value;
    bool is_json = options->common.format == UDPAI_CLI_JSON;
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    udpai_ctl_runtime_put_values(runtime, keys, n, is_json ? NULL : &layout, &out);
    udpai_cli_exit result = is_json ? udpai_cli_print_json(&options->common, &out)
                                    : udpai_cli_print_tables(&layout, &out);
    for (size_t i = 0; i < n; i++)
        if (!udpai_ctl_runtime_value(runtime, udpai_str_from(keys[i]), &value)) {
            udpai_cli_complain("there is no '%s' in the runtime of %s", keys[i],
                               options->common.http);
            result = UDPAI_CLI_REFUSED;
        }
    return result;
}

static udpai_cli_exit
print_layers(const udpai_ctl_options *options,
             const udpai_ctl_runtime *runtime,
             const udpai_ctl_answer *answer)
{
    udpai_strbuf out = {0};
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    if (options->common.format == UDPAI_CLI_JSON) {
        udpai_strbuf_str(&out, udpai_strbuf_view(&answer->text));
        return udpai_cli_print_json(&options->common, &out);
    }
    udpai_ctl_runtime_put_layers(runtime, &layout, &out);
    return udpai_cli_print_tables(&layout, &out);
}

static udpai_cli_exit
look(const udpai_ctl_options *options)
{
    udpai_ctl_answer answer;
    udpai_ctl_runtime runtime;
    bool is_get = strcmp(options->common.arguments.items[0], "get") == 0;
    udpai_cli_exit result = read_page(options, &runtime, &answer);
    if (result == UDPAI_CLI_GOOD && is_get) {
        result = print_values(options, &runtime);
    } else if (result == UDPAI_CLI_GOOD) {
        result = print_layers(options, &runtime, &answer);
    }
    udpai_ctl_runtime_done(&runtime);
    udpai_ctl_answer_done(&answer);
    return result;
}

/* ---- changing ---- */

static bool
cut_change(const char *text, bool is_set, udpai_str *ret_key, udpai_str *ret_value)
{
    *ret_value = udpai_str_from(text);
    if (!is_set) {
        *ret_key = *ret_value;
        *ret_value = (udpai_str){0};
        return ret_key->len && !strchr(text, '=');
    }
    return udpai_str_cut(ret_value, '=', ret_key) && ret_key->len && ret_value->len;
}

/* {"key": "value", …} */
static udpai_cli_exit
compose(const udpai_ctl_options *options, bool is_set, udpai_strbuf *body)
{
    udpai_str key, value;
    for (size_t i = 1; i < options->common.arguments.n; i++) {
        const char *text = options->common.arguments.items[i];
        if (!cut_change(text, is_set, &key, &value)) {
            udpai_cli_complain(is_set ? "'%s' is no KEY=VALUE; 'udpactl runtime unset KEY' removes "
                                        "what was set"
                                      : "'%s' is no key: write 'udpactl runtime unset KEY...'",
                               text);
            return UDPAI_CLI_MISTAKE;
        }
        udpai_strbuf_puts(body, i > 1 ? ", " : "{");
        udpai_json_put_string(body, key);
        udpai_strbuf_puts(body, ": ");
        udpai_json_put_string(body, value);
    }
    udpai_strbuf_puts(body, "}");
    if (!udpai_strbuf_failed(body))
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    return UDPAI_CLI_REFUSED;
}

static bool
report_no_effect(udpai_str key, udpai_str why)
{
    udpai_cli_complain("%.*s set, but it has no effect: %.*s", (int)key.len, key.data, (int)why.len,
                       why.data);
    return false;
}

/* Another layer may override what was set. */
static bool
report_change(const udpai_ctl_runtime *runtime, const char *text, bool is_set)
{
    udpai_str key, value_text, value = {0};
    udpai_strbuf line = {0};
    (void)cut_change(text, is_set, &key, &value_text);
    bool is_there = udpai_ctl_runtime_value(runtime, key, &value);
    udpai_str layer = udpai_ctl_runtime_layer_of(runtime, key);
    bool counts = !is_set || udpai_ctl_runtime_is_admin(runtime, layer);
    udpai_str ignored = is_set ? udpai_ctl_runtime_ignored(runtime, key) : (udpai_str){0};
    if (counts && ignored.len)
        return report_no_effect(key, ignored);
    udpai_cli_put_text(&line, key);
    udpai_strbuf_puts(&line, is_set ? " set" : " unset");
    if (!counts || (!is_set && is_there)) {
        udpai_strbuf_puts(&line, counts ? ": '" : ", but is shadowed: '");
        udpai_cli_put_text(&line, value);
        udpai_strbuf_puts(&line, "' of layer '");
        udpai_cli_put_text(&line, layer);
        udpai_strbuf_puts(&line, "' is effective");
    }
    if (udpai_strbuf_failed(&line))
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    else if (counts)
        udpai_cli_print_line("%s", line.data);
    else
        udpai_cli_complain("%s", line.data);
    udpai_strbuf_done(&line);
    return counts;
}

static udpai_cli_exit
report_changes(const udpai_ctl_options *options, bool is_set)
{
    udpai_ctl_answer answer;
    udpai_ctl_runtime runtime;
    udpai_cli_exit result = read_page(options, &runtime, &answer);
    bool counts = true;
    for (size_t i = 1; i < options->common.arguments.n && result == UDPAI_CLI_GOOD; i++)
        counts = report_change(&runtime, options->common.arguments.items[i], is_set) && counts;
    udpai_ctl_runtime_done(&runtime);
    udpai_ctl_answer_done(&answer);
    return counts ? result : UDPAI_CLI_REFUSED;
}

static udpai_cli_exit
change(const udpai_ctl_options *options, bool is_set)
{
    udpai_ctl_answer answer = {0};
    udpai_strbuf body = {0};
    udpai_cli_exit result = compose(options, is_set, &body);
    if (result == UDPAI_CLI_GOOD)
        result = ask(options, "/runtime_modify", &body, &answer);
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&body);
    return result == UDPAI_CLI_GOOD ? report_changes(options, is_set) : result;
}

udpai_cli_exit
udpai_ctl_runtime_command(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    const char *word = options->common.arguments.n ? options->common.arguments.items[0] : "";
    bool is_set = strcmp(word, "set") == 0;
    if (strcmp(word, "get") == 0 ||
        (strcmp(word, "layers") == 0 && options->common.arguments.n == 1))
        return look(options);
    if ((is_set || strcmp(word, "unset") == 0) && options->common.arguments.n > 1)
        return change(options, is_set);
    udpai_cli_complain("write 'udpactl runtime get [KEY...]', 'runtime set KEY=VALUE...', 'runtime "
                       "unset KEY...', or 'runtime layers'");
    return UDPAI_CLI_MISTAKE;
}
