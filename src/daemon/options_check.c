/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options_check.h"

#include "daemon/plan.h"
#include "daemon/words.h"
#include "endpoint/exposure.h"

/* Takes the error. */
static void
tell(udpai_findings *findings, const char *option, udpa_error *error)
{
    udpai_findings_option(findings, "%s: %s", option, udpa_error_message(error));
    udpa_error_unref(error);
}

static size_t
n_with_tls(const Udpa__Config__V1__Bootstrap *message)
{
    size_t n = 0;
    for (size_t i = 0; i < message->n_sockets; i++)
        n += message->sockets[i]->tls != NULL;
    return n;
}

static void
check_listen(const udpai_options *options,
             const Udpa__Config__V1__Bootstrap *message,
             udpai_findings *findings)
{
    const char *address = options->listen;
    udpa_error *error = NULL;
    if (udpai_listen_address_check(address, &error) != UDPA_OK)
        tell(findings, "--listen", error);
    else if (!udpai_exposure_is_loopback(address))
        udpai_findings_option(findings,
                              "--listen %s is beyond loopback, and --listen is always without TLS, "
                              "so that anybody could come: listen on 127.0.0.1, or write the "
                              "address into 'sockets' of a bootstrap file, with certificates",
                              address);
    else if (n_with_tls(message))
        udpai_findings_warn(findings, "sockets",
                            "--listen %s takes the place of these, and is without TLS: every local "
                            "client may come",
                            address);
}

void
udpai_options_check(const udpai_options *options,
                    const Udpa__Config__V1__Bootstrap *message,
                    udpai_findings *findings)
{
    udpa_error *error = NULL;
    udpa_log_level level;
    if (options->listen)
        check_listen(options, message, findings);
    if (options->name_space && udpai_namespace_check(options->name_space, &error) != UDPA_OK)
        tell(findings, "--namespace", UDPAI_TAKE(error));
    if (options->node_id && udpai_node_id_check(options->node_id, &error) != UDPA_OK)
        tell(findings, "--node-id", UDPAI_TAKE(error));
    if (options->log_level && udpai_plan_log_level(options->log_level, &level, &error) != UDPA_OK)
        tell(findings, "--log-level", UDPAI_TAKE(error));
}
