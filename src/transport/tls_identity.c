/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tls_identity.h"

#include <openssl/pem.h>

/* On the server's side the others come without the peer's own. */
static bool
put_all(BIO *bio, SSL *ssl, X509 *own)
{
    STACK_OF(X509) *others = SSL_get_peer_cert_chain(ssl);
    bool is_put = PEM_write_bio_X509(bio, own) == 1;
    for (int i = 0; is_put && i < sk_X509_num(others); i++)
        if (X509_cmp(sk_X509_value(others, i), own) != 0)
            is_put = PEM_write_bio_X509(bio, sk_X509_value(others, i)) == 1;
    return is_put;
}

udpa_err
udpai_ssl_chain(SSL *ssl, const char *label, udpai_chain **ret_chain, udpa_error **ret_error)
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate)
        return UDPA_OK;
    BIO *bio = BIO_new(BIO_s_mem());
    if (!bio || !put_all(bio, ssl, certificate)) {
        BIO_free(bio);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    char *text = NULL;
    long len = BIO_get_mem_data(bio, &text);
    const udpai_pem pem = {label, {text, (size_t)len}};
    udpa_err err = udpai_chain_new(ret_chain, pem, ret_error);
    BIO_free(bio);
    return err;
}
