/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/progress_line.h"

#include "cli/progress_line.h"

void
udpai_bench_progress_show(void *userdata, const char *step, size_t n, size_t n_all)
{
    udpai_strbuf text = {0};
    (void)userdata;
    udpai_strbuf_printf(&text, "%s: %zu", step, n);
    if (n_all)
        udpai_strbuf_printf(&text, " of %zu", n_all);
    udpai_cli_progress_line_show(udpai_strbuf_view(&text));
    udpai_strbuf_done(&text);
}
