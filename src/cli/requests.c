/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/requests.h"

#include "base/alloc.h"
#include "cli/names.h"
#include "cli/node_status.h"

udpai_cli_request *
udpai_cli_requests_add(udpai_cli_requests *requests, char *type_url)
{
    const udpai_cli_request request = {.type_url = type_url};
    if (type_url && udpai_vector_push(requests, request))
        return &requests->items[requests->n - 1];
    udpai_free(type_url);
    return NULL;
}

/* NULL: there is none. */
static udpai_cli_request *
find_type(const udpai_cli_requests *requests, const char *type_url)
{
    for (size_t i = 0; i < requests->n; i++)
        if (strcmp(requests->items[i].type_url, type_url) == 0)
            return &requests->items[i];
    return NULL;
}

udpai_cli_request *
udpai_cli_requests_of_type(udpai_cli_requests *requests, const char *type_url)
{
    udpai_cli_request *request = find_type(requests, type_url);
    return request ? request : udpai_cli_requests_add(requests, udpai_strdup(type_url));
}

/* Takes the name over. */
static udpa_err
add_name(udpai_cli_request *request, char *name)
{
    if (name && udpai_vector_push(&request->names, name))
        return UDPA_OK;
    udpai_free(name);
    return UDPA_ERR_NOMEM;
}

udpa_err
udpai_cli_request_full_name(udpai_cli_request *request, const char *name)
{
    return add_name(request, udpai_strdup(name));
}

static char *
name_of_id(const char *id, const char *name_space)
{
    udpai_strbuf full = {0};
    udpai_strbuf_printf(&full, "%s/%s", name_space, id);
    return udpai_strbuf_take(&full);
}

udpa_err
udpai_cli_request_name(udpai_cli_request *request, const char *name, const char *name_space)
{
    udpa_err err = add_name(request, udpai_cli_full_name(name, name_space));
    if (err != UDPA_OK || !udpai_cli_may_be_id(name, name_space))
        return err;
    err = add_name(request, name_of_id(name, name_space));
    if (err == UDPA_OK && !udpai_vector_push(&request->seconds, request->names.n - 1))
        err = UDPA_ERR_NOMEM;
    return err;
}

bool
udpai_cli_is_requested(const udpai_cli_requests *requests, const char *type_url)
{
    return find_type(requests, type_url) != NULL;
}

struct common {
    udpai_cli_requests *requests;
    const char *name_space;
    udpa_err err;
};

static void
request_type(void *userdata, const char *name, const char *also, const char *full)
{
    struct common *self = userdata;
    char *type_url = NULL;
    (void)also, (void)full;
    if (self->err == UDPA_OK)
        self->err = udpai_cli_type_url(name, &type_url, NULL);
    if (self->err != UDPA_OK)
        return;
    if (udpai_cli_is_status(type_url) || udpai_cli_is_requested(self->requests, type_url)) {
        udpai_free(type_url);
        return;
    }
    udpai_cli_request *request = udpai_cli_requests_add(self->requests, type_url);
    if (request)
        request->name_space = self->name_space;
    else
        self->err = UDPA_ERR_NOMEM;
}

udpa_err
udpai_cli_request_common_types(const char *name_space, udpai_cli_requests *requests)
{
    struct common self = {requests, name_space, UDPA_OK};
    udpai_cli_visit_types(request_type, &self);
    return self.err;
}

/* ---- names that can be read in two ways ---- */

static udpa_resource *
find(const udpai_cli_request *request, const udpai_cli_found *found, size_t index)
{
    return udpai_cli_found_get(found, udpai_str_from(request->type_url),
                               udpai_str_from(request->names.items[index]));
}

static void
drop_name(udpai_cli_request *request, size_t index)
{
    udpai_free(request->names.items[index]);
    memmove(request->names.items + index, request->names.items + index + 1,
            (request->names.n - index - 1) * sizeof(*request->names.items));
    request->names.n--;
}

/* It may have been asked for by another name too. */
static void
drop_unless_named(const udpai_cli_request *request, udpai_cli_found *found, udpa_resource *resource)
{
    for (size_t i = 0; i < request->names.n; i++)
        if (find(request, found, i) == resource)
            return;
    udpai_cli_found_drop(found, resource);
}

static void
decide(udpai_cli_request *request, udpai_cli_found *found, size_t second)
{
    udpa_resource *as_id = find(request, found, second);
    bool is_id = as_id && !find(request, found, second - 1);
    drop_name(request, is_id ? second - 1 : second);
    if (as_id && !is_id)
        drop_unless_named(request, found, as_id);
}

void
udpai_cli_requests_decide(udpai_cli_requests *requests, udpai_cli_found *found)
{
    for (size_t i = 0; i < requests->n; i++) {
        udpai_cli_request *request = &requests->items[i];
        while (request->seconds.n) /* from the last: places before it stay what they are */
            decide(request, found, request->seconds.items[--request->seconds.n]);
    }
}

/* ---- the end ---- */

static void
request_done(udpai_cli_request *request)
{
    for (size_t i = 0; i < request->names.n; i++)
        udpai_free(request->names.items[i]);
    udpai_vector_done(&request->names);
    udpai_vector_done(&request->seconds);
    udpai_free(request->type_url);
}

void
udpai_cli_requests_done(udpai_cli_requests *requests)
{
    for (size_t i = 0; i < requests->n; i++)
        request_done(&requests->items[i]);
    udpai_vector_done(requests);
}
