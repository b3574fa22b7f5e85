/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a store of authorities and revocation lists trusts, at which time, and what it says of those
 * whom it does not. */
#include "certs/trust_store.h"

#include "tests/harness/oom.h"
#include "tests/unit/certs/made_crl.h"

#define LIST_UNTIL MADE_CRL_UNTIL

/* An authority "root", one below it, and a client of each. */
struct world {
    EVP_PKEY *root_key, *below_key, *client_key, *other_key;
    udpai_strbuf root, below, client, deep, other;
};

static void
issue(udpai_strbuf *pem,
      const char *name,
      EVP_PKEY *key,
      const char *issuer,
      EVP_PKEY *signer,
      long serial)
{
    const made_name cn = {V_ASN1_UTF8STRING, udpai_str_from(name)};
    char own_id[32], issuer_id[32]; /* two authorities have one name */
    snprintf(own_id, sizeof(own_id), "%p", (void *)key);
    snprintf(issuer_id, sizeof(issuer_id), "%p", (void *)signer);
    make_certificate(pem, &(made_spec){
                              .key_id = own_id,
                              .issuer_key_id = issuer_id,
                              .common_names = &cn,
                              .n_common_names = 1,
                              .is_authority = serial < 10,
                              .key = key,
                              .signer = signer,
                              .issuer = issuer,
                              .serial = serial,
                              .not_before_s = MADE_NOT_BEFORE,
                              .not_after_s = MADE_NOT_AFTER - serial,
                          });
}

static int
begin(void **state)
{
    struct world *world = udpai_alloc(sizeof(*world));
    *state = world;
    world->root_key = make_key();
    world->below_key = make_key();
    world->client_key = make_key();
    world->other_key = make_key();
    issue(&world->root, "root", world->root_key, "root", world->root_key, 1);
    issue(&world->below, "below", world->below_key, "root", world->root_key, 2);
    issue(&world->client, "client", world->client_key, "root", world->root_key, 10);
    issue(&world->deep, "deep", world->client_key, "below", world->below_key, 11);
    issue(&world->other, "root", world->other_key, "root", world->other_key, 1);
    return 0;
}

static int
end(void **state)
{
    struct world *world = *state;
    udpai_strbuf_done(&world->root);
    udpai_strbuf_done(&world->below);
    udpai_strbuf_done(&world->client);
    udpai_strbuf_done(&world->deep);
    udpai_strbuf_done(&world->other);
    EVP_PKEY_free(world->root_key);
    EVP_PKEY_free(world->below_key);
    EVP_PKEY_free(world->client_key);
    EVP_PKEY_free(world->other_key);
    udpai_free(world);
    return 0;
}

static udpai_trust_store *
store_of(const udpai_strbuf *authorities, const udpai_strbuf *lists)
{
    udpai_trust_store *store = NULL;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_pem pem = lists ? pem_of(lists, "ca.crl") : (udpai_pem){0};
    if (udpai_trust_store_new(&store, pem_of(authorities, "ca.crt"), lists ? &pem : NULL, &error))
        fail_msg("%s", udpa_error_message(error));
    return store;
}

static udpa_err
ask(const udpai_trust_store *store,
    const udpai_chain *chain,
    bool is_server,
    int64_t now_s,
    udpai_trust_answer *ret_answer,
    udpa_error **ret_error)
{
    const udpai_trust_question question = {.chain = chain, .is_server = is_server, .now_s = now_s};
    return udpai_trust_store_verify(store, &question, ret_answer, ret_error);
}

static void
assert_good(const udpai_trust_store *store, const udpai_strbuf *pem, int64_t until_s)
{
    udpai_trust_answer answer = {UDPAI_TRUST_UNFIT, 0};
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = chain_of(pem, "peer");
    assert_ok(ask(store, chain, false, MADE_NOW, &answer, NULL));
    assert_int_equal(answer.verdict, UDPAI_TRUST_GOOD);
    assert_true(answer.until_s == until_s);
}

static void
assert_bad(const udpai_trust_store *store,
           const udpai_strbuf *pem,
           int64_t now_s,
           udpai_trust_verdict verdict,
           const char *words)
{
    udpai_trust_answer answer = {UDPAI_TRUST_GOOD, 0};
    udpa_error *error = NULL;
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = chain_of(pem, "peer");
    udpa_err err = ask(store, chain, false, now_s, &answer, &error);
    assert_failed(err, UDPA_ERR_UNAUTHENTICATED, error, words);
    assert_int_equal(answer.verdict, verdict);
}

static void
a_chain_is_good_until_its_first_end(void **state)
{
    struct world *world = *state;
    udpai_trust_store *store = store_of(&world->root, NULL);
    assert_good(store, &world->client, MADE_NOT_AFTER - 10);
    udpai_strbuf_str(&world->deep, udpai_strbuf_view(&world->below));
    assert_good(store, &world->deep, MADE_NOT_AFTER - 11);
    assert_ok(udpai_trust_store_check_time(store, MADE_NOW, NULL));
    assert_ptr_equal(udpai_trust_store_ref(store), store);
    udpai_trust_store_unref(store);
    assert_null(udpai_trust_store_unref(store));
    assert_null(udpai_trust_store_unref(NULL));
}

/* One of the way need not be shown each time; but then it is looked at as it would be else. */
static void
the_way_is_remembered(void **state)
{
    struct world *world = *state;
    const made_entry second = {2, -1};
    udpai_trust_answer answer;
    udpai_intermediates known = {.n = 0};
    udpai_strbuf both = {0}, lists = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_trust_store *store = store_of(&world->root, NULL);
    udpai_strbuf_str(&both, udpai_strbuf_view(&world->deep));
    udpai_strbuf_str(&both, udpai_strbuf_view(&world->below));
    UDPA_AUTO(udpai_chain_unref) udpai_chain *alone = chain_of(&world->deep, "peer");
    UDPA_AUTO(udpai_chain_unref) udpai_chain *whole = chain_of(&both, "peer");
    udpai_trust_question question = {.chain = alone, .now_s = MADE_NOW, .known = &known};
    assert_int_equal(udpai_trust_store_verify(store, &question, &answer, NULL),
                     UDPA_ERR_UNAUTHENTICATED);
    for (int i = 0; i < 2; i++) {
        question.chain = whole;
        assert_ok(udpai_trust_store_verify(store, &question, &answer, NULL));
        question.chain = alone;
        assert_ok(udpai_trust_store_verify(store, &question, &answer, NULL));
        assert_int_equal(known.n, 1);
    }
    udpai_trust_store_unref(store);
    append_crl(&lists, make_crl("root", &second, 1), world->root_key);
    store = store_of(&world->root, &lists);
    assert_int_equal(udpai_trust_store_verify(store, &question, &answer, &error),
                     UDPA_ERR_UNAUTHENTICATED);
    assert_int_equal(answer.verdict, UDPAI_TRUST_REVOKED);
    udpai_trust_store_unref(store);
    udpai_intermediates_done(&known);
    udpai_strbuf_done(&both);
    udpai_strbuf_done(&lists);
}

static void
many_ways_are_not_all_remembered(void **state)
{
    struct world *world = *state;
    udpai_trust_answer answer;
    udpai_intermediates known = {.n = 0};
    udpai_trust_store *store = store_of(&world->root, NULL);
    for (long i = 0; i < UDPAI_INTERMEDIATES_MAX + 3; i++) {
        udpai_strbuf pem = {0};
        char name[32];
        const made_name cn = {V_ASN1_UTF8STRING, {name, (size_t)snprintf(name, 32, "a%ld", i)}};
        issue(&pem, "peer", world->client_key, name, world->other_key, 11);
        make_certificate(&pem, &(made_spec){.common_names = &cn,
                                            .n_common_names = 1,
                                            .is_authority = true,
                                            .key = world->other_key,
                                            .signer = world->root_key,
                                            .issuer = "root",
                                            .serial = 100 + i});
        UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = chain_of(&pem, "peer");
        const udpai_trust_question question = {.chain = chain, .now_s = MADE_NOW, .known = &known};
        assert_ok(udpai_trust_store_verify(store, &question, &answer, NULL));
        udpai_strbuf_done(&pem);
    }
    assert_int_equal(known.n, UDPAI_INTERMEDIATES_MAX);
    udpai_intermediates_done(&known);
    udpai_trust_store_unref(store);
}

static void
time_passes(void **state)
{
    struct world *world = *state;
    udpai_trust_store *store = store_of(&world->root, NULL);
    assert_bad(store, &world->client, MADE_NOT_AFTER - 9, UDPAI_TRUST_EXPIRED,
               "the certificate of CN=client has expired on 2027-01-15 07:59:50 UTC");
    assert_bad(store, &world->client, MADE_NOT_BEFORE - 1, UDPAI_TRUST_EXPIRED,
               "CN=root is not valid before 2023-11-14");
    udpai_trust_store_unref(store);
}

static void
others_are_not_trusted(void **state)
{
    struct world *world = *state;
    udpai_trust_store *store = store_of(&world->root, NULL);
    assert_bad(store, &world->deep, MADE_NOW, UDPAI_TRUST_UNKNOWN,
               "of CN=deep leads to CN=below, which is none of the authorities");
    udpai_trust_store_unref(store);
    store = store_of(&world->other, NULL); /* of the same name */
    assert_bad(store, &world->client, MADE_NOW, UDPAI_TRUST_UNKNOWN, "leads to CN=root");
    udpai_trust_store_unref(store);
}

static void
an_authority_need_be_no_root(void **state)
{
    struct world *world = *state;
    udpai_trust_store *store = store_of(&world->below, NULL);
    assert_good(store, &world->deep, MADE_NOT_AFTER - 11);
    udpai_trust_store_unref(store);
}

/* Old and new stand side by side while certificates change. */
static void
authorities_of_one_name_have_lists_of_their_own(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0}, both = {0}, theirs = {0};
    const made_entry tenth = {10, -1};
    issue(&theirs, "theirs", world->client_key, "root", world->other_key, 10);
    append_crl(&lists, make_crl("root", &tenth, 1), world->other_key);
    udpai_strbuf_str(&both, udpai_strbuf_view(&world->root));
    udpai_strbuf_str(&both, udpai_strbuf_view(&world->other));
    udpai_trust_store *store = store_of(&both, &lists);
    assert_good(store, &world->client, MADE_NOT_AFTER - 10);
    assert_bad(store, &theirs, MADE_NOW, UDPAI_TRUST_REVOKED, "CN=theirs was revoked");
    udpai_trust_store_unref(store);
    udpai_strbuf_done(&lists);
    udpai_strbuf_done(&both);
    udpai_strbuf_done(&theirs);
}

static void
what_a_list_has_is_revoked(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0};
    const made_entry entries[] = {{7, -1}, {10, CRL_REASON_KEY_COMPROMISE}, {900, -1}};
    append_crl(&lists, make_crl("root", entries, 3), world->root_key);
    udpai_trust_store *store = store_of(&world->root, &lists);
    assert_bad(store, &world->client, MADE_NOW, UDPAI_TRUST_REVOKED,
               "the certificate of CN=client was revoked on 2025-06-15 15:06:40 UTC (its key may "
               "be known to others)");
    udpai_trust_store_unref(store);
    udpai_strbuf_done(&lists);
}

static void
another_certificate_may_have_taken_its_place(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0};
    const made_entry entry = {10, CRL_REASON_SUPERSEDED};
    append_crl(&lists, make_crl("root", &entry, 1), world->root_key);
    udpai_trust_store *store = store_of(&world->root, &lists);
    assert_bad(store, &world->client, MADE_NOW, UDPAI_TRUST_SUPERSEDED, "(its holder has another");
    udpai_trust_store_unref(store);
    udpai_strbuf_done(&lists);
}

/* Also one that the file itself names as an authority. */
static void
revoked_authorities_vouch_for_nobody(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0}, both = {0};
    const made_entry entry = {2, CRL_REASON_CA_COMPROMISE};
    append_crl(&lists, make_crl("root", &entry, 1), world->root_key);
    udpai_strbuf_str(&world->deep, udpai_strbuf_view(&world->below));
    udpai_trust_store *store = store_of(&world->root, &lists);
    assert_bad(store, &world->deep, MADE_NOW, UDPAI_TRUST_REVOKED, "CN=below was revoked");
    udpai_trust_store_unref(store);
    udpai_strbuf_str(&both, udpai_strbuf_view(&world->below));
    udpai_strbuf_str(&both, udpai_strbuf_view(&world->root));
    store = store_of(&both, &lists);
    assert_bad(store, &world->deep, MADE_NOW, UDPAI_TRUST_REVOKED, "CN=below was revoked");
    udpai_trust_store_unref(store);
    udpai_strbuf_done(&lists);
    udpai_strbuf_done(&both);
}

static void
a_late_list_still_counts(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0};
    udpa_error *error = NULL;
    const made_entry entry = {10, -1};
    append_crl(&lists, make_crl("root", NULL, 0), world->root_key);
    append_crl(&lists, make_crl("root", &entry, 1), world->root_key);
    udpai_trust_store *store = store_of(&world->root, &lists);
    assert_ok(udpai_trust_store_check_time(store, LIST_UNTIL, NULL));
    udpa_err err = udpai_trust_store_check_time(store, LIST_UNTIL + 1, &error);
    assert_failed(err, UDPA_ERR_PRECONDITION, error,
                  "ca.crl: list 1, of CN=root, was to be followed by another on");
    assert_bad(store, &world->client, LIST_UNTIL + 1, UDPAI_TRUST_REVOKED, "was revoked");
    udpai_trust_store_unref(store);
    udpai_strbuf_done(&lists);
}

static void
assert_no_store(const struct world *world, udpai_str lists, udpa_err code, const char *words)
{
    udpai_trust_store *store = NULL;
    udpa_error *error = NULL;
    const udpai_pem pem = {"ca.crl", lists};
    udpa_err err = udpai_trust_store_new(&store, pem_of(&world->root, "ca.crt"), &pem, &error);
    assert_null(store);
    assert_failed(err, code, error, words);
}

static void
odd_lists_are_refused(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0};
    assert_no_store(world, (udpai_str){"", 0}, UDPA_ERR_INVAL, "ca.crl: holds no revocation list");
    assert_no_store(world, udpai_strbuf_view(&world->root), UDPA_ERR_INVAL, "no revocation list");
    append_crl(&lists, make_crl("root", NULL, 0), world->root_key);
    size_t len = lists.len;
    assert_no_store(world, (udpai_str){lists.data, len - 40}, UDPA_ERR_INVAL,
                    "list 1 is malformed");
    append_crl(&lists, make_crl("root", NULL, 0), world->other_key); /* as if by root */
    assert_no_store(world, udpai_strbuf_view(&lists), UDPA_ERR_INVAL,
                    "list 2, of CN=root, was issued by none of the authorities in ca.crt");
    lists.len = len;
    append_crl(&lists, make_crl("below", NULL, 0), world->below_key);
    assert_no_store(world, udpai_strbuf_view(&lists), UDPA_ERR_INVAL, "list 2, of CN=below");
    udpai_strbuf_done(&lists);
}

static void
add_point(X509_CRL *crl)
{
    ISSUING_DIST_POINT *point = ISSUING_DIST_POINT_new();
    point->indirectCRL = 0xff;
    assert_int_equal(X509_CRL_add1_ext_i2d(crl, NID_issuing_distribution_point, point, 1, 0), 1);
    ISSUING_DIST_POINT_free(point);
}

static void
lists_that_mean_something_else_are_refused(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0};
    X509_CRL *delta = make_crl("root", NULL, 0), *indirect = make_crl("root", NULL, 0);
    ASN1_INTEGER *base = ASN1_INTEGER_new();
    ASN1_INTEGER_set(base, 1);
    assert_int_equal(X509_CRL_add1_ext_i2d(delta, NID_delta_crl, base, 1, 0), 1);
    ASN1_INTEGER_free(base);
    append_crl(&lists, delta, world->root_key);
    assert_no_store(world, udpai_strbuf_view(&lists), UDPA_ERR_INVAL, "a delta CRL");
    lists.len = 0;
    add_point(indirect);
    append_crl(&lists, indirect, world->root_key);
    assert_no_store(world, udpai_strbuf_view(&lists), UDPA_ERR_INVAL, "an indirect CRL");
    udpai_strbuf_done(&lists);
}

static void
there_is_a_limit_of_lists(void **state)
{
    struct world *world = *state;
    udpai_strbuf lists = {0};
    for (int i = 0; i <= UDPAI_CRLS_MAX; i++)
        append_crl(&lists, make_crl("root", NULL, 0), world->root_key);
    assert_no_store(world, udpai_strbuf_view(&lists), UDPA_ERR_LIMIT, "more than 64 revocation");
    lists.len = 0;
    assert_non_null(udpai_strbuf_extend(&lists, UDPAI_CRL_PEM_MAX + 1));
    assert_no_store(world, udpai_strbuf_view(&lists), UDPA_ERR_LIMIT, "are more than 16777216");
    udpai_strbuf_done(&lists);
}

static void
a_certificate_for_clients_is_none_for_servers(void **state)
{
    struct world *world = *state;
    udpai_strbuf pem = {0};
    udpai_trust_answer answer;
    udpa_error *error = NULL;
    X509 *x509 = X509_new();
    const made_name cn = {V_ASN1_UTF8STRING, UDPAI_STR("one-way")};
    const made_spec spec = {.common_names = &cn,
                            .n_common_names = 1,
                            .key = world->client_key,
                            .signer = world->root_key,
                            .issuer = "root",
                            .serial = 20};
    put_basic(x509, &spec);
    X509_EXTENSION *usage = X509V3_EXT_conf_nid(NULL, NULL, NID_ext_key_usage, "clientAuth");
    assert_int_equal(X509_add_ext(x509, usage, -1), 1);
    X509_EXTENSION_free(usage);
    sign(x509, &spec);
    append_pem(&pem, x509);
    X509_free(x509);
    udpai_trust_store *store = store_of(&world->root, NULL);
    assert_good(store, &pem, MADE_NOT_AFTER - 1); /* the authority's */
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = chain_of(&pem, "peer");
    udpa_err err = ask(store, chain, true, MADE_NOW, &answer, &error);
    assert_failed(err, UDPA_ERR_UNAUTHENTICATED, error, "of CN=one-way cannot be relied on:");
    assert_int_equal(answer.verdict, UDPAI_TRUST_UNFIT);
    udpai_trust_store_unref(store);
    udpai_strbuf_done(&pem);
}

static udpa_err
make_and_ask(void *context)
{
    const struct world *world = context;
    UDPA_AUTO(udpai_trust_store_unref) udpai_trust_store *store = NULL;
    UDPA_AUTO(udpai_chain_unref) udpai_chain *chain = NULL;
    udpai_trust_answer answer;
    const udpai_pem lists = pem_of(&world->other, "ca.crl");
    udpa_err err = udpai_trust_store_new(&store, pem_of(&world->root, "ca.crt"), &lists, NULL);
    if (err == UDPA_OK)
        err = udpai_chain_new(&chain, pem_of(&world->client, "peer"), NULL);
    return err == UDPA_OK ? ask(store, chain, false, MADE_NOW, &answer, NULL) : err;
}

static void
lack_of_memory_leaves_nothing(void **state)
{
    struct world *world = *state;
    const made_entry entry = {11, -1};
    world->other.len = 0;
    append_crl(&world->other, make_crl("root", &entry, 1), world->root_key);
    assert_true(oom_torture(make_and_ask, world) >= 5);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_chain_is_good_until_its_first_end, begin, end),
        cmocka_unit_test_setup_teardown(the_way_is_remembered, begin, end),
        cmocka_unit_test_setup_teardown(many_ways_are_not_all_remembered, begin, end),
        cmocka_unit_test_setup_teardown(time_passes, begin, end),
        cmocka_unit_test_setup_teardown(others_are_not_trusted, begin, end),
        cmocka_unit_test_setup_teardown(an_authority_need_be_no_root, begin, end),
        cmocka_unit_test_setup_teardown(authorities_of_one_name_have_lists_of_their_own, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_a_list_has_is_revoked, begin, end),
        cmocka_unit_test_setup_teardown(another_certificate_may_have_taken_its_place, begin, end),
        cmocka_unit_test_setup_teardown(revoked_authorities_vouch_for_nobody, begin, end),
        cmocka_unit_test_setup_teardown(a_late_list_still_counts, begin, end),
        cmocka_unit_test_setup_teardown(odd_lists_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(lists_that_mean_something_else_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(there_is_a_limit_of_lists, begin, end),
        cmocka_unit_test_setup_teardown(a_certificate_for_clients_is_none_for_servers, begin, end),
        cmocka_unit_test_setup_teardown(lack_of_memory_leaves_nothing, begin, end),
    };
    return cmocka_run_group_tests_name("certs trust_store", tests, NULL, NULL);
}
