/* SPDX-License-Identifier: Apache-2.0 */
/* reload: a node reads its bootstrap file again, or shows what would come of it. */
#include <inttypes.h>

#include "cli/display.h"
#include "cli/output.h"
#include "codec/reader.h"
#include "ctl/commands.h"
#include "ctl/http.h"

#define GOOD 200

/* ---- the answer ---- */

static void
put_all(const udpai_tree *root, const char *list, const char *after, udpai_strbuf *out)
{
    const udpai_tree *all = udpai_tree_value(root, udpai_str_from(list), UDPAI_TREE_LIST);
    for (uint32_t i = 0; all && i < all->n; i++) {
        udpai_cli_put_text(out, all->items[i]->text);
        udpai_strbuf_printf(out, "%s\n", after);
    }
}

/* What came, went or was edited: "directory PATH: added". */
static void
put_each(
    const udpai_tree *root, const char *list, const char *what, const char *key, udpai_strbuf *out)
{
    const udpai_tree *all = udpai_tree_value(root, udpai_str_from(list), UDPAI_TREE_LIST);
    for (uint32_t i = 0; all && i < all->n; i++) {
        udpai_strbuf_printf(out, "%s ", what);
        udpai_cli_put_text(out, udpai_tree_text(all->items[i], key));
        udpai_strbuf_puts(out, ": ");
        udpai_cli_put_text(out, udpai_tree_text(all->items[i], "change"));
        udpai_strbuf_putc(out, '\n');
    }
}

static uint64_t
number_of(const udpai_tree *root, const char *key)
{
    uint64_t n = 0;
    (void)udpai_str_number(udpai_tree_text(root, key), &n);
    return n;
}

static void
put_sum(const udpai_tree *root, bool is_dry_run, udpai_strbuf *out)
{
    udpai_strbuf_printf(out,
                        "%s: %" PRIu64 " of %" PRIu64 " resources %s withdrawn, with %" PRIu64
                        " streams of clients",
                        is_dry_run ? "Nothing is changed" : "Reloaded",
                        number_of(root, "withdrawn"), number_of(root, "resources"),
                        is_dry_run ? "would be" : "were", number_of(root, "client_streams"));
    if (number_of(root, "ended_streams"))
        udpai_strbuf_printf(out, "; %" PRIu64 " of %" PRIu64 " streams %s",
                            number_of(root, "ended_streams"), number_of(root, "streams"),
                            is_dry_run ? "would be ended" : "are ended");
    udpai_strbuf_putc(out, '\n');
}

/* False: it cannot be read. */
static bool
put_answer(const udpai_ctl_answer *answer, bool is_dry_run, udpai_strbuf *out)
{
    udpai_documents *documents = NULL;
    const udpai_source source = {
        .name = "/reload", .text = udpai_strbuf_view(&answer->text), .format = UDPAI_FORMAT_JSON};
    bool is_good =
        udpai_documents_read(&documents, &source, NULL) == UDPA_OK && documents->roots.n == 1 &&
        udpai_tree_value(documents->roots.items[0], UDPAI_STR("changes"), UDPAI_TREE_LIST) != NULL;
    if (is_good) {
        const udpai_tree *root = documents->roots.items[0];
        put_all(root, "changes", is_dry_run ? ": would change" : ": changed", out);
        put_each(root, "sources", "source", "name", out);
        put_each(root, "directories", "directory", "path", out);
        put_each(root, "sockets", "socket", "address", out);
        put_all(root, "restart", ": takes a restart", out);
        put_sum(root, is_dry_run, out);
    }
    udpai_documents_free(documents);
    return is_good;
}

static udpai_cli_exit
print_answer(const udpai_ctl_options *options, udpai_ctl_answer *answer)
{
    udpai_strbuf out = {0};
    if (answer->status != GOOD)
        return udpai_ctl_http_refused(options, answer, "");
    if (options->common.format == UDPAI_CLI_JSON) {
        udpai_cli_exit result = udpai_cli_print_json(&options->common, &answer->text);
        answer->text = (udpai_strbuf){0};
        return result;
    }
    if (put_answer(answer, options->is_dry_run, &out))
        return udpai_cli_print(&out);
    udpai_strbuf_done(&out);
    udpai_cli_complain("%s: its answer cannot be read; is it a udpad of this version?",
                       options->common.http);
    return UDPAI_CLI_REFUSED;
}

/* ---- asking ---- */

udpai_cli_exit
udpai_ctl_reload(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_answer answer = {0};
    udpai_strbuf body = {0};
    if (options->common.arguments.n) {
        udpai_cli_complain("reload takes no arguments: udpactl reload [--dry-run] [--force]");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_strbuf_printf(&body, "{\"dry_run\": %s, \"force\": %s}",
                        options->is_dry_run ? "true" : "false",
                        options->look.is_forced ? "true" : "false");
    udpai_cli_exit result = udpai_ctl_http_ask(options, "/reload", &body, &answer);
    if (result == UDPAI_CLI_GOOD)
        result = print_answer(options, &answer);
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&body);
    return result;
}
