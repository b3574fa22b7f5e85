/* SPDX-License-Identifier: Apache-2.0 */
/* Revocation lists made while a test runs. */
#ifndef UDPAI_TESTS_MADE_CRL_H
#define UDPAI_TESTS_MADE_CRL_H

#include "tests/unit/certs/made_certificate.h"

#define MADE_CRL_UNTIL (MADE_NOW + 1000)

typedef struct made_entry {
    long serial;
    int reason; /* -1: none is given */
} made_entry;

static inline X509_REVOKED *
make_entry(const made_entry *from)
{
    X509_REVOKED *entry = X509_REVOKED_new();
    ASN1_INTEGER *serial = ASN1_INTEGER_new();
    ASN1_TIME *since = ASN1_TIME_set(NULL, MADE_NOW);
    ASN1_INTEGER_set(serial, from->serial);
    X509_REVOKED_set_serialNumber(entry, serial);
    X509_REVOKED_set_revocationDate(entry, since);
    if (from->reason >= 0) {
        ASN1_ENUMERATED *reason = ASN1_ENUMERATED_new();
        ASN1_ENUMERATED_set(reason, from->reason);
        assert_int_equal(X509_REVOKED_add1_ext_i2d(entry, NID_crl_reason, reason, 0, 0), 1);
        ASN1_ENUMERATED_free(reason);
    }
    ASN1_INTEGER_free(serial);
    ASN1_TIME_free(since);
    return entry;
}

static inline X509_CRL *
make_crl(const char *issuer, const made_entry *entries, size_t n)
{
    X509_CRL *crl = X509_CRL_new();
    X509_NAME *name = make_name(issuer);
    ASN1_TIME *last = ASN1_TIME_set(NULL, MADE_NOW - 1000),
              *next = ASN1_TIME_set(NULL, MADE_CRL_UNTIL);
    assert_int_equal(X509_CRL_set_version(crl, X509_CRL_VERSION_2), 1);
    assert_int_equal(X509_CRL_set_issuer_name(crl, name), 1);
    X509_CRL_set1_lastUpdate(crl, last);
    X509_CRL_set1_nextUpdate(crl, next);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(X509_CRL_add0_revoked(crl, make_entry(&entries[i])), 1);
    X509_NAME_free(name);
    ASN1_TIME_free(last);
    ASN1_TIME_free(next);
    return crl;
}

/* Consumes the list. */
static inline void
append_crl(udpai_strbuf *pem, X509_CRL *crl, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(X509_CRL_sort(crl), 1);
    assert_true(X509_CRL_sign(crl, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_bio_X509_CRL(bio, crl), 1);
    append_bio(pem, bio);
    X509_CRL_free(crl);
}

#endif
