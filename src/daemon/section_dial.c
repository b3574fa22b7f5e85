/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'dial' of the bootstrap file, and how every peer is dialled that the file names: its
 * address, certificates, credentials. */
#include "daemon/certificates.h"
#include "daemon/files.h"
#include "daemon/keepalive.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/exposure.h"
#include "session/udpa.h"
#include "transport/front/listen_place.h"

typedef Udpa__Config__V1__Bootstrap bootstrap_message;
typedef Udpa__Config__V1__ClientTls tls_message;
typedef Udpa__Config__V1__Credential credential_message;
typedef Udpa__Config__V1__Dial dial_message;

/* ---- tls ---- */

static const udpai_field tls_fields[] = {
    {.name = "ca_file", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "certificate_file", UDPAI_PUBLIC},
    {.name = "private_key_file", UDPAI_PUBLIC},
    {.name = "server_name", UDPAI_PUBLIC},
    {.name = "crl_file", UDPAI_PUBLIC},
};

static void
check_pair(const udpai_value *value)
{
    const tls_message *tls = value->message;
    if ((*tls->certificate_file != 0) != (*tls->private_key_file != 0))
        udpai_value_error(
            value, *tls->certificate_file ? "certificate_file" : "private_key_file",
            "certificate_file and private_key_file come together: the other one is missing");
}

static void
check_tls_files(const udpai_value *value)
{
    const tls_message *tls = value->message;
    udpai_tls_check_files(value, "ca_file",
                          &(udpai_tls_paths){tls->certificate_file, tls->private_key_file,
                                             tls->ca_file, tls->crl_file});
}

const udpai_section udpai_section_client_tls = {
    UDPAI_SECTION(client_tls, tls_fields),
    .check = check_pair,
    .check_files = check_tls_files,
};

/* ---- credentials ---- */

static void
check_credential_name(const udpai_value *value)
{
    const credential_message *credential = value->message;
    credential_message *const *all = NULL;
    const ProtobufCMessage *owner = value->in;
    if (owner->descriptor == &udpa__config__v1__dynamic_sources__descriptor)
        all = ((const Udpa__Config__V1__DynamicSources *)value->in)->credentials;
    else
        all = ((const Udpa__Config__V1__OrcaCollections *)value->in)->credentials;
    for (size_t k = 0; k < value->index && *credential->name; k++)
        if (strcmp(all[k]->name, credential->name) == 0)
            udpai_value_error(value, "name", "'%s' is the name of another credential already",
                              credential->name);
}

static const udpai_field credential_fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "tls", UDPAI_REQUIRED, .of = &udpai_section_client_tls},
};

const udpai_section udpai_section_credential = {
    UDPAI_SECTION(credential, credential_fields),
    .check = check_credential_name,
};

/* ---- addresses that are the node itself ---- */

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
    if (udpai_listen_place_of(socket) != UDPAI_LISTEN_PLACE_PORT ||
        udpai_listen_place_of(address) != UDPAI_LISTEN_PLACE_PORT)
        return strcmp(address, socket) == 0;
    if (!*address || strcmp(port, ":0") == 0 || strcmp(port, port_of(address)) != 0)
        return false;
    if (strcmp(address, socket) == 0)
        return true;
    return udpai_exposure_is_loopback(address) &&
           (is_anywhere(socket) || udpai_exposure_is_loopback(socket));
}

static void
check_not_self(const udpai_value *value,
               const char *list,
               Udpa__Config__V1__Socket *const *sockets,
               size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (udpai_self_is_led_to(value->text, sockets[i]->address)) {
            udpai_value_error(value, "", "'%s' is this node itself: it listens there by %s[%zu]",
                              value->text, list, i);
            return;
        }
}

void
udpai_check_dialled(const udpai_value *value)
{
    check_not_self(value, "sockets", value->bootstrap->sockets, value->bootstrap->n_sockets);
}

void
udpai_check_polled(const udpai_value *value)
{
    const Udpa__Config__V1__Http *http = value->bootstrap->http;
    if (http)
        check_not_self(value, "http.sockets", http->sockets, http->n_sockets);
}

/* ---- targets ---- */

udpa_err
udpai_plan_target(void **ret_target,
                  const char *address,
                  const tls_message *tls,
                  const udpai_grpc_target_options *how,
                  udpa_error **ret_error)
{
    udpai_tls_files files = {0};
    if (tls) {
        udpa_err err = udpai_certificates_read_client(tls, &files, ret_error);
        if (err != UDPA_OK && how->release_context)
            how->release_context(how->method.context);
        if (err != UDPA_OK)
            return err;
    }
    udpai_grpc_target_options options = *how;
    options.address = address;
    options.tls = tls ? &files : NULL;
    options.server_name = tls ? tls->server_name : NULL;
    udpai_grpc_target *target = NULL;
    udpa_err err = udpai_grpc_target_new(&target, &options, ret_error);
    udpai_tls_files_done(&files);
    *ret_target = target;
    return err;
}

udpa_err
udpai_plan_udpa_target(void **ret_target,
                       const Udpa__Config__V1__UdpaSource *from,
                       const tls_message *tls,
                       udpa_error **ret_error)
{
    const udpai_grpc_target_options how = {
        .method = {UDPAI_UDPA_PATH, udpai_udpa_session_new, NULL},
        .keepalive = udpai_keepalive_of(from->keepalive, UDPAI_KEEPALIVE_OF_NODES),
    };
    return udpai_plan_target(ret_target, from->address, tls, &how, ret_error);
}

udpa_err
udpai_plan_note_dialled(
    udpai_plan *plan, const char *kind, const char *name, const tls_message *tls, void *target)
{
    const udpai_plan_dialled dialled = {.kind = kind, .name = name, .tls = tls, .target = target};
    return !tls || udpai_vector_push(&plan->dialled, dialled) ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- dial ---- */

static const udpai_field dial_fields[] = {
    {.name = "name", UDPAI_PUBLIC, UDPAI_REQUIRED},
    {.name = "address", UDPAI_PUBLIC, UDPAI_DIALLED},
    {.name = "tls", .of = &udpai_section_client_tls},
    {.name = "keepalive", .of = &udpai_section_keepalive},
};

const udpai_section udpai_section_dial = {UDPAI_SECTION(dial, dial_fields)};

udpa_err
udpai_use_dial(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const bootstrap_message *message = plan->bootstrap.message;
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_dial && err == UDPA_OK; i++) {
        const dial_message *from = message->dial[i];
        const Udpa__Config__V1__UdpaSource peer = {.address = from->address,
                                                   .keepalive = from->keepalive};
        udpai_dial_config dial = {
            .name = udpai_str_from(from->name),
            .ref_target = udpai_grpc_target_hold,
            .release_target = udpai_grpc_target_drop,
        };
        err = udpai_plan_udpa_target(&dial.target, &peer, from->tls, ret_error);
        if (err == UDPA_OK && !udpai_vector_push(&plan->dials, dial)) {
            udpai_grpc_target_drop(dial.target);
            err = UDPA_ERR_NOMEM;
        }
        if (err == UDPA_OK)
            err = udpai_plan_note_dialled(plan, "dial", from->name, from->tls, dial.target);
    }
    return udpai_fail_code(ret_error, err);
}
