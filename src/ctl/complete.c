/* SPDX-License-Identifier: Apache-2.0 */
/* __complete WORD...: what may stand in the place of the last word, a line each, with a tab and
 * what it means behind it. The last line is ":files" if a file may stand there, too, else ":none".
 * It is called by shells while somebody types: no error is printed, and no node is waited for long.
 */
#include "ctl/complete.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/collect.h"
#include "cli/context_file.h"
#include "cli/display.h"
#include "cli/names.h"
#include "cli/tool.h"
#include "ctl/options.h"
#include "ctl/usage.h"
#include "ctl/words.h"

#define NODE_MS 1000
#define MEANING_COLUMNS 70

typedef struct completing {
    udpai_ctl_words words;
    bool takes_files;
    bool is_type_found;
    udpai_strbuf out;
} completing;

/* ---- candidates ---- */

/* One that a terminal must not be given is none. */
static bool
is_clean(udpai_str text)
{
    udpai_strbuf masked = {0};
    udpai_cli_put_text(&masked, text);
    bool is_same = !udpai_strbuf_failed(&masked) && udpai_str_eq(udpai_strbuf_view(&masked), text);
    udpai_strbuf_done(&masked);
    return is_same;
}

static bool
offer(completing *self, const char *candidate, const char *meaning)
{
    const udpai_ctl_words *words = &self->words;
    size_t n_before = (size_t)(words->value - words->last); /* "--output=" */
    udpai_str text = udpai_str_from(candidate);
    if (!udpai_str_starts(text, udpai_str_from(words->value)) || !is_clean(text))
        return false;
    udpai_strbuf_append(&self->out, words->last, n_before);
    udpai_strbuf_str(&self->out, text);
    if (meaning) {
        udpai_strbuf_putc(&self->out, '\t');
        (void)udpai_cli_put_cut(&self->out, udpai_str_from(meaning), MEANING_COLUMNS);
    }
    udpai_strbuf_putc(&self->out, '\n');
    return true;
}

static void
offer_verbs(completing *self)
{
    const udpai_ctl_verb *verb;
    for (size_t i = 0; (verb = udpai_ctl_verb_at(i)); i++)
        offer(self, verb->name, verb->summary);
}

/* ---- options ---- */

/* Its help has all of its options. */
static bool
has_option(const udpai_ctl_verb *verb, const char *name)
{
    const udpai_cli_tool *tool = udpai_cli_tool_find(verb->name);
    size_t len = strlen(name);
    for (const char *at = tool ? tool->help : verb->text; at && (at = strstr(at, "--")); at += 2)
        if (strncmp(at + 2, name, len) == 0 && !strchr("-abcdefghijklmnopqrstuvwxyz", at[2 + len]))
            return true;
    return false;
}

static void
offer_option(completing *self, const struct argp_option *option)
{
    char text[64];
    snprintf(text, sizeof(text), "--%s", option->name);
    offer(self, text, option->doc);
}

static void
offer_if_of_verb(void *userdata, const struct argp_option *option)
{
    completing *self = userdata;
    if (self->words.verb && has_option(self->words.verb, option->name))
        offer_option(self, option);
}

static void
offer_any(void *userdata, const struct argp_option *option)
{
    offer_option(userdata, option);
}

static void
offer_options(completing *self)
{
    udpai_ctl_options_visit(&udpai_ctl_options_parser, offer_if_of_verb, self);
    udpai_ctl_options_visit(&udpai_cli_options_parser, offer_any, self);
    offer(self, "--help", "what this command does");
}

/* ---- what a node has ---- */

/* The connection is what the command line says so far. */
static udpai_cli_exit
open_node(udpai_cli *cli, udpai_ctl_options *options, const udpai_ctl_words *words)
{
    static const char *const head[] = {"udpactl", "get"};
    UDPAI_VECTOR(char *) all = {0};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(head); i++)
        if (!udpai_vector_push(&all, (char *)(uintptr_t)head[i]))
            break;
    for (size_t i = 0; i < words->connection.n; i++)
        if (!udpai_vector_push(&all, (char *)(uintptr_t)words->connection.items[i]))
            break;
    size_t n = all.n;
    bool is_whole =
        n == UDPAI_ARRAY_LEN(head) + words->connection.n && udpai_vector_push(&all, NULL);
    if (is_whole) /* ends the program if that cannot be */
        udpai_ctl_options_parse(options, (int)n, all.items);
    udpai_vector_done(&all);
    if (!is_whole)
        return UDPAI_CLI_REFUSED;
    if (options->common.timeout_ms > NODE_MS)
        options->common.timeout_ms = NODE_MS;
    udpai_cli_exit result = udpai_cli_begin(cli, &options->common);
    if (result != UDPAI_CLI_GOOD)
        return result;
    cli->is_quiet = true;
    return udpai_cli_connect(cli);
}

static void
offer_found(completing *self, const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **sorted = udpai_cli_found_sorted(found);
    for (size_t i = 0; sorted && i < udpai_cli_found_size(found); i++)
        offer(self, udpa_resource_name(sorted[i]), NULL);
}

/* Whatever of it has come in time. */
static void
offer_names(completing *self, udpai_cli *cli, char *type_url)
{
    udpai_cli_requests requests = {0};
    udpai_cli_found found;
    udpai_cli_found_begin(&found);
    udpai_cli_request *request = udpai_cli_requests_add(&requests, type_url);
    if (request) {
        request->name_space = cli->options->name_space;
        (void)udpai_cli_collect(cli, &requests, &found);
        offer_found(self, &found);
    }
    udpai_cli_found_done(&found);
    udpai_cli_requests_done(&requests);
}

static void
offer_types_of_node(completing *self, udpai_cli *cli)
{
    udpai_cli_requests requests = {0};
    if (udpai_cli_request_all_types(cli, &requests) == UDPAI_CLI_GOOD)
        for (size_t i = 0; i < requests.n; i++) {
            udpai_str type = udpai_cli_type_short(udpai_str_from(requests.items[i].type_url));
            offer(self, type.data, NULL);
        }
    udpai_cli_requests_done(&requests);
}

/* NULL: the types that it has. */
static void
ask_node(completing *self, const char *type)
{
    udpai_cli cli;
    udpai_ctl_options options;
    char *type_url = NULL;
    if (type && udpai_cli_type_url(type, &type_url, NULL) != UDPA_OK)
        return;
    if (open_node(&cli, &options, &self->words) == UDPAI_CLI_GOOD) {
        if (type_url)
            offer_names(self, &cli, UDPAI_TAKE(type_url));
        else
            offer_types_of_node(self, &cli);
        udpai_cli_end(&cli);
        udpai_ctl_options_done(&options);
    }
    udpai_free(type_url);
}

/* ---- other words ---- */

static void
offer_type(void *userdata, const char *name, const char *also, const char *full)
{
    completing *self = userdata;
    (void)also;
    self->is_type_found |= offer(self, name, full);
}

static void
offer_types(completing *self)
{
    udpai_cli_visit_types(offer_type, self);
    if (!self->is_type_found)
        ask_node(self, NULL);
}

static void
offer_contexts(completing *self)
{
    UDPAI_AUTO_FREE char *path = udpai_cli_context_file_path();
    udpai_cli_contexts contexts = {0};
    if (path && udpai_cli_context_file_load(path, &contexts, NULL) == UDPA_OK)
        for (size_t i = 0; i < contexts.items.n; i++)
            offer(self, contexts.items.items[i].name, contexts.items.items[i].values[0]);
    udpai_cli_contexts_done(&contexts);
}

static void
offer_value(completing *self, const struct argp_option *option)
{
    static const char *const formats[] = {"table", "wide", "yaml", "json", "jsonpath=", "name"};
    if (strcmp(option->name, "context") == 0)
        offer_contexts(self);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(formats) && strcmp(option->name, "output") == 0; i++)
        offer(self, formats[i], NULL);
    if (strncmp(option->arg, "TYPE", strlen("TYPE")) == 0)
        offer_types(self);
    self->takes_files |= strncmp(option->arg, "FILE", strlen("FILE")) == 0 ||
                         strncmp(option->arg, "DIR", strlen("DIR")) == 0;
}

static void
offer_next(void *userdata, udpai_str next, const char *type)
{
    completing *self = userdata;
    const udpai_ctl_verb *verb = self->words.verb;
    char word[64];
    snprintf(word, sizeof(word), "%.*s", UDPAI_SHOWN(next));
    if (next.len && next.data[0] >= 'a')
        offer(self, word, NULL);
    else if (strcmp(word, "TYPE") == 0)
        offer_types(self);
    else if (strcmp(word, "NAME") == 0 && type && strcmp(verb->name, "xds") != 0)
        ask_node(self, type);
    else if (strcmp(word, "NAME") == 0 && strcmp(verb->name, "context") == 0)
        offer_contexts(self);
    else if (strcmp(word, "FILE") == 0)
        self->takes_files = true;
}

static void
offer_arguments(completing *self)
{
    const udpai_ctl_words *words = &self->words;
    if (!words->has_command)
        offer_verbs(self);
    if (words->verb)
        udpai_ctl_usage_visit(words->verb->usage, words->arguments.items, words->arguments.n,
                              offer_next, self);
}

/* "config use" is "context use" (resolve.c). */
static void
take_verb(udpai_ctl_words *words)
{
    if (words->verb && strcmp(words->verb->name, "config") == 0)
        words->verb = udpai_ctl_verb_find("context");
}

int
udpai_ctl_complete(int argc, char *const *argv)
{
    completing self = {0};
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0)
        (void)dup2(nothing, STDERR_FILENO);
    if (udpai_ctl_words_read(&self.words, (const char *const *)argv, (size_t)argc,
                             &udpai_ctl_options_parser, &udpai_cli_options_parser) == UDPA_OK) {
        take_verb(&self.words);
        if (self.words.option)
            offer_value(&self, self.words.option);
        else if (self.words.last[0] == '-' && !self.words.ends_options)
            offer_options(&self);
        else
            offer_arguments(&self);
    }
    udpai_strbuf_puts(&self.out, self.takes_files ? ":files\n" : ":none\n");
    if (!udpai_strbuf_failed(&self.out))
        fputs(self.out.data, stdout);
    udpai_strbuf_done(&self.out);
    udpai_ctl_words_done(&self.words);
    return UDPAI_CLI_GOOD;
}
