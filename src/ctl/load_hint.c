/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/load_hint.h"

#include <string.h>

#include "udpa/status/v1/status.pb-c.h"

#define SESSION_STATUS "/udpa.status.v1.SessionStatus"

/* A stream of LRS that was asked for no cluster. */
static bool
is_unasked(const Udpa__Status__V1__SessionStatus *session)
{
    const Udpa__Status__V1__LoadReportingStatus *load = session->load_reporting;
    return load && strcmp(session->protocol, "lrs") == 0 && !load->all_clusters &&
           load->n_clusters == 0;
}

static bool
is_unasked_session(const udpa_resource *resource)
{
    size_t size;
    const char *slash = strrchr(udpa_resource_type_url(resource), '/');
    if (!slash || strcmp(slash, SESSION_STATUS) != 0)
        return false;
    const void *payload = udpa_resource_payload(resource, &size);
    Udpa__Status__V1__SessionStatus *session =
        udpa__status__v1__session_status__unpack(NULL, size, payload);
    bool result = session && is_unasked(session);
    udpa__status__v1__session_status__free_unpacked(session, NULL);
    return result;
}

void
udpai_ctl_put_load_hint(udpai_strbuf *out, udpa_resource *const *resources, size_t n)
{
    size_t n_unasked = 0;
    for (size_t i = 0; i < n; i++)
        n_unasked += is_unasked_session(resources[i]);
    if (n_unasked)
        udpai_strbuf_printf(out,
                            "\nHINT\n%zu client%s (protocol lrs) offer%s load, and nobody "
                            "subscribes to it, so none is asked for: subscribe to "
                            "udpa.load.v1.ClusterLoad, or remove load_stats_config from the "
                            "client%s\n",
                            n_unasked, n_unasked == 1 ? "" : "s", n_unasked == 1 ? "s" : "",
                            n_unasked == 1 ? "" : "s");
}
