/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/node_status.h"

#include "base/alloc.h"
#include "cli/table.h"
#include "model/client_type.h"
#include "udpa/status/v1/status.pb-c.h"

#define STATUS_TYPE "type.googleapis.com/udpa.status.v1."
#define LISTED_MAX 8

bool
udpai_cli_is_status(const char *type_url)
{
    return strncmp(type_url, STATUS_TYPE, strlen(STATUS_TYPE)) == 0 &&
           !udpai_type_is_client(udpai_str_from(type_url));
}

udpa_err
udpai_cli_request_status(const char *kind, udpai_cli_requests *requests)
{
    udpai_strbuf url = {0};
    udpai_strbuf_puts(&url, STATUS_TYPE);
    udpai_strbuf_puts(&url, kind);
    udpai_cli_request *request = udpai_cli_requests_add(requests, udpai_strbuf_take(&url));
    if (!request)
        return UDPA_ERR_NOMEM;
    request->name_space = UDPAI_CLI_STATUS_NAMESPACE;
    return UDPA_OK;
}

static Udpa__Status__V1__NodeStatus *
unpack(const udpa_resource *node_status)
{
    size_t size;
    const void *payload = udpa_resource_payload(node_status, &size);
    return udpa__status__v1__node_status__unpack(NULL, size, payload);
}

char *
udpai_cli_default_namespace_of(const udpa_resource *node_status)
{
    Udpa__Status__V1__NodeStatus *status = unpack(node_status);
    char *name_space =
        status && *status->default_namespace ? udpai_strdup(status->default_namespace) : NULL;
    udpa__status__v1__node_status__free_unpacked(status, NULL);
    return name_space;
}

udpa_err
udpai_cli_request_types_of(const udpa_resource *node_status,
                           const char *name_space,
                           udpai_cli_requests *requests)
{
    Udpa__Status__V1__NodeStatus *status = unpack(node_status);
    udpa_err err = status ? UDPA_OK : UDPA_ERR_MALFORMED;
    for (size_t i = 0; status && i < status->n_types && err == UDPA_OK; i++) {
        const Udpa__Status__V1__TypeStatus *type = status->types[i];
        bool is_needed = *type->type_url && (type->n_resources || type->n_unsettled);
        if (!is_needed || udpai_cli_is_requested(requests, type->type_url))
            continue;
        udpai_cli_request *request = udpai_cli_requests_add(requests, udpai_strdup(type->type_url));
        if (request)
            request->name_space = name_space;
        else
            err = UDPA_ERR_NOMEM;
    }
    udpa__status__v1__node_status__free_unpacked(status, NULL);
    return err;
}

/* ---- what it waits for ---- */

static bool
concerns(const Udpa__Status__V1__TypeStatus *type, const udpai_cli_requests *requests)
{
    return !*type->type_url || udpai_cli_is_requested(requests, type->type_url);
}

/* As many as a message can have; there are seldom more than two. */
struct few {
    const char *items[LISTED_MAX];
    size_t n;
};

static void
note(struct few *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->items[i], name) == 0)
            return;
    if (names->n < UDPAI_ARRAY_LEN(names->items))
        names->items[names->n++] = name;
}

void
udpai_cli_put_waits_for(udpai_strbuf *out,
                        const udpa_resource *node_status,
                        const udpai_cli_requests *requests)
{
    struct few names = {0};
    Udpa__Status__V1__NodeStatus *status = unpack(node_status);
    for (size_t i = 0; status && i < status->n_types; i++)
        for (size_t k = 0;
             concerns(status->types[i], requests) && k < status->types[i]->n_unsettled; k++)
            note(&names, status->types[i]->unsettled[k]);
    for (size_t i = 0; i < names.n; i++) {
        udpai_strbuf_puts(out, i ? ", " : "");
        udpai_cli_put_text(out, udpai_str_from(names.items[i]));
    }
    udpa__status__v1__node_status__free_unpacked(status, NULL);
}
