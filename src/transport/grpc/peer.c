/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of a call. gRPC has verified the certificate; its names are read by ourselves, because
 * gRPC mixes all kinds of names. */
#include <grpc/support/alloc.h>

#include "base/bytes.h"
#include "base/strbuf.h"
#include "certs/certificate.h"
#include "transport/grpc/grpc_internal.h"

static void
put_property(const grpc_auth_context *context, const char *name, udpai_strbuf *pem)
{
    grpc_auth_property_iterator at = grpc_auth_context_find_properties_by_name(context, name);
    const grpc_auth_property *property = grpc_auth_property_iterator_next(&at);
    if (property)
        udpai_strbuf_append(pem, property->value, property->value_length);
}

/* The peer's own certificate first. Those that it has presented with it, gRPC has in another place,
 * where the own one may be again. */
static udpa_err
read_chain(const grpc_auth_context *context, udpai_chain **ret_chain, udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpa_err err = UDPA_OK;
    put_property(context, GRPC_X509_PEM_CERT_PROPERTY_NAME, &text);
    if (text.len)
        put_property(context, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME, &text);
    if (udpai_strbuf_failed(&text))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    const udpai_pem pem = {"the peer's certificate", udpai_strbuf_view(&text)};
    if (err == UDPA_OK && text.len)
        err = udpai_chain_new(ret_chain, pem, ret_error);
    udpai_strbuf_done(&text);
    return err;
}

static bool
is_secure(const grpc_auth_context *context)
{
    grpc_auth_property_iterator it = grpc_auth_context_find_properties_by_name(
        context, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
    const grpc_auth_property *property = grpc_auth_property_iterator_next(&it);
    return property && udpai_str_eq((udpai_str){property->value, property->value_length},
                                    UDPAI_STR(GRPC_SSL_TRANSPORT_SECURITY_TYPE));
}

udpa_err
udpai_call_know_peer(udpai_call *call,
                     udpai_trust *trust,
                     udpai_identity **ret_identity,
                     udpa_error **ret_error)
{
    grpc_auth_context *context = grpc_call_auth_context(call->grpc);
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    if (!context)
        return UDPA_OK;
    call->stream.is_secure = is_secure(context);
    udpa_err err = read_chain(context, &chain, ret_error);
    grpc_auth_context_release(context);
    if (err != UDPA_OK || !chain)
        return err;
    const udpai_presented presented = {trust, chain, call->dialled != NULL};
    err = udpai_stream_present(&call->stream, &presented, ret_error);
    return err == UDPA_OK ? udpai_chain_identity(chain, ret_identity, ret_error) : err;
}

/* gRPC writes addresses as URIs: ipv4:192.0.2.1:4242, ipv6:%5B2001:db8::1%5D:4242. */
static void
put_decoded(udpai_strbuf *to, const char *uri)
{
    for (; *uri; uri++) {
        int high = *uri == '%' ? udpai_hex_value(uri[1]) : -1;
        int low = high < 0 ? -1 : udpai_hex_value(uri[2]);
        udpai_strbuf_putc(to, low < 0 ? *uri : (char)(high * 16 + low));
        uri += low < 0 ? 0 : 2;
    }
}

udpa_bytes *
udpai_call_address(grpc_call *call)
{
    udpai_strbuf text = {0};
    udpa_bytes *bytes = NULL;
    char *uri = grpc_call_get_peer(call);
    bool has_scheme = strncmp(uri, "ipv4:", 5) == 0 || strncmp(uri, "ipv6:", 5) == 0;
    put_decoded(&text, uri + (has_scheme ? 5 : 0));
    gpr_free(uri);
    if (!udpai_strbuf_failed(&text) && udpa_bytes_new(&bytes, text.data, text.len) != UDPA_OK)
        bytes = NULL;
    udpai_strbuf_done(&text);
    return bytes;
}
