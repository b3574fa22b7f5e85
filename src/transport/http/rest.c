/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to bytes and back. Many clients wait for the same answer, so what was made last is kept for
 * those that come next. */
#include "base/alloc.h"
#include "base/bytes.h"
#include "codec/convert.h"
#include "codec/json_text.h"
#include "loop/clock.h"
#include "transport/http/http_internal.h"

unsigned
udpai_http_status_of(udpa_err err)
{
    switch (err) {
    case UDPA_ERR_INVAL:
    case UDPA_ERR_MALFORMED:
    case UDPA_ERR_PRECONDITION:
        return 400;
    case UDPA_ERR_UNAUTHENTICATED:
        return 401;
    case UDPA_ERR_DENIED:
        return 403;
    case UDPA_ERR_LIMIT:
        return 429;
    case UDPA_ERR_UNIMPLEMENTED:
        return 501;
    case UDPA_ERR_UNAVAILABLE:
    case UDPA_ERR_NOMEM:
    case UDPA_ERR_CANCELLED:
        return 503;
    default:
        return 500;
    }
}

udpa_bytes *
udpai_http_error_json(const udpa_error *error)
{
    udpai_strbuf json = {0};
    udpa_bytes *bytes = NULL;
    udpai_strbuf_printf(&json,
                        "{\"code\":%d,\"message\":", udpa_err_to_grpc(udpa_error_code(error)));
    udpai_json_put_string(&json, udpai_str_from(udpa_error_message(error)));
    udpai_strbuf_puts(&json, "}\n");
    udpa_err err =
        udpai_strbuf_failed(&json) ? UDPA_ERR_NOMEM : udpa_bytes_new(&bytes, json.data, json.len);
    udpai_strbuf_done(&json);
    return err == UDPA_OK ? bytes : NULL;
}

udpa_err
udpai_http_to_binary(const udpai_http *http,
                     const udpai_http_route *route,
                     udpai_str json,
                     udpa_bytes **ret_bytes,
                     udpa_error **ret_error)
{
    const udpai_source source = {
        .name = "body",
        .text = json,
        .format = UDPAI_FORMAT_JSON,
        .max_size = http->limits.max_body_bytes,
        .skips_unknown = true, /* a client may be newer than our descriptors */
    };
    if (udpai_json_exceeds(json, UDPAI_HTTP_BODY_VALUES_MAX))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "the body has more than %zu values, which is the limit of this node",
                          UDPAI_HTTP_BODY_VALUES_MAX);
    return udpai_convert_to_binary(http->schema, udpai_str_from(route->request_type), &source,
                                   ret_bytes, ret_error);
}

static void
join(const udpai_bridged_stream *bridged, udpai_strbuf *bytes)
{
    for (size_t i = 0; i < bridged->parts.n; i++)
        udpai_strbuf_str(bytes, udpai_bytes_view(bridged->parts.items[i]));
}

/* A type or field without descriptors is the operator's to fix, so it is logged, too. */
static void
warn(udpai_http *http, const udpai_http_route *route, const char *how, const udpa_error *error)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&http->failures, udpai_monotonic_ms(), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_LOG_HTTP,
                        UDPAI_ABOUT({UDPAI_LOG_CODE, udpai_log_code(error)}),
                        "%s cannot be answered%s: %s (%u more not shown)", route->path, how,
                        udpa_error_message(error), n_suppressed);
}

static udpa_err
convert(udpai_http *http,
        const udpai_http_route *route,
        udpai_str bytes,
        udpa_bytes **ret_json,
        udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_err err = udpai_convert_to_complete_json(
        http->schema, udpai_str_from(route->response_type), bytes, &text, ret_error);
    return err == UDPA_OK ? udpai_fail_code(ret_error, udpa_bytes_new(ret_json, text, strlen(text)))
                          : err;
}

/* Of what can be put into JSON. */
static bool
make_without(udpai_http *http,
             const udpai_http_route *route,
             udpai_str bytes,
             udpa_bytes **ret_json)
{
    udpai_strbuf rest = {0};
    bool is_made = udpai_http_leave_out(http, route, bytes, &rest) &&
                   convert(http, route, udpai_strbuf_view(&rest), ret_json, NULL) == UDPA_OK;
    udpai_strbuf_done(&rest);
    return is_made;
}

static udpa_err
make(udpai_http *http,
     const udpai_http_route *route,
     udpai_str bytes,
     udpa_bytes **ret_json,
     udpa_error **ret_error)
{
    udpa_error *error = NULL;
    udpa_err err = convert(http, route, bytes, ret_json, &error);
    if (err == UDPA_OK || err == UDPA_ERR_NOMEM) {
        udpa_error_unref(error);
        return udpai_fail_code(ret_error, err);
    }
    if (make_without(http, route, bytes, ret_json)) {
        warn(http, route, " in full", error);
        udpa_error_unref(error);
        return UDPA_OK;
    }
    warn(http, route, "", error);
    bool is_unknown = err == UDPA_ERR_NOT_FOUND;
    if (is_unknown)
        err = UDPA_ERR_UNIMPLEMENTED;
    else
        err = UDPA_ERR_INTERNAL; /* whatever it is, the client has done nothing wrong */
    return udpai_fail_because(ret_error, err, error, "what there is cannot be put into JSON%s",
                              is_unknown ? ", for which a node needs the descriptors of every type "
                                           "(udpad.conf(5), descriptor_sets)"
                                         : "");
}

static udpai_http_made *
find_made(udpai_http *http, const udpai_http_route *route, udpai_str bytes)
{
    for (size_t i = 0; i < UDPAI_HTTP_MADE; i++) {
        udpai_http_made *made = &http->made[i];
        if (made->route == route && udpai_str_eq(udpai_strbuf_view(&made->bytes), bytes))
            return made;
    }
    return NULL;
}

static size_t
made_size(const udpai_http_made *made)
{
    return made->route ? made->bytes.len + udpa_bytes_size(made->json) : 0;
}

static void
forget_made(udpai_http *http, udpai_http_made *made)
{
    http->made_bytes -= made_size(made);
    udpai_strbuf_done(&made->bytes);
    udpa_bytes_unref(made->json);
    *made = (udpai_http_made){0};
}

/* Takes the bytes over. The oldest make room. */
static void
keep_made(udpai_http *http, const udpai_http_route *route, udpai_strbuf *bytes, udpa_bytes *json)
{
    const udpai_http_made requested = {route, *bytes, json};
    size_t size = made_size(&requested);
    if (size > UDPAI_HTTP_MADE_MAX_BYTES)
        return;
    unsigned at = http->next_made++;
    forget_made(http, &http->made[at % UDPAI_HTTP_MADE]);
    for (unsigned i = 1; http->made_bytes + size > UDPAI_HTTP_MADE_MAX_BYTES; i++)
        forget_made(http, &http->made[(at + i) % UDPAI_HTTP_MADE]);
    udpa_bytes_ref(json);
    http->made[at % UDPAI_HTTP_MADE] = requested;
    http->made_bytes += size;
    *bytes = (udpai_strbuf){0};
}

udpa_err
udpai_http_to_json(udpai_http *http,
                   const udpai_http_route *route,
                   const udpai_bridged_stream *bridged,
                   udpa_bytes **ret_json,
                   udpa_error **ret_error)
{
    udpai_strbuf bytes = {0};
    udpa_bytes *json = NULL;
    join(bridged, &bytes);
    udpa_err err = udpai_strbuf_failed(&bytes) ? UDPA_ERR_NOMEM : UDPA_OK;
    const udpai_http_made *made =
        err == UDPA_OK ? find_made(http, route, udpai_strbuf_view(&bytes)) : NULL;
    if (made) {
        json = udpa_bytes_ref(made->json);
    } else if (err == UDPA_OK) {
        err = make(http, route, udpai_strbuf_view(&bytes), &json, ret_error);
        if (err == UDPA_OK)
            keep_made(http, route, &bytes, json);
    }
    udpai_strbuf_done(&bytes);
    if (err == UDPA_OK)
        *ret_json = json;
    return udpai_fail_code(ret_error, err);
}

void
udpai_http_made_done(udpai_http *http)
{
    for (size_t i = 0; i < UDPAI_HTTP_MADE; i++)
        forget_made(http, &http->made[i]);
}
