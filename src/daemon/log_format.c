/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_format.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

#define IDENTIFIER "udpad"
#define TIME_MAX 64

/* ---- pieces ---- */

static void
put(udpai_log_encoded *to, const char *data, size_t len)
{
    len = udpai_min_size(len, sizeof(to->data) - to->len);
    memcpy(to->data + to->len, data, len);
    to->len += len;
}

static void
put_text(udpai_log_encoded *to, const char *text)
{
    put(to, text, strlen(text));
}

static void
put_escape(udpai_log_encoded *to, uint32_t point)
{
    static const char letters[] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char text[16];
    if (point < sizeof(letters) && letters[point])
        snprintf(text, sizeof(text), "\\%c", letters[point]);
    else
        snprintf(text, sizeof(text), "\\u%04x", (unsigned)point); /* none lies above U+FFFF */
    put_text(to, text);
}

/* With the escapes of JSON. @p quote: the mark that the text stands between, 0 if in none. */
static void
put_escaped(udpai_log_encoded *to, udpai_str text, char quote)
{
    while (text.len) {
        uint32_t point = 0;
        size_t len = udpai_utf8_decode(text, &point);
        if (len == 0)
            put_text(to, "?");
        else if (point == '\\' || (quote && point == (unsigned char)quote))
            put(to, (const char[]){'\\', (char)point}, 2);
        else if (udpai_utf8_is_hidden(point))
            put_escape(to, point);
        else
            put(to, text.data, len);
        len += len == 0;
        text = (udpai_str){text.data + len, text.len - len};
    }
}

static void
put_quoted(udpai_log_encoded *to, udpai_str text)
{
    put_text(to, "\"");
    put_escaped(to, text, '"');
    put_text(to, "\"");
}

/* No character of UTF-8 is cut in two. */
static udpai_str
cut(udpai_str text)
{
    size_t len = UDPAI_LOG_VALUE_MAX;
    if (text.len <= len)
        return text;
    while (len > UDPAI_LOG_VALUE_MAX - 3 && ((unsigned char)text.data[len] & 0xc0) == 0x80)
        len--;
    return (udpai_str){text.data, len};
}

static udpai_str
message_of(const udpai_log_line *line)
{
    return udpai_utf8_cut(udpai_str_from(line->message), UDPAI_LOG_MESSAGE_MAX);
}

static void
format_time(char room[TIME_MAX], const struct timespec *when)
{
    struct tm utc;
    char seconds[32] = "";
    if (gmtime_r(&when->tv_sec, &utc))
        strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(room, TIME_MAX, "%s.%03ldZ", seconds, when->tv_nsec / 1000000);
}

/* ---- text ---- */

static void
put_as_text(udpai_log_encoded *to, const udpai_log_line *line, const char *when)
{
    udpai_str message = message_of(line);
    put_text(to, when);
    put_text(to, " ");
    put_text(to, udpa_log_level_name(line->level));
    put_text(to, " ");
    put_text(to, line->component);
    put_text(to, ": ");
    put(to, message.data, message.len);
}

/* ---- the forms with fields ---- */

typedef void (*put_pair_fn)(udpai_log_encoded *to, const char *key, udpai_str value);

static void
put_json_pair(udpai_log_encoded *to, const char *key, udpai_str value)
{
    put_text(to, to->len ? ",\"" : "{\"");
    put_text(to, key);
    put_text(to, "\":");
    put_quoted(to, value);
}

/* Needs no quotes for any reader: what is visible in ASCII, but for what has a meaning. */
static bool
is_bare(udpai_str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (value.data[i] <= ' ' || value.data[i] >= 0x7f || strchr("\"=\\", value.data[i]))
            return false;
    return value.len > 0;
}

static void
put_logfmt_pair(udpai_log_encoded *to, const char *key, udpai_str value)
{
    if (to->len)
        put_text(to, " ");
    put_text(to, key);
    put_text(to, "=");
    if (is_bare(value))
        put(to, value.data, value.len);
    else
        put_quoted(to, value);
}

/* A value has no line end in it, so the plain form of the protocol will always do. */
static void
put_journal_pair(udpai_log_encoded *to, const char *key, udpai_str value)
{
    put_text(to, key);
    put_text(to, "=");
    put_escaped(to, value, 0);
    put_text(to, "\n");
}

/* The first of each key. */
static bool
is_put(const udpai_log_line *line, size_t index)
{
    const udpai_log_field *field = &line->fields[index];
    bool is = field->value.len > 0 && (unsigned)field->key < UDPAI_LOG_KEYS;
    for (size_t i = 0; i < index && is; i++)
        is = line->fields[i].key != field->key || line->fields[i].value.len == 0;
    return is;
}

static void
put_pairs(udpai_log_encoded *to, const udpai_log_line *line, const char *when, put_pair_fn pair)
{
    pair(to, "time", udpai_str_from(when));
    pair(to, "level", udpai_str_from(udpa_log_level_name(line->level)));
    pair(to, "module", udpai_str_from(line->component));
    pair(to, "message", message_of(line));
    for (size_t i = 0; i < line->n_fields; i++)
        if (is_put(line, i))
            pair(to, udpai_log_key_name(line->fields[i].key), cut(line->fields[i].value));
}

/* ---- journald ---- */

static const char *
priority_of(udpa_log_level level)
{
    static const char *const of[] = {"7", "6", "4", "3"}; /* those of syslog */
    return (unsigned)level < UDPAI_ARRAY_LEN(of) ? of[level] : "6";
}

/* Fields of ours begin with UDPA_, so that they meet those of no other program. */
static void
put_for_journal(udpai_log_encoded *to, const udpai_log_line *line)
{
    udpai_str message = message_of(line);
    put_journal_pair(to, "PRIORITY", udpai_str_from(priority_of(line->level)));
    put_journal_pair(to, "SYSLOG_IDENTIFIER", UDPAI_STR(IDENTIFIER));
    put_text(to, "MESSAGE=");
    put(to, message.data, message.len);
    put_text(to, "\n");
    put_journal_pair(to, "UDPA_MODULE", udpai_str_from(line->component));
    for (size_t i = 0; i < line->n_fields; i++) {
        char key[32] = "UDPA_";
        if (!is_put(line, i))
            continue;
        const char *name = udpai_log_key_name(line->fields[i].key);
        for (size_t at = 0; name[at] && at + 6 < sizeof(key); at++)
            key[at + 5] = (char)toupper((unsigned char)name[at]);
        put_journal_pair(to, key, cut(line->fields[i].value));
    }
}

void
udpai_log_encode(udpai_log_encoded *ret_encoded,
                 udpai_log_format format,
                 const udpai_log_line *line,
                 const struct timespec *when)
{
    char time[TIME_MAX];
    ret_encoded->len = 0;
    format_time(time, when);
    if (format == UDPAI_LOG_JOURNAL) {
        put_for_journal(ret_encoded, line);
        return;
    }
    if (format == UDPAI_LOG_TEXT)
        put_as_text(ret_encoded, line, time);
    else
        put_pairs(ret_encoded, line, time,
                  format == UDPAI_LOG_JSON ? put_json_pair : put_logfmt_pair);
    put_text(ret_encoded, format == UDPAI_LOG_JSON ? "}\n" : "\n");
}
