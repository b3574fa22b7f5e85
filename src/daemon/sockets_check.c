/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sockets_check.h"

#include <inttypes.h>

#include "daemon/keepalive.h"
#include "endpoint/exposure.h"
#include "transport/grpc/stream_thread.h"

#define PATH_MAX_LEN UDPAI_FIELD_PATH_MAX
#define BODY_BYTES_MIN 4096
#define MESSAGE_BYTES_MIN 4096

struct check {
    const Udpa__Config__V1__Bootstrap *message;
    udpai_diagnostics *diagnostics;
};

/* A list of sockets, and the field that it is. */
struct sockets {
    const char *field;
    Udpa__Config__V1__Socket *const *items;
    size_t n;
    const struct sockets *before; /* whose addresses are taken; NULL: none */
};

/* None of the first @p n sockets may have this address. Port 0 is another one each time. */
static void
check_is_alone(const struct check *check,
               const struct sockets *sockets,
               size_t n,
               const char *address,
               const char *path)
{
    const char *colon = strrchr(address, ':');
    for (size_t i = 0; i < n; i++)
        if (strcmp(colon, ":0") != 0 && strcmp(sockets->items[i]->address, address) == 0)
            udpai_diagnostics_error(check->diagnostics, path, "'%s' is the address of %s[%zu] too",
                                    address, sockets->field, i);
}

/* Whoever comes proves who he is, and may do what the rules say. */
static bool
is_guarded(const struct check *check, const Udpa__Config__V1__Socket *socket)
{
    const Udpa__Config__V1__Acl *acl = check->message->acl;
    return acl && !acl->dry_run && socket->tls && *socket->tls->client_ca_file;
}

static void
check_address(const struct check *check,
              const struct sockets *sockets,
              size_t index,
              const char *socket_path)
{
    const Udpa__Config__V1__Socket *socket = sockets->items[index];
    char path[PATH_MAX_LEN];
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_path_field(path, socket_path, "address");
    udpai_diagnostics_require(check->diagnostics, socket_path, "address", *socket->address);
    if (!*socket->address)
        return;
    if (udpai_listen_address_check(socket->address, &error) != UDPA_OK) {
        udpai_diagnostics_error(check->diagnostics, path, "%s", udpa_error_message(error));
        return;
    }
    check_is_alone(check, sockets, index, socket->address, path);
    if (sockets->before)
        check_is_alone(check, sockets->before, sockets->before->n, socket->address, path);
    if (!socket->insecure && !is_guarded(check, socket) &&
        !udpai_exposure_is_loopback(socket->address))
        udpai_diagnostics_error(
            check->diagnostics, path,
            "'%s' is beyond loopback, where every peer may publish and "
            "subscribe to everything: listen on 127.0.0.1, have a section 'acl' "
            "and client certificates (tls.client_ca_file), or say 'insecure: "
            "true'",
            socket->address);
}

/* Those of http have limits of their own. */
static void
check_message_size(const struct check *check,
                   const struct sockets *sockets,
                   size_t index,
                   const char *socket_path)
{
    uint32_t size = sockets->items[index]->max_message_bytes;
    char path[PATH_MAX_LEN];
    if (size && sockets->before)
        udpai_diagnostics_error(check->diagnostics,
                                udpai_path_field(path, socket_path, "max_message_bytes"),
                                "is of sockets of gRPC: set http.max_body_bytes");
    else if (size && size < MESSAGE_BYTES_MIN)
        udpai_diagnostics_error(check->diagnostics,
                                udpai_path_field(path, socket_path, "max_message_bytes"),
                                "%" PRIu32 " is too small: hardly a message could come in; it must "
                                "be at least %d",
                                size, MESSAGE_BYTES_MIN);
}

static void
check_keepalive(const struct check *check,
                const struct sockets *sockets,
                size_t index,
                const char *socket_path)
{
    const Udpa__Config__V1__Keepalive *keepalive = sockets->items[index]->keepalive;
    char path[PATH_MAX_LEN];
    if (keepalive && sockets->before)
        udpai_diagnostics_error(check->diagnostics,
                                udpai_path_field(path, socket_path, "keepalive"),
                                "is of sockets of gRPC");
    else
        udpai_keepalive_check(keepalive, socket_path, check->diagnostics);
}

static void
check_sockets(const struct check *check, const struct sockets *sockets)
{
    for (size_t i = 0; i < sockets->n; i++) {
        const Udpa__Config__V1__ServerTls *tls = sockets->items[i]->tls;
        char path[PATH_MAX_LEN];
        udpai_path_item(path, sockets->field, i);
        check_address(check, sockets, i, path);
        check_message_size(check, sockets, i, path);
        check_keepalive(check, sockets, i, path);
        if (!tls)
            continue;
        udpai_path_field(path, path, "tls");
        udpai_diagnostics_require(check->diagnostics, path, "certificate_file",
                                  *tls->certificate_file);
        udpai_diagnostics_require(check->diagnostics, path, "private_key_file",
                                  *tls->private_key_file);
    }
}

#define HOLD_S_MAX 3600

static void
check_all_sockets(const struct check *check)
{
    const Udpa__Config__V1__Bootstrap *message = check->message;
    const Udpa__Config__V1__Http *http = message->http;
    const struct sockets grpc = {"sockets", message->sockets, message->n_sockets, NULL};
    check_sockets(check, &grpc);
    if (http)
        check_sockets(check,
                      &(struct sockets){"http.sockets", http->sockets, http->n_sockets, &grpc});
}

static void
check_http(const struct check *check)
{
    const Udpa__Config__V1__Http *http = check->message->http;
    if (!http)
        return;
    if (http->hold &&
        (http->hold->seconds < 0 || http->hold->nanos < 0 || http->hold->seconds > HOLD_S_MAX))
        udpai_diagnostics_error(check->diagnostics, "http.hold", "must lie between 0 s and %d s",
                                HOLD_S_MAX);
    if (http->max_body_bytes && http->max_body_bytes < BODY_BYTES_MIN)
        udpai_diagnostics_error(check->diagnostics, "http.max_body_bytes",
                                "%" PRIu32 " is too small: hardly a request could come in; it must "
                                "be at least %d",
                                http->max_body_bytes, BODY_BYTES_MIN);
}

/* As they stand in Host: in small letters, and the port is left out. */
static void
check_hosts(const struct check *check, const Udpa__Config__V1__Http *http)
{
    for (size_t i = 0; http && i < http->n_hosts; i++)
        if (!*http->hosts[i] ||
            http->hosts[i][strcspn(http->hosts[i], ":/ ABCDEFGHIJKLMNOPQRSTUVWXYZ")])
            udpai_diagnostics_error(check->diagnostics, "http.hosts",
                                    "'%s' is no name of a host: write it in small letters, without "
                                    "a scheme and a port, such as udpa.acme.com or *.acme.com",
                                    http->hosts[i]);
}

void
udpai_sockets_check(const Udpa__Config__V1__Bootstrap *message, udpai_diagnostics *diagnostics)
{
    const struct check check = {message, diagnostics};
    check_all_sockets(&check);
    check_http(&check);
    check_hosts(&check, message->http);
}
