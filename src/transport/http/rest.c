/* SPDX-License-Identifier: Apache-2.0 */
/* JSON to bytes and back. Many clients wait for the same answer, so what was made last is kept for
 * those who come next. */
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

void
udpai_http_put_error(udpai_strbuf *json, const udpa_error *error)
{
    udpai_strbuf_printf(json,
                        "{\"code\":%d,\"message\":", udpa_err_to_grpc(udpa_error_code(error)));
    udpai_json_put_string(json, udpai_str_from(udpa_error_message(error)));
    udpai_strbuf_puts(json, "}\n");
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
    return udpai_convert_to_binary(http->schema, udpai_str_from(route->request_type), &source,
                                   ret_bytes, ret_error);
}

static void
join(const udpai_visit *visit, udpai_strbuf *bytes)
{
    for (size_t i = 0; i < visit->parts.n; i++)
        udpai_strbuf_str(bytes, udpai_bytes_view(visit->parts.items[i]));
}

/* A type or field without descriptors is the operator's to mend, so he is told, too. */
static void
warn(udpai_http *http, const udpai_http_route *route, const udpa_error *error)
{
    unsigned n_suppressed;
    if (udpai_log_allow(&http->failures, udpai_monotonic_ms(), &n_suppressed))
        udpai_log(UDPA_LOG_WARNING, UDPAI_LOG_HTTP,
                  "%s cannot be answered: %s (%u more such warnings left out)", route->path,
                  udpa_error_message(error), n_suppressed);
}

static udpa_err
make(udpai_http *http,
     const udpai_http_route *route,
     udpai_str bytes,
     udpai_strbuf *json,
     udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_convert_to_complete_json(
        http->schema, udpai_str_from(route->response_type), bytes, &text, &error);
    if (err == UDPA_OK) {
        udpai_strbuf_puts(json, text);
        return UDPA_OK;
    }
    warn(http, route, error);
    bool is_unknown = err == UDPA_ERR_NOT_FOUND;
    if (is_unknown)
        err = UDPA_ERR_UNIMPLEMENTED;
    else if (err != UDPA_ERR_NOMEM)
        err = UDPA_ERR_INTERNAL; /* whatever it is, who asks has done nothing wrong */
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

static void
forget_made(udpai_http_made *made)
{
    udpai_strbuf_done(&made->bytes);
    udpai_strbuf_done(&made->json);
    *made = (udpai_http_made){0};
}

/* Takes the bytes over. */
static void
keep_made(udpai_http *http,
          const udpai_http_route *route,
          udpai_strbuf *bytes,
          const udpai_strbuf *json)
{
    if (bytes->len + json->len > UDPAI_HTTP_MADE_MAX_BYTES)
        return;
    udpai_http_made *made = &http->made[http->next_made++ % UDPAI_HTTP_MADE];
    forget_made(made);
    udpai_strbuf_str(&made->json, udpai_strbuf_view(json));
    if (udpai_strbuf_failed(&made->json)) {
        forget_made(made);
        return;
    }
    made->route = route;
    made->bytes = *bytes;
    *bytes = (udpai_strbuf){0};
}

udpa_err
udpai_http_to_json(udpai_http *http,
                   const udpai_http_route *route,
                   const udpai_visit *visit,
                   udpai_strbuf *json,
                   udpa_error **ret_error)
{
    udpai_strbuf bytes = {0};
    join(visit, &bytes);
    udpa_err err = udpai_strbuf_failed(&bytes) ? UDPA_ERR_NOMEM : UDPA_OK;
    const udpai_http_made *made =
        err == UDPA_OK ? find_made(http, route, udpai_strbuf_view(&bytes)) : NULL;
    if (made)
        udpai_strbuf_str(json, udpai_strbuf_view(&made->json));
    else if (err == UDPA_OK)
        err = make(http, route, udpai_strbuf_view(&bytes), json, ret_error);
    if (err == UDPA_OK && udpai_strbuf_failed(json))
        err = UDPA_ERR_NOMEM;
    if (err == UDPA_OK && !made)
        keep_made(http, route, &bytes, json);
    udpai_strbuf_done(&bytes);
    return udpai_fail_code(ret_error, err);
}

void
udpai_http_made_done(udpai_http *http)
{
    for (size_t i = 0; i < UDPAI_HTTP_MADE; i++)
        forget_made(&http->made[i]);
}
