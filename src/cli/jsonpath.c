/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cli/jsonpath_internal.h"

#define INDEX_MAX 1000000000

typedef struct parser {
    const char *text;
    size_t at;
    udpai_cli_jsonpath *path;
    UDPAI_VECTOR(size_t) ranges; /* that are open: their indices among the parts */
    udpa_error **ret_error;
} parser;

/* ---- characters ---- */

static char
current(const parser *self)
{
    return self->text[self->at];
}

static bool
take(parser *self, char c)
{
    bool is_there = current(self) == c;
    self->at += is_there;
    return is_there;
}

static void
skip_blanks(parser *self)
{
    while (current(self) == ' ' || current(self) == '\t' || current(self) == '\n')
        self->at++;
}

static udpa_err
fail(const parser *self, size_t at, const char *why)
{
    return udpai_fail(self->ret_error, UDPA_ERR_INVAL, "character %zu: %s", at + 1, why);
}

static udpa_err
no_memory(const parser *self)
{
    return udpai_fail_code(self->ret_error, UDPA_ERR_NOMEM);
}

static bool
is_of_name(char c)
{
    return c && !strchr(" \t\n.[]{}()'\",=<>|", c);
}

/* ---- texts ---- */

static char
unescaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

/* Up to the quote that it begins with; the position is behind it then. */
static udpa_err
take_quoted(parser *self, char **ret_text)
{
    size_t begin = self->at;
    char quote = self->text[self->at++];
    udpai_strbuf text = {0};
    udpai_strbuf_puts(&text, "");
    while (current(self) && current(self) != quote) {
        bool is_escape = current(self) == '\\' && self->text[self->at + 1];
        self->at += is_escape;
        udpai_strbuf_putc(&text, is_escape ? unescaped(current(self)) : current(self));
        self->at++;
    }
    if (!take(self, quote)) {
        udpai_strbuf_done(&text);
        return fail(self, begin, "this quote is not closed");
    }
    *ret_text = udpai_strbuf_take(&text);
    return *ret_text ? UDPA_OK : no_memory(self);
}

/* A dot within it is behind a backslash. */
static udpa_err
take_name(parser *self, char **ret_name)
{
    udpai_strbuf name = {0};
    while (is_of_name(current(self))) {
        self->at += current(self) == '\\' && self->text[self->at + 1];
        udpai_strbuf_putc(&name, current(self));
        self->at++;
    }
    *ret_name = udpai_strbuf_take(&name);
    return *ret_name ? UDPA_OK : no_memory(self);
}

/* ---- parts ---- */

/* The new part, which is the last; NULL without memory. */
static udpai_cli_part *
add_part(parser *self, udpai_cli_part_kind kind, size_t at)
{
    udpai_cli_part part = {.kind = kind, .place = at + 1};
    if (!udpai_vector_push(&self->path->parts, part))
        return NULL;
    return &self->path->parts.items[self->path->parts.n - 1];
}

static udpa_err
add_step(parser *self, udpai_cli_step step)
{
    udpai_cli_part *part = &self->path->parts.items[self->path->parts.n - 1];
    if (udpai_vector_push(&part->steps, step))
        return UDPA_OK;
    udpai_free(step.name);
    return no_memory(self);
}

/* ---- paths ---- */

static udpa_err
parse_number(parser *self, long *ret_number)
{
    const char *begin = self->text + self->at;
    char *end;
    long number = strtol(begin, &end, 10);
    if (end == begin || *begin == ' ' || *begin == '+')
        return fail(self, self->at, "a number, '*' or a quoted name must be in brackets");
    if (number > INDEX_MAX || number < -INDEX_MAX)
        return fail(self, self->at, "this number is too large");
    self->at += (size_t)(end - begin);
    *ret_number = number;
    return UDPA_OK;
}

/* "0", "-1", "1:3", ":2", or "1:" */
static udpa_err
parse_numbers(parser *self, udpai_cli_step *step)
{
    udpa_err err = current(self) == ':' ? UDPA_OK : parse_number(self, &step->first);
    step->kind = UDPAI_CLI_STEP_ITEM;
    if (err != UDPA_OK || !take(self, ':'))
        return err;
    step->kind = UDPAI_CLI_STEP_SLICE;
    step->has_end = current(self) != ']';
    if (step->has_end)
        err = parse_number(self, &step->end);
    return err == UDPA_OK && current(self) == ':'
               ? fail(self, self->at, "a slice with a step is not supported")
               : err;
}

static udpa_err
parse_bracket(parser *self)
{
    udpai_cli_step step = {.kind = UDPAI_CLI_STEP_EACH, .place = self->at + 1};
    udpa_err err = UDPA_OK;
    self->at++;
    if (current(self) == '?')
        return fail(self, self->at, "a filter is not supported");
    if (current(self) == '\'' || current(self) == '"') {
        step.kind = UDPAI_CLI_STEP_FIELD;
        err = take_quoted(self, &step.name);
    } else if (!take(self, '*')) {
        err = parse_numbers(self, &step);
    }
    if (err == UDPA_OK && current(self) == ',')
        err = fail(self, self->at, "a union is not supported");
    if (err == UDPA_OK && !take(self, ']'))
        err = fail(self, step.place - 1, "this bracket is not closed");
    if (err == UDPA_OK)
        return add_step(self, step);
    udpai_free(step.name);
    return err;
}

/* A dot alone is the value itself. */
static udpa_err
parse_dot(parser *self)
{
    udpai_cli_step step = {.kind = UDPAI_CLI_STEP_EACH, .place = self->at + 1};
    self->at++;
    if (current(self) == '.')
        return fail(self, step.place - 1, "'..' is not supported");
    if (take(self, '*'))
        return add_step(self, step);
    if (!is_of_name(current(self)))
        return UDPA_OK;
    step.kind = UDPAI_CLI_STEP_FIELD;
    udpa_err err = take_name(self, &step.name);
    return err == UDPA_OK ? add_step(self, step) : err;
}

/* Into the last part. */
static udpa_err
parse_path(parser *self)
{
    udpa_err err = UDPA_OK;
    size_t begin = self->at;
    self->path->parts.items[self->path->parts.n - 1].is_of_root = current(self) == '$';
    if (current(self) == '$' || current(self) == '@')
        self->at++;
    while (err == UDPA_OK && (current(self) == '.' || current(self) == '['))
        err = current(self) == '.' ? parse_dot(self) : parse_bracket(self);
    return err == UDPA_OK && self->at == begin
               ? fail(self, self->at, "a path, such as .name, or a quoted text must stand here")
               : err;
}

/* ---- braces ---- */

/* Is it this word, and nothing longer? Then it is taken. */
static bool
take_word(parser *self, const char *word)
{
    size_t len = strlen(word);
    bool is_it =
        strncmp(self->text + self->at, word, len) == 0 && !is_of_name(self->text[self->at + len]);
    self->at += is_it ? len : 0;
    return is_it;
}

static udpa_err
parse_range(parser *self, size_t begin)
{
    skip_blanks(self);
    if (!add_part(self, UDPAI_CLI_PART_RANGE, begin) ||
        !udpai_vector_push(&self->ranges, self->path->parts.n - 1))
        return no_memory(self);
    return parse_path(self);
}

static udpa_err
parse_end(parser *self, size_t begin)
{
    if (self->ranges.n == 0)
        return fail(self, begin, "there is no range to end");
    if (!add_part(self, UDPAI_CLI_PART_END, begin))
        return no_memory(self);
    size_t range = self->ranges.items[--self->ranges.n];
    self->path->parts.items[range].end = self->path->parts.n - 1;
    return UDPA_OK;
}

static udpa_err
parse_item(parser *self)
{
    size_t begin = self->at;
    if (current(self) == '"' || current(self) == '\'') {
        udpai_cli_part *part = add_part(self, UDPAI_CLI_PART_TEXT, begin);
        return part ? take_quoted(self, &part->text) : no_memory(self);
    }
    if (take_word(self, "range"))
        return parse_range(self, begin);
    if (take_word(self, "end"))
        return parse_end(self, begin);
    return add_part(self, UDPAI_CLI_PART_PATH, begin) ? parse_path(self) : no_memory(self);
}

static udpa_err
parse_braces(parser *self)
{
    size_t begin = self->at++;
    udpa_err err;
    do {
        skip_blanks(self);
        if (!current(self))
            return fail(self, begin, "this brace is not closed");
        err = parse_item(self);
        skip_blanks(self);
    } while (err == UDPA_OK && !take(self, '}'));
    return err;
}

static udpa_err
parse_text(parser *self)
{
    size_t len = strcspn(self->text + self->at, "{");
    udpai_cli_part *part = add_part(self, UDPAI_CLI_PART_TEXT, self->at);
    if (!part || !(part->text = udpai_strndup(self->text + self->at, len)))
        return no_memory(self);
    self->at += len;
    return UDPA_OK;
}

static udpa_err
parse(parser *self)
{
    udpa_err err = UDPA_OK;
    if (!strchr(self->text, '{'))
        return fail(self, 0, "nothing is in braces: write {.name}, or {[*].name} of a list");
    while (err == UDPA_OK && current(self))
        err = current(self) == '{' ? parse_braces(self) : parse_text(self);
    if (err == UDPA_OK && self->ranges.n) {
        size_t range = self->ranges.items[self->ranges.n - 1];
        err = fail(self, self->path->parts.items[range].place - 1, "this range has no {end}");
    }
    return err;
}

udpa_err
udpai_cli_jsonpath_compile(udpai_cli_jsonpath **ret_path, const char *text, udpa_error **ret_error)
{
    parser self = {.text = text, .ret_error = ret_error};
    self.path = udpai_alloc(sizeof(*self.path));
    udpa_err err = self.path ? parse(&self) : no_memory(&self);
    udpai_vector_done(&self.ranges);
    if (err == UDPA_OK)
        *ret_path = self.path;
    else
        udpai_cli_jsonpath_free(self.path);
    return err;
}

static void
free_part(udpai_cli_part *part)
{
    for (size_t i = 0; i < part->steps.n; i++)
        udpai_free(part->steps.items[i].name);
    udpai_vector_done(&part->steps);
    udpai_free(part->text);
}

udpai_cli_jsonpath *
udpai_cli_jsonpath_free(udpai_cli_jsonpath *path)
{
    for (size_t i = 0; path && i < path->parts.n; i++)
        free_part(&path->parts.items[i]);
    if (path)
        udpai_vector_done(&path->parts);
    udpai_free(path);
    return NULL;
}
