/* SPDX-License-Identifier: Apache-2.0 */
/* udpa-conform: does a server do what the protocol of xDS requires? Any server: what is specific to
 * one is how its contents are changed. */
#include <regex.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/caller.h"
#include "cli/client.h"
#include "cli/output.h"
#include "cli/tool.h"
#include "tools/conform/hook.h"
#include "tools/conform/options.h"
#include "tools/conform/publishing_changer.h"
#include "tools/conform/report.h"
#include "tools/conform/rest_stream.h"
#include "tools/conform/suite.h"

#define DEFAULT_QUIET_MS 200
#define DEFAULT_PREFIX "conform"
#define DEFAULT_LIMIT_MS 600000

typedef struct conformance {
    const udpai_conform_options *options;
    udpai_suite suite;
    regex_t selection;
    bool has_selection;
    udpai_caller *caller;
    udpai_peer peer;
    udpai_byte_peer rest;
    udpai_hook *hook;    /* NULL: none */
    udpai_cli publisher; /* of --apply-to */
    udpai_cli_options publisher_options;
    bool is_publishing;
} conformance;

static bool
is_selected(void *userdata, const char *name)
{
    const conformance *self = userdata;
    return !self->has_selection || regexec(&self->selection, name, 0, NULL, 0) == 0;
}

static udpai_cli_exit
compile_selection(conformance *self)
{
    const char *text = self->options->run;
    char why[200];
    if (!text)
        return UDPAI_CLI_GOOD;
    int number = regcomp(&self->selection, text, REG_EXTENDED | REG_NOSUB);
    self->has_selection = number == 0;
    if (number == 0)
        return UDPAI_CLI_GOOD;
    regerror(number, &self->selection, why, sizeof(why));
    udpai_cli_complain("--run '%s' is no regular expression: %s", text, why);
    return UDPAI_CLI_MISTAKE;
}

/* ---- changing contents ---- */

static udpai_cli_exit
begin_publisher(conformance *self)
{
    self->publisher_options = self->options->common;
    self->publisher_options.server = self->options->apply_to;
    self->publisher_options.node_id = "udpactl-conform";
    udpai_cli_exit result = udpai_cli_begin(&self->publisher, &self->publisher_options);
    if (result != UDPAI_CLI_GOOD)
        return result;
    self->is_publishing = true;
    result = udpai_cli_connect(&self->publisher);
    self->suite.stage.world.changer = udpai_publishing_changer(&self->publisher);
    return result;
}

static udpai_cli_exit
begin_hook(conformance *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_hook_new(&self->hook, self->options->change, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    self->suite.stage.world.changer = udpai_hook_changer(self->hook);
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
begin_changer(conformance *self)
{
    if (self->options->apply_to)
        return begin_publisher(self);
    return self->options->change ? begin_hook(self) : UDPAI_CLI_GOOD;
}

static udpai_cli_exit
learn_resources(conformance *self)
{
    const udpai_conform_options *given = self->options;
    for (size_t i = 0; i < given->resources.n; i++) {
        const char *text = given->resources.items[i], *equals = strchr(text, '=');
        udpai_str word = {text, equals ? (size_t)(equals - text) : 0};
        udpai_kind kind = udpai_kind_of_word(word);
        if (kind == UDPAI_KINDS || !equals[1]) {
            udpai_cli_complain("--resource %s: write TYPE=NAME, with cluster, endpoint, listener, "
                               "route, secret, runtime, scoped-route, extension, virtual-host, "
                               "locality-endpoint, or listener-collection as the type",
                               text);
            return UDPAI_CLI_MISTAKE;
        }
        udpai_world_learn(&self->suite.stage.world, kind, udpai_str_from(equals + 1));
    }
    return UDPAI_CLI_GOOD;
}

/* ---- the server ---- */

static udpai_cli_exit
connect_to_server(conformance *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_caller_new(&self->caller, &self->options->common, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    if (udpai_caller_connect(self->caller, self->options->common.timeout_ms, &error) != UDPA_OK) {
        udpai_cli_complain("%s: %s", self->options->common.server, udpa_error_message(error));
        return UDPAI_CLI_NO_CONNECTION;
    }
    self->peer = udpai_caller_peer(self->caller);
    return UDPAI_CLI_GOOD;
}

/* ---- reporting as it goes ---- */

/* JUnit begins with how many have failed, and JSON is one document: they are printed at the end. */
static void
report_one(void *userdata, const udpai_result *result)
{
    const conformance *self = userdata;
    bool is_strict = self->options->is_strict;
    udpai_cli_format format = self->options->common.format;
    udpai_strbuf out = {0};
    if (format == UDPAI_CLI_TAP)
        udpai_report_tap_one(&out, result, self->suite.results.n, is_strict);
    else if (format == UDPAI_CLI_TABLE)
        udpai_report_text_one(&out, result, is_strict);
    (void)udpai_cli_print(&out);
}

static void
print_plan(const conformance *self)
{
    udpai_strbuf out = {0};
    if (self->options->common.format == UDPAI_CLI_TAP)
        udpai_report_tap_plan(&out, udpai_suite_n_cases(&self->suite));
    (void)udpai_cli_print(&out);
}

static void
fill_stage(conformance *self)
{
    const udpai_conform_options *given = self->options;
    udpai_stage *stage = &self->suite.stage;
    stage->peer = &self->peer;
    stage->node_id = udpai_str_from(self->options->common.node_id);
    stage->timeout_ms = self->options->common.timeout_ms;
    stage->quiet_ms = given->quiet_ms ? given->quiet_ms : DEFAULT_QUIET_MS;
    udpai_world_init(&stage->world, given->prefix ? given->prefix : DEFAULT_PREFIX, NULL);
    self->rest = udpai_rest_stream_peer(given->rest);
    stage->rest = given->rest ? &self->rest : NULL;
    if (given->authority)
        stage->world.authority = given->authority;
    else if (given->apply_to)
        stage->world.authority = udpai_cli_namespace(&self->options->common);
    self->suite.limit_ms = given->limit_ms ? given->limit_ms : DEFAULT_LIMIT_MS;
    self->suite.is_selected = is_selected;
    self->suite.report_one = report_one;
    self->suite.userdata = self;
}

static udpai_cli_exit
begin(conformance *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_cli_exit result = learn_resources(self);
    if (result == UDPAI_CLI_GOOD)
        result = begin_changer(self); /* it may be what starts the server */
    if (result == UDPAI_CLI_GOOD)
        result = connect_to_server(self);
    if (result == UDPAI_CLI_GOOD && udpai_suite_begin(&self->suite, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        result = UDPAI_CLI_NO_CONNECTION;
    }
    return result;
}

static void
end(conformance *self)
{
    udpai_suite_done(&self->suite);
    udpai_hook_free(self->hook);
    if (self->is_publishing)
        udpai_cli_end(&self->publisher);
    udpai_caller_free(self->caller);
    if (self->has_selection)
        regfree(&self->selection);
}

/* ---- the transcript ---- */

static udpai_cli_exit
report(const conformance *self)
{
    const udpai_results *results = &self->suite.results;
    bool is_strict = self->options->is_strict;
    udpai_report_counts counts = udpai_report_count(results, is_strict);
    udpai_strbuf out = {0};
    if (self->options->common.format == UDPAI_CLI_JUNIT)
        udpai_report_junit(&out, results, is_strict);
    else if (self->options->common.format == UDPAI_CLI_JSON)
        udpai_report_json(&out, results, is_strict);
    else if (self->options->common.format != UDPAI_CLI_TAP)
        udpai_report_text_sum(&out, results, is_strict);
    udpai_cli_exit result = self->options->common.format == UDPAI_CLI_JSON
                                ? udpai_cli_print_json(&self->options->common, &out)
                                : udpai_cli_print(&out);
    if (!results->n || counts.n_skipped == results->n) {
        udpai_cli_complain(results->n ? "every case was skipped: nothing is known of the server"
                                      : "no case matches --run '%s' (--list names them)",
                           self->options->run);
        return UDPAI_CLI_MISTAKE;
    }
    if (self->suite.n_out_of_time) {
        udpai_cli_complain(
            "%zu cases were not run: the time for all, %g s, was over: give them more "
            "(--time-limit SECONDS), or run some (--run)",
            self->suite.n_out_of_time, (double)self->suite.limit_ms / 1000);
        return UDPAI_CLI_REFUSED;
    }
    return counts.n_failed ? UDPAI_CLI_REFUSED : result;
}

static udpai_cli_exit
list(conformance *self)
{
    udpai_strbuf out = {0};
    udpai_report_list(&out, is_selected, self);
    return udpai_cli_print(&out);
}

static udpai_cli_exit
run(const udpai_conform_options *options)
{
    conformance self = {.options = options};
    if (options->common.arguments.n) {
        udpai_cli_complain("conform takes no arguments: the server is named by --server HOST:PORT");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_suite_init(&self.suite);
    fill_stage(&self);
    udpai_cli_exit result = compile_selection(&self);
    if (result == UDPAI_CLI_GOOD && options->is_list) {
        result = list(&self);
    } else if (result == UDPAI_CLI_GOOD) {
        result = begin(&self);
        if (result == UDPAI_CLI_GOOD) {
            print_plan(&self);
            udpai_suite_run(&self.suite);
        }
        udpai_suite_end(&self.suite);
        if (result == UDPAI_CLI_GOOD)
            result = report(&self);
    }
    end(&self);
    return result;
}

int
main(int argc, char **argv)
{
    udpai_conform_options options;
    if (!udpai_cli_program_begin())
        return UDPAI_CLI_REFUSED; /* and there may be nowhere to print it */
    udpai_conform_options_parse(&options, argc, argv);
    udpai_cli_exit result = run(&options);
    udpai_conform_options_done(&options);
    return result;
}
