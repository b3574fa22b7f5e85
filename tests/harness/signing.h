/* SPDX-License-Identifier: Apache-2.0 */
/* Keys made while a test runs, and resources signed with them. */
#ifndef UDPAI_TESTS_SIGNING_H
#define UDPAI_TESTS_SIGNING_H

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "certs/keyring.h"
#include "tests/harness/resources.h"

typedef struct test_key {
    udpai_key *private_key, *public_key;
} test_key;

static inline udpai_pem
test_pem_of(BIO *bio, const char *file)
{
    char *data;
    long size = BIO_get_mem_data(bio, &data);
    return (udpai_pem){file, {data, (size_t)size}};
}

/* Consumes the OpenSSL key. */
static inline test_key
test_key_from(EVP_PKEY *pkey)
{
    test_key key;
    BIO *private_bio = BIO_new(BIO_s_mem()), *public_bio = BIO_new(BIO_s_mem());
    assert_non_null(pkey);
    assert_int_equal(PEM_write_bio_PrivateKey(private_bio, pkey, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(PEM_write_bio_PUBKEY(public_bio, pkey), 1);
    assert_ok(udpai_key_new_private(&key.private_key, test_pem_of(private_bio, "key.pem"), NULL));
    assert_ok(udpai_key_new_public(&key.public_key, test_pem_of(public_bio, "key.pub"), NULL));
    BIO_free(private_bio);
    BIO_free(public_bio);
    EVP_PKEY_free(pkey);
    return key;
}

static inline test_key
test_key_new(udpai_key_algorithm algorithm)
{
    return test_key_from(algorithm == UDPAI_KEY_ED25519 ? EVP_PKEY_Q_keygen(NULL, NULL, "ED25519")
                                                        : EVP_EC_gen("P-256"));
}

static inline void
test_key_done(test_key *key)
{
    key->private_key = udpai_key_unref(key->private_key);
    key->public_key = udpai_key_unref(key->public_key);
}

/* Consumes the resource. */
static inline udpa_resource *
test_sign(udpa_resource *resource,
          const test_key *key,
          const char *key_id,
          int64_t not_before_s,
          int64_t not_after_s)
{
    const udpai_signing signing = {key->private_key, udpai_str_from(key_id), not_before_s,
                                   not_after_s};
    udpa_resource *made = NULL;
    assert_non_null(resource);
    assert_ok(udpai_resource_sign(&made, resource, &signing));
    udpa_resource_unref(resource);
    return made;
}

#endif
