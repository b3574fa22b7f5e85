/* SPDX-License-Identifier: Apache-2.0 */
/* What TLS is made of: certificates, which may be replaced for handshakes to come, and what is
 * asked of clients. Sessions are not resumed: clients are verified each time, by what is trusted
 * now. */
#include "transport/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <time.h>

#include "transport/tls_identity.h"

static udpa_err
fail_tls(udpa_error **ret_error, const char *what)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    udpa_err err = udpai_fail(ret_error, UDPA_ERR_INVAL, "%s cannot be used for TLS: %s", what,
                              reason ? reason : "OpenSSL gives no reason");
    ERR_clear_error();
    return err;
}

static BIO *
bio_of(const char *text)
{
    return BIO_new_mem_buf(text, -1);
}

/* Of all certificates of the text. */
static bool
each_certificate(const char *pem,
                 bool (*take)(SSL_CTX *context, X509 *certificate, size_t index),
                 SSL_CTX *context)
{
    BIO *bio = bio_of(pem);
    bool is_good = bio != NULL;
    size_t n = 0;
    while (is_good) {
        X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
        if (!certificate)
            break; /* the end, which PEM calls an error */
        is_good = take(context, certificate, n++);
        X509_free(certificate);
    }
    BIO_free(bio);
    return is_good && n > 0;
}

static bool
take_own(SSL_CTX *context, X509 *certificate, size_t index)
{
    return index == 0 ? SSL_CTX_use_certificate(context, certificate) == 1
                      : SSL_CTX_add1_chain_cert(context, certificate) == 1;
}

static bool
take_authority(SSL_CTX *context, X509 *certificate, size_t index)
{
    (void)index;
    return X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1 &&
           SSL_CTX_add_client_CA(context, certificate) == 1;
}

static bool
take_key(SSL_CTX *context, const char *pem)
{
    BIO *bio = bio_of(pem);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    bool is_good = key && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return is_good;
}

/* Else OpenSSL looks for the way from our certificate to its authority in each handshake, and
 * verifies all signatures on it. */
static void
find_way(SSL_CTX *context)
{
    STACK_OF(X509) *given = NULL;
    (void)SSL_CTX_get0_chain_certs(context, &given);
    if (sk_X509_num(given) <= 0)
        (void)SSL_CTX_build_cert_chain(context, SSL_BUILD_CHAIN_FLAG_NO_ROOT |
                                                    SSL_BUILD_CHAIN_FLAG_IGNORE_ERROR |
                                                    SSL_BUILD_CHAIN_FLAG_CLEAR_ERROR);
    SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
}

static int
choose_protocol(SSL *ssl,
                const unsigned char **out,
                unsigned char *out_len,
                const unsigned char *in,
                unsigned in_len,
                void *userdata)
{
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    const bool is_second = userdata != NULL;
    unsigned char *chosen;
    (void)ssl;
    if (SSL_select_next_proto(&chosen, out_len, ours, is_second ? 3 : sizeof(ours) - 1, in,
                              in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- certificates of clients ---- */

static udpa_err
chain_of(X509_STORE_CTX *asked, udpai_chain **ret_chain, udpa_error **ret_error)
{
    STACK_OF(X509) *others = X509_STORE_CTX_get0_untrusted(asked);
    X509 *own = X509_STORE_CTX_get0_cert(asked);
    return udpai_x509_chain(own, others, "the peer's certificate", ret_chain, ret_error);
}

static int
alert_for(udpai_trust_verdict verdict)
{
    switch (verdict) {
    case UDPAI_TRUST_REVOKED:
    case UDPAI_TRUST_SUPERSEDED:
        return X509_V_ERR_CERT_REVOKED;
    case UDPAI_TRUST_EXPIRED:
        return X509_V_ERR_CERT_HAS_EXPIRED;
    case UDPAI_TRUST_UNKNOWN:
        return X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
    default:
        return X509_V_ERR_INVALID_PURPOSE;
    }
}

static int
judge(X509_STORE_CTX *asked, void *userdata)
{
    UDPA_AUTO(udpai_trust_store_unref) udpai_trust_store *store = udpai_trust_get(userdata);
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    udpai_trust_answer answer = {.verdict = UDPAI_TRUST_UNFIT};
    udpa_error *why = NULL;
    if (!store)
        return X509_verify_cert(asked);
    udpa_err err = chain_of(asked, &chain, &why);
    const udpai_trust_question question = {.chain = chain, .now_s = (int64_t)time(NULL)};
    if (err == UDPA_OK)
        err = udpai_trust_verify(userdata, store, &question, &answer, &why);
    if (err == UDPA_OK)
        return 1;
    X509_STORE_CTX_set_error(asked, alert_for(answer.verdict));
    udpai_tls_session_set_why(
        X509_STORE_CTX_get_ex_data(asked, SSL_get_ex_data_X509_STORE_CTX_idx()), why);
    return 0;
}

/* ---- contexts ---- */

static void
set_groups(SSL_CTX *context)
{
    /* The first is newer than some versions of OpenSSL. */
    if (SSL_CTX_set1_groups_list(context, "X25519MLKEM768:X25519:P-256:P-384") != 1)
        (void)SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384");
}

static void
set_rules(SSL_CTX *context, const udpai_tls_options *options)
{
    int mode = SSL_VERIFY_NONE;
    if (options->files->authorities)
        mode = SSL_VERIFY_PEER | (options->is_optional ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
    if (options->trust)
        SSL_CTX_set_cert_verify_callback(context, judge, options->trust);
    set_groups(context);
    SSL_CTX_set_verify(context, mode, NULL);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS); /* most connections wait */
    static char second;
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, options->is_second ? &second : NULL);
}

udpa_err
udpai_tls_context(SSL_CTX **ret_context, const udpai_tls_options *options, udpa_error **ret_error)
{
    const udpai_tls_files *files = options->files;
    if (!files->certificate || !files->private_key)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a socket with TLS needs a certificate and its private key "
                          "(certificate_file, private_key_file)");
    SSL_CTX *context = SSL_CTX_new_ex(options->crypto, NULL, TLS_server_method());
    const char *wrong = NULL;
    if (!context)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!each_certificate(files->certificate, take_own, context))
        wrong = "the certificate";
    else if (!take_key(context, files->private_key))
        wrong = "the private key";
    else if (files->authorities && !each_certificate(files->authorities, take_authority, context))
        wrong = "the authorities of clients";
    if (wrong) {
        SSL_CTX_free(context);
        return fail_tls(ret_error, wrong);
    }
    find_way(context);
    set_rules(context, options);
    ERR_clear_error(); /* the end of a file is one */
    *ret_context = context;
    return UDPA_OK;
}
