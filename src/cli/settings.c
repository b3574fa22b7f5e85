/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/settings.h"

static const udpai_cli_setting_info infos[UDPAI_CLI_SETTINGS] = {
    [UDPAI_CLI_SERVER] = {"--server", "UDPACTL_SERVER", "server", false, true},
    [UDPAI_CLI_ADMIN_ADDRESS] = {"--admin", "UDPACTL_ADMIN", "admin", false, true},
    [UDPAI_CLI_ADMIN_TOKEN] = {"--admin-token", "UDPACTL_ADMIN_TOKEN", "admin_token", true, true},
    [UDPAI_CLI_HTTP] = {"--http", "UDPACTL_HTTP", "http", false, true},
    [UDPAI_CLI_CA] = {"--ca", "UDPACTL_CA", "ca", true, true},
    [UDPAI_CLI_CERTIFICATE] = {"--cert", "UDPACTL_CERT", "cert", true, true},
    [UDPAI_CLI_KEY] = {"--key", "UDPACTL_KEY", "key", true, true},
    [UDPAI_CLI_SERVER_NAME] = {"--server-name", "UDPACTL_SERVER_NAME", "server_name", false, true},
    [UDPAI_CLI_NODE_ID] = {"--node-id", "UDPACTL_NODE_ID", "node_id", false, false},
    [UDPAI_CLI_NAMESPACE] = {"-n", "UDPACTL_NAMESPACE", "namespace", false, false},
    [UDPAI_CLI_TIMEOUT] = {"--timeout", "UDPACTL_TIMEOUT", "timeout", false, false},
    [UDPAI_CLI_DESCRIPTORS] = {"--descriptors", "UDPACTL_DESCRIPTORS", "descriptors", true, false},
};

const udpai_cli_setting_info *
udpai_cli_setting_info_of(udpai_cli_setting setting)
{
    return &infos[setting];
}

udpai_cli_setting
udpai_cli_setting_find(udpai_str field)
{
    size_t i = 0;
    while (i < UDPAI_CLI_SETTINGS && !udpai_str_eq(field, udpai_str_from(infos[i].field)))
        i++;
    return (udpai_cli_setting)i;
}
