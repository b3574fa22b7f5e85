/* SPDX-License-Identifier: Apache-2.0 */
/* Chains and keys of every kind of wrongness that files have, each with its sentence. */
#include <time.h>

#include "tests/harness/oom.h"
#include "tests/unit/certs/made_certificate.h"

static void
assert_no_chain(udpai_str bytes, udpa_err code, const char *words)
{
    udpai_chain *chain = NULL;
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_new(&chain, (udpai_pem){"edge.crt", bytes}, &error);
    assert_null(chain);
    assert_non_null(strstr(udpa_error_message(error), "edge.crt: "));
    assert_failed(err, code, error, words);
}

static void
a_chain_has_its_certificates(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    udpai_strbuf_puts(&pem, "some words before\n");
    make_plain(&pem, key, "edge");
    append_key(&pem, key, NULL); /* others put the key into the same file */
    udpai_strbuf_puts(&pem, "\nand between\n");
    make_plain(&pem, key, "authority");
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    assert_int_equal(udpai_chain_size(chain), 2);
    assert_true(udpai_chain_not_after_s(chain) == MADE_NOT_AFTER);
    assert_ptr_equal(udpai_chain_ref(chain), chain);
    udpai_chain_unref(chain);
    assert_ok(udpai_chain_check_time(chain, MADE_NOW, NULL));
    assert_null(udpai_chain_unref(chain));
    assert_null(udpai_chain_unref(NULL));
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

static void
what_is_no_certificate_is_refused(void **state)
{
    (void)state;
    assert_no_chain((udpai_str){"", 0}, UDPA_ERR_INVAL, "is empty");
    assert_no_chain((udpai_str){NULL, 0}, UDPA_ERR_INVAL, "is empty");
    assert_no_chain(UDPAI_STR("hello"), UDPA_ERR_INVAL, "no certificate in PEM form");
    assert_no_chain(UDPAI_STR("\x30\x82\x01\x01"), UDPA_ERR_INVAL, "DER form");
    assert_no_chain(UDPAI_STR("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                    UDPA_ERR_INVAL, "certificate 1 is malformed");
    assert_no_chain(UDPAI_STR("-----BEGIN CERTIFICATE-----\nAAAA\n"), UDPA_ERR_INVAL,
                    "certificate 1 is malformed");
    assert_no_chain(UDPAI_STR("-----BEGIN CERTIFICATE-----\n\xff\xfe\n-----END CERTIFICATE-----\n"),
                    UDPA_ERR_INVAL, "certificate 1 is malformed");
}

static void
exchanged_files_are_noticed(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf certificate = {0}, private = {0};
    make_plain(&certificate, key, "edge");
    append_key(&private, key, NULL);
    assert_no_chain(udpai_strbuf_view(&private), UDPA_ERR_INVAL,
                    "holds no certificate, but a private key: are the two files exchanged?");
    udpai_chain *chain = chain_of(&certificate, "edge.crt");
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_check_key(chain, pem_of(&certificate, "edge.key"), &error);
    assert_failed(
        err, UDPA_ERR_INVAL, error,
        "edge.key: holds no private key, but a certificate: are the two files exchanged?");
    udpai_chain_unref(chain);
    udpai_strbuf_done(&certificate);
    udpai_strbuf_done(&private);
    EVP_PKEY_free(key);
}

static void
a_broken_certificate_behind_a_good_one_is_noticed(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    make_plain(&pem, key, "edge");
    size_t good = pem.len;
    make_plain(&pem, key, "other");
    pem.data[good + 100] = '!';
    assert_no_chain(udpai_strbuf_view(&pem), UDPA_ERR_INVAL, "certificate 2 is malformed");
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

static void
sizes_are_limited(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0}, many = {0};
    make_plain(&pem, key, "edge");
    for (size_t i = 0; i < UDPAI_CHAIN_MAX; i++)
        udpai_strbuf_str(&many, udpai_strbuf_view(&pem));
    udpai_chain *chain = chain_of(&many, "bundle.crt");
    assert_int_equal(udpai_chain_size(chain), UDPAI_CHAIN_MAX);
    udpai_chain_unref(chain);
    udpai_strbuf_str(&many, udpai_strbuf_view(&pem));
    assert_no_chain(udpai_strbuf_view(&many), UDPA_ERR_LIMIT, "more than 512 certificates");
    char *large = calloc(1, UDPAI_PEM_MAX + 1);
    assert_non_null(large);
    assert_no_chain((udpai_str){large, UDPAI_PEM_MAX + 1}, UDPA_ERR_LIMIT, "more than 1048576");
    assert_no_chain((udpai_str){large, UDPAI_PEM_MAX}, UDPA_ERR_INVAL, "no certificate");
    free(large);
    udpai_strbuf_done(&many);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

/* ---- the private key ---- */

static void
a_key_is_compared_with_the_first_certificate(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key(), *other = make_key();
    udpai_strbuf pem = {0}, private = {0}, wrong = {0};
    make_plain(&pem, key, "edge");
    append_key(&private, key, NULL);
    append_key(&wrong, other, NULL);
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    assert_ok(udpai_chain_check_key(chain, pem_of(&private, "edge.key"), NULL));
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_check_key(chain, pem_of(&wrong, "edge.key"), &error);
    assert_failed(err, UDPA_ERR_INVAL, error,
                  "edge.crt: the private key edge.key does not belong to this certificate");
    udpai_chain_unref(chain);
    make_plain(&pem, other, "authority");
    chain = chain_of(&pem, "edge.crt");
    assert_ok(udpai_chain_check_key(chain, pem_of(&private, "edge.key"), NULL));
    error = NULL;
    err = udpai_chain_check_key(chain, pem_of(&wrong, "edge.key"), &error);
    assert_failed(err, UDPA_ERR_INVAL, error, "must be the first of its file");
    udpai_chain_unref(chain);
    udpai_strbuf_done(&pem);
    udpai_strbuf_done(&private);
    udpai_strbuf_done(&wrong);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other);
}

static void
unusable_keys_are_refused(void **state)
{
    (void)state;

    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "edge.key: the file is empty"},
        {"hello", "edge.key: holds no private key in PEM form"},
        {"\x30\x82\x01\x01", "edge.key: is in DER form"},
        {"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "edge.key: the private "
                                                                           "key is malformed"},
    };

    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0}, encrypted = {0};
    make_plain(&pem, key, "edge");
    append_key(&encrypted, key, "sesame");
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(cases); i++) {
        udpa_error *error = NULL;
        const udpai_pem bad = {"edge.key", udpai_str_from(cases[i].text)};
        udpa_err err = udpai_chain_check_key(chain, bad, &error);
        assert_failed(err, UDPA_ERR_INVAL, error, cases[i].words);
    }
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_check_key(chain, pem_of(&encrypted, "edge.key"), &error);
    assert_failed(err, UDPA_ERR_INVAL, error, "edge.key: the private key is encrypted");
    udpai_chain_unref(chain);
    udpai_strbuf_done(&pem);
    udpai_strbuf_done(&encrypted);
    EVP_PKEY_free(key);
}

/* ---- validity ---- */

static void
validity_has_both_ends(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    make_plain(&pem, key, "edge");
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    assert_ok(udpai_chain_check_time(chain, MADE_NOT_BEFORE, NULL));
    assert_ok(udpai_chain_check_time(chain, MADE_NOT_AFTER, NULL));
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_check_time(chain, MADE_NOT_BEFORE - 1, &error);
    assert_failed(err, UDPA_ERR_INVAL, error,
                  "edge.crt: certificate 1 (CN=edge) is not valid before 2023-11-14 22:13:20 UTC: "
                  "is the clock");
    error = NULL;
    err = udpai_chain_check_time(chain, MADE_NOT_AFTER + 1, &error);
    assert_failed(err, UDPA_ERR_INVAL, error,
                  "edge.crt: certificate 1 (CN=edge) expired on 2027-01-15 08:00:00 UTC");
    udpai_chain_unref(chain);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

static void
every_certificate_of_a_chain_must_be_valid(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    const made_name cn = {V_ASN1_UTF8STRING, UDPAI_STR("old\nauthority")};
    udpai_strbuf pem = {0};
    make_plain(&pem, key, "edge");
    make_certificate(&pem, &(made_spec){.common_names = &cn,
                                        .n_common_names = 1,
                                        .not_before_s = 1000000000,
                                        .not_after_s = 1100000000,
                                        .key = key});
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    assert_true(udpai_chain_not_after_s(chain) == 1100000000);
    udpa_error *error = NULL;
    udpa_err err = udpai_chain_check_time(chain, MADE_NOW, &error);
    assert_non_null(strstr(udpa_error_message(error), "expired on 2004-11-09 11:33:20 UTC"));
    assert_failed(err, UDPA_ERR_INVAL, error, "certificate 2 (CN=old\\0Aauthority)");
    udpai_chain_unref(chain);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

/* Years before 1970 and after 2038 are dates like any other. */
static void
far_dates_are_understood(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    make_certificate(&pem, &(made_spec){.not_before_s = -100000000,
                                        .not_after_s = 253402300799, /* the end of 9999 */
                                        .key = key});
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    assert_true(udpai_chain_not_after_s(chain) == 253402300799);
    assert_ok(udpai_chain_check_time(chain, -100000000, NULL));
    assert_int_equal(udpai_chain_check_time(chain, -100000001, NULL), UDPA_ERR_INVAL);
    assert_int_equal(udpai_chain_check_time(chain, 253402300800, NULL), UDPA_ERR_INVAL);
    udpai_chain_unref(chain);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

/* Both ends of every month, of years with and without a leap day. */
static void
each_day_is_the_right_one(void **state)
{
    (void)state;
    static const int years[] = {1970, 1999, 2000, 2023, 2024, 2038, 2100};
    EVP_PKEY *key = make_key();
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(years); i++)
        for (int month = 0; month < 12; month++) {
            struct tm tm = {.tm_year = years[i] - 1900, .tm_mon = month, .tm_mday = 1};
            int64_t first = timegm(&tm);
            udpai_strbuf pem = {0};
            make_certificate(
                &pem,
                &(made_spec){.not_before_s = first - 1, .not_after_s = first + 45296, .key = key});
            udpai_chain *chain = chain_of(&pem, "edge.crt");
            assert_true(udpai_chain_not_after_s(chain) == first + 45296);
            assert_ok(udpai_chain_check_time(chain, first - 1, NULL));
            assert_int_equal(udpai_chain_check_time(chain, first - 2, NULL), UDPA_ERR_INVAL);
            udpai_chain_unref(chain);
            udpai_strbuf_done(&pem);
        }
    EVP_PKEY_free(key);
}

static udpa_err
check_authorities(const udpai_strbuf *pem, int64_t now_s, udpa_error **ret_error)
{
    udpai_chain *chain = chain_of(pem, "ca.crt");
    udpa_err err = udpai_chain_check_authorities(chain, now_s, ret_error);
    udpai_chain_unref(chain);
    return err;
}

static void
a_bundle_needs_one_valid_authority(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    udpa_error *error = NULL;
    make_plain(&pem, key, "edge");
    udpa_err err = check_authorities(&pem, MADE_NOW, &error);
    assert_failed(err, UDPA_ERR_INVAL, error, "ca.crt: holds no certificate of an authority");
    make_certificate(&pem, &(made_spec){.is_authority = true,
                                        .not_before_s = 1000000000,
                                        .not_after_s = 1100000000,
                                        .key = key});
    error = NULL;
    err = check_authorities(&pem, MADE_NOW, &error);
    assert_failed(err, UDPA_ERR_INVAL, error, "ca.crt: none of its 1 certificate authorities");
    make_certificate(&pem, &(made_spec){.is_authority = true, .key = key});
    assert_ok(check_authorities(&pem, MADE_NOW, NULL));
    assert_int_equal(check_authorities(&pem, MADE_NOT_AFTER + 1, NULL), UDPA_ERR_INVAL);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

/* ---- memory ---- */

static udpa_err
parse(void *context)
{
    udpai_chain *chain = NULL;
    udpa_err err = udpai_chain_new(&chain, pem_of(context, "edge.crt"), NULL);
    udpai_chain_unref(chain);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    for (int i = 0; i < 20; i++)
        make_plain(&pem, key, "edge");
    assert_true(oom_torture(parse, &pem) >= 3);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

/* What is presented is found again by it: so every certificate counts, and their order. */
static void
a_digest_is_of_the_whole_chain(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"edge", "one"}, {"edge", "two"}, {"one", "edge"}};
    uint8_t digests[3][UDPAI_CHAIN_DIGEST_SIZE], again[UDPAI_CHAIN_DIGEST_SIZE];
    EVP_PKEY *key = make_key();
    for (size_t i = 0; i < 3; i++) {
        udpai_strbuf pem = {0};
        make_plain(&pem, key, names[i][0]);
        make_plain(&pem, key, names[i][1]);
        udpai_chain *chain = chain_of(&pem, "edge.crt");
        assert_ok(udpai_chain_digest(chain, digests[i]));
        assert_ok(udpai_chain_digest(chain, again));
        assert_memory_equal(digests[i], again, sizeof(again));
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(digests[i], digests[k], sizeof(again));
        udpai_chain_unref(chain);
        udpai_strbuf_done(&pem);
    }
    EVP_PKEY_free(key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_has_its_certificates),
        cmocka_unit_test(what_is_no_certificate_is_refused),
        cmocka_unit_test(exchanged_files_are_noticed),
        cmocka_unit_test(a_broken_certificate_behind_a_good_one_is_noticed),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(a_key_is_compared_with_the_first_certificate),
        cmocka_unit_test(unusable_keys_are_refused),
        cmocka_unit_test(validity_has_both_ends),
        cmocka_unit_test(every_certificate_of_a_chain_must_be_valid),
        cmocka_unit_test(far_dates_are_understood),
        cmocka_unit_test(each_day_is_the_right_one),
        cmocka_unit_test(a_bundle_needs_one_valid_authority),
        cmocka_unit_test(lack_of_memory_leaves_nothing),
        cmocka_unit_test(a_digest_is_of_the_whole_chain),
    };
    return cmocka_run_group_tests_name("certs certificate", tests, NULL, NULL);
}
