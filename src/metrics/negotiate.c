/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a client is sent. */
#include <strings.h>

#include "metrics/text.h"

const char *
udpai_metric_content_type(udpai_metric_format format)
{
    return format == UDPAI_METRIC_OPENMETRICS
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

/* How well a range fits: 0, not at all. */
typedef struct fit {
    int closeness, quality; /* of 1000 */
} fit;

static udpai_str
trim(udpai_str text)
{
    while (text.len && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (udpai_str){text.data + 1, text.len - 1};
    while (text.len && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* What is before the next one, which is taken off with it; all, if there is none. */
static udpai_str
next_part(udpai_str *rest, char separator)
{
    udpai_str part;
    if (!udpai_str_cut(rest, separator, &part)) {
        part = *rest;
        rest->len = 0;
    }
    return trim(part);
}

static bool
is_word(udpai_str text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* "0", "0.25", "1", "1.000"; what is none of these is 0. */
static int
read_quality(udpai_str text)
{
    int quality = 0, weight = 1000;
    if (text.len == 0 || text.len > 5 || (text.data[0] != '0' && text.data[0] != '1'))
        return 0;
    quality = (text.data[0] - '0') * weight;
    for (size_t i = 1; i < text.len; i++) {
        bool is_good = i == 1 ? text.data[i] == '.' : text.data[i] >= '0' && text.data[i] <= '9';
        if (!is_good)
            return 0;
        if (i > 1)
            quality += (text.data[i] - '0') * (weight /= 10);
    }
    return quality <= 1000 ? quality : 0;
}

typedef struct offer {
    const char *type, *any_subtype, *version;
} offer;

static const offer offers[UDPAI_METRIC_FORMATS] = {
    [UDPAI_METRIC_PROMETHEUS] = {"text/plain", "text/*", "0.0.4"},
    [UDPAI_METRIC_OPENMETRICS] = {"application/openmetrics-text", "application/*", "1.0.0"},
};

/* Only clients that name OpenMetrics, or what is like it, are sent that. */
static int
closeness_of(udpai_metric_format format, udpai_str range)
{
    if (is_word(range, offers[format].type))
        return 3;
    if (is_word(range, offers[format].any_subtype))
        return 2;
    return format == UDPAI_METRIC_PROMETHEUS && is_word(range, "*/*");
}

/* "TYPE;version=1.0.0;q=0.5": of another version it does not fit. */
static fit
fit_of(udpai_metric_format format, udpai_str range)
{
    fit found = {closeness_of(format, next_part(&range, ';')), 1000};
    while (range.len) {
        udpai_str value = next_part(&range, ';'), name;
        if (!udpai_str_cut(&value, '=', &name))
            continue;
        name = trim(name);
        value = trim(value);
        if (is_word(name, "q"))
            found.quality = read_quality(value);
        else if (is_word(name, "version") && !is_word(value, offers[format].version))
            found.closeness = 0;
    }
    return found;
}

/* Of the closest range that fits it. */
static int
quality_of(udpai_metric_format format, udpai_str accept)
{
    fit best = {0, 0};
    while (accept.len) {
        fit found = fit_of(format, next_part(&accept, ','));
        if (found.closeness > best.closeness)
            best = found;
    }
    return best.quality;
}

udpai_metric_format
udpai_metric_negotiate(udpai_str accept)
{
    int openmetrics = quality_of(UDPAI_METRIC_OPENMETRICS, accept);
    return openmetrics > 0 && openmetrics >= quality_of(UDPAI_METRIC_PROMETHEUS, accept)
               ? UDPAI_METRIC_OPENMETRICS
               : UDPAI_METRIC_PROMETHEUS;
}
