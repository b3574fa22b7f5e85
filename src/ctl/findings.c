/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/display.h"
#include "codec/json_text.h"

#define TEXT_MAX 600 /* bytes: of a text of a peer so much */

static const char *const levels[] = {[UDPAI_CTL_ERROR] = "error", [UDPAI_CTL_WARNING] = "warning"};

static char *
masked(const char *text)
{
    udpai_strbuf out = {0};
    udpai_str all = udpai_str_from(text);
    udpai_strbuf_puts(&out, "");
    udpai_cli_put_text(&out, (udpai_str){all.data, udpai_min_size(all.len, TEXT_MAX)});
    return udpai_strbuf_take(&out);
}

void
udpai_ctl_findings_add(udpai_ctl_findings *findings,
                       const udpai_ctl_finding *begin,
                       const char *where,
                       const char *why,
                       ...)
{
    char room[TEXT_MAX + 1];
    va_list arguments;
    findings->n[begin->level]++;
    if (findings->items.n == UDPAI_CTL_FINDINGS_MAX)
        return;
    va_start(arguments, why);
    vsnprintf(room, sizeof(room), why, arguments);
    va_end(arguments);
    udpai_ctl_finding finding = {begin->level, begin->what, masked(where), masked(room),
                                 masked(begin->action)};
    bool is_whole = finding.where && finding.why && finding.action;
    if (is_whole && udpai_vector_push(&findings->items, finding))
        return;
    findings->failed = true;
    udpai_free(finding.where);
    udpai_free(finding.why);
    udpai_free(finding.action);
}

void
udpai_ctl_findings_done(udpai_ctl_findings *findings)
{
    for (size_t i = 0; i < findings->items.n; i++) {
        udpai_free(findings->items.items[i].where);
        udpai_free(findings->items.items[i].why);
        udpai_free(findings->items.items[i].action);
    }
    udpai_vector_done(&findings->items);
}

/* ---- printing ---- */

static void
put_count(udpai_strbuf *out, const udpai_ctl_findings *findings)
{
    size_t n_errors = findings->n[UDPAI_CTL_ERROR], n_warnings = findings->n[UDPAI_CTL_WARNING];
    if (n_errors + n_warnings == 0) {
        udpai_strbuf_puts(out, "nothing found\n");
        return;
    }
    udpai_strbuf_printf(out, "%zu error%s, %zu warning%s", n_errors, n_errors == 1 ? "" : "s",
                        n_warnings, n_warnings == 1 ? "" : "s");
    if (n_errors + n_warnings > findings->items.n)
        udpai_strbuf_printf(out, "; %zu are not shown", n_errors + n_warnings - findings->items.n);
    udpai_strbuf_putc(out, '\n');
}

static void
put_level(udpai_strbuf *out, const udpai_ctl_findings *findings, udpai_ctl_level level)
{
    for (size_t i = 0; i < findings->items.n; i++) {
        const udpai_ctl_finding *it = &findings->items.items[i];
        if (it->level != level)
            continue;
        udpai_strbuf_printf(out, "%-7s  %s%s%s: %s; %s\n", levels[level], it->what,
                            *it->where ? " " : "", it->where, it->why, it->action);
    }
}

void
udpai_ctl_findings_put(const udpai_ctl_findings *findings, udpai_strbuf *out)
{
    put_level(out, findings, UDPAI_CTL_ERROR);
    put_level(out, findings, UDPAI_CTL_WARNING);
    put_count(out, findings);
}

static void
put_member(udpai_strbuf *out, const char *name, const char *value)
{
    udpai_strbuf_printf(out, "\"%s\": ", name);
    udpai_json_put_string(out, udpai_str_from(value));
}

void
udpai_ctl_findings_put_json(const udpai_ctl_findings *findings, udpai_strbuf *out)
{
    udpai_strbuf_printf(out, "{\n  \"errors\": %zu,\n  \"warnings\": %zu,\n  \"findings\": [",
                        findings->n[UDPAI_CTL_ERROR], findings->n[UDPAI_CTL_WARNING]);
    for (size_t i = 0; i < findings->items.n; i++) {
        const udpai_ctl_finding *it = &findings->items.items[i];
        udpai_strbuf_puts(out, i ? ",\n    {" : "\n    {");
        put_member(out, "level", levels[it->level]);
        udpai_strbuf_puts(out, ", ");
        put_member(out, "what", it->what);
        udpai_strbuf_puts(out, ", ");
        put_member(out, "where", it->where);
        udpai_strbuf_puts(out, ", ");
        put_member(out, "why", it->why);
        udpai_strbuf_puts(out, ", ");
        put_member(out, "action", it->action);
        udpai_strbuf_putc(out, '}');
    }
    udpai_strbuf_puts(out, findings->items.n ? "\n  ]\n}\n" : "]\n}\n");
}
