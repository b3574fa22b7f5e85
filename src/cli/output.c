/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "codec/suggest.h"

udpai_cli_layout
udpai_cli_layout_of(const udpai_cli_options *options)
{
    return (udpai_cli_layout){
        .is_wide = options->output.is_wide,
        .without_heads = options->output.without_heads,
        .n_columns = udpai_cli_terminal_columns(STDOUT_FILENO),
        .sort_by = options->output.sort_by,
        .is_descending = options->output.is_descending,
    };
}

/* ---- printing ---- */

udpai_cli_exit
udpai_cli_print(udpai_strbuf *out)
{
    bool good = !udpai_strbuf_failed(out);
    udpai_cli_progress_line_clear();
    if (!good)
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    if (good && out->len && fwrite(out->data, out->len, 1, stdout) != 1)
        good = false;
    if (fflush(stdout) != 0)
        good = false;
    udpai_strbuf_done(out);
    *out = (udpai_strbuf){0};
    return good ? UDPAI_CLI_GOOD : UDPAI_CLI_REFUSED;
}

/* ---- tables ---- */

static void
complain_of_column(const udpai_cli_layout *layout)
{
    udpai_strbuf heads = {0}, written = {0};
    char text[UDPAI_SUGGESTION_TEXT] = "";
    for (const char *c = layout->sort_by; *c; c++)
        udpai_strbuf_putc(&written, udpai_cli_head_char(*c));
    udpai_suggestion suggestion = udpai_suggest(udpai_strbuf_view(&written));
    for (size_t i = 0; i < layout->heads.n; i++) {
        udpai_suggest_offer(&suggestion, layout->heads.items[i]);
        udpai_strbuf_printf(&heads, "%s%s", i ? ", " : "", layout->heads.items[i]);
    }
    udpai_cli_complain("--sort-by %s: there is no such column among %s%s", layout->sort_by,
                       heads.len ? heads.data : "none", udpai_suggestion_text(&suggestion, text));
    udpai_strbuf_done(&heads);
    udpai_strbuf_done(&written);
}

udpai_cli_exit
udpai_cli_print_tables(udpai_cli_layout *layout, udpai_strbuf *out)
{
    bool is_known = !layout->sort_by || layout->is_sorted || layout->heads.n == 0;
    if (!is_known) {
        complain_of_column(layout);
        udpai_strbuf_done(out);
        *out = (udpai_strbuf){0};
    }
    udpai_cli_layout_done(layout);
    return is_known ? udpai_cli_print(out) : UDPAI_CLI_MISTAKE;
}

/* ---- JSON ---- */

/* A terminal must not obey what was taken out; a program gets it as it is. */
static udpai_cli_exit
print_taken(udpai_strbuf *taken)
{
    udpai_strbuf out = {.failed = udpai_strbuf_failed(taken)};
    if (isatty(STDOUT_FILENO))
        udpai_cli_put_lines(&out, udpai_strbuf_view(taken));
    else
        udpai_strbuf_str(&out, udpai_strbuf_view(taken));
    if (taken->len && taken->data[taken->len - 1] != '\n')
        udpai_strbuf_putc(&out, '\n');
    return udpai_cli_print(&out);
}

udpai_cli_exit
udpai_cli_print_json(const udpai_cli_options *options, udpai_strbuf *out)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_strbuf taken = {0};
    udpai_cli_exit result = UDPAI_CLI_MISTAKE;
    if (!options->output.jsonpath || udpai_strbuf_failed(out))
        return udpai_cli_print(out);
    if (udpai_cli_jsonpath_put(&taken, options->output.jsonpath, udpai_strbuf_view(out), &error) ==
        UDPA_OK)
        result = print_taken(&taken);
    else
        udpai_cli_complain("-o %s: %s", options->format_name, udpa_error_message(error));
    udpai_strbuf_done(&taken);
    udpai_strbuf_done(out);
    *out = (udpai_strbuf){0};
    return result;
}
