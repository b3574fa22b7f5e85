/* SPDX-License-Identifier: Apache-2.0 */
/* Revocation lists and chains from any bytes, beside an authority that is made each time with a key
 * that is worth nothing. The first byte says what the rest is:
 *   'p' a PEM file of revocation lists
 *   'd' the inside of a PEM block of one, that is DER
 *   'l' changes to a good list: where (two bytes), and what to put there; again and again
 *   'c' the same, to a good certificate
 * What was changed is not good any more: nothing of it may be believed. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/strbuf.h"
#include "base/utf8.h"
#include "certs/trust_store.h"
#include "tests/fuzz/fuzz.h"

#define NOW 1750000000
#define SERIAL 7

/* ---- making things ---- */

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

static X509_NAME *
name_of(const char *text)
{
    X509_NAME *name = X509_NAME_new();
    FUZZ_CHECK(name && X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING,
                                                  (const unsigned char *)text, -1, -1, 0));
    return name;
}

/* Of the authority, whose subject is "root". */
static X509 *
make_certificate(const char *subject, long serial)
{
    X509 *x509 = X509_new();
    X509_NAME *own = name_of(subject), *issuer = name_of("root");
    BASIC_CONSTRAINTS constraints = {.ca = strcmp(subject, "root") == 0 ? 0xff : 0};
    FUZZ_CHECK(x509 && X509_set_version(x509, X509_VERSION_3) && X509_set_subject_name(x509, own) &&
               X509_set_issuer_name(x509, issuer) && X509_set_pubkey(x509, worthless_key()) &&
               X509_add1_ext_i2d(x509, NID_basic_constraints, &constraints, 1, 0));
    ASN1_INTEGER_set(X509_get_serialNumber(x509), serial);
    ASN1_TIME_set(X509_getm_notBefore(x509), NOW - 1000);
    ASN1_TIME_set(X509_getm_notAfter(x509), NOW + 1000);
    FUZZ_CHECK(X509_sign(x509, worthless_key(), NULL) > 0);
    X509_NAME_free(own);
    X509_NAME_free(issuer);
    return x509;
}

/* That has the certificate of this serial number. */
static X509_CRL *
make_list(void)
{
    X509_CRL *crl = X509_CRL_new();
    X509_NAME *issuer = name_of("root");
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_INTEGER *serial = ASN1_INTEGER_new();
    ASN1_TIME *time = ASN1_TIME_set(NULL, NOW);
    FUZZ_CHECK(crl && entry && serial && time && ASN1_INTEGER_set(serial, SERIAL) &&
               X509_REVOKED_set_serialNumber(entry, serial) &&
               X509_REVOKED_set_revocationDate(entry, time) &&
               X509_CRL_set_version(crl, X509_CRL_VERSION_2) &&
               X509_CRL_set_issuer_name(crl, issuer) && X509_CRL_set1_lastUpdate(crl, time) &&
               X509_CRL_set1_nextUpdate(crl, time) && X509_CRL_add0_revoked(crl, entry) &&
               X509_CRL_sign(crl, worthless_key(), NULL) > 0);
    X509_NAME_free(issuer);
    ASN1_INTEGER_free(serial);
    ASN1_TIME_free(time);
    return crl;
}

static void
put_block(udpai_strbuf *pem, const char *kind, const unsigned char *der, size_t size)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text;
    FUZZ_CHECK(PEM_write_bio(bio, kind, "", der, (long)size) > 0 || size == 0);
    long len = BIO_get_mem_data(bio, &text);
    udpai_strbuf_append(pem, text, (size_t)len);
    BIO_free(bio);
}

static void
put_certificate(udpai_strbuf *pem, X509 *x509)
{
    unsigned char *der = NULL;
    int size = i2d_X509(x509, &der);
    FUZZ_CHECK(size > 0);
    put_block(pem, "CERTIFICATE", der, (size_t)size);
    OPENSSL_free(der);
    X509_free(x509);
}

static void
change(unsigned char *der, size_t size, udpai_str input)
{
    while (input.len >= 3) {
        size_t high = fuzz_take_byte(&input), low = fuzz_take_byte(&input);
        der[(high << 8 | low) % size] = fuzz_take_byte(&input);
    }
}

static void
put_changed_list(udpai_strbuf *pem, udpai_str changes)
{
    unsigned char *der = NULL;
    X509_CRL *crl = make_list();
    int size = i2d_X509_CRL(crl, &der);
    FUZZ_CHECK(size > 0);
    change(der, (size_t)size, changes);
    put_block(pem, "X509 CRL", der, (size_t)size);
    OPENSSL_free(der);
    X509_CRL_free(crl);
}

static void
put_changed_certificate(udpai_strbuf *pem, udpai_str changes)
{
    unsigned char *der = NULL;
    X509 *x509 = make_certificate("peer", SERIAL + 1);
    int size = i2d_X509(x509, &der);
    FUZZ_CHECK(size > 0);
    change(der, (size_t)size, changes);
    put_block(pem, "CERTIFICATE", der, (size_t)size);
    OPENSSL_free(der);
    X509_free(x509);
}

/* ---- what holds of whatever comes out ---- */

static void
check_error(udpa_err err, udpa_error *error)
{
    FUZZ_CHECK((err != UDPA_OK) == (error != NULL));
    FUZZ_CHECK(udpa_error_code(error) == err);
    FUZZ_CHECK(udpai_utf8_valid(udpai_str_from(udpa_error_message(error))));
    udpa_error_unref(error);
}

static udpai_trust_verdict
ask(const udpai_trust_store *store, const udpai_chain *chain, bool is_server)
{
    udpai_trust_answer answer = {UDPAI_TRUST_UNFIT, 0};
    udpa_error *error = NULL;
    udpai_intermediates known = {.n = 0};
    const udpai_trust_question question = {
        .chain = chain, .is_server = is_server, .now_s = NOW, .known = &known};
    udpa_err err = udpai_trust_store_verify(store, &question, &answer, &error);
    FUZZ_CHECK(known.n == 0);
    udpai_intermediates_done(&known);
    FUZZ_CHECK((err == UDPA_OK) == (answer.verdict == UDPAI_TRUST_GOOD));
    FUZZ_CHECK(err != UDPA_OK || answer.until_s == NOW + 1000);
    check_error(err, error);
    return answer.verdict;
}

/* By the authority and these lists (NULL: none). */
static udpai_trust_store *
load(const udpai_strbuf *lists)
{
    udpai_strbuf authority = {0};
    udpai_trust_store *store = NULL;
    udpa_error *error = NULL;
    put_certificate(&authority, make_certificate("root", 1));
    const udpai_pem pem = {"ca.crt", udpai_strbuf_view(&authority)};
    const udpai_pem list_pem = {"ca.crl", lists ? udpai_strbuf_view(lists) : (udpai_str){0}};
    udpa_err err = udpai_trust_store_new(&store, pem, lists ? &list_pem : NULL, &error);
    FUZZ_CHECK((err == UDPA_OK) == (store != NULL));
    check_error(err, error);
    udpai_strbuf_done(&authority);
    return store;
}

/* Whoever has not the key cannot take anything out of a list. */
static void
try_list(const udpai_strbuf *lists, bool is_changed)
{
    udpai_strbuf peer = {0};
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    UDPA_AUTO(udpai_trust_store_unref) udpai_trust_store *store = load(lists);
    if (!store)
        return;
    put_certificate(&peer, make_certificate("peer", SERIAL));
    const udpai_pem pem = {"peer", udpai_strbuf_view(&peer)};
    FUZZ_CHECK(udpai_chain_new(&chain, pem, NULL) == UDPA_OK);
    udpai_trust_verdict verdict = ask(store, chain, false);
    FUZZ_CHECK(!is_changed || verdict == UDPAI_TRUST_REVOKED);
    udpai_strbuf_done(&peer);
}

static void
try_chain(const udpai_strbuf *peer)
{
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    UDPA_AUTO(udpai_trust_store_unref) udpai_trust_store *store = load(NULL);
    const udpai_pem pem = {"peer", udpai_strbuf_view(peer)};
    FUZZ_CHECK(store);
    if (udpai_chain_new(&chain, pem, NULL) != UDPA_OK)
        return;
    uint8_t digest[UDPAI_CHAIN_DIGEST_SIZE];
    FUZZ_CHECK(udpai_chain_digest(chain, digest) == UDPA_OK);
    (void)ask(store, chain, false);
    (void)ask(store, chain, true);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    udpai_str input = {(const char *)data, size};
    udpai_strbuf pem = {0};
    switch (fuzz_take_byte(&input)) {
    case 'p':
        udpai_strbuf_str(&pem, input);
        try_list(&pem, false);
        break;
    case 'd':
        put_block(&pem, "X509 CRL", (const unsigned char *)input.data, input.len);
        try_list(&pem, false);
        break;
    case 'l':
        put_changed_list(&pem, input);
        try_list(&pem, true);
        break;
    case 'c':
        put_changed_certificate(&pem, input);
        try_chain(&pem);
        break;
    default:
        break;
    }
    udpai_strbuf_done(&pem);
    return 0;
}
