/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tls_identity.h"

#include "base/vector.h"

/* What OpenSSL has parsed is shared with it: to parse it again takes as long as half a handshake.
 */
udpa_err
udpai_x509_chain(X509 *own,
                 STACK_OF(X509) * others,
                 const char *label,
                 udpai_chain **ret_chain,
                 udpa_error **ret_error)
{
    UDPAI_VECTOR(X509 *) all = {0};
    bool is_put = udpai_vector_push(&all, own);
    for (int i = 0; is_put && i < sk_X509_num(others); i++)
        if (X509_cmp(sk_X509_value(others, i), own) != 0)
            is_put = udpai_vector_push(&all, sk_X509_value(others, i));
    udpa_err err = is_put ? udpai_chain_of(ret_chain, label, all.items, all.n, ret_error)
                          : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpai_vector_done(&all);
    return err;
}

/* On the server's side the others come without the peer's own. */
udpa_err
udpai_ssl_chain(SSL *ssl, const char *label, udpai_chain **ret_chain, udpa_error **ret_error)
{
    X509 *own = SSL_get0_peer_certificate(ssl);
    if (!own)
        return UDPA_OK;
    return udpai_x509_chain(own, SSL_get_peer_cert_chain(ssl), label, ret_chain, ret_error);
}
