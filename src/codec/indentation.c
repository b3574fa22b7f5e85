/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines, not YAML: what they hold is looked at as far as it decides which may follow. Where
 * that is not enough the parser's own message is kept. */
#include "codec/indentation.h"

#include <ctype.h>
#include <stdio.h>

#define LEVELS_MAX 128
#define STEP_MAX 16
/* How many lines behind the one that the parser names it may turn out to be wrong. */
#define LATE_MAX 2

/* Keys of a map, or items of a list, below each other. */
struct level {
    size_t column; /* from 0 */
    bool is_list, is_open /* the last one has no value so far */;
    size_t from;          /* how far its opener is indented; the same for the first */
    uint32_t first, last; /* lines */
    uint32_t emptied;     /* the line of a key without a value, right before the last; 0: none */
};

struct scan {
    udpai_str text;
    size_t at;                    /* where the next line begins */
    uint32_t line, before;        /* this one, and the last one that holds something */
    size_t before_at, indent;     /* where the content of that begins; of this one */
    size_t step;                  /* by which the file mostly indents */
    uint32_t n_flush, n_indented; /* lists that begin below their key, or further right */
    bool gives_up;
    struct level levels[LEVELS_MAX];
    size_t n;
    struct level popped; /* the outermost that this line ended */
    bool has_popped;
};

/* ---- characters ---- */

static char
at(const struct scan *scan, size_t place)
{
    return place < scan->text.len ? scan->text.data[place] : '\n';
}

static bool
ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static size_t
skip_spaces(const struct scan *scan, size_t place)
{
    while (at(scan, place) == ' ' || at(scan, place) == '\t')
        place++;
    return place;
}

static size_t
line_end(const struct scan *scan, size_t place)
{
    while (place < scan->text.len && scan->text.data[place] != '\n')
        place++;
    return place;
}

static bool
is_doubled(const struct scan *scan, size_t place)
{
    return at(scan, place) == '\'' && at(scan, place + 1) == '\'';
}

/* Behind the quote that closes. */
static size_t
skip_quoted(const struct scan *scan, size_t place)
{
    char quote = at(scan, place++);
    while (place < scan->text.len && (at(scan, place) != quote || is_doubled(scan, place)))
        place += is_doubled(scan, place) || (quote == '"' && at(scan, place) == '\\') ? 2 : 1;
    return place + 1;
}

/* Behind the bracket that closes. */
static size_t
skip_flow(const struct scan *scan, size_t place)
{
    size_t depth = 0;
    while (place < scan->text.len) {
        char c = at(scan, place);
        if (c == '"' || c == '\'' || (c == '#' && ends_word(at(scan, place - 1)))) {
            place = c == '#' ? line_end(scan, place) : skip_quoted(scan, place);
            continue;
        }
        depth += c == '[' || c == '{';
        place++;
        if ((c == ']' || c == '}') && --depth == 0)
            break;
    }
    return place;
}

/* Past what may come before a value: an anchor, a tag. */
static size_t
skip_properties(const struct scan *scan, size_t place)
{
    while (at(scan, place) == '&' || at(scan, place) == '!') {
        while (!ends_word(at(scan, place)))
            place++;
        place = skip_spaces(scan, place);
    }
    return place;
}

/* The ':' of a line that begins with a key; that of the line's end if it does not. */
static size_t
find_colon(const struct scan *scan, size_t place)
{
    char c = at(scan, place);
    size_t end = line_end(scan, place);
    if (c == '"' || c == '\'')
        place = skip_quoted(scan, place);
    else if (c == '[' || c == '{')
        return end;
    for (; place < end; place++) {
        if (at(scan, place) == ':' && ends_word(at(scan, place + 1)))
            return place;
        if (at(scan, place) == '#' && ends_word(at(scan, place - 1)))
            break;
    }
    return end;
}

/* ---- lines ---- */

static size_t
indent_of(const struct scan *scan, size_t place)
{
    size_t n = 0;
    while (at(scan, place + n) == ' ' && place + n < scan->text.len)
        n++;
    return n;
}

static bool
is_blank(const struct scan *scan, size_t place)
{
    char c = at(scan, skip_spaces(scan, place));
    return c == '\n' || c == '#';
}

static void
go_past(struct scan *scan, size_t place)
{
    for (; scan->at < place && scan->at < scan->text.len; scan->at++)
        scan->line += scan->text.data[scan->at] == '\n';
}

/* Lines of a block scalar lie deeper than what it is the value of. */
static void
skip_block(struct scan *scan, size_t column)
{
    while (scan->at < scan->text.len) {
        size_t end = line_end(scan, scan->at);
        if (skip_spaces(scan, scan->at) != end && indent_of(scan, scan->at) <= column)
            return;
        go_past(scan, end + 1);
    }
}

/* Goes on behind the value that begins here. False: there is none on this line. */
static bool
pass_value(struct scan *scan, size_t place, size_t column)
{
    place = skip_properties(scan, skip_spaces(scan, place));
    char c = at(scan, place);
    size_t end = place;
    if (c == '"' || c == '\'')
        end = skip_quoted(scan, place);
    else if (c == '[' || c == '{')
        end = skip_flow(scan, place);
    go_past(scan, line_end(scan, end) + 1);
    if (c == '|' || c == '>')
        skip_block(scan, column);
    return c != '\n' && c != '#';
}

/* By how much lines mostly lie deeper than those before them. */
static size_t
find_step(const struct scan *scan)
{
    uint32_t counts[STEP_MAX + 1] = {0};
    size_t last = 0, best = 2;
    for (size_t place = 0; place < scan->text.len; place = line_end(scan, place) + 1) {
        size_t indent = indent_of(scan, place);
        if (is_blank(scan, place))
            continue;
        if (indent > last && indent - last <= STEP_MAX)
            counts[indent - last]++;
        last = indent;
    }
    counts[1] /= 2; /* mostly a slip */
    for (size_t i = 1; i <= STEP_MAX; i++)
        if (counts[i] > counts[best])
            best = i;
    return best;
}

/* ---- levels ---- */

static struct level *
top(struct scan *scan)
{
    return scan->n ? &scan->levels[scan->n - 1] : NULL;
}

static void
leave_deeper(struct scan *scan, size_t column)
{
    scan->has_popped = false;
    while (scan->n && top(scan)->column > column) {
        scan->popped = *top(scan);
        scan->has_popped = true;
        scan->n--;
    }
}

/* May something begin here that is the value of the last key or item? */
static bool
may_open(struct scan *scan, size_t column, bool is_list)
{
    const struct level *self = top(scan);
    if (!self)
        return !scan->has_popped;
    bool is_flush = is_list && !self->is_list && self->column == column;
    return self->is_open && !scan->has_popped && (self->column < column || is_flush);
}

static void
open_level(struct scan *scan, size_t column, bool is_list)
{
    struct level *self = top(scan);
    size_t from = self ? self->column : 0;
    if (scan->n == LEVELS_MAX) {
        scan->gives_up = true;
        return;
    }
    if (self && is_list && !self->is_list)
        *(column == from ? &scan->n_flush : &scan->n_indented) += 1;
    if (self)
        self->is_open = false;
    scan->levels[scan->n++] = (struct level){.column = column,
                                             .is_list = is_list,
                                             .from = from,
                                             .first = scan->line,
                                             .last = scan->line};
}

/* The next key or item of the level that lies on top. */
static void
note(struct scan *scan)
{
    struct level *self = top(scan);
    self->emptied = self->is_open && self->last != scan->line ? self->last : 0;
    self->last = scan->line;
}

/* False: none may be there. */
static bool
take_item(struct scan *scan, size_t column)
{
    const struct level *self = top(scan);
    if (!(self && self->is_list && self->column == column)) {
        if (!may_open(scan, column, true))
            return false;
        open_level(scan, column, true);
    }
    note(scan);
    return true;
}

static bool
take_key(struct scan *scan, size_t column)
{
    const struct level *self = top(scan);
    if (scan->n > 1 && self->is_list && self->column == column &&
        self[-1].column == column) /* a flush list ends */
        self = &scan->levels[--scan->n - 1];
    if (!(self && !self->is_list && self->column == column)) {
        if (!may_open(scan, column, false))
            return false;
        open_level(scan, column, false);
    }
    note(scan);
    return true;
}

static bool
take_text(struct scan *scan, size_t column)
{
    struct level *self = top(scan);
    bool fits = self ? column > self->column && !scan->has_popped : true;
    if (self && fits)
        self->is_open = false;
    return fits;
}

/* ---- faults ---- */

static bool
place_at(udpai_misindented *ret, uint32_t line, size_t column)
{
    ret->line = line;
    ret->column = (uint32_t)column + 1;
    return true;
}

#define SPACES(n) (n), (n) == 1 ? "" : "s"

static bool
is_of_key(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A key with a ':' that is none to YAML, and that is no URL's. */
static bool
lacks_space_behind_colon(const struct scan *scan, size_t place)
{
    while (is_of_key(at(scan, place)))
        place++;
    return at(scan, place) == ':' && !ends_word(at(scan, place + 1)) && at(scan, place + 1) != '/';
}

/* What begins as nothing of YAML does: "-name", "name:core". */
static bool
blame_missing_space(const struct scan *scan, size_t place, uint32_t line, udpai_misindented *ret)
{
    size_t start = place;
    while (start > 0 && at(scan, start - 1) != '\n')
        start--;
    while (at(scan, place) == '-' && at(scan, place + 1) == ' ')
        place = skip_spaces(scan, place + 1);
    bool is_dash = at(scan, place) == '-' && is_of_key(at(scan, place + 1));
    if (!is_dash && !lacks_space_behind_colon(scan, place))
        return false;
    snprintf(ret->reason, sizeof(ret->reason), "there must be a space behind '%c'",
             is_dash ? '-' : ':');
    return place_at(ret, line, place - start);
}

/* A key as far left as the one that it belongs to. */
static bool
blame_outer_key(struct scan *scan, size_t column, udpai_misindented *ret)
{
    const struct level *list = top(scan);
    bool is_at_dash = list && list->is_list && list->column == column;
    if (scan->has_popped && !is_at_dash)
        return false;
    for (size_t i = scan->n; i-- > 0;) {
        const struct level *self = &scan->levels[i];
        if (!self->emptied || self->is_list || column != self->column + scan->step)
            continue;
        snprintf(ret->reason, sizeof(ret->reason),
                 "this line is indented by %zu space%s, like the key in line %u, which then has no "
                 "value: indent by more what belongs to it",
                 SPACES(self->column), self->emptied);
        return place_at(ret, self->last, self->column);
    }
    return false;
}

/* The level that the wrong line is measured by: the nearest, and of its own kind. */
static const struct level *
find_neighbours(struct scan *scan, size_t column, bool is_list)
{
    const struct level *outer = top(scan), *inner = scan->has_popped ? &scan->popped : NULL;
    if (!outer || !inner)
        return outer ? outer : inner;
    if (inner->is_list != outer->is_list)
        return inner->is_list == is_list ? inner : outer;
    return inner->column - column <= column - outer->column ? inner : outer;
}

/* The list that has an item with these keys, or else the level itself. */
static const struct level *
opener_of(const struct scan *scan, const struct level *self)
{
    for (size_t i = 0; i < scan->n; i++)
        if (scan->levels[i].is_list && scan->levels[i].last == self->first)
            return &scan->levels[i];
    return self;
}

/* Was it the first line of the neighbours that went astray? */
static bool
is_astray(const struct scan *scan, const struct level *self)
{
    size_t by = self->column - self->from;
    if (self->is_list && by == 0)
        return !scan->has_popped && scan->n_flush == 1 && scan->n_indented > 0;
    return self->column > 0 && by != scan->step;
}

static bool
blame_neighbours(const struct scan *scan,
                 const struct level *self,
                 size_t column,
                 udpai_misindented *ret)
{
    const struct level *opener = opener_of(scan, self);
    if (!is_astray(scan, opener))
        return false;
    if (opener->is_list)
        snprintf(ret->reason, sizeof(ret->reason),
                 "the keys of this item are indented by %zu spaces, the next one by %zu: line %u",
                 self->is_list ? self->column + 2 : self->column, column, scan->line);
    else
        snprintf(ret->reason, sizeof(ret->reason),
                 "this line is indented by %zu space%s, its neighbours by %zu: line %u",
                 SPACES(opener->column), column, scan->line);
    return place_at(ret, opener->first, opener->column);
}

static bool
blame_line(const struct scan *scan,
           const struct level *self,
           size_t column,
           bool is_item,
           udpai_misindented *ret)
{
    if (self->column == column && self->is_list)
        snprintf(
            ret->reason, sizeof(ret->reason),
            "this key is indented by %zu space%s, like the '-' in line %u: indent keys of that "
            "item by more",
            SPACES(column), self->last);
    else if (self->column == column && is_item)
        snprintf(
            ret->reason, sizeof(ret->reason),
            "this list item is indented by %zu space%s, like the key in line %u: indent it like "
            "the list's other items, or by more",
            SPACES(column), self->last);
    else if (self->column == column)
        snprintf(ret->reason, sizeof(ret->reason),
                 "this line has no 'key:': if it continues the one before, indent it by more");
    else
        snprintf(ret->reason, sizeof(ret->reason),
                 "this line is indented by %zu space%s, its neighbours by %zu: line %u",
                 SPACES(column), self->column, self->last);
    return place_at(ret, scan->line, column);
}

static bool
blame(struct scan *scan, size_t place, bool is_item, udpai_misindented *ret)
{
    size_t column = scan->indent;
    if (blame_missing_space(scan, place, scan->line, ret) ||
        (scan->before && blame_missing_space(scan, scan->before_at, scan->before, ret)) ||
        blame_outer_key(scan, column, ret))
        return true;
    const struct level *list = top(scan);
    bool is_at_dash = !is_item && list && list->is_list && list->column == column;
    const struct level *self = is_at_dash ? list : find_neighbours(scan, column, is_item);
    return self && (blame_neighbours(scan, self, column, ret) ||
                    blame_line(scan, self, column, is_item, ret));
}

/* ---- one line ---- */

/* From the first character that is no space. False: it may not be there. */
static bool
take_line(struct scan *scan, size_t place, bool *ret_is_item)
{
    size_t column = scan->indent;
    leave_deeper(scan, column);
    while (at(scan, place) == '-' && ends_word(at(scan, place + 1))) {
        *ret_is_item = true;
        if (!take_item(scan, column))
            return false;
        size_t next = skip_spaces(scan, place + 1);
        scan->has_popped = false;
        top(scan)->is_open = true;
        column += next - place;
        place = next;
    }
    if (is_blank(scan, place)) {
        go_past(scan, line_end(scan, place) + 1);
        return true;
    }
    size_t colon = find_colon(scan, place), end = line_end(scan, place);
    if (colon == end ? !take_text(scan, column) : !take_key(scan, column))
        return false;
    if (colon == end)
        (void)pass_value(scan, place, top(scan) ? top(scan)->column : 0);
    else
        top(scan)->is_open = !pass_value(scan, colon + 1, column);
    return true;
}

/* Documents are read one after the other; what is rare is not read at all. */
static bool
is_marker(struct scan *scan, size_t place)
{
    bool is_begin = scan->text.len - place >= 3 && scan->indent == 0 &&
                    memcmp(scan->text.data + place, "---", 3) == 0;
    scan->gives_up |= at(scan, place) == '?' || at(scan, place) == '%';
    if (is_begin) {
        scan->n = 0;
        go_past(scan, line_end(scan, place) + 1);
    }
    return is_begin;
}

/* False: this line is as it may be. */
static bool
finds_fault(struct scan *scan, udpai_misindented *ret)
{
    bool is_item = false;
    scan->indent = indent_of(scan, scan->at);
    size_t place = scan->at + scan->indent;
    uint32_t line = scan->line;
    if (is_marker(scan, place) || scan->gives_up)
        return false;
    if (at(scan, place) == '\t') {
        snprintf(ret->reason, sizeof(ret->reason),
                 "this line is indented with a tab: write spaces");
        return place_at(ret, scan->line, scan->indent);
    }
    if (!take_line(scan, place, &is_item))
        return blame(scan, place, is_item, ret);
    scan->before = line;
    scan->before_at = place;
    return false;
}

bool
udpai_indentation_explain(udpai_str text, uint32_t line, udpai_misindented *ret_found)
{
    struct scan scan = {.text = text, .line = 1};
    uint32_t n_behind = 0;
    scan.step = find_step(&scan);
    while (scan.at < text.len && n_behind <= LATE_MAX && !scan.gives_up) {
        if (is_blank(&scan, scan.at)) {
            go_past(&scan, line_end(&scan, scan.at) + 1);
            continue;
        }
        n_behind += scan.line > line;
        if (n_behind <= LATE_MAX && finds_fault(&scan, ret_found))
            return scan.line >= line;
    }
    return false;
}
