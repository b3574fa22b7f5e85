/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of both kinds, and files that are none. */
#include "certs/key.h"

#include "tests/harness/oom.h"
#include "tests/harness/signing.h"
#include "tests/unit/certs/made_certificate.h"

static void
put_public(udpai_strbuf *pem, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PUBKEY(bio, key), 1);
    append_bio(pem, bio);
}

static void
signs_and_verifies(udpai_key_algorithm algorithm)
{
    char value[UDPAI_SIGNATURE_MAX];
    size_t len = 0;
    test_key key = test_key_new(algorithm), other = test_key_new(algorithm);
    assert_int_equal(udpai_key_algorithm_of(key.public_key), algorithm);
    assert_ok(udpai_key_sign(key.private_key, UDPAI_STR("words"), value, &len));
    const udpai_str signature = {value, len};
    assert_ok(udpai_key_verify(key.public_key, UDPAI_STR("words"), signature));
    assert_ok(udpai_key_verify(key.private_key, UDPAI_STR("words"), signature));
    assert_int_equal(udpai_key_verify(key.public_key, UDPAI_STR("sword"), signature),
                     UDPA_ERR_DENIED);
    assert_int_equal(udpai_key_verify(other.public_key, UDPAI_STR("words"), signature),
                     UDPA_ERR_DENIED);
    assert_int_equal(udpai_key_verify(key.public_key, UDPAI_STR("words"), (udpai_str){0}),
                     UDPA_ERR_DENIED);
    for (size_t i = 0; i < len; i++) {
        value[i] = (char)(value[i] ^ 1);
        assert_int_equal(udpai_key_verify(key.public_key, UDPAI_STR("words"), signature),
                         UDPA_ERR_DENIED);
        value[i] = (char)(value[i] ^ 1);
        assert_int_equal(
            udpai_key_verify(key.public_key, UDPAI_STR("words"), (udpai_str){value, i}),
            UDPA_ERR_DENIED);
    }
    assert_true(udpai_key_equal(key.private_key, key.public_key));
    assert_false(udpai_key_equal(key.public_key, other.public_key));
    test_key_done(&key);
    test_key_done(&other);
}

static void
both_kinds_sign_and_verify(void **state)
{
    (void)state;
    signs_and_verifies(UDPAI_KEY_ED25519);
    signs_and_verifies(UDPAI_KEY_ECDSA_P256_SHA256);
    assert_string_equal(udpai_key_algorithm_name(1), "Ed25519");
    assert_string_equal(udpai_key_algorithm_name(2), "ECDSA P-256");
    assert_null(udpai_key_algorithm_name(0));
    assert_null(udpai_key_algorithm_name(3));
}

static void
a_key_counts_as_long_as_its_certificate(void **state)
{
    (void)state;
    EVP_PKEY *pkey = make_key();
    udpai_strbuf pem = {0}, public_pem = {0};
    udpai_key *of_certificate = NULL, *bare = NULL;
    make_plain(&pem, pkey, "acme");
    put_public(&public_pem, pkey);
    assert_ok(udpai_key_new_public(&of_certificate, pem_of(&pem, "acme.crt"), NULL));
    assert_ok(udpai_key_new_public(&bare, pem_of(&public_pem, "acme.pub"), NULL));
    assert_true(udpai_key_not_before_s(of_certificate) == MADE_NOT_BEFORE);
    assert_true(udpai_key_not_after_s(of_certificate) == MADE_NOT_AFTER);
    assert_true(udpai_key_not_before_s(bare) == INT64_MIN);
    assert_true(udpai_key_not_after_s(bare) == INT64_MAX);
    assert_true(udpai_key_equal(of_certificate, bare));
    assert_ptr_equal(udpai_key_ref(bare), bare);
    udpai_key_unref(bare);
    udpai_key_unref(bare);
    udpai_key_unref(of_certificate);
    assert_null(udpai_key_unref(NULL));
    udpai_strbuf_done(&pem);
    udpai_strbuf_done(&public_pem);
    EVP_PKEY_free(pkey);
}

typedef udpa_err (*read_fn)(udpai_key **ret_key, udpai_pem pem, udpa_error **ret_error);

static void
assert_no_key(read_fn read, udpai_str bytes, const char *words)
{
    udpai_key *key = NULL;
    udpa_error *error = NULL;
    udpa_err err = read(&key, (udpai_pem){"some.pem", bytes}, &error);
    assert_null(key);
    assert_non_null(strstr(udpa_error_message(error), "some.pem: "));
    assert_failed(err, UDPA_ERR_INVAL, error, words);
}

static void
other_files_are_told_apart(void **state)
{
    (void)state;
    EVP_PKEY *pkey = make_key();
    udpai_strbuf private_pem = {0}, public_pem = {0}, locked = {0};
    append_key(&private_pem, pkey, NULL);
    append_key(&locked, pkey, "secret");
    put_public(&public_pem, pkey);
    assert_no_key(udpai_key_new_private, udpai_strbuf_view(&public_pem),
                  "holds no private key, but");
    assert_no_key(udpai_key_new_public, udpai_strbuf_view(&private_pem), "openssl pkey -pubout");
    assert_no_key(udpai_key_new_private, udpai_strbuf_view(&locked), "is encrypted");
    assert_no_key(udpai_key_new_private, UDPAI_STR("hello"), "no private key in PEM form");
    assert_no_key(udpai_key_new_public, UDPAI_STR("hello"), "no public key");
    assert_no_key(udpai_key_new_public, (udpai_str){0}, "no public key");
    assert_no_key(udpai_key_new_public,
                  UDPAI_STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                  "malformed");
    udpai_strbuf_done(&private_pem);
    udpai_strbuf_done(&public_pem);
    udpai_strbuf_done(&locked);
    EVP_PKEY_free(pkey);
}

static void
other_kinds_of_keys_are_refused(void **state)
{
    (void)state;
    static const char *const curves[] = {"P-384", "secp256k1"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(curves); i++) {
        EVP_PKEY *pkey = EVP_EC_gen(curves[i]);
        udpai_strbuf pem = {0};
        append_key(&pem, pkey, NULL);
        assert_no_key(udpai_key_new_private, udpai_strbuf_view(&pem),
                      "openssl genpkey -algorithm ed25519");
        pem.len = 0;
        put_public(&pem, pkey);
        assert_no_key(udpai_key_new_public, udpai_strbuf_view(&pem), "is a key of kind EC");
        udpai_strbuf_done(&pem);
        EVP_PKEY_free(pkey);
    }
}

static void
a_file_may_not_be_too_large(void **state)
{
    (void)state;
    static char bytes[UDPAI_PEM_MAX + 1];
    udpai_key *key = NULL;
    const udpai_pem pem = {"some.pem", {bytes, sizeof(bytes)}};
    assert_int_equal(udpai_key_new_private(&key, pem, NULL), UDPA_ERR_LIMIT);
    assert_int_equal(udpai_key_new_public(&key, pem, NULL), UDPA_ERR_LIMIT);
}

static udpa_err
read_both(void *context)
{
    udpai_strbuf *pem = context;
    udpai_key *private_key = NULL, *public_key = NULL;
    udpa_err err = udpai_key_new_private(&private_key, pem_of(&pem[0], "a"), NULL);
    if (err == UDPA_OK)
        err = udpai_key_new_public(&public_key, pem_of(&pem[1], "b"), NULL);
    udpai_key_unref(private_key);
    udpai_key_unref(public_key);
    return err;
}

static void
lack_of_memory_is_told(void **state)
{
    (void)state;
    EVP_PKEY *pkey = make_key();
    udpai_strbuf pem[2] = {{0}};
    append_key(&pem[0], pkey, NULL);
    make_plain(&pem[1], pkey, "acme");
    oom_torture(read_both, pem);
    udpai_strbuf_done(&pem[0]);
    udpai_strbuf_done(&pem[1]);
    EVP_PKEY_free(pkey);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_sign_and_verify),
        cmocka_unit_test(a_key_counts_as_long_as_its_certificate),
        cmocka_unit_test(other_files_are_told_apart),
        cmocka_unit_test(other_kinds_of_keys_are_refused),
        cmocka_unit_test(a_file_may_not_be_too_large),
        cmocka_unit_test(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
