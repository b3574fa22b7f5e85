/* SPDX-License-Identifier: Apache-2.0 */
/* replicas rebalance: clients of replicas that have more than their share go to others. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/table.h"
#include "ctl/commands.h"
#include "ctl/http.h"

#define GOOD 200
#define COLUMNS 4

/* The next word of the text, which is moved on behind it; an empty one at its end. */
static udpai_str
take_word(udpai_str *text)
{
    size_t begin = 0, end;
    while (begin < text->len && (text->data[begin] == ' ' || text->data[begin] == '\n'))
        begin++;
    end = begin;
    while (end < text->len && text->data[end] != ' ' && text->data[end] != '\n')
        end++;
    const udpai_str word = {text->data + begin, end - begin};
    *text = (udpai_str){text->data + end, text->len - end};
    return word;
}

static void
add_number(udpai_cli_table *table, udpai_str word)
{
    char room[24];
    snprintf(room, sizeof(room), "%.*s", (int)word.len, word.data);
    udpai_cli_table_add_number(table, strtoull(room, NULL, 10));
}

static udpai_cli_exit
print_plan(const udpai_ctl_options *options, const udpai_ctl_answer *answer)
{
    static const char *const heads[COLUMNS] = {"REPLICA", "STREAMS", "SHARE", "TO MOVE"};
    udpai_cli_layout layout = {0};
    udpai_cli_table table;
    udpai_strbuf out = {0};
    udpai_str text = udpai_strbuf_view(&answer->text), word;
    if (answer->status != GOOD)
        return udpai_ctl_http_refused(options, answer, "");
    udpai_cli_table_begin(&table, &layout, heads, COLUMNS);
    for (size_t n = 0; (word = take_word(&text)).len; n++)
        if (n % COLUMNS == 0)
            udpai_cli_table_add(&table, word);
        else
            add_number(&table, word);
    udpai_cli_table_write(&table, &out);
    udpai_cli_table_done(&table);
    if (!udpai_strbuf_failed(&out))
        fputs(out.data ? out.data : "", stdout);
    udpai_strbuf_done(&out);
    udpai_cli_layout_done(&layout);
    return UDPAI_CLI_GOOD;
}

udpai_cli_exit
udpai_ctl_replicas_command(udpai_cli *cli)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(cli->options);
    udpai_ctl_answer answer = {0};
    udpai_strbuf body = {0};
    if (options->common.arguments.n != 1 ||
        strcmp(options->common.arguments.items[0], "rebalance") != 0) {
        udpai_cli_complain("write 'udpactl replicas rebalance'; 'udpactl status replicas' shows "
                           "how many streams each has");
        return UDPAI_CLI_MISTAKE;
    }
    udpai_strbuf_puts(&body, "{");
    if (options->over_s)
        udpai_strbuf_printf(&body, "\"over_ms\": %llu", (unsigned long long)options->over_s * 1000);
    udpai_strbuf_puts(&body, "}");
    udpai_cli_exit result = udpai_ctl_http_ask(options, "/replicas_rebalance", &body, &answer);
    if (result == UDPAI_CLI_GOOD)
        result = print_plan(options, &answer);
    udpai_ctl_answer_done(&answer);
    udpai_strbuf_done(&body);
    return result;
}
