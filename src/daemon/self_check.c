/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/self_check.h"

#include "base/util.h"
#include "endpoint/exposure.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ConfigSource source_message;

/* What lies behind the last colon, with it; "" for none. */
static const char *
port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon ? colon : "";
}

static bool
is_anywhere(const char *socket)
{
    return strncmp(socket, "0.0.0.0:", 8) == 0 || strncmp(socket, "[::]:", 5) == 0;
}

bool
udpai_self_is_led_to(const char *address, const char *socket)
{
    const char *port = port_of(socket);
    if (!*address || strcmp(port, ":0") == 0 || strcmp(port, port_of(address)) != 0)
        return false;
    if (strcmp(address, socket) == 0)
        return true;
    return udpai_exposure_is_loopback(address) &&
           (is_anywhere(socket) || udpai_exposure_is_loopback(socket));
}

/* A list of the node's sockets. */
struct sockets {
    const char *field;
    Udpa__Config__V1__Socket *const *items;
    size_t n;
};

static void
check_address(const struct sockets *sockets,
              const char *owner,
              const char *address,
              udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; i < sockets->n; i++)
        if (udpai_self_is_led_to(address, sockets->items[i]->address)) {
            udpai_diagnostics_error(diagnostics, udpai_path_field(path, owner, "address"),
                                    "'%s' is this node itself: it listens there by %s[%zu]",
                                    address, sockets->field, i);
            return;
        }
}

static void
check_peer(const bootstrap_message *message,
           const char *owner,
           const char *peer,
           udpai_diagnostics *diagnostics)
{
    char path[UDPAI_FIELD_PATH_MAX];
    if (message->node && *peer && strcmp(message->node->id, peer) == 0)
        udpai_diagnostics_error(diagnostics, udpai_path_field(path, owner, "peer"),
                                "'%s' is this node itself: it is its node.id", peer);
}

static void
check_source(const bootstrap_message *message,
             const char *owner,
             const source_message *source,
             udpai_diagnostics *diagnostics)
{
    const struct sockets grpc = {"sockets", message->sockets, message->n_sockets};
    const struct sockets http = {"http.sockets", message->http ? message->http->sockets : NULL,
                                 message->http ? message->http->n_sockets : 0};
    char path[UDPAI_FIELD_PATH_MAX];
    switch (source->kind_case) {
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA:
        check_address(&grpc, udpai_path_field(path, owner, "udpa"), source->udpa->address,
                      diagnostics);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS:
        check_address(&grpc, udpai_path_field(path, owner, "xds"), source->xds->address,
                      diagnostics);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_REST:
        check_address(&http, udpai_path_field(path, owner, "rest"), source->rest->address,
                      diagnostics);
        break;
    case UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA_LISTEN:
        check_peer(message, udpai_path_field(path, owner, "udpa_listen"), source->udpa_listen->peer,
                   diagnostics);
        break;
    default:
        break;
    }
}

static void
check_inline(const bootstrap_message *message,
             const Udpa__Config__V1__Provider *provider,
             const char *provider_path,
             udpai_diagnostics *diagnostics)
{
    char list[UDPAI_FIELD_PATH_MAX], path[UDPAI_FIELD_PATH_MAX];
    udpai_path_field(list, provider_path, "config_descriptors");
    for (size_t i = 0; i < provider->n_config_descriptors; i++)
        if (provider->config_descriptors[i]->source_case ==
            UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE) {
            udpai_path_field(path, udpai_path_item(path, list, i), "config_source");
            check_source(message, path, provider->config_descriptors[i]->config_source,
                         diagnostics);
        }
}

void
udpai_self_check(const bootstrap_message *message, udpai_diagnostics *diagnostics)
{
    const Udpa__Config__V1__StaticResources *all = message->static_resources;
    const struct sockets grpc = {"sockets", message->sockets, message->n_sockets};
    char path[UDPAI_FIELD_PATH_MAX];
    for (size_t i = 0; all && i < all->n_config_sources; i++)
        check_source(message, udpai_path_item(path, "static_resources.config_sources", i),
                     all->config_sources[i], diagnostics);
    for (size_t i = 0; i < message->n_providers; i++)
        check_inline(message, message->providers[i], udpai_path_item(path, "providers", i),
                     diagnostics);
    for (size_t i = 0; i < message->n_dial; i++)
        check_address(&grpc, udpai_path_item(path, "dial", i), message->dial[i]->address,
                      diagnostics);
}
