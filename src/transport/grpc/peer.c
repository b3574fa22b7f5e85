/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a call. gRPC has verified the certificate; what it says is read by
 * ourselves, because gRPC mixes all kinds of names. */
#include <grpc/support/alloc.h>

#include "base/bytes.h"
#include "base/strbuf.h"
#include "certs/certificate.h"
#include "transport/grpc/grpc_internal.h"

static udpa_err
read_certificate(const grpc_auth_property *property,
                 udpai_identity **ret_identity,
                 udpa_error **ret_error)
{
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    const udpai_pem pem = {"the peer's certificate", {property->value, property->value_length}};
    udpa_err err = udpai_chain_new(&chain, pem, ret_error);
    if (err == UDPA_OK)
        err = udpai_chain_identity(chain, ret_identity, ret_error);
    return err;
}

udpa_err
udpai_call_identity(grpc_call *call, udpai_identity **ret_identity, udpa_error **ret_error)
{
    grpc_auth_context *context = grpc_call_auth_context(call);
    if (!context)
        return UDPA_OK;
    grpc_auth_property_iterator at =
        grpc_auth_context_find_properties_by_name(context, GRPC_X509_PEM_CERT_PROPERTY_NAME);
    const grpc_auth_property *property = grpc_auth_property_iterator_next(&at);
    udpa_err err = UDPA_OK;
    if (property)
        err = read_certificate(property, ret_identity, ret_error);
    grpc_auth_context_release(context);
    return err;
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
