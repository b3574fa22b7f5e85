/* SPDX-License-Identifier: Apache-2.0 */
/* OpenSSL keeps a queue of errors for each thread; every function here leaves it empty. */
#include "certs/key.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/alloc.h"
#include "certs/certificate_internal.h"

struct udpai_key {
    atomic_uint refs;
    EVP_PKEY *pkey;
    udpai_key_algorithm algorithm;
    int64_t not_before_s, not_after_s;
};

const char *
udpai_key_algorithm_name(uint32_t algorithm)
{
    switch (algorithm) {
    case UDPAI_KEY_ED25519:
        return "Ed25519";
    case UDPAI_KEY_ECDSA_P256_SHA256:
        return "ECDSA P-256";
    default:
        return NULL;
    }
}

/* ---- making ---- */

/* 0: none that we sign with. */
static udpai_key_algorithm
algorithm_of(const EVP_PKEY *pkey)
{
    char curve[32];
    size_t len;
    if (EVP_PKEY_is_a(pkey, "ED25519"))
        return UDPAI_KEY_ED25519;
    if (EVP_PKEY_is_a(pkey, "EC") &&
        EVP_PKEY_get_group_name(pkey, curve, sizeof(curve), &len) == 1 &&
        strcmp(curve, "prime256v1") == 0)
        return UDPAI_KEY_ECDSA_P256_SHA256;
    return 0;
}

/* Consumes the OpenSSL key. */
static udpa_err
make(udpai_key **ret_key, EVP_PKEY *pkey, const char *file, udpa_error **ret_error)
{
    udpai_key_algorithm algorithm = algorithm_of(pkey);
    udpa_err err = UDPA_OK;
    udpai_key *key = NULL;
    if (!algorithm)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "%s: is a key of kind %s, and resources are signed with Ed25519 or ECDSA "
                         "on P-256: make one with 'openssl genpkey -algorithm ed25519'",
                         file, EVP_PKEY_get0_type_name(pkey));
    else if (!(key = udpai_alloc(sizeof(*key))))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    ERR_clear_error();
    if (err != UDPA_OK) {
        EVP_PKEY_free(pkey);
        return err;
    }
    atomic_init(&key->refs, 1);
    key->pkey = pkey;
    key->algorithm = algorithm;
    key->not_before_s = INT64_MIN;
    key->not_after_s = INT64_MAX;
    *ret_key = key;
    return UDPA_OK;
}

/* Without this OpenSSL would ask the terminal. */
static int
no_password(char *room, int size, int is_writing, void *asked)
{
    (void)room;
    (void)size;
    (void)is_writing;
    *(bool *)asked = true;
    return -1;
}

static bool
has_block(udpai_pem pem, const char *words)
{
    return pem.bytes.len && memmem(pem.bytes.data, pem.bytes.len, words, strlen(words));
}

static udpa_err
fail_private(udpai_pem pem, bool is_encrypted, udpa_error **ret_error)
{
    if (is_encrypted)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: the private key is encrypted, and there is no password for it; "
                          "decrypt it with 'openssl pkey' and protect the file instead",
                          pem.file);
    if (has_block(pem, "BEGIN PUBLIC KEY-----") || has_block(pem, "BEGIN CERTIFICATE-----"))
        return udpai_fail(
            ret_error, UDPA_ERR_INVAL,
            "%s: holds no private key, but a public one: signing needs the private one", pem.file);
    return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s: holds no private key in PEM form", pem.file);
}

static udpa_err
fail_public(udpai_pem pem, udpa_error **ret_error)
{
    if (has_block(pem, "PRIVATE KEY-----"))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: holds a private key, which only the signer should have: make the "
                          "public one of it with 'openssl pkey -pubout'",
                          pem.file);
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "%s: holds no public key, and no certificate, in PEM form", pem.file);
}

static udpa_err
open_pem(udpai_pem pem, BIO **ret_bio, udpa_error **ret_error)
{
    if (pem.bytes.len > UDPAI_PEM_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "%s: %zu bytes are more than %d", pem.file,
                          pem.bytes.len, UDPAI_PEM_MAX);
    ERR_clear_error();
    *ret_bio = BIO_new_mem_buf(pem.bytes.len ? pem.bytes.data : "", (int)pem.bytes.len);
    return *ret_bio ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

udpa_err
udpai_key_new_private(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error)
{
    BIO *bio;
    bool is_encrypted = false;
    udpa_err err = open_pem(pem, &bio, ret_error);
    if (err != UDPA_OK)
        return err;
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(bio, NULL, no_password, &is_encrypted);
    BIO_free(bio);
    ERR_clear_error();
    return pkey ? make(ret_key, pkey, pem.file, ret_error)
                : fail_private(pem, is_encrypted, ret_error);
}

static udpa_err
of_certificate(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error)
{
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    udpa_err err = udpai_chain_new(&chain, pem, ret_error);
    if (err != UDPA_OK)
        return err;
    const struct udpai_certificate *first = &chain->certificates[0];
    EVP_PKEY *pkey = X509_get_pubkey(first->x509);
    ERR_clear_error();
    if (!pkey)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%s: the key in the certificate is of a kind that OpenSSL does not know",
                          pem.file);
    err = make(ret_key, pkey, pem.file, ret_error);
    if (err == UDPA_OK) {
        (*ret_key)->not_before_s = first->not_before_s;
        (*ret_key)->not_after_s = first->not_after_s;
    }
    return err;
}

udpa_err
udpai_key_new_public(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error)
{
    BIO *bio;
    bool is_encrypted = false;
    if (has_block(pem, "BEGIN CERTIFICATE-----"))
        return of_certificate(ret_key, pem, ret_error);
    udpa_err err = open_pem(pem, &bio, ret_error);
    if (err != UDPA_OK)
        return err;
    EVP_PKEY *pkey = PEM_read_bio_PUBKEY(bio, NULL, no_password, &is_encrypted);
    BIO_free(bio);
    ERR_clear_error();
    return pkey ? make(ret_key, pkey, pem.file, ret_error) : fail_public(pem, ret_error);
}

udpai_key *
udpai_key_ref(udpai_key *key)
{
    if (key)
        atomic_fetch_add_explicit(&key->refs, 1, memory_order_relaxed);
    return key;
}

udpai_key *
udpai_key_unref(udpai_key *key)
{
    if (!key || atomic_fetch_sub_explicit(&key->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    EVP_PKEY_free(key->pkey);
    udpai_free(key);
    return NULL;
}

/* ---- looking ---- */

udpai_key_algorithm
udpai_key_algorithm_of(const udpai_key *key)
{
    return key->algorithm;
}

int64_t
udpai_key_not_before_s(const udpai_key *key)
{
    return key->not_before_s;
}

int64_t
udpai_key_not_after_s(const udpai_key *key)
{
    return key->not_after_s;
}

bool
udpai_key_equal(const udpai_key *a, const udpai_key *b)
{
    bool equal = a == b || EVP_PKEY_eq(a->pkey, b->pkey) == 1;
    ERR_clear_error();
    return equal;
}

udpa_err
udpai_key_put_public(const udpai_key *key, udpai_strbuf *to)
{
    unsigned char *der = NULL;
    int size = i2d_PUBKEY(key->pkey, &der);
    ERR_clear_error();
    if (size < 0)
        return UDPA_ERR_NOMEM;
    udpai_strbuf_append(to, der, (size_t)size);
    OPENSSL_free(der);
    return udpai_strbuf_failed(to) ? UDPA_ERR_NOMEM : UDPA_OK;
}

/* ---- using ---- */

static const EVP_MD *
digest_of(const udpai_key *key)
{
    return key->algorithm == UDPAI_KEY_ED25519 ? NULL : EVP_sha256();
}

udpa_err
udpai_key_sign(const udpai_key *key,
               udpai_str bytes,
               char ret_value[UDPAI_SIGNATURE_MAX],
               size_t *ret_len)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t len = UDPAI_SIGNATURE_MAX;
    bool good = context &&
                EVP_DigestSignInit(context, NULL, digest_of(key), NULL, key->pkey) == 1 &&
                EVP_DigestSign(context, (unsigned char *)ret_value, &len,
                               (const unsigned char *)bytes.data, bytes.len) == 1;
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    if (!good)
        return UDPA_ERR_NOMEM; /* a private key of these kinds signs anything */
    *ret_len = len;
    return UDPA_OK;
}

udpa_err
udpai_key_verify(const udpai_key *key, udpai_str bytes, udpai_str value)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || EVP_DigestVerifyInit(context, NULL, digest_of(key), NULL, key->pkey) != 1) {
        EVP_MD_CTX_free(context);
        ERR_clear_error();
        return UDPA_ERR_NOMEM;
    }
    int verified = EVP_DigestVerify(context, (const unsigned char *)(value.len ? value.data : ""),
                                    value.len, (const unsigned char *)bytes.data, bytes.len);
    EVP_MD_CTX_free(context);
    ERR_clear_error();
    return verified == 1 ? UDPA_OK : UDPA_ERR_DENIED;
}
