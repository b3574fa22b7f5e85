/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates from any bytes. The first byte says what the rest is:
 *   'p' a PEM file
 *   'd' the inside of a PEM block, that is DER
 *   'n' names, of which a certificate is made: kind ('u' URI, 'd' DNS name, 'c' common name, else
 *       another kind of name), length, bytes; again and again
 *   'x' changes to a good certificate: where (two bytes), and what to put there; again and again
 * so that no certificate and no key has to be kept as a seed, and names are reached that a fuzzer
 * would not find behind the ASN.1. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "certs/certificate.h"
#include "tests/fuzz/fuzz.h"

#define NAMES_MAX 400

/* ---- what holds of whatever comes out ---- */

static void
check_name(udpai_str name, size_t max, bool may_be_empty)
{
    FUZZ_CHECK(name.len <= max && (may_be_empty || name.len > 0));
    FUZZ_CHECK(udpai_utf8_valid(name));
    FUZZ_CHECK(name.data[name.len] == '\0');
    for (size_t i = 0; i < name.len; i++)
        FUZZ_CHECK((unsigned char)name.data[i] >= 0x20 && name.data[i] != 0x7f);
}

static void
check_identity(const udpai_identity *identity)
{
    const udpai_identity_parts *parts = udpai_identity_parts_of(identity);
    FUZZ_CHECK(parts->n_uris + parts->n_dns_names <= UDPAI_SANS_MAX);
    check_name(parts->common_name, UDPAI_COMMON_NAME_MAX, true);
    for (size_t i = 0; i < parts->n_uris; i++)
        check_name(parts->uris[i], UDPAI_SAN_MAX, false);
    for (size_t i = 0; i < parts->n_dns_names; i++)
        check_name(parts->dns_names[i], UDPAI_SAN_MAX, false);
    udpai_str name = udpai_identity_name(identity);
    FUZZ_CHECK(udpai_identity_matches(identity, name) == (name.len > 0));
}

static void
check_error(udpa_err err, udpa_error *error)
{
    FUZZ_CHECK((err != UDPA_OK) == (error != NULL));
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    udpa_error_unref(error);
}

static void
check_times(const udpai_chain *chain)
{
    int64_t end = udpai_chain_not_after_s(chain);
    const int64_t times[] = {0, 1750000000, end, end + 1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(times); i++) {
        udpa_error *error = NULL;
        udpa_err err = udpai_chain_check_time(chain, times[i], &error);
        FUZZ_CHECK(err != UDPA_OK || times[i] <= end);
        check_error(err, error);
        error = NULL;
        err = udpai_chain_check_authorities(chain, times[i], &error);
        check_error(err, error);
    }
}

/* Returns the identity, if there is one. */
static udpai_identity *
try_pem(udpai_str bytes)
{
    const udpai_pem pem = {"fuzz.pem", bytes};
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_new(&chain, pem, &error);
    FUZZ_CHECK((err == UDPA_OK) == (chain != NULL));
    check_error(err, error);
    if (!chain)
        return NULL;
    FUZZ_CHECK(udpai_chain_size(chain) > 0 && udpai_chain_size(chain) <= UDPAI_CHAIN_MAX);
    check_times(chain);
    error = NULL;
    err = udpai_chain_check_key(chain, pem, &error);
    check_error(err, error);
    udpai_identity *identity = NULL;
    error = NULL;
    err = udpai_chain_identity(chain, &identity, &error);
    FUZZ_CHECK((err == UDPA_OK) == (identity != NULL));
    check_error(err, error);
    if (identity)
        check_identity(identity);
    return identity;
}

static udpai_identity *
try_der(const void *der, size_t size)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem;
    FUZZ_CHECK(PEM_write_bio(bio, "CERTIFICATE", "", der, (long)size) > 0 || size == 0);
    long len = BIO_get_mem_data(bio, &pem);
    udpai_identity *identity = try_pem((udpai_str){pem, (size_t)len});
    BIO_free(bio);
    return identity;
}

/* ---- making certificates ---- */

/* Anything will do for a key: these certificates vouch for nobody. */
static EVP_PKEY *
worthless_key(void)
{
    static EVP_PKEY *key;
    const unsigned char bytes[32] = {1};
    if (!key)
        key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, bytes, sizeof(bytes));
    FUZZ_CHECK(key);
    return key;
}

static void
add_san(GENERAL_NAMES *names, int type, udpai_str text)
{
    GENERAL_NAME *name = GENERAL_NAME_new();
    ASN1_IA5STRING *value = ASN1_IA5STRING_new();
    FUZZ_CHECK(name && value && ASN1_STRING_set(value, text.data, (int)text.len));
    GENERAL_NAME_set0_value(name, type, value);
    FUZZ_CHECK(sk_GENERAL_NAME_push(names, name) > 0);
}

/* False: OpenSSL writes no certificate with such a common name. */
static bool
sign(X509 *x509)
{
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    ASN1_TIME_set(X509_getm_notBefore(x509), 1700000000);
    ASN1_TIME_set(X509_getm_notAfter(x509), 1800000000);
    FUZZ_CHECK(X509_set_pubkey(x509, worthless_key()));
    return X509_sign(x509, worthless_key(), NULL) > 0;
}

static size_t
to_der(X509 *x509, unsigned char **ret_der)
{
    *ret_der = NULL;
    int size = i2d_X509(x509, ret_der);
    FUZZ_CHECK(size > 0);
    return (size_t)size;
}

/* Does every name of this kind come out as it was put in? */
static void
check_kept(const udpai_identity *identity, GENERAL_NAMES *names)
{
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        int type;
        const ASN1_STRING *value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type);
        const udpai_str text = {(const char *)ASN1_STRING_get0_data(value),
                                (size_t)ASN1_STRING_length(value)};
        if (type == GEN_URI || type == GEN_DNS)
            FUZZ_CHECK(udpai_identity_matches(identity, text));
    }
}

static void
try_names(udpai_str input)
{
    X509 *x509 = X509_new();
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    FUZZ_CHECK(x509 && names);
    for (size_t i = 0; input.len && i < NAMES_MAX; i++) {
        uint8_t kind = fuzz_take_byte(&input);
        udpai_str text = fuzz_take_text(&input);
        if (kind == 'c') /* may fail: OpenSSL makes no name of what is no UTF-8 */
            X509_NAME_add_entry_by_NID(X509_get_subject_name(x509), NID_commonName,
                                       V_ASN1_UTF8STRING, (const unsigned char *)text.data,
                                       text.len ? (int)text.len : 0, -1, 0);
        else
            add_san(names, kind == 'u' ? GEN_URI : kind == 'd' ? GEN_DNS : GEN_EMAIL, text);
    }
    FUZZ_CHECK(X509_add1_ext_i2d(x509, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND));
    if (sign(x509)) {
        unsigned char *der;
        size_t size = to_der(x509, &der);
        udpai_identity *identity = try_der(der, size);
        if (identity)
            check_kept(identity, names);
        udpai_identity_unref(identity);
        OPENSSL_free(der);
    }
    GENERAL_NAMES_free(names);
    X509_free(x509);
}

static void
try_changes(udpai_str input)
{
    X509 *x509 = X509_new();
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    FUZZ_CHECK(x509 && names);
    X509_NAME_add_entry_by_NID(X509_get_subject_name(x509), NID_commonName, V_ASN1_UTF8STRING,
                               (const unsigned char *)"edge", 4, -1, 0);
    add_san(names, GEN_URI, UDPAI_STR("spiffe://acme.test/edge"));
    add_san(names, GEN_DNS, UDPAI_STR("edge.acme.test"));
    FUZZ_CHECK(X509_add1_ext_i2d(x509, NID_subject_alt_name, names, 0, X509V3_ADD_APPEND));
    GENERAL_NAMES_free(names);
    FUZZ_CHECK(sign(x509));
    unsigned char *der;
    size_t size = to_der(x509, &der);
    X509_free(x509);
    while (input.len >= 3) {
        size_t high = fuzz_take_byte(&input), low = fuzz_take_byte(&input);
        der[(high << 8 | low) % size] = fuzz_take_byte(&input);
    }
    udpai_identity_unref(try_der(der, size));
    OPENSSL_free(der);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    switch (fuzz_take_byte(&input)) {
    case 'p':
        udpai_identity_unref(try_pem(input));
        break;
    case 'd':
        udpai_identity_unref(try_der(input.data, input.len));
        break;
    case 'n':
        try_names(input);
        break;
    case 'x':
        try_changes(input);
        break;
    default:
        break;
    }
    return 0;
}
