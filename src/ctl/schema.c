/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/schema.h"

#include "cli/client.h"

udpai_schema *
udpai_ctl_schema(const udpai_ctl_options *options)
{
    char found[PATH_MAX];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_schema *schema = NULL;
    const char *path = options->common.descriptors        ? options->common.descriptors
                       : udpai_schema_default_file(found) ? found
                                                          : NULL;
    udpa_err err = udpai_schema_new(&schema, &error);
    if (err == UDPA_OK && path)
        err = udpai_schema_add_file(schema, path, &error);
    if (err == UDPA_OK)
        return schema;
    udpai_cli_complain_of(error);
    return udpai_schema_unref(schema);
}
