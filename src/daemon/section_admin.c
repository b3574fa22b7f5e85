/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'admin' of the bootstrap file: where this node is administered, and by whom
 * (docs/design/admin.md). */
#include <stdio.h>
#include <unistd.h>

#include "daemon/page_body.h"
#include "daemon/plan_internal.h"
#include "daemon/sections.h"
#include "endpoint/exposure.h"
#include "transport/front/listen_place.h"
#include "transport/front/local_socket.h"
#include "transport/token_file.h"

#define FILE_NAME "admin.sock"
#define MAX_CONNECTIONS 256
#define MAX_CONNECTIONS_MIN 8
#define MAX_CONNECTIONS_MAX 4096

typedef Udpa__Config__V1__Admin admin_message;
typedef Udpa__Config__V1__AdminSocket socket_message;
typedef Udpa__Config__V1__Bootstrap bootstrap_message;

/* ---- a socket ---- */

static udpa_err
check_address(const char *address, udpa_error **ret_error)
{
    if (udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PASSED)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%s' is not available for administration: write ADDRESS:PORT or "
                          "unix:/PATH",
                          address);
    return udpai_listen_place_check(address, ret_error);
}

static const udpai_field socket_fields[] = {
    {.name = "address", UDPAI_PUBLIC, UDPAI_REQUIRED, .word = check_address},
    {.name = "tls", .of = &udpai_section_server_tls},
};

/* A peer proves that it may: by the token, or by a certificate, for which there are rules. */
static bool
is_guarded(const bootstrap_message *bootstrap, const socket_message *socket)
{
    const Udpa__Config__V1__Acl *acl = bootstrap->acl;
    bool has_rules = acl && !acl->dry_run && *socket->tls->client_ca_file;
    return *bootstrap->admin->token_file || has_rules;
}

static void
check_exposure(const udpai_value *value)
{
    const socket_message *socket = value->message;
    if (udpai_exposure_is_loopback(socket->address))
        return;
    if (!socket->tls)
        udpai_value_error(
            value, "address",
            "'%s' is beyond loopback, where a token, and all that is read, would pass "
            "in the clear: listen on 127.0.0.1 or unix:/PATH, or have tls",
            socket->address);
    else if (!is_guarded(value->bootstrap, socket))
        udpai_value_error(value, "address",
                          "'%s' is beyond loopback, where every peer could administer this node: "
                          "have admin.token_file, or a section 'acl' and client certificates "
                          "(tls.client_ca_file), or listen on 127.0.0.1 or unix:/PATH",
                          socket->address);
}

/* Port 0 is another one each time. */
static void
check_is_alone(const udpai_value *value)
{
    const admin_message *admin = value->bootstrap->admin;
    const socket_message *socket = value->message;
    const char *colon = strrchr(socket->address, ':');
    bool is_any = udpai_listen_place_of(socket->address) == UDPAI_LISTEN_PLACE_PORT &&
                  strcmp(colon, ":0") == 0;
    for (size_t i = 0; i < value->index && !is_any; i++)
        if (strcmp(admin->sockets[i]->address, socket->address) == 0)
            udpai_value_error(value, "address", "'%s' is the address of admin.sockets[%zu] too",
                              socket->address, i);
}

static void
check_socket(const udpai_value *value)
{
    const socket_message *socket = value->message;
    if (check_address(socket->address, NULL) != UDPA_OK)
        return; /* which was reported */
    if (udpai_listen_place_of(socket->address) == UDPAI_LISTEN_PLACE_PATH && socket->tls)
        udpai_value_error(value, "tls",
                          "is not for unix sockets: the kernel proves which user connects");
    check_is_alone(value);
    check_exposure(value);
}

static const udpai_section admin_socket = {
    UDPAI_SECTION(admin_socket, socket_fields),
    .check = check_socket,
};

/* ---- the token ---- */

/* A worker never asks for it. */
static void
check_token_file(const udpai_value *value)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPA_AUTO(udpai_token_file_free) udpai_token_file *file = NULL;
    if (value->options && value->options->worker)
        return;
    if (udpai_token_file_open(&file, value->text, &error) != UDPA_OK)
        udpai_value_error(value, "", "%s", udpa_error_message(error));
}

/* ---- the section ---- */

static const udpai_field admin_fields[] = {
    {.name = "sockets", .of = &admin_socket},
    {.name = "token_file", UDPAI_PUBLIC, .check_files = check_token_file},
    {.name = "max_connections",
     .min = MAX_CONNECTIONS_MIN,
     .max = MAX_CONNECTIONS_MAX,
     UDPAI_TO(admin_limits.max_connections),
     .otherwise = MAX_CONNECTIONS},
};

const udpai_section udpai_section_admin = {UDPAI_SECTION(admin, admin_fields)};

/* From the root, as a unix socket must be; the directory need not be there yet. NULL without
 * memory. */
static char *
path_in(const char *directory)
{
    char here[4096] = "";
    udpai_strbuf path = {0};
    if (*directory != '/' && !getcwd(here, sizeof(here)))
        here[0] = '\0';
    udpai_strbuf_printf(&path, "unix:%s%s%s/" FILE_NAME, here, *here ? "/" : "", directory);
    return udpai_strbuf_take(&path);
}

static udpa_err
choose_socket(udpai_plan *plan)
{
    char *address = udpai_plan_own(plan, path_in(plan->state_directory));
    const udpai_plan_socket socket = {.address = address, .is_local = true};
    plan->is_admin_chosen = true;
    return address && udpai_vector_push(&plan->admin_sockets, socket) ? UDPA_OK : UDPA_ERR_NOMEM;
}

udpa_err
udpai_use_admin(udpai_plan *plan, const udpai_options *options, udpa_error **ret_error)
{
    const admin_message *admin = plan->bootstrap.message->admin;
    udpai_http_limits *limits = &plan->admin_limits;
    udpa_err err = UDPA_OK;
    (void)options;
    limits->max_connections_per_client = 2 * limits->max_connections; /* more than there can be */
    limits->max_body_bytes = UDPAI_PAGE_BODY_MAX;
    if (admin && *admin->token_file)
        plan->admin_token_file = admin->token_file;
    for (size_t i = 0; admin && i < admin->n_sockets && err == UDPA_OK; i++) {
        const socket_message *from = admin->sockets[i];
        const udpai_plan_socket socket = {
            .address = from->address,
            .tls = from->tls,
            .is_local = udpai_listen_place_of(from->address) == UDPAI_LISTEN_PLACE_PATH,
        };
        if (!udpai_vector_push(&plan->admin_sockets, socket))
            err = UDPA_ERR_NOMEM;
    }
    if (err == UDPA_OK && plan->admin_sockets.n == 0 && plan->state_directory)
        err = choose_socket(plan);
    return udpai_fail_code(ret_error, err);
}
