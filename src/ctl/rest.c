/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/rest.h"

#include "base/alloc.h"
#include "cli/messages.h"
#include "cli/names.h"
#include "ctl/schema.h"
#include "transport/http/json_codec.h"
#include "xds/server.h"

#define REFRESH_MS 1000

static udpa_err
to_json(void *userdata,
        const char *type,
        const void *from,
        size_t size,
        udpa_bytes **ret_to,
        udpa_error **ret_error)
{
    return udpai_json_of_bytes(userdata, type, (udpai_str){from, size}, ret_to, ret_error);
}

static udpa_err
to_bytes(void *userdata,
         const char *type,
         const void *from,
         size_t size,
         udpa_bytes **ret_to,
         udpa_error **ret_error)
{
    return udpai_bytes_of_json(userdata, type, (udpai_str){from, size}, ret_to, ret_error);
}

/* What is no type at all is reported elsewhere. */
static bool
has_path(const udpai_ctl_options *options)
{
    UDPAI_AUTO_FREE char *type_url = NULL;
    if (udpai_cli_type_url(options->common.arguments.items[0], &type_url, NULL) != UDPA_OK)
        return true;
    return udpai_xds_rest_index(udpai_str_from(type_url)) < UDPAI_XDS_POLLS;
}

udpai_cli_exit
udpai_ctl_rest_begin(udpai_ctl_rest *rest, const udpai_ctl_options *options)
{
    *rest = (udpai_ctl_rest){.server = UDPA_REST_SERVER_INIT};
    if (!has_path(options)) {
        udpai_cli_complain("REST has no path for %s: leave --rest out, to ask by gRPC",
                           options->common.arguments.items[0]);
        return UDPAI_CLI_MISTAKE;
    }
    rest->schema = udpai_ctl_schema(options);
    if (!rest->schema)
        return UDPAI_CLI_MISTAKE;
    rest->server.authority = options->common.server;
    rest->server.name_space = udpai_cli_namespace(&options->common);
    rest->server.refresh_delay_ms = REFRESH_MS;
    rest->server.to_json = to_json;
    rest->server.to_bytes = to_bytes;
    rest->server.userdata = rest->schema;
    return UDPAI_CLI_GOOD;
}

void
udpai_ctl_rest_end(udpai_ctl_rest *rest)
{
    rest->schema = udpai_schema_unref(rest->schema);
}
