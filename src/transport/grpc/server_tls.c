/* SPDX-License-Identifier: Apache-2.0 */
/* Our certificate for peers that dial us. gRPC asks for it at each handshake, so another can take
 * its place without closing anything. */
#include <openssl/crypto.h>
#include <pthread.h>

#include "base/alloc.h"
#include "transport/grpc/grpc_internal.h"
#include "transport/tls.h"
#include "transport/tls_crypto.h"

struct pem {
    char *certificate, *private_key, *authorities;
};

struct udpai_server_tls {
    atomic_uint refs;
    grpc_ssl_client_certificate_request_type request;
    udpai_trust *trust;
    bool offers_first; /* HTTP/1.1 beside HTTP/2 */
    pthread_mutex_t mutex;
    /* under the mutex */
    struct pem pem;
    uint64_t version;
    SSL_CTX *context; /* for handshakes of ours; NULL: not made of this pem yet */
};

static void
wipe(struct pem *pem)
{
    if (pem->private_key)
        OPENSSL_cleanse(pem->private_key, strlen(pem->private_key));
    udpai_free(pem->certificate);
    udpai_free(pem->private_key);
    udpai_free(pem->authorities);
}

static udpa_err
copy(struct pem *to, const udpai_tls_files *files, udpa_error **ret_error)
{
    if (!files->certificate || !files->private_key)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a socket with TLS needs a certificate and its private key "
                          "(certificate_file, private_key_file)");
    struct pem pem = {
        .certificate = udpai_strdup(files->certificate),
        .private_key = udpai_strdup(files->private_key),
        .authorities = files->authorities ? udpai_strdup(files->authorities) : NULL,
    };
    if (!pem.certificate || !pem.private_key || (files->authorities && !pem.authorities)) {
        wipe(&pem);
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    }
    *to = pem;
    return UDPA_OK;
}

udpa_err
udpai_server_tls_new(udpai_server_tls **ret_tls,
                     const udpai_tls_files *files,
                     bool client_certificate_optional,
                     udpa_error **ret_error)
{
    UDPA_AUTO(udpai_server_tls_unref) udpai_server_tls *tls = udpai_alloc(sizeof(*tls));
    if (!tls)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    atomic_init(&tls->refs, 1);
    pthread_mutex_init(&tls->mutex, NULL); /* cannot fail */
    udpa_err err = copy(&tls->pem, files, ret_error);
    if (err == UDPA_OK && !(tls->trust = udpai_trust_new(files->trust)))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err != UDPA_OK)
        return err;
    tls->version = 1;
    tls->request = !files->authorities ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                   : client_certificate_optional
                       ? GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY
                       : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
    *ret_tls = UDPAI_TAKE(tls);
    return UDPA_OK;
}

udpa_err
udpai_server_tls_replace(udpai_server_tls *tls,
                         const udpai_tls_files *files,
                         udpa_error **ret_error)
{
    bool asks = tls->request != GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    if (asks != (files->authorities != NULL))
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "whether clients must present a certificate cannot change while the "
                          "socket is open: restart the node");
    struct pem pem = {0};
    udpa_err err = copy(&pem, files, ret_error);
    if (err != UDPA_OK)
        return err;
    pthread_mutex_lock(&tls->mutex);
    struct pem old = tls->pem;
    tls->pem = pem;
    tls->version++;
    SSL_CTX_free(UDPAI_TAKE(tls->context));
    pthread_mutex_unlock(&tls->mutex);
    udpai_trust_set(tls->trust, files->trust);
    wipe(&old);
    return UDPA_OK;
}

udpai_server_tls *
udpai_server_tls_ref(udpai_server_tls *tls)
{
    if (tls)
        atomic_fetch_add_explicit(&tls->refs, 1, memory_order_relaxed);
    return tls;
}

udpai_server_tls *
udpai_server_tls_unref(udpai_server_tls *tls)
{
    if (tls && atomic_fetch_sub_explicit(&tls->refs, 1, memory_order_acq_rel) == 1) {
        wipe(&tls->pem);
        SSL_CTX_free(tls->context);
        udpai_trust_unref(tls->trust);
        pthread_mutex_destroy(&tls->mutex);
        udpai_free(tls);
    }
    return NULL;
}

void
udpai_server_tls_offer_first(udpai_server_tls *tls)
{
    tls->offers_first = true;
}

udpai_trust *
udpai_server_tls_trust(const udpai_server_tls *tls)
{
    return tls->trust;
}

bool
udpai_server_tls_knows_clients(const udpai_server_tls *tls)
{
    return tls && tls->request == GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
}

/* ---- for handshakes of ours ---- */

SSL_CTX *
udpai_server_tls_context(udpai_server_tls *tls)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    bool is_optional = tls->request == GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    pthread_mutex_lock(&tls->mutex);
    const udpai_tls_files files = {
        .certificate = tls->pem.certificate,
        .private_key = tls->pem.private_key,
        .authorities = tls->pem.authorities,
    };
    const udpai_tls_options options = {
        .files = &files,
        .is_optional = is_optional,
        .is_second = !tls->offers_first,
        .trust = files.authorities ? tls->trust : NULL,
        .crypto = udpai_tls_crypto(),
    };
    if (!tls->context)
        (void)udpai_tls_context(&tls->context, &options, &error);
    SSL_CTX *context = tls->context;
    if (context)
        SSL_CTX_up_ref(context);
    pthread_mutex_unlock(&tls->mutex);
    if (error)
        udpai_log(UDPA_LOG_ERROR, UDPAI_LOG_GRPC, "no handshake can be made: %s",
                  udpa_error_message(error));
    return context;
}

/* ---- for gRPC ---- */

static grpc_ssl_certificate_config_reload_status
fetch(void *userdata, grpc_ssl_server_certificate_config **ret_config)
{
    udpai_tls_user *user = userdata;
    udpai_server_tls *tls = user->tls;
    grpc_ssl_certificate_config_reload_status status = GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    pthread_mutex_lock(&tls->mutex);
    if (user->version != tls->version) {
        const grpc_ssl_pem_key_cert_pair pair = {tls->pem.private_key, tls->pem.certificate};
        /* It aborts without authorities, even where no client is asked for a certificate: then it
         * is given some that nobody is compared with. */
        const char *authorities =
            tls->pem.authorities ? tls->pem.authorities : tls->pem.certificate;
        *ret_config = grpc_ssl_server_certificate_config_create(authorities, &pair, 1);
        user->version = tls->version;
        status = GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
    }
    pthread_mutex_unlock(&tls->mutex);
    return status;
}

grpc_server_credentials *
udpai_server_tls_credentials(udpai_tls_user *user)
{
    return grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(user->tls->request, fetch,
                                                                        user));
}
