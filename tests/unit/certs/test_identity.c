/* SPDX-License-Identifier: Apache-2.0 */
/* Who a certificate is of, and which certificates are not to be asked. */
#include "tests/harness/oom.h"
#include "tests/unit/certs/made_certificate.h"

static udpa_err
identity_of(const udpai_strbuf *pem, udpai_identity **ret_identity, udpa_error **ret_error)
{
    udpai_chain *chain = chain_of(pem, "edge.crt");
    udpa_err err = udpai_chain_identity(chain, ret_identity, ret_error);
    udpai_chain_unref(chain);
    return err;
}

/* Makes a certificate and reads its identity; NULL if it is refused, with these words. */
static udpai_identity *
identity_for(const made_spec *spec, const char *refusal)
{
    udpai_strbuf pem = {0};
    udpai_identity *identity = NULL;
    udpa_error *error = NULL;
    made_spec with_key = *spec;
    with_key.key = make_key();
    make_certificate(&pem, &with_key);
    udpa_err err = identity_of(&pem, &identity, &error);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(with_key.key);
    if (refusal) {
        assert_null(identity);
        assert_failed(err, UDPA_ERR_UNAUTHENTICATED, error, refusal);
    } else if (err != UDPA_OK) {
        fail_msg("%s", udpa_error_message(error));
    }
    return identity;
}

static udpai_identity *
with_names(const made_name *common_name, const made_name *sans, size_t n_sans, const char *refusal)
{
    return identity_for(&(made_spec){.common_names = common_name,
                                     .n_common_names = common_name != NULL,
                                     .sans = sans,
                                     .n_sans = n_sans},
                        refusal);
}

static void
all_names_are_read(void **state)
{
    (void)state;
    const made_name cn = {V_ASN1_UTF8STRING, UDPAI_STR("edge \xc3\xa9 1")};
    const made_name sans[] = {
        {GEN_DNS, UDPAI_STR("edge.acme.test")},   {GEN_URI, UDPAI_STR("spiffe://acme.test/edge")},
        {GEN_EMAIL, UDPAI_STR("edge@acme.test")}, {GEN_IPADD, UDPAI_STR("\x7f\x00\x00\x01")},
        {GEN_DNS, UDPAI_STR("*.acme.test")},      {GEN_URI, UDPAI_STR("urn:other")},
    };
    udpai_identity *identity = with_names(&cn, sans, UDPAI_ARRAY_LEN(sans), NULL);
    const udpai_identity_parts *parts = udpai_identity_parts_of(identity);
    assert_true(parts->authenticated);
    assert_str(parts->common_name, "edge \xc3\xa9 1");
    assert_int_equal(parts->n_uris, 2);
    assert_str(parts->uris[0], "spiffe://acme.test/edge");
    assert_str(parts->uris[1], "urn:other");
    assert_int_equal(parts->n_dns_names, 2);
    assert_str(parts->dns_names[0], "edge.acme.test");
    assert_str(parts->dns_names[1], "*.acme.test");
    udpai_identity_unref(identity);
}

static void
a_certificate_may_have_no_names(void **state)
{
    (void)state;
    const made_name empty = {V_ASN1_UTF8STRING, {"", 0}};
    udpai_identity *identity = with_names(NULL, NULL, 0, NULL);
    assert_str(udpai_identity_name(identity), "");
    udpai_identity_unref(identity);
    identity = with_names(&empty, NULL, 0, NULL);
    assert_str(udpai_identity_name(identity), "");
    udpai_identity_unref(identity);
}

static void
of_two_common_names_none_counts(void **state)
{
    (void)state;
    const made_name names[] = {
        {V_ASN1_UTF8STRING, UDPAI_STR("Computers")},
        {V_ASN1_PRINTABLESTRING, UDPAI_STR("web01")},
    };
    assert_null(identity_for(&(made_spec){.common_names = names, .n_common_names = 2},
                             "it has more than one common name"));
}

static void
other_encodings_become_utf8(void **state)
{
    (void)state;
    const made_name bmp = {V_ASN1_BMPSTRING, UDPAI_STR("\0e\0d\0g\0e\x20\xac")};
    udpai_identity *identity = with_names(&bmp, NULL, 0, NULL);
    assert_str(udpai_identity_name(identity), "edge\xe2\x82\xac");
    udpai_identity_unref(identity);
}

/* Its holder would be a user of each machine that trusts its authority. */
static void
names_of_local_users_are_refused(void **state)
{
    (void)state;
    const made_name cn = {V_ASN1_UTF8STRING, UDPAI_STR("unix:0")};
    const made_name uri = {GEN_URI, UDPAI_STR("unix:1000")};
    const made_name dns = {GEN_DNS, UDPAI_STR("unix:x")};
    const made_name near = {GEN_URI, UDPAI_STR("unix+x:1000")};
    assert_null(with_names(&cn, NULL, 0, "begins with unix:, which are of local users"));
    assert_null(with_names(NULL, &uri, 1, "begins with unix:, which are of local users"));
    assert_null(with_names(NULL, &dns, 1, "begins with unix:, which are of local users"));
    udpai_identity *identity = with_names(NULL, &near, 1, NULL);
    assert_str(udpai_identity_name(identity), "unix+x:1000");
    udpai_identity_unref(identity);
}

/* A reader that stops at the zero byte would see somebody else. */
static void
common_names_that_mislead_are_refused(void **state)
{
    (void)state;
    static const made_name names[] = {
        {V_ASN1_UTF8STRING, {"admin\0.evil.test", 16}},
        {V_ASN1_PRINTABLESTRING, {"admin\0.evil.test", 16}},
        {V_ASN1_UTF8STRING, {"admin\n", 6}},
        {V_ASN1_UTF8STRING, {"admin\x7f", 6}},
        {V_ASN1_BMPSTRING, {"\0a\0\0\0b", 6}},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        assert_null(with_names(&names[i], NULL, 0,
                               "edge.crt: the certificate does not identify its holder clearly: "
                               "its common name has zero"));
}

/* OpenSSL itself neither makes nor takes these, so they are written over good ones. */
static void
common_names_that_are_no_text_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"\xc0\xaf--", "edg\xff", "\xed\xa0\x80-"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(texts); i++) {
        EVP_PKEY *key = make_key();
        udpai_strbuf pem = {0};
        const made_name cn = {V_ASN1_UTF8STRING, UDPAI_STR("EDGE")};
        make_patched(&pem, &(made_spec){.common_names = &cn, .n_common_names = 1, .key = key},
                     "EDGE", texts[i]);
        udpai_chain *chain = NULL;
        udpa_error *error = NULL;
        udpa_err err = udpai_chain_new(&chain, pem_of(&pem, "edge.crt"), &error);
        assert_null(chain);
        assert_failed(err, UDPA_ERR_INVAL, error, "certificate 1 is malformed");
        udpai_strbuf_done(&pem);
        EVP_PKEY_free(key);
    }
}

static void
alternative_names_that_mislead_are_refused(void **state)
{
    (void)state;
    static const made_name cn = {V_ASN1_UTF8STRING, {"edge", 4}};
    static const made_name names[] = {
        {GEN_DNS, {"good.test\0.evil.test", 20}},
        {GEN_URI, {"spiffe://good\0/x", 16}},
        {GEN_URI, {"", 0}},
        {GEN_DNS, {"", 0}},
        {GEN_DNS, {"a b", 3}},
        {GEN_DNS, {"a\nb", 3}},
        {GEN_URI, {"\xc3\xa9", 2}},
        {GEN_URI, {"\xff\xfe", 2}},
        {GEN_DNS, {"x\x7f", 2}},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        assert_null(with_names(&cn, &names[i], 1, "it has a URI or DNS name that is empty"));
}

static void
lists_and_lengths_are_limited(void **state)
{
    (void)state;
    static made_name sans[UDPAI_SANS_MAX + 1];
    static char text[UDPAI_SAN_MAX + 1];
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(sans); i++)
        sans[i] = (made_name){i % 2 ? GEN_URI : GEN_DNS, UDPAI_STR("a.test")};
    udpai_identity *identity = with_names(NULL, sans, UDPAI_SANS_MAX, NULL);
    assert_int_equal(udpai_identity_parts_of(identity)->n_uris, UDPAI_SANS_MAX / 2);
    udpai_identity_unref(identity);
    assert_null(with_names(NULL, sans, UDPAI_SANS_MAX + 1, "more than 256"));
    made_name long_name = {GEN_URI, {text, UDPAI_SAN_MAX}};
    udpai_identity_unref(with_names(NULL, &long_name, 1, NULL));
    long_name.text.len++;
    assert_null(with_names(NULL, &long_name, 1, "longer than 2048"));
    long_name = (made_name){V_ASN1_UTF8STRING, {text, UDPAI_COMMON_NAME_MAX}};
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    X509 *x509 = X509_new();
    put_basic(x509, &(made_spec){.key = key});
    X509_NAME *name = X509_get_subject_name(x509);
    /* OpenSSL makes none above 64 characters, but reads them. */
    ASN1_STRING_TABLE_add(NID_commonName, 0, 4096, B_ASN1_UTF8STRING, 0);
    assert_int_equal(X509_NAME_add_entry_by_NID(name, NID_commonName, V_ASN1_UTF8STRING,
                                                (unsigned char *)text, UDPAI_COMMON_NAME_MAX + 1,
                                                -1, 0),
                     1);
    sign(x509, &(made_spec){.key = key});
    append_pem(&pem, x509);
    udpa_error *error = NULL;
    udpa_err err = identity_of(&pem, &identity, &error);
    assert_failed(err, UDPA_ERR_UNAUTHENTICATED, error, "longer than 512");
    X509_free(x509);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

/* Extensions that OpenSSL would not write. */
static void
refuse_extension(const void *der, int size, unsigned times)
{
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    X509 *x509 = X509_new();
    put_basic(x509, &(made_spec){.key = key});
    for (unsigned i = 0; i < times; i++)
        put_extension(x509, NID_subject_alt_name, der, size);
    sign(x509, &(made_spec){.key = key});
    append_pem(&pem, x509);
    udpai_identity *identity = NULL;
    udpa_error *error = NULL;
    udpa_err err = identity_of(&pem, &identity, &error);
    assert_null(identity);
    assert_failed(err, UDPA_ERR_UNAUTHENTICATED, error, "malformed, or there are two");
    X509_free(x509);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

static void
malformed_lists_are_refused(void **state)
{
    (void)state;
    refuse_extension("\x30\x03\x82\x01x", 5, 2); /* good, but twice */
    refuse_extension("\x30\x03\x82\x02x", 5, 1); /* longer than it is */
    refuse_extension("\x04\x01x", 3, 1);         /* no list */
    refuse_extension("", 0, 1);
    refuse_extension("\x30\x80", 2, 1);
}

static udpa_err
read_identity(void *context)
{
    udpai_identity *identity = NULL;
    udpa_err err = udpai_chain_identity(context, &identity, NULL);
    udpai_identity_unref(identity);
    return err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    (void)state;
    EVP_PKEY *key = make_key();
    udpai_strbuf pem = {0};
    make_plain(&pem, key, "edge");
    udpai_chain *chain = chain_of(&pem, "edge.crt");
    assert_true(oom_torture(read_identity, chain) >= 1);
    udpai_chain_unref(chain);
    udpai_strbuf_done(&pem);
    EVP_PKEY_free(key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_names_are_read),
        cmocka_unit_test(names_of_local_users_are_refused),
        cmocka_unit_test(a_certificate_may_have_no_names),
        cmocka_unit_test(of_two_common_names_none_counts),
        cmocka_unit_test(other_encodings_become_utf8),
        cmocka_unit_test(common_names_that_mislead_are_refused),
        cmocka_unit_test(common_names_that_are_no_text_are_refused),
        cmocka_unit_test(alternative_names_that_mislead_are_refused),
        cmocka_unit_test(lists_and_lengths_are_limited),
        cmocka_unit_test(malformed_lists_are_refused),
        cmocka_unit_test(lack_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests_name("certs identity", tests, NULL, NULL);
}
