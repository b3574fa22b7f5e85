/* SPDX-License-Identifier: Apache-2.0 */
/* What an option sets that an environment variable and a context can set, too. Pure. */
#ifndef UDPAI_CLI_SETTINGS_H
#define UDPAI_CLI_SETTINGS_H

#include "base/util.h"

typedef enum udpai_cli_setting {
    UDPAI_CLI_SERVER,
    UDPAI_CLI_ADMIN_ADDRESS,
    UDPAI_CLI_ADMIN_TOKEN,
    UDPAI_CLI_HTTP,
    UDPAI_CLI_CA,
    UDPAI_CLI_CERTIFICATE,
    UDPAI_CLI_KEY,
    UDPAI_CLI_SERVER_NAME,
    UDPAI_CLI_NODE_ID,
    UDPAI_CLI_NAMESPACE,
    UDPAI_CLI_TIMEOUT,
    UDPAI_CLI_DESCRIPTORS,
    UDPAI_CLI_SETTINGS,
} udpai_cli_setting;

/* Where the value is from; the highest one is effective. */
typedef enum udpai_cli_level {
    UDPAI_CLI_DEFAULT,
    UDPAI_CLI_CONTEXT,
    UDPAI_CLI_ENVIRONMENT,
    UDPAI_CLI_OPTION,
} udpai_cli_level;

typedef struct udpai_cli_setting_info {
    const char *option;   /* as written: "--ca", "-n" */
    const char *variable; /* "UDPACTL_CA" */
    const char *field;    /* of a context: "ca" */
    bool is_file;
    bool is_of_connection; /* it is of that server, and no other */
} udpai_cli_setting_info;

const udpai_cli_setting_info *udpai_cli_setting_info_of(udpai_cli_setting setting);
/* By the field of a context; UDPAI_CLI_SETTINGS: there is none. */
udpai_cli_setting udpai_cli_setting_find(udpai_str field);

#endif
