/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/bench/reason.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/percent.h"

#define HTTP_OK 200

/* What is not encoded well is printed as it is: a message is for people. */
static void
put_decoded(udpai_strbuf *out, udpai_str message)
{
    UDPAI_AUTO_FREE char *room = udpai_alloc(message.len + 1);
    char *at = room;
    udpai_str decoded;
    bool is_decoded = room && udpai_percent_decode(message, &at, &decoded);
    udpai_strbuf_printf(out, ": %.*s", UDPAI_SHOWN(is_decoded ? decoded : message));
}

static void
put_status(udpai_strbuf *out, const udpai_load_end *end)
{
    udpai_strbuf_printf(out, "gRPC status %d", end->grpc_status);
    if (end->grpc_status > 0)
        udpai_strbuf_printf(out, " (%s)", udpa_err_text(udpa_err_from_grpc(end->grpc_status)));
    if (end->message.len)
        put_decoded(out, end->message);
}

void
udpai_load_put_reason(udpai_strbuf *out, const udpai_load_end *end)
{
    bool has_http = end->http_status != UDPAI_LOAD_NO_STATUS;
    if (end->grpc_status != UDPAI_LOAD_NO_STATUS)
        put_status(out, end);
    else if (has_http && end->http_status != HTTP_OK)
        udpai_strbuf_printf(out, "HTTP status %d", end->http_status);
    else if (end->reset)
        udpai_strbuf_printf(out, "RST_STREAM with %s", end->reset);
    else
        udpai_strbuf_puts(out, "without a status");
}
