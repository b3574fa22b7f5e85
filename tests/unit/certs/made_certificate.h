/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys made while a test runs: none are ever kept. Names are put in as bytes, so
 * that also those can be made that no authority should issue. */
#ifndef UDPAI_TESTS_MADE_CERTIFICATE_H
#define UDPAI_TESTS_MADE_CERTIFICATE_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/strbuf.h"
#include "certs/certificate.h"
#include "tests/harness/test.h"

#define MADE_NOT_BEFORE 1700000000 /* 2023-11-14 22:13:20 UTC */
#define MADE_NOT_AFTER 1800000000  /* 2027-01-15 08:00:00 UTC */
#define MADE_NOW 1750000000

typedef struct made_name {
    int type; /* of a subjectAltName: GEN_URI, …; of a subject: V_ASN1_UTF8STRING, … */
    udpai_str text;
} made_name;

typedef struct made_spec {
    const made_name *common_names;
    size_t n_common_names;
    const made_name *sans;
    size_t n_sans;
    int64_t not_before_s, not_after_s; /* both 0: the defaults above */
    bool is_authority;
    EVP_PKEY *key;                      /* of the holder; borrowed */
    EVP_PKEY *signer;                   /* NULL: the holder's */
    const char *issuer;                 /* common name; NULL: the subject's */
    long serial;                        /* 0: 1 */
    const char *key_id, *issuer_key_id; /* NULL: none */
} made_spec;

static inline EVP_PKEY *
make_key(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    assert_non_null(key);
    return key;
}

static inline void
put_subject(X509 *x509, const made_spec *spec)
{
    X509_NAME *name = X509_NAME_new();
    for (size_t i = 0; i < spec->n_common_names; i++) {
        const made_name *cn = &spec->common_names[i];
        assert_int_equal(X509_NAME_add_entry_by_NID(name, NID_commonName, cn->type,
                                                    (const unsigned char *)cn->text.data,
                                                    (int)cn->text.len, -1, 0),
                         1);
    }
    assert_int_equal(X509_set_subject_name(x509, name), 1);
    assert_int_equal(X509_set_issuer_name(x509, name), 1);
    X509_NAME_free(name);
}

/* With one common name. */
static inline X509_NAME *
make_name(const char *common_name)
{
    X509_NAME *name = X509_NAME_new();
    assert_int_equal(X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING,
                                                (const unsigned char *)common_name, -1, -1, 0),
                     1);
    return name;
}

static inline void
put_issuer(X509 *x509, const char *common_name)
{
    X509_NAME *name = make_name(common_name);
    assert_int_equal(X509_set_issuer_name(x509, name), 1);
    X509_NAME_free(name);
}

static inline void
put_sans(X509 *x509, const made_spec *spec)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    for (size_t i = 0; i < spec->n_sans; i++) {
        const made_name *san = &spec->sans[i];
        GENERAL_NAME *name = GENERAL_NAME_new();
        ASN1_STRING *value =
            san->type == GEN_IPADD ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
        assert_int_equal(ASN1_STRING_set(value, san->text.data, (int)san->text.len), 1);
        GENERAL_NAME_set0_value(name, san->type, value);
        assert_true(sk_GENERAL_NAME_push(names, name) > 0);
    }
    assert_int_equal(X509_add1_ext_i2d(x509, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND), 1);
    GENERAL_NAMES_free(names);
}

/* Adds an extension from its DER bytes. */
static inline void
put_extension(X509 *x509, int nid, const void *der, int size)
{
    ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
    assert_int_equal(ASN1_OCTET_STRING_set(value, der, size), 1);
    X509_EXTENSION *extension = X509_EXTENSION_create_by_NID(NULL, nid, 0, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(x509, extension, -1), 1);
    X509_EXTENSION_free(extension);
    ASN1_OCTET_STRING_free(value);
}

static inline void
put_key_ids(X509 *x509, const made_spec *spec)
{
    ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();
    if (spec->key_id) {
        ASN1_OCTET_STRING_set(id, (const unsigned char *)spec->key_id, -1);
        assert_int_equal(X509_add1_ext_i2d(x509, NID_subject_key_identifier, id, 0, 0), 1);
    }
    if (spec->issuer_key_id) {
        AUTHORITY_KEYID issuer = {.keyid = id};
        ASN1_OCTET_STRING_set(id, (const unsigned char *)spec->issuer_key_id, -1);
        assert_int_equal(X509_add1_ext_i2d(x509, NID_authority_key_identifier, &issuer, 0, 0), 1);
    }
    ASN1_OCTET_STRING_free(id);
}

static inline void
put_basic(X509 *x509, const made_spec *spec)
{
    bool default_times = !spec->not_before_s && !spec->not_after_s;
    assert_int_equal(X509_set_version(x509, X509_VERSION_3), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), spec->serial ? spec->serial : 1);
    ASN1_TIME_set(X509_getm_notBefore(x509), default_times ? MADE_NOT_BEFORE : spec->not_before_s);
    ASN1_TIME_set(X509_getm_notAfter(x509), default_times ? MADE_NOT_AFTER : spec->not_after_s);
    assert_int_equal(X509_set_pubkey(x509, spec->key), 1);
    put_subject(x509, spec);
    if (spec->issuer)
        put_issuer(x509, spec->issuer);
    if (spec->n_sans)
        put_sans(x509, spec);
    put_key_ids(x509, spec);
    if (spec->is_authority) {
        BASIC_CONSTRAINTS constraints = {.ca = 0xff};
        assert_int_equal(
            X509_add1_ext_i2d(x509, NID_basic_constraints, &constraints, 1, X509V3_ADD_APPEND), 1);
    }
}

static inline void
sign(X509 *x509, const made_spec *spec)
{
    EVP_PKEY *signer = spec->signer ? spec->signer : spec->key;
    assert_true(X509_sign(x509, signer, EVP_sha256()) > 0);
}

static inline void
append_bio(udpai_strbuf *pem, BIO *bio)
{
    char *data;
    long size = BIO_get_mem_data(bio, &data);
    udpai_strbuf_append(pem, data, (size_t)size);
    assert_false(udpai_strbuf_failed(pem));
    BIO_free(bio);
}

static inline void
append_pem(udpai_strbuf *pem, X509 *x509)
{
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_X509(bio, x509), 1);
    append_bio(pem, bio);
}

/* Appends one certificate; to be released with udpai_strbuf_done(). */
static inline void
make_certificate(udpai_strbuf *pem, const made_spec *spec)
{
    X509 *x509 = X509_new();
    assert_non_null(x509);
    put_basic(x509, spec);
    sign(x509, spec);
    append_pem(pem, x509);
    X509_free(x509);
}

/* The same with a text in it written over by another of its length, wherever it stands. */
static inline void
make_patched(udpai_strbuf *pem, const made_spec *spec, const char *from, const char *to)
{
    unsigned char *der = NULL;
    size_t len = strlen(from);
    X509 *x509 = X509_new();
    put_basic(x509, spec);
    sign(x509, spec);
    int size = i2d_X509(x509, &der);
    assert_true(size > 0);
    unsigned n = 0;
    for (int at = 0; at + (int)len <= size; at++)
        if (memcmp(der + at, from, len) == 0) {
            memcpy(der + at, to, len);
            n++;
        }
    assert_true(n > 0);
    BIO *bio = BIO_new(BIO_s_mem());
    assert_true(PEM_write_bio(bio, "CERTIFICATE", "", der, size) > 0);
    append_bio(pem, bio);
    OPENSSL_free(der);
    X509_free(x509);
}

/* With one common name, and nothing special. */
static inline void
make_plain(udpai_strbuf *pem, EVP_PKEY *key, const char *common_name)
{
    const made_name cn = {V_ASN1_UTF8STRING, udpai_str_from(common_name)};
    make_certificate(pem, &(made_spec){.common_names = &cn, .n_common_names = 1, .key = key});
}

/* @p password: NULL: not encrypted. */
static inline void
append_key(udpai_strbuf *pem, EVP_PKEY *key, const char *password)
{
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, key, password ? EVP_aes_128_cbc() : NULL,
                                                   password, password ? (int)strlen(password) : 0,
                                                   NULL, NULL),
                     1);
    append_bio(pem, bio);
}

static inline udpai_pem
pem_of(const udpai_strbuf *buffer, const char *file)
{
    return (udpai_pem){file, udpai_strbuf_view(buffer)};
}

static inline udpai_chain *
chain_of(const udpai_strbuf *pem, const char *file)
{
    udpai_chain *chain = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_chain_new(&chain, pem_of(pem, file), &error) != UDPA_OK)
        fail_msg("%s", udpa_error_message(error));
    return chain;
}

/* It failed with this code, and the message has these words, that of the file among them. Consumes
 * the error. */
static inline void
assert_failed(udpa_err err, udpa_err expected, udpa_error *error, const char *words)
{
    assert_int_equal(err, expected);
    assert_non_null(error);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpa_error_unref(error);
}

#endif
