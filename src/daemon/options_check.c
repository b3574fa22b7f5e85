/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options_check.h"

#include "daemon/option_rules.h"
#include "daemon/plan.h"
#include "endpoint/exposure.h"

/* Takes the error. */
static void
add_option_error(udpai_diagnostics *diagnostics, const char *option, udpa_error *error)
{
    udpai_diagnostics_option(diagnostics, "%s: %s", option, udpa_error_message(error));
    udpa_error_unref(error);
}

static size_t
n_with_tls(Udpa__Config__V1__Socket *const *sockets, size_t n)
{
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++)
        n_found += sockets[i]->tls != NULL;
    return n_found;
}

/* An option that takes the place of sockets of the bootstrap file. */
struct listening {
    const char *option, *address, *field;
    size_t n_with_tls; /* sockets that it takes the place of */
};

static void
check_listen(const struct listening *given, udpai_diagnostics *diagnostics)
{
    udpa_error *error = NULL;
    if (udpai_listen_address_check(given->address, &error) != UDPA_OK)
        add_option_error(diagnostics, given->option, error);
    else if (!udpai_exposure_is_loopback(given->address))
        udpai_diagnostics_option(
            diagnostics,
            "%s %s is beyond loopback, and %s is always without TLS, so that every peer could "
            "connect: listen on 127.0.0.1, or write the address into '%s' of a bootstrap file, "
            "with certificates",
            given->option, given->address, given->option, given->field);
    else if (given->n_with_tls)
        udpai_diagnostics_warn(
            diagnostics, given->field,
            "%s %s takes the place of these, and is without TLS: every local client may connect",
            given->option, given->address);
}

void
udpai_options_check(const udpai_options *options,
                    const Udpa__Config__V1__Bootstrap *message,
                    udpai_diagnostics *diagnostics)
{
    udpa_error *error = NULL;
    udpa_log_level level;
    const Udpa__Config__V1__Http *http = message->http;
    if (options->listen)
        check_listen(&(struct listening){"--listen", options->listen, "sockets",
                                         n_with_tls(message->sockets, message->n_sockets)},
                     diagnostics);
    if (options->http)
        check_listen(&(struct listening){"--http", options->http, "http.sockets",
                                         http ? n_with_tls(http->sockets, http->n_sockets) : 0},
                     diagnostics);
    if (options->name_space && udpai_namespace_check(options->name_space, &error) != UDPA_OK)
        add_option_error(diagnostics, "--namespace", UDPAI_TAKE(error));
    if (options->node_id && udpai_node_id_check(options->node_id, &error) != UDPA_OK)
        add_option_error(diagnostics, "--node-id", UDPAI_TAKE(error));
    if (options->transport && udpai_transport_check(options->transport, &error) != UDPA_OK)
        add_option_error(diagnostics, "--transport", UDPAI_TAKE(error));
    if (options->log_level && udpai_plan_log_level(options->log_level, &level, &error) != UDPA_OK)
        add_option_error(diagnostics, "--log-level", UDPAI_TAKE(error));
}
