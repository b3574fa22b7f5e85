/* SPDX-License-Identifier: Apache-2.0 */
#include "metrics/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

typedef struct writer {
    const udpai_metric_snapshot *snapshot;
    const udpai_metric_family *family;
    udpai_metric_format format;
    udpai_strbuf *text;
} writer;

/* ---- values ---- */

/* As short as it is exact. Of whole numbers all digits, up to where doubles have them. */
static void
put_number(udpai_strbuf *text, double value)
{
    char room[32];
    bool is_whole = value > -9e15 && value < 9e15 && (double)(int64_t)value == value;
    if (is_whole) {
        udpai_strbuf_printf(text, "%" PRId64, (int64_t)value);
        return;
    }
    snprintf(room, sizeof(room), "%.15g", value);
    if (strtod(room, NULL) != value)
        snprintf(room, sizeof(room), "%.17g", value);
    udpai_strbuf_puts(text, room);
}

/* OpenMetrics has whole bounds with a point, and the same series has one name in both formats. */
static void
put_bound(udpai_strbuf *text, size_t bucket)
{
    char room[32];
    if (bucket == UDPAI_METRIC_BUCKETS) {
        udpai_strbuf_puts(text, "+Inf");
        return;
    }
    snprintf(room, sizeof(room), "%g", (double)udpai_metric_bounds_us[bucket] / 1e6);
    udpai_strbuf_printf(text, "%s%s", room, strpbrk(room, ".e") ? "" : ".0");
}

/* ---- labels and help ---- */

static void
put_escaped(udpai_strbuf *text, char at, bool escapes_quotes)
{
    if (at == '\\' || at == '\n' || (at == '"' && escapes_quotes))
        udpai_strbuf_putc(text, '\\');
    udpai_strbuf_putc(text, at == '\n' ? 'n' : at);
}

/* What is no UTF-8, or a zero byte, would spoil the whole page. */
static void
put_label_value(udpai_strbuf *text, udpai_str value)
{
    while (value.len) {
        uint32_t point;
        size_t len = udpai_utf8_decode(value, &point);
        if (len > 1)
            udpai_strbuf_append(text, value.data, len);
        else
            put_escaped(text, len && value.data[0] ? value.data[0] : '?', true);
        len += len == 0;
        value = (udpai_str){value.data + len, value.len - len};
    }
}

static void
put_help(const writer *self)
{
    bool escapes_quotes = self->format == UDPAI_METRIC_OPENMETRICS;
    for (const char *at = self->family->help; *at; at++)
        put_escaped(self->text, *at, escapes_quotes);
}

/* ---- series ---- */

/* "NAME{label="value",le="0.5"} ": without a bucket there is no le. */
static void
put_series(const writer *self, const char *suffix, const udpai_metric_sample *sample, int bucket)
{
    udpai_metric_label label = self->family->label;
    const char *comma = "";
    udpai_strbuf_printf(self->text, "%s%s", self->family->name, suffix);
    if (label != UDPAI_LABEL_NONE || bucket >= 0)
        udpai_strbuf_putc(self->text, '{');
    if (label != UDPAI_LABEL_NONE) {
        udpai_strbuf_printf(self->text, "%s=\"", udpai_metric_label_info_of(label)->name);
        put_label_value(self->text, udpai_metric_sample_label(sample));
        udpai_strbuf_putc(self->text, '"');
        comma = ",";
    }
    if (bucket >= 0) {
        udpai_strbuf_printf(self->text, "%sle=\"", comma);
        put_bound(self->text, (size_t)bucket);
        udpai_strbuf_putc(self->text, '"');
    }
    udpai_strbuf_puts(self->text, label != UDPAI_LABEL_NONE || bucket >= 0 ? "} " : " ");
}

static void
put_sample(const writer *self, const char *suffix, const udpai_metric_sample *sample, double value)
{
    put_series(self, suffix, sample, -1);
    put_number(self->text, value);
    udpai_strbuf_putc(self->text, '\n');
}

static void
put_created(const writer *self, const udpai_metric_sample *sample)
{
    if (self->format == UDPAI_METRIC_OPENMETRICS)
        put_sample(self, "_created", sample, udpai_metric_snapshot_created(self->snapshot));
}

/* Behind a bucket that counts something. */
static void
put_exemplar(const writer *self, const udpai_metric_sample *sample, int bucket)
{
    char trace[UDPAI_TRACEPARENT_LEN];
    const udpai_metric_exemplar *exemplar = sample->exemplars ? &sample->exemplars[bucket] : NULL;
    if (!exemplar || exemplar->at_seconds == 0 || sample->values[bucket] == 0 ||
        self->format != UDPAI_METRIC_OPENMETRICS)
        return;
    udpai_trace_write(&exemplar->trace, trace);
    udpai_strbuf_printf(self->text, " # {trace_id=\"%.*s\"} ", 2 * UDPAI_TRACE_ID,
                        trace + sizeof("00-") - 1);
    put_number(self->text, (double)exemplar->us / 1e6);
    udpai_strbuf_printf(self->text, " %.3f", exemplar->at_seconds);
}

static void
put_histogram(const writer *self, const udpai_metric_sample *sample)
{
    double count = 0;
    for (int i = 0; i <= UDPAI_METRIC_BUCKETS; i++) {
        count += sample->values[i];
        put_series(self, "_bucket", sample, i);
        put_number(self->text, count);
        put_exemplar(self, sample, i);
        udpai_strbuf_putc(self->text, '\n');
    }
    put_sample(self, "_sum", sample, sample->values[UDPAI_METRIC_BUCKETS + 1] / 1e6);
    put_sample(self, "_count", sample, count);
    put_created(self, sample);
}

/* ---- families ---- */

/* The older format has the name of the series, OpenMetrics that of the family. */
static void
put_head(const writer *self, udpai_metric metric)
{
    static const char *const kinds[] = {
        [UDPAI_METRIC_COUNTER] = "counter",     [UDPAI_METRIC_GAUGE] = "gauge",
        [UDPAI_METRIC_LARGEST] = "gauge",       [UDPAI_METRIC_RATIO] = "gauge",
        [UDPAI_METRIC_HISTOGRAM] = "histogram",
    };
    bool is_open = self->format == UDPAI_METRIC_OPENMETRICS;
    const char *unit = udpai_metric_unit(metric);
    const char *suffix = self->family->kind == UDPAI_METRIC_COUNTER && !is_open ? "_total" : "";
    udpai_strbuf_printf(self->text, "# HELP %s%s ", self->family->name, suffix);
    put_help(self);
    udpai_strbuf_printf(self->text, "\n# TYPE %s%s %s\n", self->family->name, suffix,
                        kinds[self->family->kind]);
    if (unit && is_open)
        udpai_strbuf_printf(self->text, "# UNIT %s %s\n", self->family->name, unit);
}

static void
put_family(writer *self, udpai_metric metric)
{
    bool has_head = false;
    self->family = udpai_metric_family_of(metric);
    UDPAI_LIST_FOREACH (at, udpai_metric_snapshot_samples(self->snapshot, metric)) {
        const udpai_metric_sample *sample = UDPAI_LIST_ENTRY(at, udpai_metric_sample, node);
        if (!sample->is_set)
            continue;
        if (!has_head)
            put_head(self, metric);
        has_head = true;
        if (self->family->kind == UDPAI_METRIC_HISTOGRAM) {
            put_histogram(self, sample);
        } else if (self->family->kind == UDPAI_METRIC_COUNTER) {
            put_sample(self, "_total", sample, sample->values[0]);
            put_created(self, sample);
        } else {
            put_sample(self, "", sample, sample->values[0]);
        }
    }
}

void
udpai_metric_text(const udpai_metric_snapshot *snapshot,
                  udpai_metric_format format,
                  udpai_strbuf *text)
{
    writer self = {.snapshot = snapshot, .format = format, .text = text};
    for (int i = 0; i < UDPAI_METRICS; i++)
        put_family(&self, (udpai_metric)i);
    if (format == UDPAI_METRIC_OPENMETRICS)
        udpai_strbuf_puts(text, "# EOF\n");
}
