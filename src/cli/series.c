/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/series.h"

#include <math.h>
#include <stdlib.h>

#include "cli/display.h"

#define NUMBER_MAX 64 /* bytes */

/* ---- reading ---- */

static bool
is_name_char(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
           (!is_first && c >= '0' && c <= '9');
}

/* Cuts a name off the front; empty: there is none. */
static udpai_str
take_name(udpai_str *rest)
{
    size_t n = 0;
    while (n < rest->len && is_name_char(rest->data[n], n == 0))
        n++;
    const udpai_str name = {rest->data, n};
    *rest = (udpai_str){rest->data + n, rest->len - n};
    return name;
}

static bool
take_char(udpai_str *rest, char c)
{
    if (!rest->len || *rest->data != c)
        return false;
    *rest = (udpai_str){rest->data + 1, rest->len - 1};
    return true;
}

/* What is between two quotes, escaped. */
static bool
take_quoted(udpai_str *rest, udpai_str *ret_value)
{
    size_t n = 0;
    if (!take_char(rest, '"'))
        return false;
    while (n < rest->len && rest->data[n] != '"')
        n += rest->data[n] == '\\' ? 2 : 1;
    if (n >= rest->len)
        return false;
    *ret_value = (udpai_str){rest->data, n};
    *rest = (udpai_str){rest->data + n + 1, rest->len - n - 1};
    return true;
}

/* All of the text. */
static bool
read_number(udpai_str text, double *ret_number)
{
    char room[NUMBER_MAX], *end;
    if (text.len == 0 || text.len >= sizeof(room) || memchr(text.data, '\0', text.len))
        return false;
    memcpy(room, text.data, text.len);
    room[text.len] = '\0';
    *ret_number = strtod(room, &end);
    return *end == '\0' && room[0] != ' ' && room[0] != '\t';
}

/* {name="value",…} */
static bool
take_labels(udpai_str *rest, udpai_cli_series *series)
{
    udpai_str name, value;
    if (!take_char(rest, '{'))
        return true;
    while (!take_char(rest, '}')) {
        name = take_name(rest);
        if (!name.len || !take_char(rest, '=') || !take_quoted(rest, &value))
            return false;
        if (udpai_str_eq(name, UDPAI_STR("le"))) {
            series->has_le = read_number(value, &series->le) && !isnan(series->le);
            if (!series->has_le)
                return false;
        } else if (!series->label.data) {
            series->label = value;
        }
        if (!take_char(rest, ',') && (!rest->len || *rest->data != '}'))
            return false;
    }
    return true;
}

/* NAME{labels} VALUE [TIME] */
static bool
read_line(udpai_str line, udpai_cli_series *series)
{
    double when;
    udpai_str value;
    *series = (udpai_cli_series){.name = take_name(&line)};
    if (!series->name.len || !take_labels(&line, series) || !take_char(&line, ' '))
        return false;
    if (udpai_str_cut(&line, ' ', &value))
        return read_number(value, &series->value) && read_number(line, &when);
    return read_number(line, &series->value);
}

static udpa_err
take_line(udpai_cli_page *page, udpai_str line, size_t number, udpa_error **ret_error)
{
    udpai_cli_series series;
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    if (line.len == 0 || *line.data == '#')
        return UDPA_OK;
    if (line.len > UDPAI_CLI_SERIES_LINE_MAX || page->series.n == UDPAI_CLI_SERIES_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "line %zu of the page of metrics: it is longer than %zu bytes, or one of "
                          "more than %d series",
                          number, UDPAI_CLI_SERIES_LINE_MAX, UDPAI_CLI_SERIES_MAX);
    if (!read_line(line, &series))
        return udpai_fail(ret_error, UDPA_ERR_MALFORMED,
                          "line %zu of the page of metrics is not in the text format of Prometheus",
                          number);
    if (!isfinite(series.value))
        return UDPA_OK;
    return udpai_vector_push(&page->series, series) ? UDPA_OK
                                                    : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_cli_page_read(udpai_cli_page *page, udpai_str text, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    udpai_str line;
    *page = (udpai_cli_page){0};
    for (size_t number = 1; err == UDPA_OK && text.len; number++) {
        if (!udpai_str_cut(&text, '\n', &line)) {
            line = text;
            text = (udpai_str){0};
        }
        err = take_line(page, line, number, ret_error);
    }
    if (err != UDPA_OK)
        udpai_cli_page_done(page);
    return err;
}

void
udpai_cli_page_done(udpai_cli_page *page)
{
    udpai_vector_done(&page->series);
}

/* ---- looking ---- */

const udpai_cli_series *
udpai_cli_page_next(const udpai_cli_page *page, const char *name, size_t *at)
{
    const udpai_str wanted = udpai_str_from(name);
    while (*at < page->series.n) {
        const udpai_cli_series *series = &page->series.items[(*at)++];
        if (udpai_str_eq(series->name, wanted))
            return series;
    }
    return NULL;
}

bool
udpai_cli_page_value(const udpai_cli_page *page,
                     const char *name,
                     const char *label,
                     double *ret_value)
{
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(page, name, &at))) {
        if (label && !udpai_str_eq(series->label, udpai_str_from(label)))
            continue;
        *ret_value = series->value;
        return true;
    }
    return false;
}

double
udpai_cli_page_sum(const udpai_cli_page *page, const char *name)
{
    size_t at = 0;
    double sum = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(page, name, &at)))
        sum += series->value;
    return sum;
}

/* ---- quantiles ---- */

static void
add_bucket(udpai_cli_histogram *self, double le, double count)
{
    for (size_t i = 0; i < self->n; i++)
        if (self->buckets[i].le == le) {
            self->buckets[i].count += count;
            return;
        }
    if (self->n < UDPAI_CLI_BUCKETS_MAX)
        self->buckets[self->n++] = (udpai_cli_bucket){le, count};
}

udpai_cli_histogram
udpai_cli_page_histogram(const udpai_cli_page *page, const char *name)
{
    udpai_cli_histogram all = {.n = 0};
    size_t at = 0;
    const udpai_cli_series *series;
    while ((series = udpai_cli_page_next(page, name, &at)))
        if (series->has_le)
            add_bucket(&all, series->le, series->value);
    return all;
}

static int
compare_buckets(const void *a, const void *b)
{
    double one = ((const udpai_cli_bucket *)a)->le, two = ((const udpai_cli_bucket *)b)->le;
    return (one > two) - (one < two);
}

bool
udpai_cli_quantile(const udpai_cli_histogram *histogram,
                   const udpai_cli_histogram *before,
                   double quantile,
                   double *ret_value)
{
    udpai_cli_histogram all = *histogram;
    size_t i = 0;
    for (size_t k = 0; before && k < before->n; k++)
        add_bucket(&all, before->buckets[k].le, -before->buckets[k].count);
    qsort(all.buckets, all.n, sizeof(*all.buckets), compare_buckets);
    if (all.n < 2 || !isinf(all.buckets[all.n - 1].le) || !(all.buckets[all.n - 1].count > 0))
        return false;
    double rank = quantile * all.buckets[all.n - 1].count;
    while (i + 1 < all.n && all.buckets[i].count < rank)
        i++;
    if (i + 1 == all.n) { /* above all bounds: the highest one is as much as is known */
        *ret_value = all.buckets[i - 1].le;
        return true;
    }
    double from = i ? all.buckets[i - 1].le : 0, below = i ? all.buckets[i - 1].count : 0;
    double within = all.buckets[i].count - below;
    *ret_value = within > 0 ? from + (all.buckets[i].le - from) * (rank - below) / within
                            : all.buckets[i].le;
    return true;
}

/* ---- printing ---- */

void
udpai_cli_series_put_label(udpai_strbuf *out, const udpai_cli_series *series)
{
    udpai_strbuf text = {0};
    const udpai_str label = series->label;
    for (size_t i = 0; i < label.len; i++) {
        bool is_escaped = label.data[i] == '\\' && i + 1 < label.len;
        i += is_escaped;
        udpai_strbuf_putc(&text, is_escaped && label.data[i] == 'n' ? '\n' : label.data[i]);
    }
    udpai_cli_put_text(out, udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}
