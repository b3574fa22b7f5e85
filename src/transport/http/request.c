/* SPDX-License-Identifier: Apache-2.0 */
/* What the headers of a request say: what it is for, how its body comes, how long it may be held.
 */
#include <stdlib.h>

#include "transport/http/http_internal.h"

#define VALUE_MAX 256
#define V2_PREFIX "/v2/discovery"

/* The value of a header, an empty one without it; false: too long for what it can mean. */
static bool
header(struct lws *wsi, enum lws_token_indexes token, char room[VALUE_MAX])
{
    room[0] = '\0';
    return lws_hdr_total_length(wsi, token) == 0 || lws_hdr_copy(wsi, room, VALUE_MAX, token) >= 0;
}

/* Of a header that libwebsockets has no token for, which of HTTP/2 it does not keep. */
static bool
custom_header(struct lws *wsi, const char *name, char room[VALUE_MAX])
{
    room[0] = '\0';
    return lws_hdr_custom_copy(wsi, room, VALUE_MAX, name, (int)strlen(name)) > 0;
}

/* ---- the path ---- */

static void
put_paths(const udpai_http *http, udpai_strbuf *text)
{
    for (size_t i = 0; i < http->n_routes; i++)
        udpai_strbuf_printf(text, "%s%s", i ? ", " : "", http->routes[i].path);
}

static udpa_err
fail_path(const udpai_http *http, udpai_str path, udpa_error **ret_error)
{
    if (udpai_str_starts(path, UDPAI_STR(V2_PREFIX)))
        return udpai_fail(ret_error, UDPA_ERR_NOT_FOUND,
                          "%.*s is version 2 of xDS, and here is version 3: set "
                          "transport_api_version and resource_api_version to V3 in the client",
                          UDPAI_SHOWN(path));
    udpai_strbuf text = {0};
    put_paths(http, &text);
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_NOT_FOUND,
                              "there is nothing at %.*s; what there is, by POST: %s",
                              UDPAI_SHOWN(path), udpai_strbuf_failed(&text) ? "?" : text.data);
    udpai_strbuf_done(&text);
    return err;
}

static const udpai_http_route *
find_route(const udpai_http *http, udpai_str path)
{
    for (size_t i = 0; i < http->n_routes; i++)
        if (udpai_str_eq(path, udpai_str_from(http->routes[i].path)))
            return &http->routes[i];
    return NULL;
}

/* ---- the body ---- */

/* Without a word about it, it is taken for JSON; behind the type there may be parameters. */
static bool
is_json(const char *type)
{
    static const char json[] = "application/json";
    size_t len = sizeof(json) - 1;
    return !*type || (strncasecmp(type, json, len) == 0 && strchr("; \t", type[len]));
}

static udpa_err
read_encoding(udpai_http_exchange *self, unsigned *ret_status, udpa_error **ret_error)
{
    char type[VALUE_MAX], encoding[VALUE_MAX];
    *ret_status = 415;
    if (!header(self->wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, type) || !is_json(type))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the body must be application/json, and content-type is '%.100s'", type);
    if (!header(self->wsi, WSI_TOKEN_HTTP_CONTENT_ENCODING, encoding) ||
        (*encoding && strcasecmp(encoding, "identity") != 0))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the body must come as it is, and content-encoding is '%.100s'",
                          encoding);
    return UDPA_OK;
}

static udpa_err
too_large(const udpai_http_exchange *self, unsigned *ret_status, udpa_error **ret_error)
{
    *ret_status = 413;
    return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                      "the body is larger than %zu bytes, which is the limit of this node "
                      "(http.max_body_bytes)",
                      self->http->limits.max_body_bytes);
}

static udpa_err
read_length(udpai_http_exchange *self,
            const char *length,
            unsigned *ret_status,
            udpa_error **ret_error)
{
    *ret_status = 400;
    if (!*length || strspn(length, "0123456789") != strlen(length))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "content-length must be a number, and is '%.100s'", length);
    unsigned long long bytes = strlen(length) > 18 ? UINT64_MAX : strtoull(length, NULL, 10);
    if (bytes > self->http->limits.max_body_bytes)
        return too_large(self, ret_status, ret_error);
    self->left = (size_t)bytes;
    return UDPA_OK;
}

/* A body whose end two readers may see in two places is none. */
static udpa_err
read_framing(udpai_http_exchange *self, unsigned *ret_status, udpa_error **ret_error)
{
    char length[VALUE_MAX], coding[VALUE_MAX];
    bool is_good = header(self->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, length) &&
                   header(self->wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING, coding);
    bool has_length = lws_hdr_total_length(self->wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0;
    *ret_status = 400;
    if (!is_good || (*coding && has_length))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a request has either a content-length or a transfer-encoding");
    if (*coding && (self->is_second || strcasecmp(coding, "chunked") != 0)) {
        *ret_status = 501;
        return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED,
                          "a transfer-encoding of '%.100s' is not understood", coding);
    }
    self->is_chunked = *coding;
    if (self->is_chunked)
        return UDPA_OK;
    if (has_length)
        return read_length(self, length, ret_status, ret_error);
    *ret_status = 411;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "the request does not say how long its body is: it needs a content-length");
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

/* As long as the node's setting says, unless the client waits less. Envoy says when it will give
 * up, and counts that as a failure: a fifth of the time is left for the way. */
static uint64_t
choose_patience(udpai_http_exchange *self)
{
    char value[VALUE_MAX];
    uint64_t patience = self->http->limits.hold_ms, wait;
    self->prefers_wait = custom_header(self->wsi, "prefer:", value) && read_wait(value, &wait);
    if (self->prefers_wait && wait < patience)
        patience = wait;
    if (custom_header(self->wsi, "x-envoy-expected-rq-timeout-ms:", value)) {
        unsigned long long gives_up = strtoull(value, NULL, 10);
        if (gives_up && gives_up - gives_up / 5 < patience)
            patience = gives_up - gives_up / 5;
    }
    return patience ? patience : 1; /* 0 would be for ever */
}

udpa_err
udpai_http_request_read(udpai_http_exchange *self,
                        udpai_str path,
                        unsigned *ret_status,
                        udpa_error **ret_error)
{
    self->route = find_route(self->http, path);
    *ret_status = 404;
    if (!self->route)
        return fail_path(self->http, path, ret_error);
    *ret_status = 405;
    if (lws_hdr_total_length(self->wsi, WSI_TOKEN_POST_URI) == 0)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s takes POST alone, with a %s in JSON as its body", self->route->path,
                          self->route->request_type);
    self->patience_ms = choose_patience(self);
    udpa_err err = read_framing(self, ret_status, ret_error);
    return err == UDPA_OK ? read_encoding(self, ret_status, ret_error) : err;
}
