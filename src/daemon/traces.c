/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/traces.h"

udpa_err
udpai_daemon_traces_open(udpai_otlp_exporter **ret_exporter,
                         const udpai_plan *plan,
                         udpai_endpoint_settings *settings,
                         udpa_error **ret_error)
{
    const udpai_otlp_options options = {
        .address = plan->traces.address,
        .tls = plan->traces.tls,
        .server_name = plan->traces.server_name,
        .node_id = settings->node.id,
        .version = settings->version,
    };
    *ret_exporter = NULL;
    if (!plan->traces.address)
        return UDPA_OK;
    udpa_err err = udpai_otlp_exporter_new(ret_exporter, &options, ret_error);
    settings->node.traces.take = udpai_otlp_exporter_take;
    settings->node.traces.userdata = *ret_exporter;
    return err;
}
