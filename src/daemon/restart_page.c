/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/restart_page.h"

#include <unistd.h>

#include "codec/json_text.h"

void
udpai_process_page(const udpai_restart *restart, udpai_strbuf *text)
{
    const char *failure = restart ? udpai_restart_failure(restart) : "";
    udpai_strbuf_printf(text, "{\"process\": %ld, \"successor\": %d, \"failure\": ", (long)getpid(),
                        restart ? udpai_restart_successor(restart) : 0);
    udpai_json_put_string(text, udpai_str_from(failure));
    udpai_strbuf_puts(text, "}\n");
}

udpa_err
udpai_restart_page(udpai_restart *restart,
                   const udpai_effective *effective,
                   udpai_strbuf *text,
                   udpa_error **ret_error)
{
    udpa_err err =
        restart ? udpai_restart_begin(
                      restart, udpai_effective_plan(effective)->hand_over_timeout_ms, ret_error)
                : udpai_fail(ret_error, UDPA_ERR_UNAVAILABLE, "the node is beginning, or ending");
    if (err == UDPA_OK)
        udpai_process_page(restart, text);
    return err;
}
