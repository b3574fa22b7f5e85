/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/page.h"

#include "cli/messages.h"

#define GOOD 200
#define NOT_FOUND 404

udpai_cli_exit
udpai_ctl_page_fetch(const udpai_ctl_options *options,
                     const char *path,
                     udpai_ctl_answer *ret_answer)
{
    udpai_cli_exit result = udpai_ctl_http_ask(options, path, NULL, ret_answer);
    if (result != UDPAI_CLI_GOOD || ret_answer->status == GOOD)
        return result;
    return udpai_ctl_http_refused(
        options, ret_answer,
        ret_answer->status == NOT_FOUND ? "; is it a node of UDPA that serves HTTP there?" : "");
}

udpai_cli_exit
udpai_ctl_page_fetch_metrics(const udpai_ctl_options *options,
                             udpai_cli_page *ret_page,
                             udpai_ctl_answer *ret_answer)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    *ret_page = (udpai_cli_page){0};
    udpai_cli_exit result = udpai_ctl_page_fetch(options, "/metrics", ret_answer);
    if (result != UDPAI_CLI_GOOD ||
        udpai_cli_page_read(ret_page, udpai_strbuf_view(&ret_answer->text), &error) == UDPA_OK)
        return result;
    udpai_cli_complain("%s: %s", options->common.http, udpa_error_message(error));
    return UDPAI_CLI_REFUSED;
}
