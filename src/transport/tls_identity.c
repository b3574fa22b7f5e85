/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/tls_identity.h"

#include <openssl/pem.h>

#include "certs/certificate.h"

udpa_err
udpai_ssl_identity(SSL *ssl,
                   const char *whose,
                   udpai_identity **ret_identity,
                   udpa_error **ret_error)
{
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (!certificate)
        return UDPA_OK;
    BIO *bio = BIO_new(BIO_s_mem());
    if (!bio || PEM_write_bio_X509(bio, certificate) != 1) {
        BIO_free(bio);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    char *text = NULL;
    long len = BIO_get_mem_data(bio, &text);
    const udpai_pem pem = {whose, {text, (size_t)len}};
    udpa_err err = udpai_chain_new(&chain, pem, ret_error);
    if (err == UDPA_OK)
        err = udpai_chain_identity(chain, ret_identity, ret_error);
    BIO_free(bio);
    return err;
}
