/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'traces' of the bootstrap file: which changes are traced, and the collector that is
 * sent their spans (docs/design/traces.md). */
#include "daemon/certificates.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"

#define PER_SECOND 10
#define PER_SECOND_MAX 1000

typedef Udpa__Config__V1__Traces traces_message;

static void
check_ratio(const udpai_value *value)
{
    const traces_message *traces = value->message;
    if (!(traces->ratio >= 0 && traces->ratio <= 1))
        udpai_value_error(value, "ratio",
                          "%g is not from 0 to 1: 0.01 traces one of a hundred changes",
                          traces->ratio);
    if (*traces->address == 0)
        udpai_value_error(value, "address",
                          "is missing: HOST:PORT of a collector that takes OTLP by gRPC, such as "
                          "127.0.0.1:4317");
}

static const udpai_field traces_fields[] = {
    {.name = "address", UDPAI_PUBLIC, UDPAI_DIALLED},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "ratio"},
    {.name = "per_second",
     .max = PER_SECOND_MAX,
     .bounds = "cost too much",
     UDPAI_TO(settings.node.traces.per_second),
     .otherwise = PER_SECOND},
};

const udpai_section udpai_section_traces = {
    UDPAI_SECTION(traces, traces_fields),
    .check = check_ratio,
};

udpa_err
udpai_use_traces(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const traces_message *traces = plan->bootstrap.message->traces;
    (void)options;
    if (!traces)
        return UDPA_OK;
    plan->settings.node.traces.ratio = traces->ratio;
    plan->traces.address = traces->address;
    if (!traces->tls)
        return UDPA_OK;
    plan->traces.server_name = *traces->tls->server_name ? traces->tls->server_name : NULL;
    plan->traces.tls = &plan->traces_tls;
    return udpai_certificates_read_client(traces->tls, &plan->traces_tls, ret_error);
}
