/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/load_hint.h"
#include "model/types.h"

#include <string.h>

#include "udpa/status/v1/status.pb-c.h"

#define LOAD_TYPES "/udpa.load.v1."

/* A stream of LRS that was asked for no cluster. */
static bool
is_unasked(const Udpa__Status__V1__SessionStatus *session)
{
    const Udpa__Status__V1__LoadReportingStatus *load = session->load_reporting;
    return load && strcmp(session->protocol, "lrs") == 0 && !load->all_clusters &&
           load->n_clusters == 0;
}

/* A client below subscribes to load, or an upstream server is sent it: then a client that is asked
 * for nothing has no cluster that is meant. */
static bool
takes_load(const Udpa__Status__V1__SessionStatus *session)
{
    for (size_t i = 0; i < session->n_subscriptions; i++) {
        const char *slash = strrchr(session->subscriptions[i]->type_url, '/');
        if (slash && strncmp(slash, LOAD_TYPES, strlen(LOAD_TYPES)) == 0)
            return true;
    }
    return strcmp(session->protocol, "lrs-upstream") == 0;
}

/* NULL: it is something else. */
static Udpa__Status__V1__SessionStatus *
session_of(const udpa_resource *resource)
{
    size_t size;
    const char *slash = strrchr(udpa_resource_type_url(resource), '/');
    const void *payload = udpa_resource_payload(resource, &size);
    return slash && strcmp(slash + 1, UDPAI_TYPE_NAME(UDPAI_TYPE_SESSION_STATUS)) == 0
               ? udpa__status__v1__session_status__unpack(NULL, size, payload)
               : NULL;
}

void
udpai_ctl_put_load_hint(udpai_strbuf *out, udpa_resource *const *resources, size_t n)
{
    size_t n_unasked = 0;
    bool is_taken = false;
    for (size_t i = 0; i < n; i++) {
        Udpa__Status__V1__SessionStatus *session = session_of(resources[i]);
        n_unasked += session && is_unasked(session);
        is_taken = is_taken || (session && takes_load(session));
        udpa__status__v1__session_status__free_unpacked(session, NULL);
    }
    if (n_unasked && !is_taken)
        udpai_strbuf_printf(out,
                            "\nHINT\n%zu client%s (protocol lrs) offer%s load, and it has no "
                            "subscribers here, so none is asked for: subscribe to "
                            "udpa.load.v1.ClusterLoad, or remove load_stats_config from the "
                            "client%s\n",
                            n_unasked, n_unasked == 1 ? "" : "s", n_unasked == 1 ? "s" : "",
                            n_unasked == 1 ? "" : "s");
}
