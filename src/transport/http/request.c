/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a request: what it is for, how its body comes, how long it may be held. */
#include <stdlib.h>

#include "transport/http/http_internal.h"
#include "transport/http/site.h"

#define V2_PREFIX "/v2/discovery"

/* ---- the path ---- */

static void
put_paths(const udpai_http_place *place, udpai_strbuf *text)
{
    const udpai_http *http = place->http;
    const char *comma = "";
    for (size_t i = 0; place->has_pages && i < http->n_pages; i++, comma = ", ")
        udpai_strbuf_printf(text, "%s%s%s", comma, http->pages[i].path,
                            http->pages[i].is_post ? "" : " (by GET)");
    for (size_t i = 0; place->has_rest && i < http->n_routes; i++, comma = ", ")
        udpai_strbuf_printf(text, "%s%s", comma, http->routes[i].path);
}

/* Pages that are served elsewhere come behind those that are here. */
static bool
has_moved(const udpai_http_place *place, udpai_str path)
{
    const udpai_http *http = place->http;
    for (size_t i = 0; place->has_pages && i < http->n_moved; i++)
        if (udpai_str_eq(path, udpai_str_from(http->pages[http->n_pages + i].path)))
            return true;
    return false;
}

static udpa_err
fail_path(const udpai_http_place *place, udpai_str path, udpa_error **ret_error)
{
    if (has_moved(place, path))
        return udpai_fail(ret_error, UDPA_ERR_NOT_FOUND, "%.*s is %s", UDPAI_SHOWN(path),
                          place->http->moved);
    if (udpai_str_starts(path, UDPAI_STR(V2_PREFIX)))
        return udpai_fail(ret_error, UDPA_ERR_NOT_FOUND,
                          "%.*s is version 2 of xDS, and here is version 3: set "
                          "transport_api_version and resource_api_version to V3 in the client",
                          UDPAI_SHOWN(path));
    udpai_strbuf text = {0};
    put_paths(place, &text);
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_NOT_FOUND,
                              "there is nothing at %.*s; what there is, by POST: %s",
                              UDPAI_SHOWN(path), udpai_strbuf_failed(&text) ? "?" : text.data);
    udpai_strbuf_done(&text);
    return err;
}

static const udpai_http_route *
find_route(const udpai_http_place *place, udpai_str path)
{
    const udpai_http *http = place->http;
    for (size_t i = 0; place->has_rest && i < http->n_routes; i++)
        if (udpai_str_eq(path, udpai_str_from(http->routes[i].path)))
            return &http->routes[i];
    return NULL;
}

static const udpai_http_page *
find_page(const udpai_http_place *place, udpai_str path)
{
    const udpai_http *http = place->http;
    for (size_t i = 0; place->has_pages && i < http->n_pages; i++)
        if (udpai_str_eq(path, udpai_str_from(http->pages[i].path)))
            return &http->pages[i];
    return NULL;
}

/* ---- the body ---- */

/* Behind the type there may be parameters. */
static bool
is_json(const char *type)
{
    static const char json[] = "application/json";
    size_t len = sizeof(json) - 1;
    return strncasecmp(type, json, len) == 0 && strchr("; \t", type[len]);
}

static bool
is_as_it_is(const udpai_http_head *head)
{
    const char *encoding = udpai_http_head_value(head, UDPAI_HTTP_CONTENT_ENCODING);
    return !*encoding || strcasecmp(encoding, "identity") == 0;
}

static udpa_err
read_encoding(const udpai_http_head *head, unsigned *ret_status, udpa_error **ret_error)
{
    const char *type = udpai_http_head_value(head, UDPAI_HTTP_CONTENT_TYPE);
    *ret_status = 415;
    if (!is_json(type))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the body must be application/json, and content-type is %s%.100s%s",
                          *type ? "'" : "missing", type, *type ? "'" : "");
    if (!is_as_it_is(head))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the body must come as it is, and content-encoding is '%.100s'",
                          udpai_http_head_value(head, UDPAI_HTTP_CONTENT_ENCODING));
    return UDPA_OK;
}

static udpa_err
read_length(const udpai_http *http,
            const udpai_http_head *head,
            unsigned *ret_status,
            udpa_error **ret_error)
{
    *ret_status = 411;
    if (head->framing == UDPAI_HTTP_NO_BODY)
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "the request does not contain the length of its body: it needs a content-length");
    *ret_status = 413;
    if (head->framing == UDPAI_HTTP_LENGTH && head->length > http->limits.max_body_bytes)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the body is larger than %zu bytes, which is the limit of this node "
                          "(http.max_body_bytes)",
                          http->limits.max_body_bytes);
    return UDPA_OK;
}

/* ---- how long it may be held ---- */

/* "…wait=10…" (RFC 7240). */
static bool
read_wait(const char *preferences, uint64_t *ret_ms)
{
    const char *found = strcasestr(preferences, "wait=");
    if (!found)
        return false;
    unsigned long long seconds = strtoull(found + 5, NULL, 10);
    *ret_ms = seconds > UINT32_MAX ? UINT64_MAX : seconds * 1000;
    return true;
}

/* As long as the node's setting is, unless the client waits less. Envoy sends when it will give up,
 * and counts that as a failure: a fifth of the time is left for the way. */
static uint64_t
choose_patience(udpai_http_exchange *self, const udpai_http_head *head)
{
    uint64_t patience = self->http->limits.hold_ms, wait;
    bool has_wait = read_wait(udpai_http_head_value(head, UDPAI_HTTP_PREFER), &wait);
    if (has_wait)
        udpai_http_call_confirm_wait(self->call);
    if (has_wait && wait < patience)
        patience = wait;
    unsigned long long gives_up =
        strtoull(udpai_http_head_value(head, UDPAI_HTTP_TIMEOUT), NULL, 10);
    if (gives_up && gives_up - gives_up / 5 < patience)
        patience = gives_up - gives_up / 5;
    return patience ? patience : 1; /* 0 would be for ever */
}

/* Whether it has a body shows when that has come, of HTTP/2. */
static udpa_err
read_page(udpai_http_exchange *self,
          const udpai_http_head *head,
          unsigned *ret_status,
          udpa_error **ret_error)
{
    const udpai_http_page *page = self->page;
    bool is_allowed = page->is_post ? head->is_post : head->is_get || head->is_head;
    *ret_status = 405;
    if (!is_allowed) {
        udpai_http_call_set_allowed(self->call, page->is_post ? "POST" : "GET, HEAD");
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s is %s", page->path,
                          page->is_post ? "done by POST" : "read by GET");
    }
    *ret_status = 414;
    if (head->is_query_cut)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "what is behind the '?' has more than %d bytes: send it as the body",
                          UDPAI_HTTP_QUERY_MAX);
    self->refuses_body =
        !is_json(udpai_http_head_value(head, UDPAI_HTTP_CONTENT_TYPE)) || !is_as_it_is(head);
    *ret_status = 500;
    udpai_strbuf_append(&self->query, head->query, head->query_len);
    udpai_strbuf_puts(&self->accept, udpai_http_head_value(head, UDPAI_HTTP_ACCEPT));
    udpai_strbuf_puts(&self->last_event_id, udpai_http_head_value(head, UDPAI_HTTP_LAST_EVENT_ID));
    self->has_authorization = head->n_seen[UDPAI_HTTP_AUTHORIZATION] > 0;
    udpai_strbuf_puts(&self->authorization, udpai_http_head_value(head, UDPAI_HTTP_AUTHORIZATION));
    bool is_kept = !udpai_strbuf_failed(&self->query) && !udpai_strbuf_failed(&self->accept) &&
                   !udpai_strbuf_failed(&self->authorization) &&
                   !udpai_strbuf_failed(&self->last_event_id);
    return is_kept ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_http_request_read(udpai_http_exchange *self,
                        const udpai_http_head *head,
                        unsigned *ret_status,
                        udpa_error **ret_error)
{
    udpai_str path = {head->path, head->path_len};
    *ret_status = head->wrong;
    if (head->wrong)
        return udpai_fail(ret_error, udpa_error_code(head->error), "%s",
                          udpa_error_message(head->error));
    *ret_status = 403;
    if (udpai_http_site_check(head, self->http->hosts, self->http->n_hosts, ret_error) != UDPA_OK)
        return UDPA_ERR_DENIED;
    self->page = find_page(self->guest->place, path);
    if (self->page)
        return read_page(self, head, ret_status, ret_error);
    self->route = find_route(self->guest->place, path);
    *ret_status = 404;
    if (!self->route)
        return fail_path(self->guest->place, path, ret_error);
    *ret_status = 405;
    if (!head->is_post)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s takes POST alone, with a %s in JSON as its body", self->route->path,
                          self->route->request_type);
    self->patience_ms = choose_patience(self, head);
    udpa_err err = read_length(self->http, head, ret_status, ret_error);
    return err == UDPA_OK ? read_encoding(head, ret_status, ret_error) : err;
}
