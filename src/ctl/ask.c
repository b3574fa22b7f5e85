/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/ask.h"

udpai_cli_exit
udpai_ctl_ask(udpai_cli *cli,
              const char *type_url,
              const char *question,
              udpai_cli_found *found,
              const udpa_resource **ret_answer)
{
    udpai_cli_requests requests = {0};
    udpai_cli_request *request = udpai_cli_requests_of_type(&requests, type_url);
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    *ret_answer = NULL;
    if (!request || udpai_cli_request_full_name(request, question) != UDPA_OK)
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
    else
        result = udpai_cli_collect_names(cli, &requests, found);
    udpai_cli_requests_done(&requests);
    if (result != UDPAI_CLI_GOOD)
        return result;
    *ret_answer = udpai_cli_found_get(found, udpai_str_from(type_url), udpai_str_from(question));
    if (*ret_answer)
        return UDPAI_CLI_GOOD;
    if (!cli->may_be_denied)
        udpai_cli_complain_of_silence(cli);
    return UDPAI_CLI_REFUSED;
}
