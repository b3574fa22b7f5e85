/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/report.h"

#include "codec/json_text.h"

static bool
fell_short(const udpai_result *result, bool is_strict)
{
    return result->verdict == UDPAI_FAILED && udpai_result_is_good(result, is_strict);
}

static const char *
verdict_word(const udpai_result *result, bool is_strict)
{
    if (fell_short(result, is_strict))
        return "short";
    return result->verdict == UDPAI_FAILED    ? "fail"
           : result->verdict == UDPAI_SKIPPED ? "skip"
                                              : "pass";
}

static const char *
level_word(const udpai_case *that)
{
    return that->level == UDPAI_MUST ? "must" : "should";
}

udpai_report_counts
udpai_report_count(const udpai_results *results, bool is_strict)
{
    udpai_report_counts counts = {0};
    for (size_t i = 0; i < results->n; i++) {
        const udpai_result *result = &results->items[i];
        counts.n_passed += result->verdict == UDPAI_PASSED;
        counts.n_skipped += result->verdict == UDPAI_SKIPPED;
        counts.n_failed += !udpai_result_is_good(result, is_strict);
        counts.n_fell_short += fell_short(result, is_strict);
    }
    return counts;
}

/* What a server sent is in these texts: control characters but newlines become '?'. */
static void
put_clean(udpai_strbuf *out, char c)
{
    unsigned char byte = (unsigned char)c;
    udpai_strbuf_putc(out, byte < 0x20 || byte == 0x7f ? '?' : c);
}

static void
put_line(udpai_strbuf *out, const char *text)
{
    for (; text && *text; text++)
        put_clean(out, *text == '\n' ? ' ' : *text);
}

/* Each line with something before it. */
static void
put_indented(udpai_strbuf *out, const char *before, const char *text)
{
    bool is_begin = true;
    for (; text && *text; text++) {
        if (is_begin)
            udpai_strbuf_puts(out, before);
        is_begin = *text == '\n';
        if (is_begin)
            udpai_strbuf_putc(out, '\n');
        else
            put_clean(out, *text);
    }
    if (!is_begin)
        udpai_strbuf_putc(out, '\n');
}

/* ---- text ---- */

static void
put_failure(udpai_strbuf *out, const udpai_result *result, bool is_strict)
{
    udpai_strbuf_printf(out, "%-5s  %s\n       ", verdict_word(result, is_strict), result->name);
    put_line(out, result->why);
    if (result->verdict == UDPAI_FAILED) {
        udpai_strbuf_printf(out, "\n       %s (%s): %s\n", level_word(result->that),
                            result->that->section, result->that->rule);
        put_indented(out, "         ", result->transcript);
    }
    udpai_strbuf_puts(out, "\n");
}

void
udpai_report_text_one(udpai_strbuf *out, const udpai_result *result, bool is_strict)
{
    if (result->verdict != UDPAI_PASSED)
        put_failure(out, result, is_strict);
}

void
udpai_report_text_sum(udpai_strbuf *out, const udpai_results *results, bool is_strict)
{
    udpai_report_counts counts = udpai_report_count(results, is_strict);
    udpai_strbuf_printf(out, "%zu cases: %zu passed, %zu failed, %zu fell short, %zu skipped\n",
                        results->n, counts.n_passed, counts.n_failed, counts.n_fell_short,
                        counts.n_skipped);
}

void
udpai_report_list(udpai_strbuf *out, bool (*is_selected)(void *, const char *), void *userdata);

typedef struct listing {
    udpai_strbuf *out;
    bool (*is_selected)(void *userdata, const char *name);
    void *userdata;
} listing;

static void
put_listed(void *userdata, const udpai_case *that, unsigned way)
{
    const listing *self = userdata;
    char name[sizeof(((udpai_result *)0)->name)];
    udpai_case_name(that, way, name, sizeof(name));
    if (!self->is_selected || self->is_selected(self->userdata, name))
        udpai_strbuf_printf(self->out, "%-6s  %-60s  %s: %s\n", level_word(that), name,
                            that->section, that->rule);
}

void
udpai_report_list(udpai_strbuf *out, bool (*is_selected)(void *, const char *), void *userdata)
{
    listing self = {out, is_selected, userdata};
    udpai_suite_visit(put_listed, &self);
}

/* ---- TAP ---- */

static void
put_tap_details(udpai_strbuf *out, const udpai_result *result)
{
    udpai_strbuf_puts(out, "  ---\n  message: ");
    udpai_json_put_string(out, udpai_str_from(result->why ? result->why : ""));
    udpai_strbuf_printf(out, "\n  level: %s\n  section: ", level_word(result->that));
    udpai_json_put_string(out, udpai_str_from(result->that->section));
    udpai_strbuf_puts(out, "\n  rule: ");
    udpai_json_put_string(out, udpai_str_from(result->that->rule));
    udpai_strbuf_puts(out, "\n  said: |\n");
    put_indented(out, "    ", result->transcript);
    udpai_strbuf_puts(out, "  ...\n");
}

void
udpai_report_tap_plan(udpai_strbuf *out, size_t n_cases)
{
    udpai_strbuf_printf(out, "1..%zu\n", n_cases);
}

void
udpai_report_tap_one(udpai_strbuf *out, const udpai_result *result, size_t number, bool is_strict)
{
    bool is_good = udpai_result_is_good(result, is_strict);
    udpai_strbuf_printf(out, "%sok %zu - %s", is_good ? "" : "not ", number, result->name);
    if (result->verdict == UDPAI_SKIPPED)
        udpai_strbuf_puts(out, " # SKIP ");
    else if (fell_short(result, is_strict))
        udpai_strbuf_puts(out, " (falls short of what it should do) ");
    if (result->verdict == UDPAI_SKIPPED)
        put_line(out, result->why);
    udpai_strbuf_putc(out, '\n');
    if (result->verdict == UDPAI_FAILED)
        put_tap_details(out, result);
}

/* ---- JUnit ---- */

static void
put_xml(udpai_strbuf *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '&')
            udpai_strbuf_puts(out, "&amp;");
        else if (*text == '<')
            udpai_strbuf_puts(out, "&lt;");
        else if (*text == '>')
            udpai_strbuf_puts(out, "&gt;");
        else if (*text == '"')
            udpai_strbuf_puts(out, "&quot;");
        else if (*text == '\n')
            udpai_strbuf_putc(out, '\n');
        else
            put_clean(out, *text);
    }
}

/* "sotw/aggregated/name" is the case "name" of the class "sotw.aggregated". */
static void
put_junit_name(udpai_strbuf *out, const char *name)
{
    const char *slash = strrchr(name, '/');
    udpai_strbuf_puts(out, "  <testcase classname=\"");
    for (const char *at = name; at < slash; at++)
        udpai_strbuf_putc(out, *at == '/' ? '.' : *at);
    udpai_strbuf_puts(out, "\" name=\"");
    put_xml(out, slash + 1);
    udpai_strbuf_puts(out, "\"");
}

static void
put_junit_case(udpai_strbuf *out, const udpai_result *result, bool is_strict)
{
    bool is_good = udpai_result_is_good(result, is_strict);
    put_junit_name(out, result->name);
    udpai_strbuf_printf(out, " time=\"%.3f\"", (double)result->took_ms / 1000);
    if (result->verdict == UDPAI_PASSED) {
        udpai_strbuf_puts(out, "/>\n");
        return;
    }
    const char *element = result->verdict == UDPAI_SKIPPED ? "skipped"
                          : is_good                        ? "system-out"
                                                           : "failure";
    udpai_strbuf_printf(out, ">\n    <%s", element);
    if (strcmp(element, "system-out") != 0) {
        udpai_strbuf_puts(out, " message=\"");
        put_xml(out, result->why);
        udpai_strbuf_puts(out, "\"");
    }
    udpai_strbuf_puts(out, ">");
    put_xml(out, is_good ? result->why : "");
    udpai_strbuf_puts(out, "\n");
    put_xml(out, result->that->section);
    udpai_strbuf_puts(out, ": ");
    put_xml(out, result->that->rule);
    udpai_strbuf_puts(out, "\n");
    put_xml(out, result->transcript);
    udpai_strbuf_printf(out, "</%s>\n  </testcase>\n", element);
}

void
udpai_report_junit(udpai_strbuf *out, const udpai_results *results, bool is_strict)
{
    udpai_report_counts counts = udpai_report_count(results, is_strict);
    uint64_t took_ms = 0;
    for (size_t i = 0; i < results->n; i++)
        took_ms += results->items[i].took_ms;
    udpai_strbuf_printf(out,
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<testsuite name=\"xds\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
                        "skipped=\"%zu\" time=\"%.3f\">\n",
                        results->n, counts.n_failed, counts.n_skipped, (double)took_ms / 1000);
    for (size_t i = 0; i < results->n; i++)
        put_junit_case(out, &results->items[i], is_strict);
    udpai_strbuf_puts(out, "</testsuite>\n");
}

/* ---- JSON ---- */

static void
put_member(udpai_strbuf *out, const char *name, const char *text)
{
    udpai_strbuf_printf(out, ", \"%s\": ", name);
    udpai_json_put_string(out, udpai_str_from(text));
}

void
udpai_report_json(udpai_strbuf *out, const udpai_results *results, bool is_strict)
{
    udpai_strbuf_puts(out, "[");
    for (size_t i = 0; i < results->n; i++) {
        const udpai_result *result = &results->items[i];
        udpai_strbuf_puts(out, i ? ",\n {\"name\": " : "\n {\"name\": ");
        udpai_json_put_string(out, udpai_str_from(result->name));
        put_member(out, "result", verdict_word(result, is_strict));
        put_member(out, "level", level_word(result->that));
        put_member(out, "section", result->that->section);
        put_member(out, "rule", result->that->rule);
        if (result->why)
            put_member(out, "why", result->why);
        if (result->transcript)
            put_member(out, "said", result->transcript);
        udpai_strbuf_printf(out, ", \"took_ms\": %llu}", (unsigned long long)result->took_ms);
    }
    udpai_strbuf_puts(out, "\n]\n");
}
